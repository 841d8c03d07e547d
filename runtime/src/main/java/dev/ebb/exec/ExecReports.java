package dev.ebb.exec;

import dev.ebb.box.ExecSite;
import dev.ebb.init.ExecEvents;
import dev.ebb.kernel.KernelException;
import dev.ebb.model.ExecKind;

/** Passes the reports of init about one command to its exec. */
final class ExecReports implements ExecEvents {
  private final ExecSite site;
  private final Exec exec;

  ExecReports(ExecSite site, Exec exec) {
    this.site = site;
    this.exec = exec;
  }

  @Override
  public void started(int pid, int adopter) {
    exec.onStarted(pid, adopter);
  }

  @Override
  public void refused(ExecEvents.Step step, int errno) {
    exec.onEnd(new Outcome.Refused(step, errno), 0, 0);
  }

  @Override
  public void buffered(byte[] stdoutBytes, byte[] stderrBytes) {
    exec.segment().keep(stdoutBytes, stderrBytes);
  }

  @Override
  public void needLog() {
    exec.output().onNeedLog(exec::send);
  }

  @Override
  public void output(long stdoutSize, long stderrSize) {
    exec.segment().grow(stdoutSize, stderrSize);
  }

  @Override
  public void segment(Written written) {
    exec.output().onSegment(written);
  }

  @Override
  public void listed(byte[] entries) {
    if (exec.spec().kind() instanceof ExecKind.Program) {
      exec.output().onWorkspace(entries);
    }
  }

  @Override
  public void ended(Ended ended) {
    // The reason for a kill is known, and a successful command was not killed.
    boolean didWell = ended.exited() && ended.status() == 0;
    boolean isKnown = ended.reason() != Reason.BY_ITSELF || didWell;
    long kills = isKnown ? exec.oomKillsBefore() : oomKills();
    exec.onEnd(new Outcome.Ended(ended, kills), ended.stdoutSize(), ended.stderrSize());
  }

  /** KERNEL: counted before the victim dies; later the count may rise because of others. */
  private long oomKills() {
    try {
      return site.oomKills();
    } catch (KernelException e) {
      return exec.oomKillsBefore();
    }
  }

  @Override
  public void lost() {
    exec.onEnd(new Outcome.Lost(), 0, 0);
  }

  @Override
  public void unknown() {
    exec.onEnd(new Outcome.Unknown(), 0, 0);
  }
}
