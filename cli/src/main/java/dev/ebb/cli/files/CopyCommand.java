package dev.ebb.cli.files;

import dev.ebb.cli.caller.Caller;
import dev.ebb.cli.daemon.DaemonConnection;
import dev.ebb.cli.option.Options;
import dev.ebb.client.BoxFiles;
import dev.ebb.client.EbbClient;
import dev.ebb.client.Entry;
import dev.ebb.client.NotFoundException;
import dev.ebb.kernel.Terminal;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Optional;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParseResult;

/** {@code ebb cp}: a file or a directory, between a box and the host; {@code -} is a tar. */
public final class CopyCommand {
  private final Caller caller;
  private final BoxFiles files;

  private CopyCommand(Caller caller, BoxFiles files) {
    this.caller = caller;
    this.files = files;
  }

  public static CommandSpec spec() {
    CommandSpec spec =
        Options.command("cp", "Copy files between a box and the host.")
            .addPositional(
                Options.positional(
                    "FROM TO",
                    "2",
                    "one of them is BOX:PATH; - is a tar stream on stdin or stdout"));
    spec.usageMessage().customSynopsis("ebb cp BOX:PATH PATH|-", "ebb cp PATH|- BOX:PATH");
    return spec;
  }

  public static int run(Caller caller, ParseResult parsed) throws IOException {
    List<String> words = Options.words(parsed);
    CopyPath from = CopyPath.parse(words.get(0));
    CopyPath to = CopyPath.parse(words.get(1));
    if (from.isHost() == to.isHost()) {
      throw Options.bad(parsed, "one of the two must be in a box: write it as BOX:PATH");
    }
    String box = Options.box(parsed, (from.isHost() ? to : from).box().orElseThrow());
    try (EbbClient client = DaemonConnection.open(caller)) {
      var command = new CopyCommand(caller, client.files(box));
      if (from.isHost()) {
        command.copyIn(from, to);
      } else {
        command.copyOut(from, to);
      }
    }
    return 0;
  }

  private void copyIn(CopyPath from, CopyPath to) throws IOException {
    if (from.path().equals("-")) {
      files.untar(to.path(), caller.in());
      return;
    }
    Path source = caller.path(from.path());
    if (!Files.exists(source)) {
      throw new NoSuchFileException(from.path());
    }
    boolean intoDirectory = stat(to.path()).map(Entry::isDirectory).orElse(to.meansDirectory());
    if (!Files.isDirectory(source)) {
      writeFile(source, intoDirectory ? to.below(from.name()) : to.path());
      return;
    }
    boolean nested = intoDirectory && !from.meansContent() && exists(to);
    String target = nested ? to.below(realName(source)) : to.path();
    files.mkdir(target);
    TarPipe.pack(source, tar -> files.untar(target, tar));
  }

  private void writeFile(Path source, String target) throws IOException {
    try (InputStream content = Files.newInputStream(source)) {
      files.write(target, content, TarWriter.mode(source));
    }
  }

  private boolean exists(CopyPath path) throws IOException {
    return stat(path.path()).isPresent();
  }

  private static String realName(Path source) throws IOException {
    return String.valueOf(source.toRealPath().getFileName());
  }

  private Optional<Entry> stat(String path) throws IOException {
    try {
      return Optional.of(files.stat(path));
    } catch (NotFoundException e) {
      return Optional.empty();
    }
  }

  private void copyOut(CopyPath from, CopyPath to) throws IOException {
    if (to.path().equals("-")) {
      writeTar(from);
      return;
    }
    Path target = caller.path(to.path());
    boolean intoDirectory = Files.isDirectory(target);
    if (!files.stat(from.path()).isDirectory()) {
      readFile(from.path(), intoDirectory ? target.resolve(from.name()) : target);
      return;
    }
    boolean nested = intoDirectory && !from.meansContent() && !from.name().isEmpty();
    Path directory = nested ? target.resolve(from.name()) : target;
    try (InputStream tar = files.tar(from.path())) {
      new Unpacking(directory, caller.err()).unpack(tar);
    }
  }

  private void readFile(String source, Path target) throws IOException {
    try (InputStream content = files.read(source)) {
      Files.copy(content, target, StandardCopyOption.REPLACE_EXISTING);
    }
  }

  private void writeTar(CopyPath from) throws IOException {
    if (caller.isTerminal(Terminal.Stream.STDOUT)) {
      throw new IOException(
          "refusing to write a tar to a terminal: redirect it to a file or a pipe");
    }
    try (InputStream tar = files.tar(from.path())) {
      tar.transferTo(caller.rawOut());
    }
  }
}
