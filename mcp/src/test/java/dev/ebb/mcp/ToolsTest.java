package dev.ebb.mcp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.ebb.server.http.Door;
import dev.ebb.server.http.Fields;
import dev.ebb.server.http.Problem;
import dev.ebb.server.http.SessionLimits;
import dev.ebb.server.service.access.Policy;
import java.nio.charset.StandardCharsets;
import java.time.InstantSource;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** The description of a tool for models agrees with the tool. */
class ToolsTest {
  /** No tool comes so far that it would need a box. */
  @SuppressWarnings("NullAway")
  private static List<Tool> tools() {
    var house =
        new Door.House(null, Policy.STRICT, SessionLimits.DEFAULT, InstantSource.system(), "test");
    return new Tools(house).all();
  }

  @Test
  void aToolReadsExactlyTheArgumentsOfItsSchema() {
    assertThat(tools()).hasSize(11);
    for (Tool tool : tools()) {
      assertThat(known(tool)).as(tool.name()).isEqualTo(new TreeSet<>(properties(tool).keySet()));
    }
  }

  @SuppressWarnings({"unchecked", "NullAway"}) // every tool has some
  private static Map<String, Map<String, Object>> properties(Tool tool) {
    return (Map<String, Map<String, Object>>) tool.input().get("properties");
  }

  /** An unknown field is refused with the names of the known ones. */
  @SuppressWarnings("NullAway")
  private static Set<String> known(Tool tool) {
    var arguments = new LinkedHashMap<String, @Nullable Object>();
    for (Object name : (List<?>) tool.input().get("required")) {
      arguments.put((String) name, sample(properties(tool).get(name)));
    }
    arguments.put("?", 1L);
    var names = new TreeSet<String>();
    assertThatExceptionOfType(Problem.class)
        .as(tool.name())
        .isThrownBy(() -> tool.work().call(null, Fields.of(arguments)))
        .withMessageContaining("unknown field \"?\"")
        .satisfies(
            problem -> {
              String message = String.valueOf(problem.getMessage());
              names.addAll(
                  List.of(message.substring(message.indexOf("known here: ") + 12).split(", ")));
            });
    names.remove("");
    return names;
  }

  private static Object sample(Map<String, Object> schema) {
    return schema.get("enum") instanceof List<?> words
        ? words.getFirst()
        : "integer".equals(schema.get("type")) ? 1L : "x";
  }

  @Test
  void everyToolSaysWhatItDoesToThings() {
    for (Tool tool : tools()) {
      var described = tool.described();
      assertThat(described.description()).as(tool.name()).hasSizeBetween(40, 700);
      assertThat(described.annotations().readOnlyHint())
          .isEqualTo(
              tool.name().startsWith("list_") || tool.name().matches("read_file|process_output"));
      assertThat(described.outputSchema()).containsEntry("type", "object");
    }
  }

  @Test
  void picturesAreKnownByHowTheyBegin() {
    assertThat(Images.type(new byte[] {(byte) 0x89, 'P', 'N', 'G', 13, 10, 26, 10}))
        .contains("image/png");
    assertThat(Images.type(new byte[] {(byte) 0xff, (byte) 0xd8, (byte) 0xff}))
        .contains("image/jpeg");
    assertThat(Images.type("GIF89a".getBytes(StandardCharsets.US_ASCII))).contains("image/gif");
    assertThat(Images.type("RIFF1234WEBP".getBytes(StandardCharsets.US_ASCII)))
        .contains("image/webp");
    assertThat(Images.type("%PDF-1.7".getBytes(StandardCharsets.US_ASCII))).isEmpty();
    assertThat(Images.type(new byte[0])).isEmpty();
  }
}
