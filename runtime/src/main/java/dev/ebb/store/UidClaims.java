package dev.ebb.store;

import dev.ebb.fault.Step;
import dev.ebb.kernel.Errno;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.FileStatus;
import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.Self;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotLinkException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Records which instance has which block of host uids, for all homes of a host: a directory of the
 * host holds a link for each block, named by its first uid, to the directory of the instance.
 *
 * <p>A claim is made after the directory of its instance and removed before it. So it outlives its
 * process as the instance does, for boxes that are detached, killed or stuck, and can be found from
 * the instance. A boot empties /run, and ends every process of these uids.
 *
 * <p>RACE: making a link fails if it exists, so a claim takes no lock; removing the last link also
 * removes the directory.
 */
public final class UidClaims {
  static final UidClaims OF_THIS_HOST = new UidClaims(Path.of("/run"));

  private final Path parent;
  private final Path directory;

  /** Uses a directory below {@code parent}, which others cannot write to. */
  public UidClaims(Path parent) {
    this.parent = parent;
    directory = parent.resolve("ebb-uids");
  }

  /**
   * One claim.
   *
   * @param uid the first of its block
   * @param instance the directory of the instance that has it
   */
  public record Claim(int uid, Path instance) {
    /** Returns whether the uid is in its block. */
    public boolean has(int of) {
      return of >= uid && of - uid < UidRange.BLOCK;
    }
  }

  /**
   * Returns whether claims can be made; otherwise an instance knows only the others of its home.
   */
  public static boolean arePossible() {
    return OF_THIS_HOST.isPossible();
  }

  private boolean isPossible() {
    // ORDER: its parent first, since claims make and remove it.
    return Files.isWritable(parent) || Files.isWritable(directory);
  }

  /**
   * Claims a block that no instance has and that is not among {@code taken}. Any block will do; a
   * random one is most likely free even in containers that share uids and not this directory.
   *
   * @return its first uid; negative if {@code range} is none
   */
  int claim(UidRange range, Set<Integer> taken, Path instance) throws KernelException, IOException {
    if (range.isNone()) {
      return range.first();
    }
    boolean possible = isPossible();
    List<Claim> before;
    do {
      before = all();
      int start = ByteBuffer.wrap(Self.randomBytes(Integer.BYTES)).getInt();
      for (int i = 0; i < range.blocks(); i++) {
        int uid = range.uid(Math.floorMod(start + i, range.blocks()));
        if (!taken.contains(uid) && (!possible || link(uid, instance))) {
          return uid;
        }
      }
      // RACE: a block may become free behind the search. An instance claims a block once, so equal
      // lists mean that no block was free in between.
    } while (!Set.copyOf(before).equals(Set.copyOf(all())));
    throw new KernelException(
        "claim one of %d blocks of host uids".formatted(range.blocks()), Errno.EUSERS);
  }

  /**
   * Keeps the block that an instance had, or claims another: the claim may have been wiped.
   *
   * @param described the block in the description of the instance; the claim takes precedence
   */
  int claimAgain(Optional<Integer> described, UidRange range, Set<Integer> taken, Path instance)
      throws KernelException, IOException {
    Optional<Integer> had = of(instance).stream().map(Claim::uid).findFirst().or(() -> described);
    if (had.isPresent() && range.has(had.get()) && !taken.contains(had.get())) {
      int uid = had.get();
      if (!isPossible()
          || target(uid).filter(instance::equals).isPresent()
          || link(uid, instance)) {
        return uid;
      }
    }
    return claim(range, taken, instance);
  }

  /** Returns false when the block is taken. */
  private boolean link(int uid, Path instance) throws KernelException, IOException {
    while (true) {
      try {
        Home.makeDirectory(directory);
        requireOurs();
        Filesystem.symlink(instance, link(uid));
        return true;
      } catch (KernelException e) {
        if (e.is(Errno.EEXIST)) {
          return false;
        }
        if (!e.is(Errno.ENOENT) || Files.notExists(parent)) {
          throw e;
        }
      }
    }
  }

  /** A user that could change it could run our boxes as another uid. */
  private void requireOurs() throws KernelException, IOException {
    try (var scope = new Scope()) {
      var status = FileStatus.of(open(scope));
      if (!status.isPrivateTo(Self.uid())) {
        throw new IOException("others can change " + directory);
      }
    }
  }

  private Fd open(Scope scope) throws KernelException {
    return Fd.open(scope, directory, Fd.Flag.READ, Fd.Flag.DIRECTORY, Fd.Flag.NOFOLLOW);
  }

  /** Releases all claims of an instance, which has no box any more. */
  void release(Path instance) throws KernelException, IOException {
    Step.RETURN_UIDS.reach();
    for (Claim claim : of(instance)) {
      Filesystem.unlinkIfPresent(link(claim.uid()));
    }
    removeIfEmpty();
  }

  /** Returns the claims of an instance. */
  public List<Claim> of(Path instance) throws IOException {
    return all().stream().filter(claim -> claim.instance().equals(instance)).toList();
  }

  private void removeIfEmpty() throws KernelException {
    try {
      Filesystem.rmdirIfPresent(directory);
    } catch (KernelException e) {
      // The directory holds claims, or may not be removed: a mount, or root's.
      if (!e.is(Errno.ENOTEMPTY)
          && !e.is(Errno.EBUSY)
          && !e.is(Errno.EROFS)
          && !e.is(Errno.EACCES)
          && !e.is(Errno.EPERM)) {
        throw e;
      }
    }
  }

  /** Returns the claims of missing instances: their home was removed by hand, or moved. */
  public List<Claim> abandoned() throws IOException {
    var abandoned = new ArrayList<Claim>();
    for (Claim claim : all()) {
      // RACE: an instance gives back its claim before its directory goes.
      if (isAbandoned(claim) && isClaimed(claim)) {
        abandoned.add(claim);
      }
    }
    return abandoned;
  }

  private static boolean isAbandoned(Claim claim) {
    return Files.notExists(claim.instance(), LinkOption.NOFOLLOW_LINKS);
  }

  private boolean isClaimed(Claim claim) throws IOException {
    return target(claim.uid()).filter(claim.instance()::equals).isPresent();
  }

  /** Removes a claim if no process runs as one of its uids. */
  public void remove(Claim abandoned) throws KernelException, IOException {
    try (var scope = new Scope()) {
      // RACE: one process may have removed it, and another claimed the block.
      Filesystem.lock(open(scope));
      if (isClaimed(abandoned) && isAbandoned(abandoned)) {
        Filesystem.unlinkIfPresent(link(abandoned.uid()));
      }
    } catch (KernelException e) {
      if (!e.is(Errno.ENOENT)) {
        throw e;
      }
    }
    removeIfEmpty();
  }

  /** Returns every claim; a user that may not read them has made none. */
  List<Claim> all() throws IOException {
    var claims = new ArrayList<Claim>();
    try (var entries = Files.newDirectoryStream(directory)) {
      for (Path entry : entries) {
        claim(String.valueOf(entry.getFileName())).ifPresent(claims::add);
      }
    } catch (NoSuchFileException | AccessDeniedException e) {
      return List.of();
    }
    return claims;
  }

  private Optional<Claim> claim(String name) throws IOException {
    Optional<Integer> uid = UidRange.parse(name);
    return uid.isEmpty()
        ? Optional.empty()
        : target(uid.get()).map(instance -> new Claim(uid.get(), instance));
  }

  private Optional<Path> target(int uid) throws IOException {
    try {
      return Optional.of(Files.readSymbolicLink(link(uid)));
    } catch (NoSuchFileException | NotLinkException e) {
      return Optional.empty();
    }
  }

  private Path link(int uid) {
    return directory.resolve(Integer.toString(uid));
  }
}
