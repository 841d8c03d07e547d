package dev.ebb.exec;

import dev.ebb.box.ExecSite;
import dev.ebb.fault.Step;
import dev.ebb.init.ExecEvents;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Signal;
import dev.ebb.model.CgroupUsage;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.ExecResult;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.ExitCause;
import dev.ebb.model.SandboxException;
import dev.ebb.model.StuckProcess;
import dev.ebb.process.ProcFs;
import dev.ebb.process.StuckProcesses;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Makes the result of a command from init's last report, and releases its leaf. Used once. */
final class ExecEnd {
  private static final Logger LOG = System.getLogger(ExecEnd.class.getName());

  private final ExecSite site;
  private final Exec exec;
  private final Outcome outcome;

  ExecEnd(ExecSite site, Exec exec, Outcome outcome) {
    this.site = site;
    this.exec = exec;
    this.outcome = outcome;
  }

  ExecResult finish() throws InterruptedException {
    try {
      if (outcome instanceof Outcome.Lost) {
        // KERNEL: a dying pid 1 closes its socket before its namespace is killed.
        endLeaf();
      }
      CgroupUsage usage = usage();
      ExitCause cause = cause(usage);
      if (outcome instanceof Outcome.Ended(var ended, _) && ended.hadStrangers()) {
        site.strangersKilled(exec.number());
      }
      var leftovers = leftovers();
      giveLeafBack(cause, leftovers);
      Segment output = exec.segment();
      return new ExecResult(
          cause,
          output.stdout().size(),
          output.stderr().size(),
          outcome.isTruncated(),
          outcome.loss(),
          usage,
          leftovers,
          exec.progress().wall());
    } catch (KernelException e) {
      throw SandboxException.internal(e);
    }
  }

  // --- the leaf ---

  private void giveLeafBack(ExitCause cause, ExecResult.Leftovers leftovers)
      throws KernelException {
    if (cause instanceof ExitCause.Stuck) {
      // The sweep removes it once they are gone.
      site.leaf(exec.number()).abandon();
    } else if (leftovers.kept().isEmpty() && !(outcome instanceof Outcome.Lost)) {
      // A lost command dies with its box, which removes all its cgroups when they are empty.
      removeLeaf();
    }
  }

  /** Kills without init; a failure shows in the remaining processes. */
  private void endLeaf() throws InterruptedException {
    try {
      site.leaf(exec.number()).end();
    } catch (KernelException e) {
      LOG.log(Level.WARNING, "event=leaf_not_ended " + subject(), e);
    }
  }

  /** Leaves a leaf that cannot be removed to the release of the box, and reports the end. */
  private void removeLeaf() {
    try {
      Step.REMOVE_LEAF.reach();
      site.leaf(exec.number()).remove();
    } catch (KernelException e) {
      LOG.log(Level.WARNING, "event=leaf_left " + subject(), e);
    }
  }

  private String subject() {
    return "box=" + site.id() + " exec=" + exec.number();
  }

  // --- usage and leftovers ---

  /** Reads the usage; a failure must not lose the end. */
  private CgroupUsage usage() {
    try {
      Step.READ_USAGE.reach();
      return site.footprint()
          .usage()
          .map(used -> used.since(exec.cpuBefore()))
          .orElseGet(this::usageSeenByInit);
    } catch (KernelException e) {
      LOG.log(Level.WARNING, "event=usage_unknown " + subject(), e);
      return CgroupUsage.NONE;
    }
  }

  private CgroupUsage usageSeenByInit() {
    if (!(outcome instanceof Outcome.Ended(var ended, _))) {
      return CgroupUsage.NONE;
    }
    var seen = ended.usage();
    boolean oom = ended.reason() == ExecEvents.Reason.OUT_OF_MEMORY;
    return new CgroupUsage(
        seen.cpu(), seen.peakMemory(), seen.peakProcesses(), oom ? 1 : 0, seen.crowded() ? 1 : 0);
  }

  private ExecResult.Leftovers leftovers() {
    // Processes that a kill ended are no leftovers.
    if (!(outcome instanceof Outcome.Ended(var ended, _))
        || ended.reason() != ExecEvents.Reason.BY_ITSELF) {
      return new ExecResult.Leftovers(0, List.of());
    }
    var kept = new ArrayList<ExecResult.Kept>();
    if (exec.spec().keep()) {
      for (int pid : exec.pids()) {
        kept.add(new ExecResult.Kept(pid, ProcFs.commandLine(pid)));
      }
    }
    return new ExecResult.Leftovers(ended.leftovers(), kept);
  }

  // --- the cause ---

  private ExitCause cause(CgroupUsage usage) throws KernelException, InterruptedException {
    return switch (outcome) {
      case Outcome.Refused(var step, var errno) -> refused(step, errno);
      case Outcome.Ended(var ended, var kills) -> ended(ended, kills > exec.oomKillsBefore());
      case Outcome.Lost() -> lostOrStuck(usage.oomKills() > exec.oomKillsBefore());
      case Outcome.Unknown() -> new ExitCause.Lost();
    };
  }

  private ExitCause refused(ExecEvents.Step step, int errno) throws KernelException {
    // The command never ran, so its leaf is empty; and below this may become an exception.
    site.leaf(exec.number()).remove();
    String why = Errno.describe(errno);
    ExecSpec spec = exec.spec();
    String name = spec.command().getFirst();
    return switch (step) {
      case EXEC ->
          errno == Errno.ENOENT.number()
              ? new ExitCause.NotStarted(127, name + ": not found in the box")
              : new ExitCause.NotStarted(126, name + ": cannot be executed: " + why);
      case WORKDIR ->
          throw new SandboxException(
              ErrorCode.BAD_REQUEST,
              "cannot change to the working directory " + spec.workdir() + ": " + why);
      case REQUEST, CLONE, LIMITS -> {
        String what = "cannot start " + name + " (" + step + "): " + why;
        throw errno == Errno.EAGAIN.number() && mayHaveMoreProcesses()
            ? SandboxException.later(
                ErrorCode.PRESSURE,
                what + ": the host has no process to spare",
                Duration.ofSeconds(1),
                Map.of())
            : new SandboxException(ErrorCode.SETUP_FAILED, what);
      }
    };
  }

  /**
   * Returns whether the box has fewer processes than its limit, so that the host refused one more.
   */
  private boolean mayHaveMoreProcesses() throws KernelException {
    long limit = site.spec().limits().pids();
    var counted = site.footprint().occupancy();
    if (counted.isPresent()) {
      return counted.get().tasks() < limit;
    }
    return site.footprint().pids().stream()
            .flatMap(pid -> ProcFs.stat(pid).stream())
            .mapToLong(ProcFs.Stat::threads)
            .sum()
        < limit;
  }

  private ExitCause ended(ExecEvents.Ended ended, boolean oom) throws InterruptedException {
    if (ended.stuck()) {
      // ORDER: init may have failed to list or to kill; the engine has other means.
      endLeaf();
      // RACE: processes that outlived the kill when init looked may be gone by now.
      var stuck = stuckProcesses();
      if (!stuck.isEmpty()) {
        return new ExitCause.Stuck(stuck);
      }
    }
    var last = exit(ended);
    return switch (ended.reason()) {
      case KILLED ->
          exec.progress().ranOutOfMemory()
              ? new ExitCause.OutOfMemory(last)
              : new ExitCause.Killed(last);
      case TIMED_OUT -> new ExitCause.TimedOut(last);
      case OUTPUT_LIMIT -> new ExitCause.OutputLimit(last);
      case OUT_OF_MEMORY -> new ExitCause.OutOfMemory(last);
      case BY_ITSELF -> endedByItself(ended, last, oom);
    };
  }

  private ExitCause endedByItself(ExecEvents.Ended ended, ExitCause.Exit last, boolean oom) {
    // For an adopted command, the count may have risen because of others since it ended.
    if (oom && (exec.isAdopted() ? isKilled(last) : last.shellCode() != 0)) {
      return new ExitCause.OutOfMemory(last);
    }
    // A command that ended in another way was not ended by the engine, even if the report came
    // late.
    if (exec.progress().isOverrun() && isKilled(last)) {
      return exec.progress().isToBeKilled()
          ? new ExitCause.Killed(last)
          : new ExitCause.TimedOut(last);
    }
    if (ended.loss().isAny()) {
      return new ExitCause.OutputLost(last);
    }
    return ended.exited()
        ? new ExitCause.Exited(ended.status())
        : new ExitCause.Signalled(ended.status());
  }

  private static boolean isKilled(ExitCause.Exit last) {
    return last.shellCode() == ExitCause.SIGKILL_CODE;
  }

  /** Handles a leader that was still dying when init gave it up: it died of SIGKILL. */
  private static ExitCause.Exit exit(ExecEvents.Ended ended) {
    if (ended.unreaped()) {
      return new ExitCause.Exit(0, Signal.KILL.number());
    }
    return ended.exited()
        ? new ExitCause.Exit(ended.status(), 0)
        : new ExitCause.Exit(0, ended.status());
  }

  /** Returns stuck if processes of the command are left in a living box, otherwise lost. */
  private ExitCause lostOrStuck(boolean oom) {
    var stuck = site.isAlive() ? stuckProcesses() : List.<StuckProcess>of();
    return stuck.isEmpty() ? lost(oom) : new ExitCause.Stuck(stuck);
  }

  private ExitCause lost(boolean oom) {
    var killed = new ExitCause.Exit(0, Signal.KILL.number());
    if (!site.isAlive() && !site.wasLost()) {
      return new ExitCause.Killed(killed);
    }
    return oom ? new ExitCause.OutOfMemory(killed) : new ExitCause.Lost();
  }

  private List<StuckProcess> stuckProcesses() {
    return exec.pids().stream().map(StuckProcesses::describe).toList();
  }
}
