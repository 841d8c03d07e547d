package dev.ebb.init;

import dev.ebb.fault.Step;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.Filesystem;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Scope;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.HexFormat;
import java.util.zip.CRC32C;

/**
 * ebb-init as a file that can be executed: taken from our jar into the home directory once.
 *
 * <p>Inside a box it is executed through its descriptor, so the box needs no path to it.
 */
public record InitBinary(Path path, Fd fd) {
  private static final String RESOURCE = "ebb-init";

  /** Names another binary, for tests of instrumented ones. */
  private static final String OVERRIDE = "ebb.init";

  public static InitBinary stage(Scope scope, Path directory) throws IOException, KernelException {
    String override = System.getProperty(OVERRIDE);
    Path path = override != null ? Path.of(override) : extract(directory);
    return new InitBinary(path, Fd.open(scope, path, Fd.Flag.READ));
  }

  private static Path extract(Path directory) throws IOException, KernelException {
    byte[] program;
    try (InputStream resource = InitBinary.class.getResourceAsStream(RESOURCE)) {
      if (resource == null) {
        throw new IOException("ebb-init is missing from the runtime's jar: build it anew");
      }
      program = resource.readAllBytes();
    }
    var crc = new CRC32C();
    crc.update(program);
    Path target = directory.resolve("ebb-init-" + HexFormat.of().toHexDigits((int) crc.getValue()));
    if (!isStaged(target, program)) {
      try (var brief = new Scope()) {
        Filesystem.lock(Fd.open(brief, directory, Fd.Flag.READ, Fd.Flag.DIRECTORY));
        if (!isStaged(target, program)) {
          // Under the lock the name can be fixed: a draft left by a crash is written over.
          Path draft = directory.resolve("ebb-init.new");
          Step.STAGE_INIT.reach();
          Files.write(draft, program);
          Files.setPosixFilePermissions(draft, PosixFilePermissions.fromString("rwxr-xr-x"));
          Files.move(draft, target, StandardCopyOption.ATOMIC_MOVE);
        }
      }
    }
    return target;
  }

  private static boolean isStaged(Path target, byte[] program) throws IOException {
    return Files.exists(target) && Files.size(target) == program.length;
  }
}
