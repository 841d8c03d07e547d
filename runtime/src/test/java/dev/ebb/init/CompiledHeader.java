package dev.ebb.init;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.regex.Pattern;

/**
 * init/protocol.h: names found in its text, numbers printed by a C program that includes it.
 *
 * @param constants defines and enumerators
 * @param structs the fields of each, in order
 * @param layout {@code sizeof struct} and, for each field, {@code offset} and {@code width}
 */
record CompiledHeader(
    Map<String, Long> constants, Map<String, List<String>> structs, Map<String, Long> layout) {
  private static final Path INIT = TestHost.root().resolve("init");
  private static final Pattern COMMENT = Pattern.compile("/\\*.*?\\*/", Pattern.DOTALL);
  private static final Pattern DEFINE = Pattern.compile("#define (\\w+) +\\S");
  private static final Pattern ENUMERATOR = Pattern.compile("\\b([A-Z][A-Z_]+) = \\d+,");
  private static final Pattern STRUCT =
      Pattern.compile("struct (\\w+) \\{(.*?)\\};", Pattern.DOTALL);
  private static final Pattern FIELD = Pattern.compile("\\bu?int\\d+_t (\\w+);");

  static CompiledHeader compile() throws IOException, InterruptedException {
    String text = COMMENT.matcher(Files.readString(INIT.resolve("protocol.h"))).replaceAll("");
    var names = new ArrayList<String>();
    for (Pattern pattern : List.of(DEFINE, ENUMERATOR)) {
      pattern.matcher(text).results().forEach(found -> names.add(found.group(1)));
    }
    var structs = new LinkedHashMap<String, List<String>>();
    STRUCT
        .matcher(text)
        .results()
        .forEach(
            struct ->
                structs.put(
                    struct.group(1),
                    FIELD
                        .matcher(struct.group(2))
                        .results()
                        .map(field -> field.group(1))
                        .toList()));
    var told = run(program(names, structs));
    var constants = new TreeMap<String, Long>();
    names.forEach(name -> constants.put(name, told.remove(name)));
    return new CompiledHeader(constants, structs, told);
  }

  private static String program(List<String> names, Map<String, List<String>> structs) {
    var c = new StringBuilder("#include <stddef.h>\n#include <stdio.h>\n#include \"protocol.h\"\n");
    c.append("#define TELL(name, value) printf(\"%s\\t%lld\\n\", name, (long long)(value))\n");
    c.append("int main(void)\n{\n");
    names.forEach(name -> c.append("TELL(\"%s\", %s);\n".formatted(name, name)));
    structs.forEach(
        (struct, fields) -> {
          c.append("TELL(\"sizeof %1$s\", sizeof(struct %1$s));\n".formatted(struct));
          for (String field : fields) {
            c.append(
                """
                TELL("offset %1$s.%2$s", offsetof(struct %1$s, %2$s));
                TELL("width %1$s.%2$s", sizeof(((struct %1$s *)0)->%2$s));
                """
                    .formatted(struct, field));
          }
        });
    return c.append("return 0;\n}\n").toString();
  }

  private static Map<String, Long> run(String program) throws IOException, InterruptedException {
    Path directory = Files.createTempDirectory("protocol");
    Path source = Files.writeString(directory.resolve("tell.c"), program);
    Path binary = directory.resolve("tell");
    try {
      output("cc", "-std=gnu17", "-I", INIT.toString(), "-o", binary.toString(), source.toString());
      var told = new TreeMap<String, Long>();
      for (String line : output(binary.toString()).lines().toList()) {
        String[] words = line.split("\t");
        told.put(words[0], Long.valueOf(words[1]));
      }
      return told;
    } finally {
      Files.deleteIfExists(binary);
      Files.delete(source);
      Files.delete(directory);
    }
  }

  private static String output(String... command) throws IOException, InterruptedException {
    var process = new ProcessBuilder(command).redirectErrorStream(true).start();
    try (var reader = process.inputReader()) {
      String said = reader.readAllAsString();
      assertThat(process.waitFor()).as(said).isZero();
      return said;
    }
  }

  long constant(String name) {
    return Objects.requireNonNull(constants.get(name), name);
  }

  long size(String struct) {
    return number("sizeof " + struct);
  }

  int offset(String struct, String field) {
    return Math.toIntExact(number("offset " + struct + "." + field));
  }

  int width(String struct, String field) {
    return Math.toIntExact(number("width " + struct + "." + field));
  }

  private long number(String name) {
    return Objects.requireNonNull(layout.get(name), name);
  }
}
