package dev.ebb.server.service.access;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.ebb.model.SandboxException;
import dev.ebb.store.MemoryRecordStore;
import dev.ebb.store.RecordStores;
import dev.ebb.store.TenantRecords;
import java.nio.file.Path;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Keys and quotas know of a store of records, and of no file. */
class TenantRecordsTest {
  @TempDir Path home;

  enum Kind {
    FILES,
    MEMORY
  }

  private TenantRecords records(Kind kind) {
    return switch (kind) {
      case FILES -> RecordStores.tenants(home);
      case MEMORY -> new MemoryRecordStore();
    };
  }

  @ParameterizedTest
  @EnumSource
  void aKeyOpensUntilItIsRevokedThroughAnother(Kind kind) {
    TenantRecords records = records(kind);
    var daemon = new Keys(records);
    var command = new Keys(records);
    var made = command.create("acme", Role.ADMIN, "a note");
    assertThat(daemon.holder(made.key())).hasValue(new Caller("acme", Role.ADMIN));
    daemon.check();
    assertThat(command.revoke(made.entry().id())).isTrue();
    assertThat(daemon.holder(made.key())).isEmpty();
  }

  @ParameterizedTest
  @EnumSource
  void aQuotaHoldsAtOnceForAnother(Kind kind) {
    TenantRecords records = records(kind);
    var daemon = new Quotas(records, Quota.NONE);
    var command = new Quotas(records, Quota.NONE);
    assertThat(daemon.of("acme").isNone()).isTrue();
    command.set("acme", Quota.NONE.with(Quota.Kind.BOXES, "2"));
    assertThat(daemon.of("acme").limits()).containsEntry(Quota.Kind.BOXES, 2.0);
    assertThat(command.remove("acme")).isTrue();
    assertThat(daemon.list()).isEmpty();
  }

  @ParameterizedTest
  @EnumSource
  void aDamagedLineIsNamed(Kind kind) throws Exception {
    TenantRecords records = records(kind);
    records.keys().change(lines -> lines.add("nonsense"));
    assertThatThrownBy(() -> new Keys(records).check())
        .isInstanceOf(SandboxException.class)
        .hasMessageContaining("keys is damaged: line 1");
  }
}
