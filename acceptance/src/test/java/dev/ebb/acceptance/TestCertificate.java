package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/** A certificate for 127.0.0.1 that signs itself. */
final class TestCertificate {
  private TestCertificate() {}

  /**
   * Returns the directory, with {@code cert.pem} and {@code key.pem}, made by openssl if absent.
   */
  static synchronized Path in(Path directory) {
    Path key = directory.resolve("key.pem");
    try {
      if (!Files.exists(key)) {
        Path log = directory.resolve("log");
        Process openssl =
            new ProcessBuilder(
                    List.of(
                        "openssl",
                        "req",
                        "-x509",
                        "-newkey",
                        "ec",
                        "-pkeyopt",
                        "ec_paramgen_curve:P-256",
                        "-nodes",
                        "-days",
                        "2",
                        "-subj",
                        "/CN=ebb",
                        "-addext",
                        "subjectAltName=IP:127.0.0.1",
                        "-keyout",
                        key.toString(),
                        "-out",
                        directory.resolve("cert.pem").toString()))
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .start();
        assertThat(openssl.waitFor(Duration.ofSeconds(60))).isTrue();
        assertThat(openssl.exitValue()).as(Files.readString(log)).isZero();
      }
      return directory;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
