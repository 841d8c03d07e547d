package dev.ebb.client;

import dev.ebb.client.http.Body;
import dev.ebb.client.http.Request;
import dev.ebb.client.http.Target;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.List;

/** The files of one box; paths are absolute in the box, or relative to {@code /workspace}. */
public final class BoxFiles {
  private static final String BYTES = "application/octet-stream";
  private static final String TAR = "application/x-tar";
  private static final String PATH = "path";

  private final Calls calls;
  private final String box;

  BoxFiles(Calls calls, String box) {
    this.calls = calls;
    this.box = box;
  }

  private Target files() {
    return Target.of("v1", "boxes", box, "files");
  }

  private Target files(String what) {
    return Target.of("v1", "boxes", box, "files", what);
  }

  /** Opens the content of a file; the caller closes it. */
  public InputStream read(String path) throws IOException {
    return calls.send(Calls.get(files().with(PATH, path))).body();
  }

  public void read(String path, OutputStream out) throws IOException {
    try (InputStream in = read(path)) {
      in.transferTo(out);
    }
  }

  /** Writes a file atomically, and makes the directories above it. */
  public void write(String path, byte[] content) throws IOException {
    write(path, Body.of(BYTES, content), "644");
  }

  /**
   * Writes everything that {@code content} holds.
   *
   * @param mode octal, {@code 644} for instance
   */
  public void write(String path, InputStream content, String mode) throws IOException {
    write(path, Body.of(BYTES, content), mode);
  }

  private void write(String path, Body body, String mode) throws IOException {
    calls.done(Request.of("PUT", files().with(PATH, path).with("mode", mode)).with(body));
  }

  public Entry stat(String path) throws IOException {
    return Entry.read(calls.json(Calls.get(files("stat").with(PATH, path))));
  }

  /** Lists a directory, sorted by name. */
  public List<Entry> list(String path) throws IOException {
    var answer = calls.json(Calls.get(files("list").with(PATH, path)));
    return Documents.list(answer.objects("entries"), Entry::read);
  }

  public void mkdir(String path) throws IOException {
    calls.done(Calls.post(files("mkdir").with(PATH, path)));
  }

  public void move(String from, String to) throws IOException {
    calls.done(Calls.post(files("move").with("from", from).with("to", to)));
  }

  public void remove(String path, boolean recursive) throws IOException {
    Target target = files().with(PATH, path);
    Target asked = recursive ? target.with("recursive", true) : target;
    calls.done(Request.of("DELETE", asked));
  }

  /** Opens a directory as a tar; the caller closes it. */
  public InputStream tar(String path) throws IOException {
    return calls.send(Calls.get(files("tar").with(PATH, path))).body();
  }

  /** Unpacks a tar into a directory. */
  public void untar(String path, InputStream tar) throws IOException {
    calls.done(Request.of("PUT", files("tar").with(PATH, path)).with(Body.of(TAR, tar)));
  }
}
