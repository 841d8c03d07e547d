package dev.ebb.server.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.ebb.model.SandboxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Pairs that openssl made. */
class TlsTest {
  @TempDir private static Path files;

  @BeforeAll
  static void makePairs() throws Exception {
    make("one", "ec", "-pkeyopt", "ec_paramgen_curve:P-256");
    make("two", "ec", "-pkeyopt", "ec_paramgen_curve:P-256");
    make("edwards", "ed25519");
    make("rsa", "rsa:2048");
  }

  private static void make(String name, String kind, String... options) throws Exception {
    var words = new ArrayList<>(List.of("openssl", "req", "-x509", "-nodes", "-days", "2"));
    words.addAll(List.of("-subj", "/CN=localhost", "-newkey", kind));
    words.addAll(List.of(options));
    words.addAll(List.of("-keyout", path(name, "key"), "-out", path(name, "pem")));
    Process openssl =
        new ProcessBuilder(words)
            .redirectErrorStream(true)
            .redirectOutput(files.resolve("log").toFile())
            .start();
    assertThat(openssl.waitFor()).as(Files.readString(files.resolve("log"))).isZero();
  }

  private static String path(String name, String ending) {
    return files.resolve(name + "." + ending).toString();
  }

  private static void use(String certificate, String key) {
    Tls.context(new Tls.PemFiles(Path.of(path(certificate, "pem")), Path.of(path(key, "key"))));
  }

  @ParameterizedTest
  @ValueSource(strings = {"one", "edwards", "rsa"})
  void aPairIsTaken(String name) {
    use(name, name);
  }

  @ParameterizedTest
  @CsvSource({"one, two", "one, rsa", "rsa, edwards", "edwards, one"})
  void theKeyOfAnotherCertificateIsRefused(String certificate, String key) {
    assertThatThrownBy(() -> use(certificate, key))
        .isInstanceOf(SandboxException.class)
        .hasMessage(
            "cannot use the certificate %s with the key %s: the key is not that of the certificate",
            path(certificate, "pem"), path(key, "key"));
  }

  @Test
  void aFileWithoutACertificateOrKeyIsRefused() throws Exception {
    Files.createFile(files.resolve("empty.pem"));
    Files.writeString(files.resolve("old.key"), "-----BEGIN EC PRIVATE KEY-----\n");

    assertThatThrownBy(() -> use("empty", "one"))
        .hasMessageEndingWith("no certificate in " + path("empty", "pem"));
    assertThatThrownBy(() -> use("one", "old")).hasMessageContaining("openssl pkcs8 -topk8");
    assertThatThrownBy(() -> use("nowhere", "one")).isInstanceOf(SandboxException.class);
  }
}
