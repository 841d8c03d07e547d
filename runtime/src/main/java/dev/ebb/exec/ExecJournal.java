package dev.ebb.exec;

import dev.ebb.box.ExecSite;
import dev.ebb.fault.Step;
import dev.ebb.kernel.KernelException;
import dev.ebb.model.ExecKind;
import dev.ebb.model.ExecResult;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import org.jspecify.annotations.Nullable;

/** The record of one exec in the journal of a detached box, for the next engine. */
final class ExecJournal {
  private static final Logger LOG = System.getLogger(ExecJournal.class.getName());

  private final ExecSite site;
  private final int exec;
  private final ExecKind kind;
  private final ExecOutput output;

  /** Lets init forget the exec. */
  private final Runnable letInitForget;

  private volatile boolean isForgotten;

  ExecJournal(ExecSite site, int exec, ExecKind kind, ExecOutput output, Runnable letInitForget) {
    this.site = site;
    this.exec = exec;
    this.kind = kind;
    this.output = output;
    this.letInitForget = letInitForget;
  }

  private boolean isRecorded() {
    return site.isDetached()
        && output.pipe().isEmpty()
        && !(kind instanceof ExecKind.FileOperation)
        && !(kind instanceof ExecKind.Dialogue);
  }

  void begin(ExecRecord record) throws KernelException {
    if (isRecorded()) {
      Step.RECORD_START.reach();
      site.directory().journal().append(record.entry());
    }
  }

  /**
   * Records the end of the input. If this fails, the next engine may report a whole input as cut,
   * not the reverse.
   */
  void inputIs(ExecInput.State state) {
    if (!isRecorded()) {
      return;
    }
    try {
      site.directory().journal().append(ExecRecord.input(exec, state));
    } catch (KernelException e) {
      LOG.log(Level.WARNING, "event=record_failed box=" + site.id() + " exec=" + exec, e);
    }
  }

  /**
   * ORDER: recorded first, then init may forget the exec. An exec that never ran is not recorded.
   */
  void end(@Nullable ExecResult result, Outcome outcome) {
    if (!site.isDetached()) {
      return;
    }
    try {
      if (isRecorded() && result != null) {
        // ORDER: init drops the output in its memory when it forgets the exec.
        output.segment().store();
        Step.RECORD_END.reach();
        site.directory().journal().append(ExecRecord.ended(exec, result));
      } else if (isRecorded() && outcome instanceof Outcome.Refused) {
        site.directory().journal().forget(exec);
      } else if (isRecorded()) {
        // When greeted again, init may know how it ended.
        return;
      }
      forgetInInit();
    } catch (KernelException | IOException e) {
      // If the disk is full, init remembers the end and nothing else fails.
      LOG.log(Level.WARNING, "event=record_failed box=" + site.id() + " exec=" + exec, e);
    }
  }

  private void forgetInInit() {
    letInitForget.run();
    isForgotten = true;
  }

  /**
   * Removes the record.
   *
   * @param hasEnded whether its result is known
   */
  void forget(boolean hasEnded) {
    if (!isRecorded()) {
      return;
    }
    try {
      site.directory().journal().forget(exec);
    } catch (KernelException | IOException e) {
      LOG.log(Level.WARNING, "event=record_failed box=" + site.id() + " exec=" + exec, e);
    }
    if (hasEnded && !isForgotten) {
      // Its end could not be recorded; init has no room for the ends of all commands.
      forgetInInit();
    }
  }
}
