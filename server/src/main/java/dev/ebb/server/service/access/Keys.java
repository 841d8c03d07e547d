package dev.ebb.server.service.access;

import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Self;
import dev.ebb.model.SandboxException;
import dev.ebb.store.RecordStores;
import dev.ebb.store.TenantRecords;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * The keys for the daemon over TCP: one per line in a file that only its owner can read, stored as
 * SHA-256. A key has 256 random bits, so a plain digest hides it. Every request checks the file, so
 * a revoked key is refused at once, even if another process revoked it.
 */
public final class Keys {
  private static final String PREFIX = "ebb_";
  private static final int BYTES = 32;
  private static final int ID_BYTES = 4;
  private static final Pattern TENANT = Pattern.compile("[a-z0-9][a-z0-9-]{0,62}");

  private final TenantLines lines;

  /** Uses the keys of a home. */
  public Keys(Path home) {
    this(RecordStores.tenants(home));
  }

  /** Uses the keys in a record store. */
  @SuppressWarnings("exports") // seen by the daemon alone
  public Keys(TenantRecords records) {
    lines = new TenantLines(records.keys());
  }

  /** The stored facts about a key, without the key itself. */
  public record Entry(
      String id, String tenant, Role role, Instant createdAt, String note, String digest) {
    private String line() {
      return String.join("\t", id, tenant, role.wireName(), createdAt.toString(), digest, note);
    }

    /** Parses a line; empty if damaged: it grants no access and does not affect other keys. */
    private static Optional<Entry> parse(String line) {
      String[] words = line.split("\t", 6);
      Optional<Role> role = words.length < 6 ? Optional.empty() : Role.parse(words[2]);
      if (role.isEmpty()) {
        return Optional.empty();
      }
      try {
        return Optional.of(
            new Entry(words[0], words[1], role.get(), Instant.parse(words[3]), words[5], words[4]));
      } catch (DateTimeParseException e) {
        return Optional.empty();
      }
    }
  }

  /** A new key, which is shown only once. */
  public record Created(Entry entry, String key) {}

  public Created create(String tenant, Role role, String note) {
    requireTenant(tenant);
    return change(
        entries -> {
          String key =
              PREFIX + Base64.getUrlEncoder().withoutPadding().encodeToString(random(BYTES));
          String id = HexFormat.of().formatHex(random(ID_BYTES));
          String plain = note.replaceAll("\\s+", " ").strip();
          var entry = new Entry(id, tenant, role, Instant.now(), plain, digest(key));
          entries.add(entry);
          return new Created(entry, key);
        });
  }

  static void requireTenant(String tenant) {
    if (!TENANT.matcher(tenant).matches()) {
      throw new IllegalArgumentException(
          "bad tenant \"" + tenant + "\": use up to 63 of a-z, 0-9 and -, not starting with -");
    }
  }

  public List<Entry> list() {
    return read();
  }

  /** Refuses a file with a damaged line: the owner of that key would be locked out. */
  public void check() {
    lines.check(line -> Entry.parse(line).isPresent());
  }

  /** Removes a key; returns false if there is none. */
  public boolean revoke(String id) {
    return change(entries -> entries.removeIf(entry -> entry.id().equals(id)));
  }

  /** Finds the owner of a key. Compares all keys, each in constant time. */
  public Optional<Caller> holder(String key) {
    byte[] digest = digest(key).getBytes(StandardCharsets.US_ASCII);
    Entry found = null;
    for (Entry entry : read()) {
      if (MessageDigest.isEqual(digest, entry.digest().getBytes(StandardCharsets.US_ASCII))) {
        found = entry;
      }
    }
    return Optional.ofNullable(found).map(entry -> new Caller(entry.tenant(), entry.role()));
  }

  private interface Change<T> {
    T apply(List<Entry> entries);
  }

  private <T> T change(Change<T> change) {
    return lines.change(
        changed -> {
          var entries = new ArrayList<>(entries(changed));
          T result = change.apply(entries);
          changed.clear();
          entries.forEach(entry -> changed.add(entry.line()));
          return result;
        });
  }

  private List<Entry> read() {
    return entries(lines.all());
  }

  private static List<Entry> entries(List<String> lines) {
    return lines.stream().flatMap(line -> Entry.parse(line).stream()).toList();
  }

  private static byte[] random(int bytes) {
    try {
      return Self.randomBytes(bytes);
    } catch (KernelException e) {
      throw SandboxException.internal(e);
    }
  }

  private static String digest(String key) {
    try {
      byte[] bytes = key.getBytes(StandardCharsets.UTF_8);
      return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
  }
}
