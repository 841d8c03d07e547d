package dev.ebb.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.kernel.Deadline;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class QueuedStreamTest {
  private final CountDownLatch gate = new CountDownLatch(1);
  private final ByteArrayOutputStream read = new ByteArrayOutputStream();

  /** A pipe that is not read until the gate opens. */
  private final OutputStream pipe =
      new OutputStream() {
        @Override
        public void write(int single) throws IOException {
          write(new byte[] {(byte) single}, 0, 1);
        }

        @Override
        public void write(byte[] bytes, int offset, int length) throws IOException {
          try {
            gate.await();
          } catch (InterruptedException e) {
            throw new InterruptedIOException();
          }
          read.write(bytes, offset, length);
        }
      };

  private static byte[] line(int number) {
    return "line %04d\n".formatted(number).getBytes(StandardCharsets.UTF_8);
  }

  @Test
  void aReaderThatDoesNotReadBlocksNoWriterAndLearnsWhatItMissed() {
    var stream = new QueuedStream("test-log", pipe, 100, new LogLine(LogLine.Form.TEXT)::dropped);
    for (int i = 0; i < 1000; i++) {
      stream.write(line(i), 0, line(i).length);
    }
    assertThat(stream.awaitWritten(Deadline.in(Duration.ofMillis(50)))).isFalse();
    gate.countDown();
    assertThat(stream.awaitWritten(Deadline.in(Duration.ofSeconds(10)))).isTrue();
    String text = read.toString(StandardCharsets.UTF_8);
    assertThat(text).startsWith("line 0000\nline 0001\n").contains("line 0009\n");
    assertThat(text)
        .doesNotContain("line 0010")
        .contains("event=output_dropped reason=\"not read in time\" writes=990\n");
    stream.write(line(7777), 0, line(7777).length);
    assertThat(stream.awaitWritten(Deadline.in(Duration.ofSeconds(10)))).isTrue();
    assertThat(read.toString(StandardCharsets.UTF_8)).endsWith("line 7777\n");
  }

  @Test
  void aReaderThatIsGoneIsForgotten() {
    var stream =
        new QueuedStream(
            "test-log",
            new OutputStream() {
              @Override
              public void write(int single) throws IOException {
                throw new IOException("broken pipe");
              }
            },
            100,
            new LogLine(LogLine.Form.TEXT)::dropped);
    for (int i = 0; i < 1000; i++) {
      stream.write(line(i), 0, line(i).length);
    }
    assertThat(stream.awaitWritten(Deadline.in(Duration.ofSeconds(10)))).isTrue();
  }
}
