package dev.ebb.client;

import dev.ebb.json.JsonException;
import dev.ebb.json.JsonObject;
import java.time.Duration;

/** The resources that a command used. */
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
