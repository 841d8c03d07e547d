package dev.ebb.store;

import java.nio.file.Path;

/** Opens the store of records. Only this class decides where records are kept. */
public final class RecordStores {
  private RecordStores() {}

  /** Opens the store of an engine with the directory {@code instance} in {@code home}. */
  public static RecordStore open(Path home, Path instance) {
    return new FileRecordStore(home, instance);
  }

  /** Opens the records that can be read and changed without an engine. */
  public static TenantRecords tenants(Path home) {
    return FileRecordStore.tenants(home);
  }

  /** Opens the record of a box of any instance, which has this directory. */
  public static Journal boxIn(LogDirectory directory) {
    return FileRecordStore.boxIn(directory);
  }
}
