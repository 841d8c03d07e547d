package dev.ebb.cli;

import dev.ebb.cli.caller.Caller;
import dev.ebb.cli.caller.OwnProcess;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** The commands whose classes go into the start-up cache; {@code dist/train} runs them. */
final class Training {
  private static final List<List<String>> COMMANDS =
      List.of(List.of("version"), List.of("help"), List.of("ls"), List.of("run", "--", "true"));

  private static final List<List<String>> DAEMON_COMMANDS = List.of(List.of("ls"));

  /** One box, as a daemon lists it. */
  private static final String BOXES =
      """
      {"boxes":[{"id":"b000000000000","name":"one","tenant":"default","state":"running",\
      "labels":{},"limits":{"memoryBytes":1,"pids":1,"cpus":1.0,"diskBytes":1},"network":"none",\
      "mounts":[],"packages":[],"createdAt":"2026-01-01T00:00:00Z","runningExecs":0}]}""";

  private Training() {}

  public static void main(String[] args) throws IOException {
    Caller process = OwnProcess.open();
    COMMANDS.forEach(command -> Main.run(process, command.toArray(String[]::new)));
    Path socket = process.home().resolve("ebb.sock");
    try (var server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      server.bind(UnixDomainSocketAddress.of(socket));
      Thread.ofPlatform().name("answers").daemon().start(() -> answer(server));
      DAEMON_COMMANDS.forEach(command -> Main.run(process, command.toArray(String[]::new)));
    } finally {
      Files.deleteIfExists(socket);
    }
  }

  /** Stands in for the daemon, with one answer to all requests. */
  private static void answer(ServerSocketChannel server) {
    byte[] body = BOXES.getBytes(StandardCharsets.UTF_8);
    String head =
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
            .formatted(body.length);
    try {
      while (true) {
        SocketChannel caller = server.accept();
        var asked = ByteBuffer.allocate(4096);
        if (caller.read(asked) > 0) {
          caller.write(ByteBuffer.wrap((head + BOXES).getBytes(StandardCharsets.UTF_8)));
        }
      }
    } catch (IOException e) {
      // It is over.
    }
  }
}
