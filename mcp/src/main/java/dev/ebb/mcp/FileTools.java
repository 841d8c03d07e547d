package dev.ebb.mcp;

import dev.ebb.exec.BoxFiles;
import dev.ebb.exec.FileContent;
import dev.ebb.model.FileEntry;
import dev.ebb.server.answer.FileAnswers;
import dev.ebb.server.http.Fields;
import dev.ebb.server.http.Problem;
import dev.ebb.server.schema.ObjectSchema;
import dev.ebb.server.schema.Values;
import dev.ebb.server.service.TenantBox;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/** Files of a box: all operations run in the box, as its user. */
final class FileTools {
  private static final int LIMIT = 256 * 1024;
  private static final int LIMIT_MOST = 1 << 20;
  private static final int ENTRIES_MOST = 1_000;
  private static final int PLAIN = 0644;
  private static final int EXECUTABLE = 0755;
  private static final long LONG = Long.MAX_VALUE >> 10;
  private static final String PATH = "path in the box; a relative one starts at /workspace";

  private final Workplace workplace;

  FileTools(Workplace workplace) {
    this.workplace = workplace;
  }

  List<Tool> all() {
    return List.of(
        new Tool(
            "read_file",
            "Read a file",
            """
            Returns a file of a box: text as text, a PNG, JPEG, GIF or WebP picture (up to 3 MiB) as \
            an image, anything else in base64. Long files come in pieces: read on at nextOffset.\
            """,
            Schema.object()
                .needs("path", Schema.text(PATH))
                .has("offset", Schema.whole("bytes to skip; default 0", 0, LONG))
                .has("limitBytes", Schema.whole("most bytes; default 262144", 1, LIMIT_MOST))
                .has("box", Workplace.BOX)
                .build(),
            Schema.object()
                .needs("box", Schema.text("id of the box"))
                .needs("path", Schema.text("as it was asked for"))
                .needs(
                    "encoding", Schema.oneOf("what content is", List.of("text", "base64", "image")))
                .has("content", Schema.text("what is in it; a picture comes as image content"))
                .has("mimeType", Schema.text("of a picture"))
                .needs("sizeBytes", Schema.whole("how many bytes were read"))
                .has("nextOffset", Schema.whole("where to read on; absent at the end of the file"))
                .build(),
            Tool.Hint.READS,
            this::read),
        new Tool(
            "write_file",
            "Write a file",
            """
            Writes a whole file of a box, in place of what was there, and makes the directories \
            above it.\
            """,
            Schema.object()
                .needs("path", Schema.text(PATH))
                .needs("content", Schema.text("what is to be in it"))
                .has(
                    "encoding",
                    Schema.oneOf(
                        "how content is to be read; default text", List.of("text", "base64")))
                .has("executable", Schema.flag("whether it can be run as a program; default false"))
                .has("box", Workplace.BOX)
                .build(),
            Schema.object()
                .needs("box", Schema.text("id of the box"))
                .needs("path", Schema.text("as it was asked for"))
                .needs("sizeBytes", Schema.whole("how many bytes were written"))
                .build(),
            Tool.Hint.REPLACES,
            this::write),
        new Tool(
            "list_files",
            "List a directory",
            """
            Lists what is in a directory of a box, by name, up to 1000 entries. Does not go into \
            directories below it.\
            """,
            Schema.object()
                .has("path", Schema.text(PATH + "; default /workspace"))
                .has("box", Workplace.BOX)
                .build(),
            Schema.of(LISTED),
            Tool.Hint.READS,
            this::list));
  }

  /** The first entries of a directory. */
  private record Listed(String box, String path, List<FileEntry> entries, boolean isCut) {}

  private static final ObjectSchema<Listed> LISTED =
      ObjectSchema.<Listed>inline()
          .has("box", Values.TEXT.described("id of the box"), Listed::box)
          .has("path", Values.TEXT.described("the directory"), Listed::path)
          .has(
              "entries", Values.list(FileAnswers.ENTRY).described("what is in it"), Listed::entries)
          .has("truncated", Values.FLAG.described("whether there are more"), Listed::isCut);

  /** An operation on the files of a box. */
  private interface Work<T> {
    T on(BoxFiles files) throws IOException, InterruptedException;
  }

  private <T> T with(Call call, TenantBox box, Work<T> work)
      throws IOException, InterruptedException {
    var found = new Object[1];
    workplace.boxes().useFiles(box, () -> found[0] = work.on(box.files()), call::hasLeft);
    @SuppressWarnings("unchecked") // it was just put there
    T result = (T) found[0];
    return result;
  }

  // --- read ---

  private Reply read(Call call, Fields arguments) throws IOException, InterruptedException {
    String path = Workplace.required(arguments, "path");
    long offset = arguments.number("offset", 0, LONG).orElse(0);
    int limit = (int) arguments.number("limitBytes", 1, LIMIT_MOST).orElse(LIMIT);
    Optional<String> word = arguments.text("box");
    arguments.end();
    TenantBox box = workplace.box(call, word);
    return with(call, box, files -> read(box, path, offset, limit, files));
  }

  private static Reply read(TenantBox box, String path, long offset, int limit, BoxFiles files)
      throws IOException, InterruptedException {
    try (FileContent content = files.read(path, offset)) {
      byte[] head = content.readNBytes(Images.HEAD);
      Optional<String> picture = offset == 0 ? Images.type(head) : Optional.empty();
      int most = picture.isPresent() ? Images.MOST : limit;
      byte[] bytes = Arrays.copyOf(head, Math.max(most + 1, head.length));
      int length = head.length + content.readNBytes(bytes, head.length, bytes.length - head.length);
      byte[] read = Arrays.copyOf(bytes, Math.min(length, most));
      boolean isWhole = length <= most;
      var structured = Reply.object("box", box.id(), "path", path);
      if (picture.isPresent()) {
        return picture(structured, picture.get(), read, isWhole);
      }
      return contents(structured, offset, read, isWhole);
    }
  }

  private static Reply picture(
      Map<String, Object> structured, String type, byte[] bytes, boolean isWhole) {
    if (!isWhole) {
      throw new Problem(
          Problem.Code.TOO_LARGE, "the picture is larger than " + Images.MOST + " bytes");
    }
    structured.put("encoding", "image");
    structured.put("mimeType", type);
    structured.put("sizeBytes", bytes.length);
    return new Reply(
        "%s, %d bytes".formatted(type, bytes.length),
        structured,
        List.of(new Reply.Picture(type, bytes)));
  }

  private static Reply contents(
      Map<String, Object> structured, long offset, byte[] bytes, boolean isWhole) {
    byte[] whole = isWhole ? bytes : wholeCharacters(bytes);
    String shown;
    try {
      shown = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(whole)).toString();
      structured.put("encoding", "text");
    } catch (CharacterCodingException e) {
      whole = bytes;
      shown = Base64.getEncoder().encodeToString(whole);
      structured.put("encoding", "base64");
    }
    structured.put("content", shown);
    structured.put("sizeBytes", whole.length);
    if (isWhole) {
      return new Reply(shown, structured);
    }
    structured.put("nextOffset", offset + whole.length);
    return new Reply(
        shown + "\n[the file goes on: read_file with offset " + (offset + whole.length) + "]",
        structured);
  }

  /** Drops a character that the limit has cut in two. */
  private static byte[] wholeCharacters(byte[] bytes) {
    int end = bytes.length;
    while (end > 0 && bytes.length - end < 3 && (bytes[end - 1] & 0xc0) == 0x80) {
      end--;
    }
    boolean isCut = end > 0 && (bytes[end - 1] & 0xc0) == 0xc0;
    return isCut && end > 1 ? Arrays.copyOf(bytes, end - 1) : bytes;
  }

  // --- write ---

  private Reply write(Call call, Fields arguments) throws IOException, InterruptedException {
    String path = Workplace.required(arguments, "path");
    String content = Workplace.required(arguments, "content");
    byte[] bytes = bytes(content, arguments.text("encoding").orElse("text"));
    int mode = arguments.flag("executable", false) ? EXECUTABLE : PLAIN;
    Optional<String> word = arguments.text("box");
    arguments.end();
    TenantBox box = workplace.box(call, word);
    with(
        call,
        box,
        files -> {
          files.write(path, mode, new ByteArrayInputStream(bytes));
          return path;
        });
    return new Reply(
        "wrote %d bytes to %s".formatted(bytes.length, path),
        Reply.object("box", box.id(), "path", path, "sizeBytes", bytes.length));
  }

  private static byte[] bytes(String content, String encoding) {
    switch (encoding) {
      case "text" -> {
        return Fields.utf8("content", content);
      }
      case "base64" -> {
        try {
          return Base64.getDecoder().decode(content);
        } catch (IllegalArgumentException e) {
          throw new Problem(Problem.Code.BAD_REQUEST, "\"content\" must be base64");
        }
      }
      default -> throw new Problem(Problem.Code.BAD_REQUEST, "\"encoding\" must be text or base64");
    }
  }

  // --- list ---

  private Reply list(Call call, Fields arguments) throws IOException, InterruptedException {
    String path = arguments.text("path").orElse("/workspace");
    Optional<String> word = arguments.text("box");
    arguments.end();
    TenantBox box = workplace.box(call, word);
    List<FileEntry> first = with(call, box, files -> files.list(path, ENTRIES_MOST + 1));
    List<FileEntry> some = first.subList(0, Math.min(first.size(), ENTRIES_MOST));
    boolean isCut = some.size() < first.size();
    String text =
        some.isEmpty()
            ? path + " is empty"
            : some.stream().map(FileTools::line).collect(Collectors.joining("\n"));
    return new Reply(
        isCut ? text + "\n[and more]" : text,
        LISTED.write(new Listed(box.id(), path, some, isCut)));
  }

  private static String line(FileEntry entry) {
    return switch (entry.type()) {
      case DIRECTORY -> entry.name() + "/";
      case LINK -> entry.name() + " -> " + entry.target().orElse("?");
      case FILE, OTHER -> entry.name() + "  " + entry.size() + " bytes";
    };
  }
}
