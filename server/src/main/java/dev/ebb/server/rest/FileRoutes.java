package dev.ebb.server.rest;

import dev.ebb.code.NewFile;
import dev.ebb.exec.BoxFiles;
import dev.ebb.exec.FileContent;
import dev.ebb.exec.FileListing;
import dev.ebb.model.FileEntry;
import dev.ebb.server.http.Exchange;
import dev.ebb.server.http.Problem;
import dev.ebb.server.http.Route;
import dev.ebb.server.service.BoxRegistry;
import dev.ebb.server.service.TenantBox;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Files of a box: all of it happens in the box, as its user. */
final class FileRoutes {
  private final BoxRegistry boxes;

  FileRoutes(BoxRegistry boxes) {
    this.boxes = boxes;
  }

  List<Route> routes() {
    String files = "/v1/boxes/{box}/files";
    return List.of(
        Route.of("GET", files, this::read, "path"),
        Route.of("PUT", files, this::write, "path", "mode"),
        Route.of("DELETE", files, this::remove, "path", "recursive"),
        Route.of("GET", files + "/stat", this::stat, "path"),
        Route.of("GET", files + "/list", this::list, "path"),
        Route.of("POST", files + "/mkdir", this::mkdir, "path"),
        Route.of("POST", files + "/move", this::move, "from", "to"),
        Route.of("GET", files + "/tar", this::pack, "path"),
        Route.of("PUT", files + "/tar", this::unpack, "path"));
  }

  /** What is done with the files of a box. */
  private interface Work {
    void on(BoxFiles files) throws IOException, InterruptedException;
  }

  private void with(Exchange exchange, Work work) throws IOException, InterruptedException {
    TenantBox box = exchange.about(boxes.find(exchange.caller(), exchange.path("box")));
    boxes.useFiles(box, () -> work.on(box.files()), exchange::hasLeft);
  }

  private void read(Exchange exchange) throws IOException, InterruptedException {
    String path = exchange.required("path");
    with(exchange, files -> send(exchange, files.read(path, 0), "application/octet-stream"));
  }

  private void pack(Exchange exchange) throws IOException, InterruptedException {
    String path = exchange.required("path");
    with(exchange, files -> send(exchange, files.pack(path), "application/x-tar"));
  }

  private static void send(Exchange exchange, FileContent content, String type) throws IOException {
    try (content) {
      OutputStream out = exchange.stream(200, type);
      content.transferTo(out);
      // Not when it failed: then the answer must not look whole.
      out.close();
    }
  }

  private void write(Exchange exchange) throws IOException, InterruptedException {
    String path = exchange.required("path");
    int mode = exchange.query("mode").map(FileRoutes::mode).orElse(NewFile.DEFAULT_MODE);
    try (InputStream content = exchange.content()) {
      with(exchange, files -> files.write(path, mode, content));
    }
    exchange.done();
  }

  private static int mode(String text) {
    try {
      int mode = Integer.parseInt(text, 8);
      if (mode >= 0 && mode <= 0777) {
        return mode;
      }
    } catch (NumberFormatException e) {
      // Below.
    }
    throw new Problem(Problem.Code.BAD_REQUEST, "query \"mode\" must be octal, up to 777");
  }

  private void unpack(Exchange exchange) throws IOException, InterruptedException {
    String path = exchange.required("path");
    try (InputStream content = exchange.content()) {
      with(exchange, files -> files.unpack(path, content));
    }
    exchange.done();
  }

  private void remove(Exchange exchange) throws IOException, InterruptedException {
    String path = exchange.required("path");
    boolean recursive = exchange.flag("recursive", false);
    with(exchange, files -> files.remove(path, recursive));
    exchange.done();
  }

  private void mkdir(Exchange exchange) throws IOException, InterruptedException {
    String path = exchange.required("path");
    with(exchange, files -> files.mkdir(path));
    exchange.done();
  }

  private void move(Exchange exchange) throws IOException, InterruptedException {
    String from = exchange.required("from");
    String to = exchange.required("to");
    with(exchange, files -> files.move(from, to));
    exchange.done();
  }

  private void stat(Exchange exchange) throws IOException, InterruptedException {
    String path = exchange.required("path");
    with(exchange, files -> exchange.answer(200, entry(files.stat(path))));
  }

  private void list(Exchange exchange) throws IOException, InterruptedException {
    String path = exchange.required("path");
    with(
        exchange,
        files -> {
          try (FileListing entries = files.listing(path)) {
            exchange.answer(200, Documents.object("entries", documents(entries)));
          }
        });
  }

  /** Each is made when it is its turn to be written. */
  private static Iterable<Map<String, Object>> documents(FileListing entries) {
    return () -> {
      Iterator<FileEntry> each = entries.iterator();
      return new Iterator<>() {
        @Override
        public boolean hasNext() {
          return each.hasNext();
        }

        @Override
        public Map<String, Object> next() {
          return entry(each.next());
        }
      };
    };
  }

  private static Map<String, Object> entry(FileEntry entry) {
    var document =
        Documents.object(
            "name", entry.name(),
            "type", entry.type().name().toLowerCase(Locale.ROOT),
            "sizeBytes", entry.size(),
            "mode", Integer.toOctalString(entry.mode()),
            "modifiedAt", entry.modified().toString());
    entry.target().ifPresent(target -> document.put("target", target));
    return document;
  }
}
