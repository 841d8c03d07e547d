package dev.ebb.init;

import dev.ebb.model.ByteSize;
import dev.ebb.model.ExecKind;
import java.time.Duration;
import java.util.List;

/** Requests to start a command, for which only the command and its kind matter. */
final class TestRequest {
  private TestRequest() {}

  static StartRequest of(String... command) {
    return of(ExecKind.COMMAND, command);
  }

  static StartRequest of(ExecKind kind, String... command) {
    return new StartRequest(
        List.of(command),
        List.of(),
        "/",
        Duration.ZERO,
        Duration.ZERO,
        ByteSize.mebibytes(1),
        64,
        ByteSize.mebibytes(1),
        false,
        false,
        LeafHandle.Form.DIRECTORY,
        false,
        kind,
        StartRequest.Share.BY_CGROUP);
  }
}
