package dev.ebb.cli.front;

import dev.ebb.kernel.Terminal;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/**
 * The first message of a front: what it was called with.
 *
 * @param terminals a bit for each of its three streams that is a terminal
 */
record Hello(
    String build,
    Path directory,
    int terminals,
    Optional<Terminal.Size> size,
    List<String> arguments,
    Map<String, String> environment) {

  /** Variables that name a file, perhaps relative to the directory. */
  private static final List<String> PATHS = List.of("EBB_HOME", "EBB_SOCKET");

  Hello {
    arguments = List.copyOf(arguments);
    environment = Map.copyOf(environment);
  }

  /** Throws if the texts are not those that a front sends, or not UTF-8. */
  static Hello parse(byte[] content) throws IOException {
    Deque<String> texts = texts(content);
    try {
      String build = texts.remove();
      Path directory = Path.of(texts.remove());
      int terminals = Integer.parseInt(texts.remove());
      Optional<Terminal.Size> size =
          size(Integer.parseInt(texts.remove()), Integer.parseInt(texts.remove()));
      int count = Integer.parseInt(texts.remove());
      var arguments = new ArrayList<String>();
      for (int i = 0; i < count; i++) {
        arguments.add(texts.remove());
      }
      return new Hello(build, directory, terminals, size, arguments, environment(directory, texts));
    } catch (RuntimeException e) {
      throw new IOException("bad hello", e);
    }
  }

  private static Deque<String> texts(byte[] content) throws CharacterCodingException {
    var texts = new ArrayDeque<String>();
    int start = 0;
    for (int i = 0; i < content.length; i++) {
      if (content[i] == 0) {
        ByteBuffer text = ByteBuffer.wrap(content, start, i - start);
        texts.add(StandardCharsets.UTF_8.newDecoder().decode(text).toString());
        start = i + 1;
      }
    }
    return texts;
  }

  private static Map<String, String> environment(Path directory, Deque<String> variables) {
    var environment = new HashMap<String, String>();
    for (String variable : variables) {
      int equals = variable.indexOf('=');
      String name = variable.substring(0, equals);
      String value = variable.substring(equals + 1);
      boolean isPath = PATHS.contains(name) && !value.isEmpty();
      environment.put(name, isPath ? directory.resolve(value).toString() : value);
    }
    return environment;
  }

  static Optional<Terminal.Size> size(int rows, int columns) {
    return rows == 0 || columns == 0
        ? Optional.empty()
        : Optional.of(new Terminal.Size(rows, columns));
  }

  /** The encoding of the caller's terminal, as setlocale(3) finds it; empty if it is a rare one. */
  Optional<Charset> charset() {
    String locale = "";
    for (String name : List.of("LC_ALL", "LC_CTYPE", "LANG")) {
      locale = locale.isEmpty() ? environment.getOrDefault(name, "") : locale;
    }
    String upper = locale.toUpperCase(Locale.ROOT).replace("-", "");
    if (upper.endsWith(".UTF8")) {
      return Optional.of(StandardCharsets.UTF_8);
    }
    boolean isPlain = upper.isEmpty() || upper.equals("C") || upper.equals("POSIX");
    return isPlain ? Optional.of(StandardCharsets.US_ASCII) : Optional.empty();
  }
}
