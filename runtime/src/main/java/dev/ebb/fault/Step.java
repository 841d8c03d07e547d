package dev.ebb.fault;

import static dev.ebb.kernel.Errno.EAGAIN;
import static dev.ebb.kernel.Errno.EBUSY;
import static dev.ebb.kernel.Errno.ECHILD;
import static dev.ebb.kernel.Errno.EINVAL;
import static dev.ebb.kernel.Errno.EIO;
import static dev.ebb.kernel.Errno.EMFILE;
import static dev.ebb.kernel.Errno.ENOSPC;
import static dev.ebb.kernel.Errno.EPIPE;

import dev.ebb.kernel.Errno;
import dev.ebb.kernel.KernelException;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The table of crash points.
 *
 * <p>A step is reached right before the act it names. A process that crashes there has done
 * everything before the act; a step that fails stands for the failure of the act. A step without an
 * errno is a moment, not an act: a process can only crash there.
 */
public enum Step {
  STAGE_INIT(Phase.OPEN, ENOSPC, "ebb-init is in the home whole or not at all"),
  MAKE_INSTANCE(Phase.OPEN, ENOSPC, "a home that was only opened holds nothing"),
  CLAIM_UIDS(Phase.OPEN, ENOSPC, "an instance without a description has no uids"),
  DESCRIBE_INSTANCE(Phase.OPEN, ENOSPC, "a directory without a description goes"),
  LOCK_INSTANCE(Phase.OPEN, EMFILE, "an instance that is not locked yet is dead"),
  BEGIN_LEDGER(Phase.OPEN, ENOSPC, "an instance without a ledger holds nothing"),
  HOLD_SUBTREE(Phase.OPEN, ENOSPC, "an empty ledger is no reason to stay"),
  MAKE_SUBTREE(Phase.OPEN, EAGAIN, "a listed cgroup that was never made is no error"),

  OPEN_NEXT_LEDGER(Phase.LEDGER, EMFILE, "a ledger that has grown too long is still valid"),
  WRITE_NEXT_LEDGER(Phase.LEDGER, ENOSPC, "half of the next ledger is not read"),
  REPLACE_LEDGER(Phase.LEDGER, EIO, "the next ledger, whole as it is, is not read before its time"),
  USE_NEXT_LEDGER(Phase.LEDGER, null, "the next ledger lists all that the last one did"),

  HOLD_BOX(Phase.CREATE, ENOSPC, "a uid that is only lent costs nothing; refused, it comes back"),
  MAKE_BOX_CGROUP(Phase.CREATE, EAGAIN, "a listed cgroup of a box that was never made is no error"),
  MAKE_INIT_CGROUP(Phase.CREATE, EAGAIN, "a box cgroup alone goes"),
  MAKE_WORK_CGROUP(Phase.CREATE, EAGAIN, "half of the cgroups of version 2 go"),
  MAKE_CONTROLLERS(Phase.CREATE, EAGAIN, "version 2 without version 1 goes"),
  SET_LIMITS(Phase.CREATE, EIO, "no box runs without its limits"),
  WATCH_OOM(Phase.CREATE, EMFILE, "cgroups without a process go"),
  OPEN_SOCKET(Phase.CREATE, EMFILE, "a box without a descriptor to spare is refused"),
  SPAWN(Phase.CREATE, EAGAIN, "a box without a process to spare is refused"),
  HOLD_OUTSIDE(Phase.CREATE, ENOSPC, "an unlisted maker of boxes ends with us"),
  AWAIT_OUTSIDE(Phase.CREATE, ENOSPC, "a maker of boxes ends with us and takes its box along"),
  HEAR_LAUNCHED(Phase.CREATE, EMFILE, "an init that was announced ends with us before its hello"),
  HEAR_HELLO(Phase.CREATE, EINVAL, "an init that is up ends with us; a stranger becomes no box"),
  REAP_OUTSIDE(Phase.CREATE, ECHILD, "a dead maker of a box does not stay a zombie"),
  STRIKE_OUTSIDE(Phase.CREATE, ENOSPC, "a listed process that has ended is not looked for by pid"),
  CALL_RUNNING(Phase.CREATE, null, "a box that was not reported goes"),
  CHANGE_LIMITS(Phase.CREATE, EIO, "a box with other limits than ordered is not handed out"),

  SEND_LISTEN(Phase.EGRESS, EPIPE, "a box whose init was not asked for a socket has no way out"),
  OPEN_EGRESS(Phase.EGRESS, EMFILE, "a socket without an acceptor goes with its box"),
  NOTE_NETWORK(Phase.EGRESS, ENOSPC, "an unrecorded change never happened"),

  HOLD_FORKSERVER(
      Phase.FORKSERVER, ENOSPC, "a uid that is only lent costs nothing; bwrap makes boxes"),
  MAKE_FORKSERVER_CGROUP(
      Phase.FORKSERVER, EAGAIN, "a forkserver without a cgroup is no forkserver yet"),
  SPAWN_FORKSERVER(Phase.FORKSERVER, EAGAIN, "a forkserver's cgroup without a forkserver goes"),
  HOLD_FORKSERVER_PROCESS(Phase.FORKSERVER, ENOSPC, "an unlisted forkserver ends with us"),
  AWAIT_FORKSERVER(Phase.FORKSERVER, ENOSPC, "a forkserver that is being started ends with us"),
  SEND_ORDER(Phase.FORKSERVER, EIO, "a forkserver without an order makes nothing"),
  AWAIT_CLONE(Phase.FORKSERVER, ENOSPC, "a box that is being cloned ends with us"),
  END_FORKSERVER(Phase.FORKSERVER, EIO, "a forkserver without an engine ends"),
  REMOVE_FORKSERVER_CGROUP(Phase.FORKSERVER, EBUSY, "an empty cgroup of a forkserver goes"),
  STRIKE_FORKSERVER(Phase.FORKSERVER, ENOSPC, "a forkserver that is listed and gone is no error"),

  OPEN_STDIN(Phase.EXEC, EMFILE, "a command without a descriptor to spare is refused"),
  MAKE_LEAF(Phase.EXEC, EAGAIN, "a box without a command goes; without a leaf none starts"),
  GIVE_LEAF(Phase.EXEC, EIO, "a leaf that init cannot use goes"),
  MAKE_LOGS(Phase.EXEC, ENOSPC, "a listed directory that was never made is no error"),
  MAKE_OUTPUT(Phase.EXEC, ENOSPC, "a command that waits for its logs ends with us, or goes on"),
  SEND_START(Phase.EXEC, EPIPE, "output files without a command go"),
  HEAR_STARTED(Phase.EXEC, null, "a command that runs ends with us"),
  HEAR_ENDED(Phase.EXEC, null, "an end that was not reported leaves nothing"),
  READ_USAGE(Phase.EXEC, EIO, "a leaf whose command has ended goes"),
  REMOVE_LEAF(Phase.EXEC, EBUSY, "a leaf that cannot be removed loses no result"),
  RMDIR_CGROUP(Phase.EXEC, EBUSY, "a busy cgroup is emptied and tried again, and counted"),
  REMOVE_OUTPUT(Phase.EXEC, EIO, "unwanted output goes with its box at the latest"),

  SEND_KILL(Phase.KILL, EPIPE, "a command that is to be killed ends with us; init is not needed"),
  END_LEAF(Phase.KILL, EIO, "a command whose init is dead leaves nothing"),

  FREEZE(Phase.PAUSE, EIO, "a box that cannot be paused runs on"),
  SEE_FROZEN(Phase.PAUSE, EIO, "a frozen box ends with us; one not seen frozen is thawed"),
  THAW(Phase.PAUSE, EIO, "a paused box ends with us; one that stays frozen can be released"),

  HOLD_LANE(Phase.LANE, ENOSPC, "an operator's command without a lane is refused"),
  MAKE_LANE(Phase.LANE, EAGAIN, "a listed lane that was never made is no error"),
  ENTER_LANE(Phase.LANE, EIO, "an empty lane goes"),
  LEAVE_LANE(Phase.LANE, EIO, "an init in the lane ends with us"),

  END_OUTSIDE(Phase.RELEASE, EIO, "a box that could not be made goes, and is released again"),
  LIST_MEMBERS(Phase.RELEASE, EIO, "processes that cannot be counted are killed all the same"),
  KILL_BOX(Phase.RELEASE, EIO, "a release that has only begun is finished by the next engine"),
  REAP_INIT(Phase.RELEASE, EMFILE, "killed processes are reaped soon"),
  AWAIT_EMPTY(Phase.RELEASE, EMFILE, "a box not seen empty keeps its cgroups"),
  CLOSE_DESCRIPTORS(Phase.RELEASE, EIO, "empty cgroups go"),
  REMOVE_CGROUPS(Phase.RELEASE, EBUSY, "a cgroup that stays keeps its line and its uid"),
  REMOVE_LOGS(Phase.RELEASE, EIO, "a directory whose cgroups are gone goes"),
  RMDIR_LOGS(Phase.RELEASE, EBUSY, "an emptied directory goes"),
  STRIKE_LOGS(Phase.RELEASE, ENOSPC, "a listed directory that is gone is no error"),
  STRIKE_BOX(Phase.RELEASE, ENOSPC, "lines of released resources go"),
  RETURN_UID(Phase.RELEASE, null, "a box without lines is gone"),

  REMOVE_SUBTREE(Phase.CLOSE, EBUSY, "an instance without a box goes"),
  STRIKE_SUBTREE(Phase.CLOSE, ENOSPC, "an instance whose cgroups are gone goes"),
  RETURN_UIDS(Phase.CLOSE, EIO, "uids go back with the instance that had them"),
  FORGET_INSTANCE(Phase.CLOSE, EIO, "an instance that holds nothing goes"),
  RMDIR_INSTANCE(Phase.CLOSE, EBUSY, "a directory without a lock goes"),

  READ_HISTORY(Phase.HISTORY, EIO, "a history that cannot be read is left as it is"),
  RECORD_BOX(Phase.HISTORY, ENOSPC, "an unrecorded box is forgotten with its daemon"),
  RECORD_BOX_END(Phase.HISTORY, ENOSPC, "a box without a recorded end ended with its daemon"),
  FORGET_BOX(Phase.HISTORY, ENOSPC, "a box that was removed may be listed again, and goes again"),
  READ_CERTIFICATES(Phase.HISTORY, EIO, "certificates that cannot be read are left as they are"),
  RECORD_ANSWER(Phase.HISTORY, ENOSPC, "a box that was not answered goes with its daemon"),
  RELEASE_ANSWERED(Phase.HISTORY, null, "the next daemon certifies what was answered"),
  RECORD_CERTIFICATE(Phase.HISTORY, ENOSPC, "a box released without a record holds nothing"),
  FORGET_CERTIFICATE(Phase.HISTORY, ENOSPC, "an old certificate may be found once more"),

  HOLD_RECORD(Phase.DETACH, ENOSPC, "a box that is not detached ends with its daemon"),
  WRITE_RECORD(Phase.DETACH, ENOSPC, "a record that was not begun holds nothing"),
  LISTEN(Phase.DETACH, EMFILE, "a recorded box whose init was not notified never existed"),
  SEND_DETACH(Phase.DETACH, EPIPE, "a socket without a listener is no box"),
  CALL_DETACHED(Phase.DETACH, null, "from here on the next daemon finds it alive"),
  CONFIRM_DETACHED(Phase.DETACH, ENOSPC, "a box that lives is detached, also without a record"),
  RECORD_START(Phase.DETACH, ENOSPC, "an unrecorded command never ran"),
  RECORD_END(Phase.DETACH, ENOSPC, "init keeps an end until it is recorded"),
  SEND_FORGET(Phase.DETACH, EPIPE, "a recorded end is reported once"),
  LEAVE(Phase.DETACH, null, "a daemon that dies while it closes leaves what a closed one leaves"),
  NOTE_END(Phase.DETACH, ENOSPC, "a stopped box is found again, if only as lost"),
  UNLINK_RECORD(Phase.DETACH, EIO, "the record goes last"),

  RESUME_INSTANCE(Phase.ADOPTION, ENOSPC, "an instance not yet taken over waits for the next"),
  RESUME_LEDGER(Phase.ADOPTION, EMFILE, "an instance without its ledger open is not taken over"),
  STRIKE_ATTACHED(Phase.ADOPTION, ENOSPC, "released resources are not searched for forever"),
  READ_RECORD(Phase.ADOPTION, EIO, "a box whose record cannot be read is left alone"),
  OPEN_INIT(Phase.ADOPTION, EMFILE, "a box that cannot be reached now is left alone"),
  RECONNECT(Phase.ADOPTION, EMFILE, "init waits on for the next"),
  INHERIT_EXECS(Phase.ADOPTION, EIO, "init detects a closed connection"),
  GREET(Phase.ADOPTION, ENOSPC, "ends that were reported, not recorded, are reported again"),
  HEAR_SYNCED(Phase.ADOPTION, null, "a box that is found can be found again"),

  CLAIM(Phase.RECOVERY, EMFILE, "an engine that cannot look is refused, and nothing is lost"),
  RECOVER_PROCESS(Phase.RECOVERY, EIO, "a listed process is ended by the next"),
  RECOVER_MEMBERS(Phase.RECOVERY, EIO, "members are killed by the next, or with their cgroup"),
  RECOVER_CGROUP(Phase.RECOVERY, EBUSY, "a cgroup that stays keeps its instance"),
  RECOVER_LOGS(Phase.RECOVERY, EIO, "a directory that stays keeps its instance"),
  FORGET_DEAD(Phase.RECOVERY, EBUSY, "an instance of which nothing is left goes"),

  SWEEP_CGROUP(Phase.SWEEP, EBUSY, "an unlisted cgroup goes with its instance"),
  SWEEP_DIRECTORY(Phase.SWEEP, EIO, "an unlisted directory goes with its instance"),
  SWEEP_FILE(Phase.SWEEP, EIO, "an unlisted record goes with its box");

  private final Phase phase;
  private final @Nullable Errno errno;
  private final String proof;

  Step(Phase phase, @Nullable Errno errno, String proof) {
    this.phase = phase;
    this.errno = errno;
    this.proof = proof;
  }

  /** Returns, unless a test has armed a fault for this step. */
  public void reach() throws KernelException {
    if (Fault.IS_TEST) {
      Fault.meet(this);
    }
  }

  public Phase phase() {
    return phase;
  }

  /** Returns the error with which a test lets the act fail; empty for a moment. */
  public Optional<Errno> errno() {
    return Optional.ofNullable(errno);
  }

  /** Returns what a crash here proves. */
  public String proof() {
    return proof;
  }
}
