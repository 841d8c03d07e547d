package dev.ebb.client;

/** Something a command did while it was followed. */
public sealed interface ExecEvent {
  /** The command was started by the call that follows it; always the first event. */
  record Started(Exec exec) implements ExecEvent {}

  /**
   * It wrote.
   *
   * @param after what has been seen of its streams with this
   */
  record Wrote(OutputStreamName stream, Output output, Offsets after) implements ExecEvent {}

  /**
   * It wrote what can be read no more.
   *
   * @param offset where that begins
   */
  record Lost(OutputStreamName stream, long offset, long bytes, String reason, Offsets after)
      implements ExecEvent {}

  /** It ended; the last event. Of a one-shot run the result has the certificate, but no output. */
  record Ended(Result result) implements ExecEvent {}
}
