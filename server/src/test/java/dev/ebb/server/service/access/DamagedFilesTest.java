package dev.ebb.server.service.access;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.ebb.model.SandboxException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A damaged file of keys or quotas is refused when the daemon starts, with the damaged line. */
final class DamagedFilesTest {
  private static final String GARBAGE = "\0\1\377nonsense\n=\n";

  @TempDir Path home;

  private Keys keys;
  private Quotas quotas;
  private String key;

  @BeforeEach
  void fill() {
    keys = new Keys(home);
    quotas = new Quotas(home, Quota.NONE);
    keys.create("first", Role.USER, "");
    key = keys.create("second", Role.USER, "").key();
    quotas.set("first", Quota.NONE.with(Quota.Kind.BOXES, "3"));
    quotas.set("second", Quota.NONE.with(Quota.Kind.BOXES, "4"));
  }

  private void check() {
    keys.check();
    quotas.check();
  }

  private void write(String name, String text) throws Exception {
    Files.write(home.resolve(name), text.getBytes(ISO_8859_1));
  }

  private void assertRefused(String name, int line) {
    assertThatThrownBy(this::check)
        .isInstanceOf(SandboxException.class)
        .hasMessageStartingWith(home.resolve(name) + " is damaged: line " + line);
  }

  @Test
  void wholeEmptyAndMissingOnesAreGood() throws Exception {
    assertThatCode(this::check).doesNotThrowAnyException();
    for (String name : new String[] {"keys", "quotas"}) {
      write(name, "");
      assertThatCode(this::check).doesNotThrowAnyException();
      Files.delete(home.resolve(name));
      assertThatCode(this::check).doesNotThrowAnyException();
    }
  }

  @Test
  void garbageIsRefusedAndNamed() throws Exception {
    String quotasBefore = Files.readString(home.resolve("quotas"));
    write("quotas", quotasBefore + GARBAGE);
    assertRefused("quotas", 3);
    write("quotas", quotasBefore);
    write("keys", GARBAGE);
    assertRefused("keys", 1);
  }

  @Test
  void aTruncatedOneIsRefused() throws Exception {
    String before = Files.readString(home.resolve("keys"));
    write("keys", before.substring(0, before.indexOf('\n') + 20));
    assertRefused("keys", 2);
  }

  @Test
  void anUnreadableFileIsRefused() throws Exception {
    Files.delete(home.resolve("keys"));
    Files.createDirectory(home.resolve("keys"));
    assertThatThrownBy(this::check)
        .isInstanceOf(SandboxException.class)
        .hasMessageStartingWith("cannot read " + home.resolve("keys"));
  }

  /** While the daemon runs, a damaged line locks out only the owner of that key. */
  @Test
  void aDamagedLineLocksOutNoOtherKey() throws Exception {
    String before = Files.readString(home.resolve("keys"));
    write("keys", GARBAGE + "a\tb\tuser\tyesterday\tdigest\t\n" + before);
    assertThat(keys.holder(key)).contains(new Caller("second", Role.USER));
  }
}
