package dev.ebb.code;

import dev.ebb.model.BoxText;
import dev.ebb.model.ErrorCode;
import dev.ebb.model.Language;
import dev.ebb.model.SandboxException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The program by which an interpreter runs cells, a resource beside this class. It is sent over the
 * socket, as a size and its text: any process can read a command line.
 */
public enum Runner {
  PYTHON(
      "context.py",
      "python3",
      "-c",
      "(lambda f: exec(compile(f.read(int(f.readline())), '<ebb>', 'exec'), {'__name__': 'ebb'}))"
          + "(open(0, 'rb', closefd=False))"),

  /** Node cannot move a descriptor itself. */
  JAVASCRIPT(
      "context.js",
      "sh",
      "-c",
      "exec node -e \"$0\" 3<&0 </dev/null",
      "(() => { const fs = require('node:fs'); const take = (size) => { const all ="
          + " Buffer.alloc(size); for (let end = 0; end < size; ) { const more = fs.readSync(3, all,"
          + " end, size - end); if (more === 0) process.reallyExit(0); end += more; } return"
          + " all.toString(); }; let size = ''; for (let digit = take(1); digit !== '\\n'; digit ="
          + " take(1)) size += digit; (0, eval)(take(Number(size)) + '\\n//# sourceURL=[eval-ebb]');"
          + " })()"),
  BASH(
      "context.sh",
      "bash",
      "-c",
      "IFS= read -r ebb_text; LC_ALL=C IFS= read -r -N \"$ebb_text\" ebb_text; eval"
          + " \"$ebb_text\"");

  @SuppressWarnings("ImmutableEnumChecker") // a list that cannot be changed
  private final List<String> command;

  private final String text;

  Runner(String resource, String... command) {
    this.command = List.of(command);
    text = read(resource);
  }

  private static String read(String resource) {
    try (InputStream in = Runner.class.getResourceAsStream(resource)) {
      if (in == null) {
        throw new IllegalStateException(resource + " is missing from the runtime's jar");
      }
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Returns the runner of a language that has contexts. */
  public static Runner of(Language language) {
    return Stream.of(values())
        .filter(each -> each.wireName().equals(language.name()))
        .findFirst()
        .orElseThrow(
            () ->
                new SandboxException(
                    ErrorCode.BAD_REQUEST,
                    "there are no contexts of %s, only of %s"
                        .formatted(
                            language.name(),
                            Stream.of(values())
                                .map(Runner::wireName)
                                .collect(Collectors.joining(", ")))));
  }

  /** The name of its language. */
  public String wireName() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** Returns whether its cells end with an exit status, as commands do. */
  public boolean hasStatus() {
    return this == BASH;
  }

  public List<String> command() {
    return command;
  }

  /** Returns the first message to the interpreter. */
  byte[] boot() {
    byte[] bytes = BoxText.encode(text);
    byte[] size = (bytes.length + "\n").getBytes(StandardCharsets.US_ASCII);
    byte[] all = new byte[size.length + bytes.length];
    System.arraycopy(size, 0, all, 0, size.length);
    System.arraycopy(bytes, 0, all, size.length, bytes.length);
    return all;
  }
}
