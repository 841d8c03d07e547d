package dev.ebb.store;

import dev.ebb.ledger.SealedLine;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** One line of a {@link Journal}: a subject, and fields that may repeat. */
public final class JournalEntry {
  private final String about;
  private final List<Field> fields;

  private record Field(String key, String value) {}

  private JournalEntry(String about, List<Field> fields) {
    this.about = about;
    this.fields = List.copyOf(fields);
  }

  public static JournalEntry about(String about) {
    return new JournalEntry(about, List.of());
  }

  /** Returns the subject, which Ebb itself has chosen. */
  public String about() {
    return about;
  }

  /** Returns a copy with one more field; a key may repeat. */
  public JournalEntry with(String key, Object value) {
    var more = new ArrayList<>(fields);
    more.add(new Field(key, value.toString()));
    return new JournalEntry(about, more);
  }

  public JournalEntry withAll(String key, List<?> values) {
    var more = new ArrayList<>(fields);
    values.forEach(value -> more.add(new Field(key, value.toString())));
    return new JournalEntry(about, more);
  }

  public List<String> texts(String key) {
    return fields.stream().filter(field -> field.key.equals(key)).map(Field::value).toList();
  }

  public Optional<String> find(String key) {
    return texts(key).stream().findFirst();
  }

  /**
   * Returns the field {@code key}.
   *
   * @throws IOException if there is none
   */
  public String text(String key) throws IOException {
    return find(key).orElseThrow(() -> damaged("has no " + key));
  }

  /** Returns a copy with another entry as the value of a field. */
  public JournalEntry withEntry(String key, JournalEntry inner) {
    return with(key, inner.line().strip());
  }

  /** Returns the entries that were added by {@link #withEntry}, without damaged ones. */
  public List<JournalEntry> entries(String key) {
    return texts(key).stream().flatMap(text -> parse(text).stream()).toList();
  }

  /** Returns its size in a journal, in bytes. */
  public int size() {
    return line().length();
  }

  /** Returns every field whose key starts with {@code prefix}, without the prefix. */
  public Map<String, String> startingWith(String prefix) {
    return fields.stream()
        .filter(field -> field.key.startsWith(prefix))
        .collect(
            Collectors.toMap(
                field -> field.key.substring(prefix.length()), Field::value, (a, _) -> a));
  }

  public long number(String key) throws IOException {
    try {
      return Long.parseLong(text(key));
    } catch (NumberFormatException e) {
      throw damaged("has no number for " + key);
    }
  }

  public int integer(String key) throws IOException {
    return Math.toIntExact(number(key));
  }

  public boolean flag(String key) {
    return find(key).filter("true"::equals).isPresent();
  }

  private IOException damaged(String how) {
    return new IOException("the entry \"" + about + "\" of a record " + how);
  }

  String line() {
    return SealedLine.seal(
        Stream.concat(
                Stream.of(SealedLine.escape(about)),
                fields.stream()
                    .map(f -> SealedLine.escape(f.key) + "=" + SealedLine.escape(f.value)))
            .collect(Collectors.joining(" ")));
  }

  /** Parses a line; empty if it is truncated or damaged. */
  static Optional<JournalEntry> parse(String line) {
    return SealedLine.open(line)
        .map(
            text -> {
              String[] words = text.split(" ");
              var fields = new ArrayList<Field>();
              for (String word : List.of(words).subList(1, words.length)) {
                int at = word.indexOf('=');
                fields.add(
                    new Field(
                        SealedLine.unescape(word.substring(0, at)),
                        SealedLine.unescape(word.substring(at + 1))));
              }
              return new JournalEntry(SealedLine.unescape(words[0]), fields);
            });
  }
}
