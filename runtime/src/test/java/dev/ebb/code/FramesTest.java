package dev.ebb.code;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class FramesTest {
  private static final String NONCE = "0123456789abcdef";

  private final List<String> seen = new ArrayList<>();
  private int room = 100;
  private final Frames frames =
      new Frames(
          new Frames.Listener() {
            @Override
            public @Nullable String opens(String nonce, Frames.Kind kind) {
              return nonce.equals(NONCE) ? null : "not ours";
            }

            @Override
            public boolean wants(Frames.Kind kind, int size) {
              return size <= room;
            }

            @Override
            public @Nullable String received(Frames.Kind kind, byte @Nullable [] body) {
              seen.add(kind + ":" + (body == null ? "passed over" : new String(body, ISO_8859_1)));
              return kind == Frames.Kind.CUT ? "no cut" : null;
            }
          });

  private @Nullable String take(String text) {
    byte[] bytes = text.getBytes(ISO_8859_1);
    return frames.take(bytes, bytes.length);
  }

  private static String frame(String kind, String body) {
    return NONCE + " " + kind + " " + body.length() + "\n" + body;
  }

  @Test
  void framesAreTheSameHoweverTheyArrive() {
    String all = frame("begun", "") + frame("form", "a\0b\n\n") + frame("done", "ok");
    assertThat(take(all)).isNull();
    var whole = List.copyOf(seen);
    assertThat(whole).containsExactly("BEGUN:", "FORM:a\0b\n\n", "DONE:ok");
    seen.clear();
    for (int i = 0; i < all.length(); i++) {
      assertThat(take(all.substring(i, i + 1))).isNull();
    }
    assertThat(seen).isEqualTo(whole);
    assertThat(frames.isBetween()).isTrue();
  }

  @Test
  void anUnwantedFrameIsSkippedAndTheNextIsReceived() {
    room = 2;
    assertThat(take(frame("form", "long") + frame("done", "ok"))).isNull();
    assertThat(seen).containsExactly("FORM:passed over", "DONE:ok");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "\n",
        "print\n",
        NONCE + " form 1",
        NONCE + " form -1\n",
        NONCE + " form 01\n",
        NONCE + " form 99999999\n",
        NONCE + " form 4294967297\n",
        NONCE + " done 17\n",
        NONCE + " nothing 0\n",
        NONCE + "  form 1\n",
        NONCE + " form 1 \n",
        "0123456789ABCDEF form 1\n",
        "ffffffffffffffff form 1\n",
      })
  void anythingElseIsWrong(String text) {
    String padded = text.endsWith("\n") ? text : text + " ".repeat(48);
    assertThat(take(padded)).isNotNull();
    assertThat(seen).isEmpty();
  }

  @Test
  void anInvalidFrameEndsTheStreamAtOnce() {
    assertThat(take(frame("cut", "") + frame("done", "ok"))).isEqualTo("no cut");
    assertThat(seen).containsExactly("CUT:");
  }
}
