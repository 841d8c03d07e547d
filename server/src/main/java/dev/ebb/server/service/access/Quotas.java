package dev.ebb.server.service.access;

import dev.ebb.model.SandboxException;
import dev.ebb.store.RecordStores;
import dev.ebb.store.TenantRecords;
import java.nio.file.Path;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The quotas of all tenants, one per line in a file of the home. Other processes may change it; the
 * daemon follows at once. Thread-safe.
 */
public final class Quotas {
  private final TenantLines kept;
  private final Quota otherwise;
  private final Map<String, Bucket> buckets = new ConcurrentHashMap<>();
  private volatile Known known = new Known("never read", new TreeMap<>());

  private record Known(String version, SortedMap<String, Quota> quotas) {}

  /**
   * Uses the quotas of a home.
   *
   * @param otherwise for tenants that have none of their own, and for what theirs leaves open
   */
  public Quotas(Path home, Quota otherwise) {
    this(RecordStores.tenants(home), otherwise);
  }

  /**
   * Uses the quotas in a record store.
   *
   * @param otherwise for tenants that have none of their own, and for what theirs leaves open
   */
  @SuppressWarnings("exports") // seen by the daemon alone
  public Quotas(TenantRecords records, Quota otherwise) {
    kept = new TenantLines(records.quotas());
    this.otherwise = otherwise;
  }

  /** Returns the quota that applies to a tenant. */
  public Quota of(String tenant) {
    return list().getOrDefault(tenant, Quota.NONE).or(otherwise);
  }

  public Quota otherwise() {
    return otherwise;
  }

  /** Returns the quotas that were set, by tenant. */
  public SortedMap<String, Quota> list() {
    // ORDER: the lines read are at least as new as the version.
    String version = kept.version();
    Known now = known;
    if (!now.version().equals(version)) {
      now = new Known(version, read());
      known = now;
    }
    return now.quotas();
  }

  /** Refuses a file with an invalid line. */
  public void check() {
    kept.check(Quotas::isQuota);
  }

  private static boolean isQuota(String line) {
    String[] words = line.split("\t", 2);
    try {
      return words.length == 2 && (words[1].isBlank() || !Quota.parse(words[1]).isNone());
    } catch (IllegalArgumentException | SandboxException e) {
      return false;
    }
  }

  private SortedMap<String, Quota> read() {
    var quotas = new TreeMap<String, Quota>();
    for (String line : kept.all()) {
      String[] words = line.split("\t", 2);
      if (words.length == 2) {
        quotas.put(words[0], Quota.parse(words[1]));
      }
    }
    return quotas;
  }

  public void set(String tenant, Quota quota) {
    Keys.requireTenant(tenant);
    kept.change(
        lines -> {
          lines.removeIf(line -> line.startsWith(tenant + "\t"));
          return lines.add(tenant + "\t" + quota);
        });
  }

  /** Removes the quota of a tenant; returns false if it had none. */
  public boolean remove(String tenant) {
    return kept.change(lines -> lines.removeIf(line -> line.startsWith(tenant + "\t")));
  }

  /** Counts one request of a tenant, or refuses it. */
  public void countRequest(String tenant) {
    Quota quota = of(tenant);
    Double rate = quota.limits().get(Quota.Kind.RATE);
    if (rate != null) {
      buckets
          .computeIfAbsent(tenant, name -> new Bucket())
          .take(rate, System.nanoTime())
          .ifPresent(
              wait -> {
                throw quota.refusal(Quota.Kind.RATE, rate, rate, wait);
              });
    }
  }
}
