package dev.ebb.exec;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.ebb.backend.Capability;
import dev.ebb.box.Box;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.KernelException;
import dev.ebb.model.BoxPaths;
import dev.ebb.model.ByteSize;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.ExecKind;
import dev.ebb.model.ExecSpec;
import dev.ebb.model.FileEntry;
import dev.ebb.model.FirstFile;
import dev.ebb.model.SandboxException;
import java.io.IOException;
import java.io.InputStream;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The files of a box. Init accesses them inside the box as its user, in a separate exec, so a
 * hostile tree harms only its box. Paths are those of the box; relative ones start at the
 * workspace. Thread-safe.
 */
public final class BoxFiles {
  private static final Logger LOG = System.getLogger(BoxFiles.class.getName());

  /** The timeout of operations that transfer content. */
  public static final Duration CONTENT_TIMEOUT = Duration.ofMinutes(5);

  public static final Duration TIMEOUT = Duration.ofSeconds(30);

  private static final Duration GRACE = Duration.ofSeconds(1);

  /** The timeout of operations that init does without an exec. */
  private static final Duration ANSWER = Duration.ofSeconds(5);

  /** The timeout of reads: the reader may be slow, and nothing is buffered for it. */
  private static final Duration READ_TIMEOUT = Duration.ofHours(1);

  /** The output limit of a listing. */
  private static final ByteSize ENTRIES_MAX = ByteSize.mebibytes(8);

  /** How much longer an archive may be than the capacity of the box: it has headers and holes. */
  private static final long ARCHIVE_MORE = 1L << 30;

  private static final ByteSize UNLIMITED = new ByteSize(Long.MAX_VALUE);

  /** The most entries of a workspace listing, by which a caller detects changes. */
  private static final int WORKSPACE_MOST = 10_000;

  private static final ByteSize STAGED_MOST = ByteSize.mebibytes(256);
  private static final ByteSize WORDS = ByteSize.mebibytes(1);
  private static final int MODE_MAX = 07777;
  private static final List<String> UNPACK =
      List.of("/usr/bin/tar", "-x", "-f", "-", "--no-same-owner", "--no-same-permissions");

  private final Box box;
  private final ByteSize fileSize;

  public BoxFiles(Box box) {
    this(box, UNLIMITED);
  }

  /**
   * The files of a box.
   *
   * @param most the largest size of one file; holes count
   */
  public BoxFiles(Box box, ByteSize most) {
    this.box = box;
    long held = Math.max(held(box), ExecSpec.DEFAULT_FILE_SIZE.bytes());
    fileSize = new ByteSize(hasOthersFiles(box) ? most.bytes() : Math.min(most.bytes(), held));
  }

  /** Returns how many bytes the box can hold without its mounts. */
  private static long held(Box box) {
    var limits = box.spec().limits();
    long sum = limits.disk().bytes() + 2 * limits.temporary().bytes();
    return sum < 0 ? Long.MAX_VALUE : sum;
  }

  /** Mounts may hold more than the box itself. */
  private static boolean hasOthersFiles(Box box) {
    return !box.spec().mounts().isEmpty() || !box.spec().packages().isEmpty();
  }

  private long archiveMost() {
    long most = 2 * Math.min(held(box), Long.MAX_VALUE / 4) + ARCHIVE_MORE;
    return hasOthersFiles(box) ? Long.MAX_VALUE : most;
  }

  /** Reads a regular file from {@code offset} on; the caller closes it. */
  public FileContent read(String path, long offset) throws InterruptedException {
    require(offset >= 0, "an offset cannot be negative: " + offset);
    String from = Long.toString(offset);
    String most = Long.toString(fileSize.bytes());
    var spec = operation("read", checked(path), from, most);
    return open(
        FileExec.piped(box, spec.withTimeout(READ_TIMEOUT), what("read", path), false),
        fileSize.bytes());
  }

  private static FileContent open(FileExec source, long most) throws InterruptedException {
    var content = new FileContent(source, most);
    try {
      content.open();
      return content;
    } catch (InterruptedException | RuntimeException e) {
      content.close();
      throw e;
    }
  }

  /**
   * Replaces the file with this content, whole or not at all; makes missing parents.
   *
   * @return the new entry; empty if init did not report it
   */
  @CanIgnoreReturnValue
  public Optional<FileEntry> write(String path, int mode, InputStream content)
      throws IOException, InterruptedException {
    require(mode >= 0 && mode <= MODE_MAX, "bad mode " + Integer.toOctalString(mode));
    var spec =
        operation("write", checked(path), Integer.toOctalString(mode))
            .withInput()
            .withFileSize(fileSize);
    try (var exec =
        new FileExec(box, spec.withTimeout(CONTENT_TIMEOUT), what("write", path), false)) {
      exec.feedFrames(content);
      exec.finish();
      return FileEntry.parse(exec.output()).stream().findFirst();
    }
  }

  /**
   * Makes a new file in the workspace, without a process: for a box in which nothing runs yet, and
   * for small content, since it is not charged to the commands.
   *
   * @return the new entry; empty if it cannot be made this way: then call {@link #write}
   */
  public Optional<FileEntry> writeNew(FirstFile file) throws InterruptedException {
    if (!box.execSite().has(Capability.FILES)) {
      return Optional.empty();
    }
    try {
      return box.execSite()
          .sandbox()
          .writeFile(file, Deadline.in(ANSWER))
          .flatMap(entries -> FileEntry.parse(entries).stream().findFirst());
    } catch (KernelException e) {
      LOG.log(Level.DEBUG, "event=not_placed box=" + box.id() + ", ignoring: it is written", e);
      return Optional.empty();
    }
  }

  /** Lists the workspace by name; targets of links may be missing. */
  public List<FileEntry> workspace() throws InterruptedException {
    Optional<byte[]> seen = Optional.empty();
    try {
      if (box.execSite().has(Capability.FILES)) {
        seen = box.execSite().sandbox().list(Deadline.in(ANSWER));
      }
    } catch (KernelException e) {
      LOG.log(Level.DEBUG, "event=not_looked box=" + box.id() + ", ignoring: it is listed", e);
    }
    return seen.isPresent()
        ? byName(FileEntry.parse(seen.get()))
        : list(BoxPaths.WORKSPACE, WORKSPACE_MOST);
  }

  /**
   * Lists the workspace as it was at the end of {@code exec}, if init sent that; otherwise, or when
   * called again, as it is now.
   */
  public List<FileEntry> workspaceAfter(Exec exec) throws InterruptedException {
    Optional<byte[]> seen = exec.output().takeWorkspace();
    return seen.isPresent() ? byName(FileEntry.parse(seen.get())) : workspace();
  }

  private static List<FileEntry> byName(List<FileEntry> entries) {
    return entries.stream().sorted(Comparator.comparing(FileEntry::name)).toList();
  }

  /** Returns the entry at a path; does not follow a link. */
  public FileEntry stat(String path) throws InterruptedException {
    return entry("look at", path);
  }

  private FileEntry entry(String verb, String path) throws InterruptedException {
    return FileEntry.parse(run(verb, path, operation("stat", checked(path)))).stream()
        .findFirst()
        .orElseThrow(
            () ->
                new SandboxException(
                    ErrorCode.INTERNAL, "cannot " + what(verb, path) + ": init reported nothing"));
  }

  /** Lists a directory by name, completely and in memory. */
  public List<FileEntry> list(String path) throws InterruptedException {
    try (FileListing all = listing(path)) {
      return byName(all.first(Integer.MAX_VALUE));
    }
  }

  /** Lists the first entries of a directory, by name. */
  public List<FileEntry> list(String path, int most) throws InterruptedException {
    try (FileListing all = listing(path)) {
      return all.first(most);
    }
  }

  /** Streams the entries of a directory, by name; the caller closes it. */
  public FileListing listing(String path) throws InterruptedException {
    var spec =
        operation("list", checked(path)).withOutputLimit(ENTRIES_MAX).withTimeout(READ_TIMEOUT);
    return new FileListing(
        open(FileExec.piped(box, spec, what("list", path), false), Long.MAX_VALUE));
  }

  /** Makes a directory with its parents; no-op if it exists. */
  public void mkdir(String path) throws InterruptedException {
    run("make directory", path, operation("mkdir", checked(path)));
  }

  /** Renames like rename(2): replaces an existing file. */
  public void move(String from, String to) throws InterruptedException {
    run("move", from + "\" to \"" + to, operation("move", checked(from), checked(to)));
  }

  /** Removes a file, a link or a directory; a directory with content only if {@code recursive}. */
  public void remove(String path, boolean recursive) throws InterruptedException {
    var spec =
        recursive
            ? operation("remove", checked(path), "recursive")
            : operation("remove", checked(path));
    run("remove", path, spec);
  }

  /**
   * Streams a directory or a file as an archive made by the tar of the box; the caller closes it.
   */
  public FileContent pack(String path) throws InterruptedException {
    boolean isFile = entry("pack", path).type() == FileEntry.Type.FILE;
    int slash = path.lastIndexOf('/');
    String directory = !isFile ? path : slash < 0 ? "." : path.substring(0, slash + 1);
    String member = isFile ? "./" + path.substring(slash + 1) : ".";
    var command = List.of("/usr/bin/tar", "-c", "-f", "-", "-C", directory, "--", member);
    var spec = limited(ExecSpec.of(command)).withOutputLimit(STAGED_MOST);
    return open(
        FileExec.piped(box, spec.withTimeout(READ_TIMEOUT), what("pack", path), true),
        archiveMost());
  }

  /** Unpacks an archive into a directory with the tar of the box, which may refuse members. */
  public void unpack(String directory, InputStream content)
      throws IOException, InterruptedException {
    // Tar looks for the directory only when a member goes there.
    run("unpack into", directory, operation("stat", checked(directory) + "/."));
    var command = new ArrayList<>(UNPACK);
    command.addAll(List.of("-C", directory));
    var spec = limited(ExecSpec.of(command)).withOutputLimit(WORDS).withInput();
    try (var exec =
        new FileExec(
            box, spec.withTimeout(CONTENT_TIMEOUT), what("unpack into", directory), true)) {
      exec.feed(content);
      exec.finish();
    }
  }

  private byte[] run(String verb, String path, ExecSpec spec) throws InterruptedException {
    try (var exec = new FileExec(box, spec, what(verb, path), false)) {
      exec.finish();
      return exec.output();
    }
  }

  private static ExecSpec operation(String... words) {
    return new ExecSpec(
        List.of(words),
        Map.of(),
        BoxPaths.WORKSPACE,
        TIMEOUT,
        GRACE,
        WORDS,
        ExecSpec.DEFAULT_OPEN_FILES,
        UNLIMITED,
        false,
        false,
        new ExecKind.FileOperation(),
        false);
  }

  private ExecSpec limited(ExecSpec spec) {
    return spec.withGrace(GRACE).withFileSize(fileSize);
  }

  private static String what(String verb, String path) {
    return verb + " \"" + path + "\"";
  }

  private static String checked(String path) {
    require(!path.isEmpty(), "no path given");
    require(path.indexOf('\0') < 0, "the path holds a NUL character");
    return path;
  }

  private static void require(boolean condition, String message) {
    if (!condition) {
      throw new SandboxException(ErrorCode.BAD_REQUEST, message);
    }
  }
}
