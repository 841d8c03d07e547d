package dev.ebb.kernel;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * posix_spawn(3) of one program: the child has exactly the descriptors named here, numbered from 0
 * in that order, the environment named here, no blocked signal, default dispositions, and a session
 * of its own.
 */
public final class Spawn {
  private static final MethodHandle POSIX_SPAWN = Frame.link("posix_spawn");
  private static final MethodHandle ACTIONS_INIT = Frame.link("posix_spawn_file_actions_init");
  private static final MethodHandle ACTIONS_DUP2 = Frame.link("posix_spawn_file_actions_adddup2");
  private static final MethodHandle ACTIONS_CLOSE_FROM =
      Frame.link("posix_spawn_file_actions_addclosefrom_np");
  private static final MethodHandle ACTIONS_DESTROY =
      Frame.link("posix_spawn_file_actions_destroy");

  /** sizeof(posix_spawn_file_actions_t) in glibc, rounded up. */
  private static final int ACTIONS_SIZE = 128;

  /** posix_spawnattr_t of glibc: short flags, pid_t pgroup, two 128 byte signal sets, … */
  private static final int ATTRIBUTES_SIZE = 512;

  private static final int ATTRIBUTES_DEFAULT_SIGNALS = 8;
  private static final int SIGNAL_SET_SIZE = 128;
  private static final int SETSIGDEF = 0x04;
  private static final int SETSIGMASK = 0x08;
  private static final int SETSID = 0x80;

  private Spawn() {}

  /** Starts {@code program} with an empty environment. */
  public static Pidfd spawn(Scope scope, Path program, List<String> arguments, List<Fd> fds)
      throws KernelException {
    return spawn(scope, program, arguments, List.of(), fds);
  }

  /**
   * Starts {@code program} and returns a handle on it; this process reaps the child.
   *
   * @param environment strings NAME=VALUE
   */
  public static Pidfd spawn(
      Scope scope, Path program, List<String> arguments, List<String> environment, List<Fd> fds)
      throws KernelException {
    var uses = new ArrayList<Fd.Use>();
    try (var frame = new Frame();
        var high = new Scope()) {
      for (Fd fd : fds) {
        // ORDER: sources lie above all targets, so that no dup2 overwrites a later source.
        uses.add(fd.duplicate(high, fds.size()).new Use());
      }
      return Pidfd.ofChild(scope, start(frame, program, arguments, environment, uses));
    } finally {
      uses.forEach(Fd.Use::close);
    }
  }

  private static int start(
      Frame frame, Path program, List<String> arguments, List<String> environment, List<Fd.Use> fds)
      throws KernelException {
    String action = "start " + program;
    MemorySegment actions = frame.allocate(ACTIONS_SIZE);
    check(ACTIONS_INIT, action, actions.address(), 0, 0, 0, 0, 0);
    try {
      for (int i = 0; i < fds.size(); i++) {
        check(ACTIONS_DUP2, action, actions.address(), fds.get(i).number(), i, 0, 0, 0);
      }
      check(ACTIONS_CLOSE_FROM, action, actions.address(), fds.size(), 0, 0, 0, 0);
      MemorySegment pid = frame.allocate(4);
      check(
          POSIX_SPAWN,
          action,
          pid.address(),
          frame.string(program.toString()),
          actions.address(),
          attributes(frame).address(),
          frame.strings(arguments),
          frame.strings(environment));
      return pid.get(JAVA_INT, 0);
    } finally {
      check(ACTIONS_DESTROY, action, actions.address(), 0, 0, 0, 0, 0);
    }
  }

  private static MemorySegment attributes(Frame frame) {
    MemorySegment attributes = frame.allocate(ATTRIBUTES_SIZE);
    attributes.set(JAVA_SHORT, 0, (short) (SETSIGDEF | SETSIGMASK | SETSID));
    // KERNEL: JVM threads block some signals and ignore others, and both outlive exec. glibc skips
    // the numbers that may not be changed.
    attributes.asSlice(ATTRIBUTES_DEFAULT_SIGNALS, SIGNAL_SET_SIZE).fill((byte) 0xff);
    return attributes;
  }

  /** SAFETY: these return an errno, they do not set it; pointers live in the caller's frame. */
  private static void check(
      MethodHandle function, String action, long a, long b, long c, long d, long e, long f)
      throws KernelException {
    try (var frame = new Frame()) {
      int errno = (int) frame.invoke(function, a, b, c, d, e, f, 0);
      if (errno != 0) {
        throw new KernelException(action, errno);
      }
    }
  }
}
