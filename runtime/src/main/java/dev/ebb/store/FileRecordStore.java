package dev.ebb.store;

import java.nio.file.Path;

/**
 * Records in the files of a home: {@code keys}, {@code quotas}, {@code history} and {@code
 * certificates} in the home itself, and {@code record} in the directory of each detached box.
 * Thread-safe.
 */
final class FileRecordStore implements RecordStore {
  private final FileTenantRecords tenants;
  private final FileJournal history;
  private final FileJournal certificates;
  private final Path instance;

  /** Makes the store of an engine with the directory {@code instance} in {@code home}. */
  FileRecordStore(Path home, Path instance) {
    tenants = new FileTenantRecords(home);
    history = new FileJournal(home.resolve("history"));
    certificates = new FileJournal(home.resolve("certificates"));
    this.instance = instance;
  }

  static TenantRecords tenants(Path home) {
    return new FileTenantRecords(home);
  }

  static Journal boxIn(LogDirectory directory) {
    return new FileJournal(directory.recordFile());
  }

  @Override
  public Journal box(String id) {
    return boxIn(new LogDirectory(instance.resolve(id)));
  }

  @Override
  public Journal history() {
    return history;
  }

  @Override
  public Journal certificates() {
    return certificates;
  }

  @Override
  public OwnerLines keys() {
    return tenants.keys();
  }

  @Override
  public OwnerLines quotas() {
    return tenants.quotas();
  }

  private record FileTenantRecords(Path home) implements TenantRecords {
    @Override
    public OwnerLines keys() {
      return new FileLines(home.resolve("keys"));
    }

    @Override
    public OwnerLines quotas() {
      return new FileLines(home.resolve("quotas"));
    }
  }
}
