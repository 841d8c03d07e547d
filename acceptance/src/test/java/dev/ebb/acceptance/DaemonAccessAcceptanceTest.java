package dev.ebb.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.ebb.client.Box;
import dev.ebb.client.BoxQuery;
import dev.ebb.client.BoxRequest;
import dev.ebb.client.BoxState;
import dev.ebb.client.ContextRequest;
import dev.ebb.client.EbbClient;
import dev.ebb.client.EbbException;
import dev.ebb.client.ExecRequest;
import dev.ebb.client.Mount;
import dev.ebb.client.TerminalSize;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Which callers the daemon admits, and to what. */
@Tag("kernel")
@LeakChecked
@Timeout(180)
final class DaemonAccessAcceptanceTest {
  private static final String EXEC = "{\"command\":[\"touch\",\"/workspace/touched\"]}";

  /** Every route that names a box; %s is the box. */
  private static final List<String> OF_A_BOX =
      List.of(
          "GET /v1/boxes/%s",
          "DELETE /v1/boxes/%s?force=true",
          "POST /v1/boxes/%s/pause",
          "POST /v1/boxes/%s/resume",
          "POST /v1/boxes/%s/stop?graceMillis=0",
          "POST /v1/boxes/%s/kill-all",
          "POST /v1/boxes/%s/execs",
          "POST /v1/boxes/%s/execs?wait=true",
          "GET /v1/boxes/%s/execs",
          "GET /v1/boxes/%s/execs/1",
          "GET /v1/boxes/%s/execs/1/wait",
          "POST /v1/boxes/%s/execs/1/kill",
          "POST /v1/boxes/%s/execs/1/kill?signal=USR1",
          "POST /v1/boxes/%s/execs/1/stdin",
          "GET /v1/boxes/%s/execs/1/output",
          "GET /v1/boxes/%s/execs/1/terminal",
          "POST /v1/boxes/%s/contexts",
          "GET /v1/boxes/%s/contexts",
          "GET /v1/boxes/%s/contexts/mine",
          "DELETE /v1/boxes/%s/contexts/mine",
          "POST /v1/boxes/%s/contexts/mine/cells",
          "POST /v1/boxes/%s/contexts/mine/interrupt",
          "POST /v1/boxes/%s/contexts/mine/restart",
          "GET /v1/boxes/%s/files?path=/workspace/kept",
          "PUT /v1/boxes/%s/files?path=/workspace/touched",
          "DELETE /v1/boxes/%s/files?path=/workspace/kept",
          "GET /v1/boxes/%s/files/stat?path=/workspace",
          "GET /v1/boxes/%s/files/list?path=/workspace",
          "POST /v1/boxes/%s/files/mkdir?path=/workspace/touched",
          "POST /v1/boxes/%s/files/move?from=/workspace/kept&to=/workspace/touched",
          "GET /v1/boxes/%s/files/tar?path=/workspace",
          "PUT /v1/boxes/%s/files/tar?path=/workspace");

  private static final List<String> OF_NO_BOX =
      List.of(
          "GET /v1/boxes",
          "POST /v1/boxes",
          "POST /v1/run",
          "GET /v1/events",
          "GET /v1/why/1",
          "GET /v1/version",
          "GET /v1/openapi.json",
          "GET /v1/nowhere",
          "GET /");

  @TempDir private static Path shared;

  @RegisterExtension
  final DaemonProcess daemon = new DaemonProcess("--policy-mounts", shared.toString());

  private Wire.Answer ask(String route, String body, String... headers) throws Exception {
    String[] words = route.split(" ");
    return Wire.ask(daemon.uri(), words[0], words[1], body, headers);
  }

  private static String bearer(String key) {
    return "Authorization: Bearer " + key;
  }

  @Test
  void accessNeedsAKeyThatIsKnownAndNotRevoked() throws Exception {
    String key = daemon.key("--tenant", "acme");
    var routes = new ArrayList<>(OF_NO_BOX);
    OF_A_BOX.forEach(route -> routes.add(route.formatted("one")));
    for (String route : routes) {
      assertThat(ask(route, "").status()).as("no key: " + route).isEqualTo(401);
      assertThat(ask(route, EXEC, bearer("ebb_guess")).status()).as(route).isEqualTo(401);
    }
    for (String header :
        List.of(
            "Authorization: " + key,
            "Authorization: Basic " + key,
            bearer(key.substring(0, key.length() - 1)),
            bearer(key + "x"),
            bearer(""))) {
      assertThat(ask("GET /v1/version", "", header).status()).as(header).isEqualTo(401);
    }
    assertThat(ask("GET /v1/version", "").head()).contains("WWW-Authenticate: Bearer");
    assertThat(ask("GET /healthz", "").status()).isEqualTo(200);
    assertThat(ask("GET /readyz", "").status()).isEqualTo(200);

    assertThat(ask("GET /v1/version", "", bearer(key)).status()).isEqualTo(200);
    String id = daemon.ebb().call("key", "ls").text().lines().toList().get(1).split(" ")[0];
    assertThat(daemon.ebb().call("key", "revoke", id).code()).isZero();
    assertThat(ask("GET /v1/version", "", bearer(key)).status()).isEqualTo(401);
    assertThat(daemon.client().boxes().list(BoxQuery.all())).isEmpty();
  }

  @Test
  void theBoxOfAnotherTenantDoesNotExistOnAnyRoute() throws Exception {
    EbbClient acme = daemon.client(daemon.key("--tenant", "acme"));
    String key = daemon.key("--tenant", "other");
    Box box = acme.boxes().create(BoxRequest.defaults().withName("mine").withLabel("a", "b"));
    var exec = acme.execs("mine").start(ExecRequest.of("sh", "-c", "trap : USR1; sleep 1000"));
    assertThat(exec.number()).isEqualTo(1);
    acme.files("mine").write("kept", "kept".getBytes(StandardCharsets.UTF_8));
    acme.contexts("mine").create(ContextRequest.of("python").withName("mine"));
    for (String name : List.of(box.id(), "mine")) {
      for (String route : OF_A_BOX) {
        var answer = ask(route.formatted(name), EXEC, bearer(key), "Accept: application/json");
        assertThat(answer.status()).as(route + ": " + answer).isEqualTo(404);
        assertThat(answer.body()).as(route).contains("no box").doesNotContain("acme");
      }
    }
    assertThat(acme.contexts("mine").inspect("mine").hasEnded()).isFalse();
    for (String query : List.of("", "?name=mine", "?label=a", "?state=running")) {
      assertThat(ask("GET /v1/boxes" + query, "", bearer(key)).body()).isEqualTo("{\"boxes\":[]}");
    }
    assertThat(ask("GET /v1/boxes?after=" + box.id(), "", bearer(key)).status()).isEqualTo(400);
    // The name is free for another tenant.
    EbbClient other = daemon.client(key);
    Box theirs = other.boxes().create(BoxRequest.defaults().withName("mine"));
    assertThat(theirs.id()).isNotEqualTo(box.id());
    other.boxes().remove("mine", true);

    assertThat(acme.boxes().inspect("mine").state()).isEqualTo(BoxState.RUNNING);
    assertThat(acme.execs("mine").inspect(1).hasEnded()).isFalse();
    assertThat(acme.execs("mine").list()).as("with the context").hasSize(2);
    assertThat(acme.files("mine").list("/workspace"))
        .extracting(entry -> entry.name())
        .containsExactly("kept");
    assertThat(acme.boxes().remove("mine", true).clean()).isTrue();
  }

  @Test
  void anotherTenantReceivesNoEventsOfABox() throws Exception {
    String key = daemon.key("--tenant", "other");
    EbbClient owner = daemon.client();
    try (Wire wire = Wire.to(daemon.uri())) {
      wire.write(
          "GET /v1/events?after=0 HTTP/1.1\r\nHost: localhost\r\n" + bearer(key) + "\r\n\r\n");
      owner.boxes().create(BoxRequest.defaults().withName("quiet"));
      owner.boxes().remove("quiet", true);
      daemon.client(key).boxes().create(BoxRequest.defaults().withName("loud"));
      daemon.client(key).boxes().remove("loud", true);
      assertThat(wire.until("\"gone\"")).contains("loud").doesNotContain("quiet");
    }
  }

  @Test
  void whatIsForAdminsOrAgainstThePolicyIsForbidden() throws Exception {
    String key = daemon.key("--tenant", "acme");
    EbbClient acme = daemon.client(key);
    assertThat(ask("GET /v1/why/1", "", bearer(key)).status()).isEqualTo(403);
    assertThat(ask("GET /v1/sweep", "", bearer(key)).status()).isEqualTo(403);
    assertThat(ask("POST /v1/sweep", "", bearer(key)).status()).isEqualTo(403);
    Path allowed = Files.createDirectory(shared.resolve("allowed"));
    Files.createSymbolicLink(shared.resolve("link"), Path.of("/etc"));
    Files.createSymbolicLink(allowed.resolve("link"), Path.of("/etc"));
    String inside = shared.toString();
    BoxRequest plain = BoxRequest.defaults();
    for (BoxRequest request :
        List.of(
            plain.withNetwork("host"),
            plain.withPackages("/opt"),
            plain.withPackages("/"),
            mount("/etc", true),
            mount("/", true),
            mount("/proc/1/root", true),
            mount(inside, false),
            mount(inside + "/../..", true),
            mount(inside + "x", true),
            mount(inside + "/link", true),
            mount(inside + "/link/ssh", true),
            mount(inside + "/allowed/link/../../etc", true))) {
      assertThatExceptionOfType(EbbException.class)
          .as(request.toString())
          .isThrownBy(() -> acme.boxes().create(request))
          .satisfies(e -> assertThat(e.status()).as(e.detail()).isEqualTo(403));
      assertThatExceptionOfType(EbbException.class)
          .as(request.toString())
          .isThrownBy(() -> acme.run(request, ExecRequest.of("true")))
          .satisfies(e -> assertThat(e.status()).as(e.detail()).isEqualTo(403));
    }
    assertThat(acme.boxes().list(BoxQuery.all())).isEmpty();
    var result = acme.run(mount(allowed.toString(), true), ExecRequest.of("ls", "/workspace/m"));
    assertThat(result.stdout().text()).isEqualTo("link\n");
    EbbClient admin = daemon.client(daemon.key("--admin"));
    assertThat(admin.run(plain.withNetwork("host"), ExecRequest.of("true")).exec().exitCode())
        .isZero();
  }

  /** An order is refused before anything of the host was looked at. */
  @Test
  void aRefusalRevealsNothingOfTheHost() throws Exception {
    EbbClient acme = daemon.client(daemon.key("--tenant", "acme"));
    Path there = Files.createDirectory(shared.resolve("there"));
    Files.createSymbolicLink(there.resolve("link"), Path.of("/etc"));
    var told = new TreeSet<String>();
    for (String path :
        List.of(
            "/etc",
            "/etc/hostname",
            "/no/such/path",
            "/proc/1/root/etc",
            there + "/absent",
            there + "/link",
            there + "/link/ssh",
            there + "/../../absent")) {
      var plain = BoxRequest.defaults();
      for (BoxRequest request : List.of(mount(path, true), plain.withPackages(path))) {
        for (ThrowingCallable call :
            List.<ThrowingCallable>of(
                () -> acme.boxes().create(request),
                () -> acme.run(request, ExecRequest.of("true")))) {
          assertThatExceptionOfType(EbbException.class)
              .isThrownBy(call)
              .satisfies(
                  e -> told.add(e.status() + " " + e.code() + " " + told(e).replace(path, "PATH")));
        }
      }
    }
    assertThat(told)
        .as("one for mounts, one for packages")
        .hasSize(2)
        .allMatch(text -> text.startsWith("403 forbidden the policy of this server"));
  }

  private static String told(EbbException e) {
    return String.valueOf(e.detail());
  }

  private static BoxRequest mount(String source, boolean readOnly) {
    return BoxRequest.defaults().withMount(new Mount(source, "/workspace/m", readOnly));
  }

  @Test
  void aWebPageCannotDriveIt() throws Exception {
    String key = bearer(daemon.key("--admin"));
    String origin = "Origin: http://evil.example";
    String create = "POST /v1/boxes";
    assertThat(ask("OPTIONS /v1/boxes", "", origin, "Access-Control-Request-Method: POST").status())
        .isEqualTo(403);
    for (String own : List.of(origin, "Origin: null", "Origin: " + daemon.uri())) {
      assertThat(ask(create, "{}", key, own).status()).as(own).isEqualTo(403);
      assertThat(ask(create, "{}", own, "Content-Type: text/plain").status()).isEqualTo(403);
      assertThat(ask("GET /healthz", "", own).head())
          .startsWith("HTTP/1.1 403")
          .doesNotContain("Access-Control");
    }
    // A foreign name that resolves to the loopback address.
    for (String host : List.of("evil.example", "evil.example:80", "127.0.0.1.evil.example", "")) {
      assertThat(ask(create, "{}", key, "Host: " + host).isRefusal()).as(host).isTrue();
    }
    assertThat(ask("POST http://evil.example/v1/boxes", "{}", key).isRefusal()).isTrue();
    assertThat(ask(create, "{}", key, "Host: 127.0.0.1", "Host: evil").isRefusal()).isTrue();

    EbbClient client = daemon.client();
    client.boxes().create(BoxRequest.defaults().withName("tty"));
    client.execs("tty").start(ExecRequest.of("sh").withTerminal(new TerminalSize(24, 80)));
    String[] upgrade = {
      key,
      "Connection: Upgrade",
      "Upgrade: websocket",
      "Sec-WebSocket-Version: 13",
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
      origin
    };
    assertThat(ask("GET /v1/boxes/tty/execs/1/terminal", "", upgrade).status()).isEqualTo(403);
    client.boxes().remove("tty", true);
    assertThat(client.boxes().list(BoxQuery.all())).isEmpty();
  }

  @Test
  void theUnixSocketIsItsOwnersAlone() throws Exception {
    Path socket = daemon.home().resolve("ebb.sock");
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(socket)))
        .isEqualTo("rw-------");
    TestHost.require(Feature.ROOT);
    assertThat(connect(socket, "0")).isZero();
    assertThat(connect(socket, "12345")).isEqualTo(13);
    // Also where the directory would let them: the file itself does not.
    Files.setPosixFilePermissions(daemon.home(), PosixFilePermissions.fromString("rwxr-xr-x"));
    assertThat(connect(socket, "12345")).isEqualTo(13);
    // And should even that fail, the daemon asks the kernel for the uid of the caller.
    Files.setPosixFilePermissions(socket, PosixFilePermissions.fromString("rw-rw-rw-"));
    assertThat(connect(socket, "12345")).isEqualTo(43);
    assertThat(connect(socket, "0")).isZero();
  }

  /** 0: it answers; 43: it refuses; else the errno of connect. */
  private static int connect(Path socket, String uid) throws Exception {
    String script =
        """
        import socket, sys
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(30)
        try: s.connect(sys.argv[1])
        except OSError as e: sys.exit(e.errno)
        s.sendall(b"GET /v1/version HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n")
        sys.exit({b"200": 0, b"403": 43}.get(s.recv(12)[9:], 99))
        """;
    Process process =
        new ProcessBuilder(
                List.of(
                    "setpriv",
                    "--reuid=" + uid,
                    "--regid=" + uid,
                    "--clear-groups",
                    "/usr/bin/python3",
                    "-c",
                    script,
                    socket.toString()))
            .inheritIO()
            .start();
    assertThat(process.waitFor(Duration.ofSeconds(60))).isTrue();
    return process.exitValue();
  }
}
