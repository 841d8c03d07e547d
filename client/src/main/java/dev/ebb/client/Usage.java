package dev.ebb.client;

import dev.ebb.client.json.JsonException;
import dev.ebb.client.json.JsonObject;
import java.time.Duration;

/** What a command used. */
public record Usage(
    Duration cpu, long peakMemoryBytes, long peakProcesses, long oomKills, long forksRefused) {
  static Usage read(JsonObject document) throws JsonException {
    return new Usage(
        Duration.ofMillis(document.count("cpuMillis")),
        document.count("peakMemoryBytes"),
        document.count("peakProcesses"),
        document.count("oomKills"),
        document.count("forksRefused"));
  }
}
