package dev.ebb.cli.files;

import dev.ebb.cli.output.Table;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermission;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * Unpacks a tar that a box made below one directory of the host, and nowhere else: no name leads
 * out of it, nothing is written through a link, and links are made last.
 */
final class Unpacking {
  private final Path root;
  private final PrintStream skipped;
  private final List<TarEntry> links = new ArrayList<>();

  Unpacking(Path root, PrintStream skipped) {
    this.skipped = skipped;
    this.root = root;
  }

  void unpack(InputStream stream) throws IOException {
    Files.createDirectories(root);
    var tar = new TarReader(stream);
    for (Optional<TarEntry> next = tar.next(); next.isPresent(); next = tar.next()) {
      TarEntry entry = next.get();
      Path target = target(entry.name());
      switch (entry.type()) {
        case TarEntry.DIRECTORY -> directory(target);
        case TarEntry.FILE -> file(target, entry, tar.content());
        case TarEntry.HARD_LINK -> link(target, target(entry.link()));
        case TarEntry.SYMBOLIC_LINK -> links.add(entry);
        default -> skipped.println("ebb: skipped " + Table.clean(entry.name()));
      }
    }
    makeLinks();
  }

  private void makeLinks() throws IOException {
    for (TarEntry link : links) {
      Path target = target(link.name());
      makeWay(target);
      Files.createSymbolicLink(target, Path.of(link.link()));
    }
  }

  private Path target(String name) throws IOException {
    Path target = root;
    for (String part : name.split("/")) {
      if (part.equals("..") || part.indexOf('\0') >= 0) {
        throw new IOException(
            "bad tar: the name " + Table.clean(name) + " leads out of the directory");
      }
      if (!part.isEmpty() && !part.equals(".")) {
        target = target.resolve(part);
      }
    }
    return target;
  }

  private void directory(Path target) throws IOException {
    if (target.equals(root)) {
      return;
    }
    directory(target.getParent() == null ? root : target.getParent());
    if (!Files.isDirectory(target, LinkOption.NOFOLLOW_LINKS)) {
      Files.createDirectory(target);
    }
  }

  /** Makes the parent directory, and removes what is in the way. */
  private void makeWay(Path target) throws IOException {
    if (target.equals(root)) {
      throw new IOException("bad tar: a member without a name");
    }
    directory(target.getParent() == null ? root : target.getParent());
    if (!Files.isDirectory(target, LinkOption.NOFOLLOW_LINKS)) {
      Files.deleteIfExists(target);
    }
  }

  private void file(Path target, TarEntry entry, InputStream content) throws IOException {
    makeWay(target);
    try (var out = Files.newOutputStream(target, StandardOpenOption.CREATE_NEW)) {
      content.transferTo(out);
    }
    Files.setPosixFilePermissions(target, permissions(entry.mode()));
    Files.setLastModifiedTime(target, FileTime.from(entry.modifiedSeconds(), TimeUnit.SECONDS));
  }

  private void link(Path target, Path existing) throws IOException {
    makeWay(target);
    directory(existing.getParent() == null ? root : existing.getParent());
    if (!Files.isRegularFile(existing, LinkOption.NOFOLLOW_LINKS)) {
      throw new IOException(
          "bad tar: a hard link to something that is not a file, " + target.getFileName());
    }
    Files.createLink(target, existing);
  }

  private static Set<PosixFilePermission> permissions(int mode) {
    var permissions = EnumSet.noneOf(PosixFilePermission.class);
    PosixFilePermission[] all = PosixFilePermission.values();
    for (int i = 0; i < all.length; i++) {
      if ((mode & (0400 >> i)) != 0) {
        permissions.add(all[i]);
      }
    }
    return permissions;
  }
}
