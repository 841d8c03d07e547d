package dev.ebb.server.rest;

import dev.ebb.code.NewFile;
import dev.ebb.exec.BoxFiles;
import dev.ebb.exec.FileContent;
import dev.ebb.exec.FileListing;
import dev.ebb.server.answer.FileAnswers;
import dev.ebb.server.http.Exchange;
import dev.ebb.server.http.Operation;
import dev.ebb.server.http.Parameter;
import dev.ebb.server.http.Problem;
import dev.ebb.server.http.Route;
import dev.ebb.server.service.BoxRegistry;
import dev.ebb.server.service.TenantBox;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.List;
import java.util.Optional;

/** Files of a box: all operations run in the box, as its user. */
final class FileRoutes {
  private static final Parameter<String> PATH =
      Parameter.requiredText("path").described("in the box; relative to /workspace");
  private static final Parameter<Optional<String>> MODE =
      Parameter.text("mode").with("pattern", "^0*[0-7]{1,3}$").described("octal, up to 777");
  private static final Parameter<Boolean> RECURSIVE = Parameter.flag("recursive", false);
  private static final Parameter<String> FROM = Parameter.requiredText("from");
  private static final Parameter<String> TO = Parameter.requiredText("to");

  private final BoxRegistry boxes;

  FileRoutes(BoxRegistry boxes) {
    this.boxes = boxes;
  }

  List<Route> routes() {
    String files = "/v1/boxes/{box}/files";
    return List.of(
        Route.of(
            "GET",
            files,
            this::read,
            at("readFile", "Read a file").answersBytes("application/octet-stream")),
        Route.of(
            "PUT",
            files,
            this::write,
            at("writeFile", "Write a file, whole or not at all")
                .with(MODE)
                .takesBytes("application/octet-stream")
                .answers(204, "done")),
        Route.of(
            "DELETE",
            files,
            this::remove,
            at("removeFile", "Remove a file or directory").with(RECURSIVE).answers(204, "done")),
        Route.of(
            "GET",
            files + "/stat",
            this::stat,
            at("statFile", "Look at a file").answers(200, "done", FileAnswers.ENTRY)),
        Route.of(
            "GET",
            files + "/list",
            this::list,
            at("listFiles", "List a directory").answers(200, "done", FileAnswers.ENTRIES)),
        Route.of(
            "POST",
            files + "/mkdir",
            this::mkdir,
            at("makeDirectory", "Make a directory and its parents").answers(204, "done")),
        Route.of(
            "POST",
            files + "/move",
            this::move,
            on("moveFile", "Move or rename").with(FROM, TO).answers(204, "done")),
        Route.of(
            "GET",
            files + "/tar",
            this::pack,
            at("packFiles", "A directory or file as a tar").answersBytes("application/x-tar")),
        Route.of(
            "PUT",
            files + "/tar",
            this::unpack,
            at("unpackFiles", "Unpack a tar into a directory")
                .takesBytes("application/x-tar")
                .answers(204, "done")));
  }

  private static Operation on(String id, String summary) {
    return Operation.of(id, summary)
        .with(BoxRoutes.BOX)
        .fails(Problem.Code.WRONG_STATE, Problem.Code.TOO_LARGE);
  }

  private static Operation at(String id, String summary) {
    return on(id, summary).with(PATH);
  }

  /** An operation on the files of a box. */
  private interface Work {
    void on(BoxFiles files) throws IOException, InterruptedException;
  }

  private void with(Exchange exchange, Work work) throws IOException, InterruptedException {
    TenantBox box = exchange.about(boxes.find(exchange.caller(), exchange.get(BoxRoutes.BOX)));
    boxes.useFiles(box, () -> work.on(box.files()), exchange::hasLeft);
  }

  private void read(Exchange exchange) throws IOException, InterruptedException {
    String path = exchange.get(PATH);
    with(exchange, files -> send(exchange, files.read(path, 0), "application/octet-stream"));
  }

  private void pack(Exchange exchange) throws IOException, InterruptedException {
    String path = exchange.get(PATH);
    with(exchange, files -> send(exchange, files.pack(path), "application/x-tar"));
  }

  private static void send(Exchange exchange, FileContent content, String type) throws IOException {
    try (content) {
      OutputStream out = exchange.stream(200, type);
      content.transferTo(out);
      // Not after a failure: then the answer must not look complete.
      out.close();
    }
  }

  private void write(Exchange exchange) throws IOException, InterruptedException {
    String path = exchange.get(PATH);
    int mode = exchange.get(MODE).map(FileRoutes::mode).orElse(NewFile.DEFAULT_MODE);
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
    String path = exchange.get(PATH);
    try (InputStream content = exchange.content()) {
      with(exchange, files -> files.unpack(path, content));
    }
    exchange.done();
  }

  private void remove(Exchange exchange) throws IOException, InterruptedException {
    String path = exchange.get(PATH);
    boolean recursive = exchange.get(RECURSIVE);
    with(exchange, files -> files.remove(path, recursive));
    exchange.done();
  }

  private void mkdir(Exchange exchange) throws IOException, InterruptedException {
    String path = exchange.get(PATH);
    with(exchange, files -> files.mkdir(path));
    exchange.done();
  }

  private void move(Exchange exchange) throws IOException, InterruptedException {
    String from = exchange.get(FROM);
    String to = exchange.get(TO);
    with(exchange, files -> files.move(from, to));
    exchange.done();
  }

  private void stat(Exchange exchange) throws IOException, InterruptedException {
    String path = exchange.get(PATH);
    with(exchange, files -> exchange.answer(200, FileAnswers.ENTRY.write(files.stat(path))));
  }

  private void list(Exchange exchange) throws IOException, InterruptedException {
    String path = exchange.get(PATH);
    with(
        exchange,
        files -> {
          try (FileListing entries = files.listing(path)) {
            exchange.answer(200, FileAnswers.ENTRIES.write(entries));
          }
        });
  }
}
