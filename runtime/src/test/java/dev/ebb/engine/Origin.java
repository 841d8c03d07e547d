package dev.ebb.engine;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.Socket;
import java.util.List;

/** A server of the host (origin.py) on a loopback address, as the internet of a test. */
record Origin(Process process, String address, int port) implements AutoCloseable {
  static Origin open(String address, String name) throws IOException {
    return start(address, Prober.python("origin.py", address, name));
  }

  /** The other kind: packages, under {@code name}. */
  static Origin registry(String name) throws IOException {
    return start("127.0.0.1", Prober.python("registry.py", name));
  }

  private static Origin start(String address, List<String> command) throws IOException {
    var process = new ProcessBuilder(command).start();
    var output = new BufferedReader(new InputStreamReader(process.getInputStream(), UTF_8));
    return new Origin(process, address, Integer.parseInt(output.readLine()));
  }

  static Origin open() throws IOException {
    return open("127.0.0.1", "origin");
  }

  /** Returns the requests so far. */
  String log() throws IOException {
    return ask("/log");
  }

  /** How many connections it has. */
  int living() throws IOException {
    return Integer.parseInt(ask("/living"));
  }

  private String ask(String path) throws IOException {
    try (var socket = new Socket(InetAddress.ofLiteral(address), port)) {
      socket.getOutputStream().write(("GET " + path + " HTTP/1.0\r\n\r\n").getBytes(UTF_8));
      String answer = new String(socket.getInputStream().readAllBytes(), UTF_8);
      return answer.substring(answer.indexOf("\r\n\r\n") + 4);
    }
  }

  @Override
  public void close() throws IOException {
    Prober.end(process);
  }
}
