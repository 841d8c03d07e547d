package dev.ebb.kernel;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FdTest {
  private static final Path NULL = Path.of("/dev/null");
  private static final Path FULL = Path.of("/dev/full");

  private final Scope scope = new Scope();
  @TempDir Path directory;

  @AfterEach
  void close() throws KernelException {
    scope.close();
  }

  @Test
  void everyKindIsCloseOnExecFromBirth() throws KernelException, IOException {
    var pipe = Fd.pipe(scope, scope);
    var pair = UnixSocket.pair(scope, scope);
    var all = new ArrayList<Fd>();
    all.add(Fd.open(scope, NULL, Fd.Flag.READ));
    all.add(Fd.memory(scope, "memory"));
    all.add(Fd.event(scope));
    all.add(pipe.read());
    all.add(pipe.write());
    all.add(pair.ours().fd());
    all.add(pair.peer());
    all.add(all.getFirst().duplicate(scope, 100));
    all.add(Pidfd.open(scope, (int) ProcessHandle.current().pid()).fd());
    for (Fd fd : all) {
      assertThat(flags(fd) & Fd.O_CLOEXEC).as(fd.toString()).isNotZero();
    }
  }

  /** Returns the descriptor's flags from the kernel. */
  static int flags(Fd fd) throws KernelException, IOException {
    try (var use = fd.new Use()) {
      return Files.readAllLines(Path.of("/proc/self/fdinfo/" + use.number())).stream()
          .filter(line -> line.startsWith("flags:"))
          .map(line -> Integer.parseInt(line.substring(6).strip(), 8))
          .findFirst()
          .orElseThrow();
    }
  }

  @Test
  void whatCannotBeOpenedSaysWhichAndWhy() {
    Path absent = directory.resolve("absent");
    assertThatThrownBy(() -> Fd.open(scope, absent, Fd.Flag.READ))
        .isInstanceOfSatisfying(
            KernelException.class, e -> assertThat(e.errno()).isEqualTo(Errno.ENOENT))
        .hasMessage("cannot open " + absent + ": ENOENT");
    assertThatThrownBy(() -> Fd.open(scope, directory, Fd.Flag.WRITE))
        .hasMessage("cannot open " + directory + ": EISDIR");
  }

  @Test
  void theFlagsMeanWhatTheKernelMeans() throws KernelException, IOException {
    Path file = Files.writeString(directory.resolve("file"), "text");
    Path link = Files.createSymbolicLink(directory.resolve("link"), file);
    assertThatThrownBy(() -> Fd.open(scope, link, Fd.Flag.READ, Fd.Flag.NOFOLLOW))
        .hasMessageEndingWith("ELOOP");
    assertThatThrownBy(() -> Fd.open(scope, file, Fd.Flag.READ, Fd.Flag.DIRECTORY))
        .hasMessageEndingWith("ENOTDIR");
    assertThatThrownBy(() -> Fd.open(scope, file, Fd.Flag.WRITE, Fd.Flag.CREATE, Fd.Flag.EXCLUSIVE))
        .hasMessageEndingWith("EEXIST");
    Fd.open(scope, file, Fd.Flag.WRITE, Fd.Flag.APPEND).write("+more");
    assertThat(file).hasContent("text+more");
    Fd.open(scope, file, Fd.Flag.WRITE, Fd.Flag.TRUNCATE);
    assertThat(file).isEmptyFile();
    Fd nowhere = Fd.open(scope, file, Fd.Flag.PATH);
    assertThatThrownBy(() -> nowhere.read(new byte[1], 0, 1)).hasMessageEndingWith("EBADF");
  }

  @Test
  void aFileInMemoryHasNoName() throws KernelException {
    Fd file = Fd.memory(scope, "memory");
    file.write("content");
    byte[] buffer = new byte[20];
    assertThat(file.readAt(3, buffer, 1, 10)).isEqualTo(4);
    assertThat(new String(buffer, 0, 5, US_ASCII)).isEqualTo("\0tent");
    assertThat(directory).isEmptyDirectory();
  }

  @Test
  void aFileInMemoryWithContentIsReadFromItsStartAndNeverChanged() throws KernelException {
    byte[] content = new byte[(3 << 20) + 1];
    content[content.length - 1] = 7;
    Fd file = Fd.memory(scope, "memory", content);
    assertThat(file.read(new byte[2], 0, 2)).isEqualTo(2);
    byte[] last = new byte[4];
    assertThat(file.readAt(content.length - 1L, last, 0, 4)).isEqualTo(1);
    assertThat(last[0]).isEqualTo((byte) 7);
    assertThatThrownBy(() -> file.write("x")).hasMessageEndingWith("EBADF");
    try (var use = file.new Use()) {
      Path again = Path.of("/proc/self/fd/" + use.number());
      Fd writer = Fd.open(scope, again, Fd.Flag.READ_WRITE);
      assertThatThrownBy(() -> writer.write("x")).hasMessageEndingWith("EPERM");
    }
  }

  @Test
  void readDistinguishesTheEndFromNothingYet() throws KernelException {
    var owner = new Scope();
    var pipe = Fd.pipe(scope, owner);
    pipe.read().nonBlocking();
    byte[] buffer = new byte[8];
    assertThat(pipe.read().read(buffer, 0, 8)).isEqualTo(-1);
    pipe.write().write("abc");
    assertThat(pipe.read().read(buffer, 2, 6)).isEqualTo(3);
    assertThat(buffer).containsExactly(0, 0, 'a', 'b', 'c', 0, 0, 0);
    owner.close();
    assertThat(pipe.read().read(buffer, 0, 8)).isZero();
  }

  @Test
  void writeReportsThatAFullPipeWouldWait() throws KernelException {
    var pipe = Fd.pipe(scope, scope);
    pipe.write().nonBlocking();
    byte[] chunk = new byte[1 << 16];
    int n = pipe.write().write(chunk, 0, chunk.length);
    assertThat(n).isEqualTo(chunk.length);
    assertThat(pipe.write().write(chunk, 0, 1)).isEqualTo(-1);
  }

  @Test
  void aFailedWriteOfATextQuotesTheText() throws KernelException {
    Fd full = Fd.open(scope, FULL, Fd.Flag.WRITE);
    assertThatThrownBy(() -> full.write("536870912\n"))
        .hasMessage("cannot write \"536870912\" to /dev/full: ENOSPC");
  }

  @Test
  void aClosedDescriptorCannotBeUsed() throws KernelException {
    Fd fd = Fd.open(scope, NULL, Fd.Flag.READ_WRITE);
    fd.close();
    assertThatThrownBy(() -> fd.read(new byte[1], 0, 1))
        .hasMessage("cannot use closed /dev/null: EBADF");
    assertThatThrownBy(() -> fd.write("x")).hasMessageEndingWith("EBADF");
    assertThatThrownBy(fd::nonBlocking).hasMessageEndingWith("EBADF");
  }

  @Test
  void closingTwiceDoesNotCloseTheNextOwnerOfTheNumber() throws KernelException {
    Fd first = Fd.open(scope, NULL, Fd.Flag.READ);
    first.close();
    Fd second = Fd.open(scope, NULL, Fd.Flag.WRITE);
    assertThat(second).hasToString(first.toString());
    first.close();
    second.write("still open");
  }

  @Test
  void aNumberIsNotFreeWhileACallStillUsesIt() throws Exception {
    var pipe = Fd.pipe(scope, scope);
    var result = new AtomicReference<Object>("reading");
    Thread reader =
        Thread.ofPlatform()
            .start(
                () -> {
                  try {
                    result.set(pipe.read().read(new byte[1], 0, 1));
                  } catch (KernelException e) {
                    result.set(e);
                  }
                });
    Awaitility.await().until(() -> isBeingRead(pipe.read()));
    pipe.read().close();
    Fd next = Fd.open(scope, NULL, Fd.Flag.READ);
    assertThat(next.toString()).doesNotContain(number(pipe.read()));
    assertThat(Files.exists(Path.of("/proc/self/fd/" + number(pipe.read())))).isTrue();
    pipe.write().write("x");
    assertThat(reader.join(Duration.ofSeconds(10))).isTrue();
    assertThat(result).hasValue(1);
    assertThat(Fd.open(scope, NULL, Fd.Flag.READ).toString()).contains(number(pipe.read()));
  }

  /** KERNEL: /proc/PID/task/TID/syscall shows the call a thread is in, and its arguments. */
  private static boolean isBeingRead(Fd fd) throws IOException {
    String call = "%d 0x%x ".formatted(SystemCall.READ.number(), Integer.parseInt(number(fd)));
    try (var tasks = Files.newDirectoryStream(Path.of("/proc/self/task"))) {
      for (Path task : tasks) {
        if (isIn(call, task)) {
          return true;
        }
      }
    }
    return false;
  }

  private static boolean isIn(String call, Path task) {
    try {
      return Files.readString(task.resolve("syscall")).startsWith(call);
    } catch (IOException e) {
      // A thread that has ended meanwhile.
      return false;
    }
  }

  private static String number(Fd fd) {
    return fd.toString().split(" ")[1];
  }

  /**
   * Users write to a descriptor while it is closed, and a third party opens files that get the same
   * number: none of them may ever see a foreign byte or lose its descriptor.
   */
  @Test
  void aReusedNumberIsNeitherUsedNorClosedByItsFormerOwner() throws Exception {
    var current = new AtomicReference<>(Fd.open(scope, NULL, Fd.Flag.WRITE));
    var victims = new AtomicInteger();
    var soon = Deadline.in(Duration.ofMillis(1500));
    var last = Deadline.in(Duration.ofSeconds(30));
    // A slow machine needs longer for so many.
    BooleanSupplier over = () -> soon.isOver() && (victims.get() > 100 || last.isOver());
    var running = new ArrayList<Future<?>>();
    try (var executor = Executors.newCachedThreadPool()) {
      for (int i = 0; i < 3; i++) {
        running.add(executor.submit(() -> writeUntil(over, current)));
      }
      running.add(executor.submit(() -> replaceUntil(over, current)));
      running.add(executor.submit(() -> checkVictimsUntil(over, victims)));
    }
    for (Future<?> each : running) {
      each.get();
    }
    assertThat(victims).hasValueGreaterThan(100);
  }

  private static void writeUntil(BooleanSupplier over, AtomicReference<Fd> current) {
    byte[] foreign = "foreign".getBytes(US_ASCII);
    while (!over.getAsBoolean()) {
      try {
        current.get().write(foreign, 0, foreign.length);
      } catch (KernelException e) {
        assertThat(e).hasMessage("cannot use closed /dev/null: EBADF");
      }
    }
  }

  private @Nullable Void replaceUntil(BooleanSupplier over, AtomicReference<Fd> current)
      throws KernelException {
    while (!over.getAsBoolean()) {
      // Closed before it is replaced: users see it closed, and the number is up for reuse.
      current.get().close();
      current.set(Fd.open(scope, NULL, Fd.Flag.WRITE));
    }
    return null;
  }

  private @Nullable Void checkVictimsUntil(BooleanSupplier over, AtomicInteger victims)
      throws KernelException {
    byte[] buffer = new byte[16];
    while (!over.getAsBoolean()) {
      try (var brief = new Scope()) {
        Fd victim = Fd.memory(brief, "memory");
        victim.write("own");
        Thread.onSpinWait();
        int n = victim.readAt(0, buffer, 0, buffer.length);
        assertThat(new String(buffer, 0, n, US_ASCII)).isEqualTo("own");
        victims.incrementAndGet();
      }
    }
    return null;
  }

  @Test
  void aPipeForAClosedOwnerLeavesNoEndOpen() throws Exception {
    var closed = new Scope();
    closed.close();
    long before = openDescriptors();
    assertThatThrownBy(() -> Fd.pipe(closed, scope)).hasMessage("scope is closed");
    assertThat(openDescriptors()).isEqualTo(before);
    assertThatThrownBy(() -> Fd.pipe(scope, closed)).hasMessage("scope is closed");
    scope.close();
    assertThat(openDescriptors()).isEqualTo(before);
  }

  static long openDescriptors() throws IOException {
    try (var entries = Files.list(Path.of("/proc/self/fd"))) {
      return entries.count();
    }
  }
}
