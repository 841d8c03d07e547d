package dev.ebb.server.service.access;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class KeysTest {
  @TempDir Path home;
  private Keys keys;

  @BeforeEach
  void open() {
    keys = new Keys(home);
  }

  @Test
  void aKeyOpensWhatItWasMadeForUntilItIsRevoked() {
    var made = keys.create("acme", Role.USER, "for\ttests\n");
    var admin = keys.create("default", Role.ADMIN, "");
    assertThat(keys.holder(made.key())).hasValue(new Caller("acme", Role.USER));
    assertThat(keys.holder(admin.key())).hasValue(new Caller("default", Role.ADMIN));
    assertThat(keys.holder(made.key() + "x")).isEmpty();
    assertThat(keys.holder("")).isEmpty();

    assertThat(keys.revoke(made.entry().id())).isTrue();
    assertThat(keys.revoke(made.entry().id())).isFalse();
    assertThat(keys.holder(made.key())).isEmpty();
    assertThat(keys.list()).extracting(Keys.Entry::id).containsExactly(admin.entry().id());
  }

  @Test
  void theFileHoldsNoKeyAndIsForItsOwnerOnly() throws Exception {
    var made = keys.create("acme", Role.USER, "a note");
    Path file = home.resolve("keys");
    assertThat(Files.readString(file)).doesNotContain(made.key()).contains("acme", "a note");
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
        .isEqualTo("rw-------");
  }

  @Test
  void aStoredDigestOpensNothing() {
    var made = keys.create("acme", Role.USER, "");
    assertThat(keys.holder(made.entry().digest())).isEmpty();
  }

  @Test
  void manyThreadsThatMakeKeysAtOnceLoseNone() throws Exception {
    var making = new ArrayList<Future<String>>();
    try (var threads = Executors.newFixedThreadPool(8)) {
      for (int i = 0; i < 40; i++) {
        making.add(threads.submit(() -> new Keys(home).create("acme", Role.USER, "").key()));
      }
    }
    var made = new HashSet<String>();
    for (Future<String> each : making) {
      made.add(each.get());
    }
    assertThat(made).hasSize(40).allMatch(key -> keys.holder(key).isPresent());
  }

  @Test
  void aTenantHasAPlainName() {
    assertThatThrownBy(() -> keys.create("Ac me", Role.USER, ""))
        .hasMessageStartingWith("bad tenant \"Ac me\"");
  }
}
