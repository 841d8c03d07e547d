package dev.ebb.acceptance;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.ebb.client.BoxRequest;
import dev.ebb.client.EbbClient;
import dev.ebb.client.ExecRequest;
import dev.ebb.testkit.LeakChecked;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** The daemon behind TLS. */
@Tag("kernel")
@LeakChecked
@Timeout(120)
final class DaemonTlsAcceptanceTest {
  @TempDir private static Path files;

  @RegisterExtension
  final DaemonProcess daemon =
      new DaemonProcess(
          "--tls-certificate", certificate("cert.pem"), "--tls-key", certificate("key.pem"));

  private static String certificate(String name) {
    return TestCertificate.in(files).resolve(name).toString();
  }

  private static SSLContext trusting() throws Exception {
    var store = KeyStore.getInstance("PKCS12");
    store.load(null, null);
    try (var in = Files.newInputStream(files.resolve("cert.pem"))) {
      store.setCertificateEntry(
          "daemon", CertificateFactory.getInstance("X.509").generateCertificate(in));
    }
    var trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(store);
    var context = SSLContext.getInstance("TLS");
    context.init(null, trust.getTrustManagers(), null);
    return context;
  }

  private Socket socket(SSLContext context) throws IOException {
    var socket =
        (SSLSocket) context.getSocketFactory().createSocket("127.0.0.1", daemon.uri().getPort());
    var parameters = socket.getSSLParameters();
    parameters.setEndpointIdentificationAlgorithm("HTTPS");
    socket.setSSLParameters(parameters);
    return socket;
  }

  private int status(String protocol, String... headers) throws Exception {
    SSLContext context = trusting();
    try (var socket = (SSLSocket) socket(context)) {
      socket.setEnabledProtocols(new String[] {protocol});
      return Wire.over(socket, daemon.uri())
          .ask("GET", "/v1/version", new byte[0], headers)
          .status();
    }
  }

  @Test
  void onlyTlsIsSpokenOnItsPort() throws Exception {
    String key = "Authorization: Bearer " + daemon.key("--tenant", "acme");
    assertThat(status("TLSv1.3", key)).isEqualTo(200);
    assertThat(status("TLSv1.2", key)).isEqualTo(200);
    assertThat(status("TLSv1.3")).isEqualTo(401);
    assertThat(status("TLSv1.3", key, "Host: evil.example")).isBetween(400, 403);

    var plain = Wire.ask(daemon.uri(), "GET", "/v1/version", "", key);
    assertThat(plain.status()).as(plain.toString()).isNotEqualTo(200);
    assertThat(plain.body()).doesNotContain("version");

    // A client that does not trust the certificate does not send the key.
    assertThatExceptionOfType(SSLException.class)
        .isThrownBy(
            () -> {
              try (Socket socket = socket(SSLContext.getDefault())) {
                ((SSLSocket) socket).startHandshake();
              }
            });
    assertThat(daemon.client().isReady()).isTrue();
  }

  private URI url(String host) {
    return URI.create("https://" + host + ":" + daemon.uri().getPort());
  }

  private static Path authority() {
    return Path.of(certificate("cert.pem"));
  }

  @Test
  void theClientReachesIt() throws Exception {
    String key = daemon.key("--tenant", "acme");
    try (var client = EbbClient.connect(url("127.0.0.1"), key, authority())) {
      var box = client.boxes().create(BoxRequest.defaults());
      byte[] large = new byte[3 * 1024 * 1024];
      new Random(1).nextBytes(large);
      client.files(box.id()).write("large", large);
      try (var in = client.files(box.id()).read("large")) {
        assertThat(in.readAllBytes()).isEqualTo(large);
      }
      // A connection that was idle is used again.
      for (int i = 0; i < 3; i++) {
        var ran = client.execs(box.id()).run(ExecRequest.of("echo", "hello"));
        assertThat(ran.stdout().text()).isEqualTo("hello\n");
      }
      assertThat(client.boxes().remove(box.id(), true).clean()).isTrue();
    }
  }

  @Test
  void theClientTrustsNoOther() throws Exception {
    String key = daemon.key("--tenant", "acme");
    assertThatExceptionOfType(SSLException.class)
        .isThrownBy(() -> EbbClient.connect(url("127.0.0.1"), key).close())
        .withMessageContaining("cannot trust https://127.0.0.1");
    assertThatExceptionOfType(SSLException.class)
        .as("its certificate is for the address, not for this name")
        .isThrownBy(() -> EbbClient.connect(url("localhost"), key, authority()).close())
        .withMessageContaining("localhost");
    try (var plain = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      Thread.ofPlatform().daemon().start(() -> answerPlainly(plain));
      var uri = URI.create("https://127.0.0.1:" + plain.getLocalPort());
      assertThatExceptionOfType(SSLException.class)
          .isThrownBy(() -> EbbClient.connect(uri, key, authority()).close());
    }
  }

  private static void answerPlainly(ServerSocket listener) {
    try (var socket = listener.accept()) {
      socket.getOutputStream().write("HTTP/1.1 400 Bad Request\r\n\r\n".getBytes(US_ASCII));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Test
  void theCommandLineReachesIt() throws Exception {
    var environment =
        Map.of("EBB_URL", url("127.0.0.1").toString(), "EBB_KEY", daemon.key("--tenant", "acme"));
    var trusting = new HashMap<>(environment);
    trusting.put("EBB_CA", authority().toString());
    var ebb = new Ebb(daemon.home(), List.of(), trusting);

    var made = ebb.call("create", "--name", "remote");
    assertThat(made.code()).as(made.stderr()).isZero();
    var ran = ebb.call("hi".getBytes(US_ASCII), "exec", "-i", "remote", "--", "cat");
    assertThat(ran.text()).as(ran.stderr()).isEqualTo("hi");
    assertThat(ebb.call("rm", "-f", "remote").code()).isZero();

    var refused = new Ebb(daemon.home(), List.of(), environment).call("ls");
    assertThat(refused.code()).isEqualTo(125);
    assertThat(refused.stderr()).contains("cannot trust https://127.0.0.1", "EBB_CA");
    trusting.put("EBB_CA", "/nowhere.pem");
    var missing = new Ebb(daemon.home(), List.of(), trusting).call("ls");
    assertThat(missing.stderr()).contains("EBB_CA: no such file: /nowhere.pem");
  }
}
