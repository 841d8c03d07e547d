package dev.ebb.bench;

import dev.ebb.json.Json;
import dev.ebb.json.JsonObject;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/**
 * A client of the daemon that is not Ebb's: {@code everyday.py}, plain HTTP by Python's standard
 * library. It measures its own calls.
 */
final class PlainClient implements AutoCloseable {
  static final String RUN_TRUE = "ALONE /v1/run {\"exec\":{\"command\":[\"true\"]}}";
  static final String SUM = "print(1+1)";
  static final String NUMPY = "import numpy; print(numpy.arange(9).sum())";
  static final String SCRIPT = "console.log(1)";

  private final Process process;
  private final BufferedReader answers;

  private PlainClient(Process process) {
    this.process = process;
    answers = process.inputReader(StandardCharsets.UTF_8);
  }

  static PlainClient of(ServedDaemon daemon) throws IOException {
    Path script = Path.of(System.getProperty("ebb.root"), "bench/src/main/python/everyday.py");
    var builder =
        new ProcessBuilder("/usr/bin/python3", script.toString(), daemon.socket().toString());
    return new PlainClient(builder.redirectError(ProcessBuilder.Redirect.INHERIT).start());
  }

  /**
   * One answer.
   *
   * @param nanos until the answer was there
   * @param complete the nanoseconds until the certificate was there; of a loop: how many answers
   */
  record Answer(long nanos, long complete, JsonObject body) {}

  // --- requests ---

  static String code(String language, String program) {
    return "ALONE /v1/code " + JsonObject.empty().with("language", language).with("code", program);
  }

  /** Waits for {@code true} in a living box. */
  static String exec(String box) {
    return "POST /v1/boxes/" + box + "/execs?wait=true {\"command\":[\"true\"]}";
  }

  Answer ask(String line) throws IOException {
    send(line);
    return read();
  }

  /** Sends a request; {@link #read} returns its answer. */
  void send(String line) throws IOException {
    process.getOutputStream().write((line + "\n").getBytes(StandardCharsets.UTF_8));
    process.getOutputStream().flush();
  }

  Answer read() throws IOException {
    String line = answers.readLine();
    if (line == null) {
      throw new IOException("the client has failed");
    }
    String[] words = line.split(" ", 4);
    return new Answer(
        Long.parseLong(words[0]), Long.parseLong(words[1]), Json.readObject(words[3]));
  }

  /** Makes a box that lives; returns its id. */
  String create(String order) throws IOException {
    return ask("POST /v1/boxes " + order).body().string("id");
  }

  /** Removes a box and all that runs in it. */
  void remove(String box) throws IOException {
    ask("DELETE /v1/boxes/" + box + "?force=true");
  }

  @Override
  public void close() throws IOException {
    process.getOutputStream().close();
    process.onExit().join();
  }
}
