package dev.ebb.acceptance;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.ebb.client.Box;
import dev.ebb.client.BoxFiles;
import dev.ebb.client.BoxQuery;
import dev.ebb.client.BoxRequest;
import dev.ebb.client.BoxState;
import dev.ebb.client.EbbClient;
import dev.ebb.client.EbbException;
import dev.ebb.client.Entry;
import dev.ebb.client.ExecRequest;
import dev.ebb.client.Limits;
import dev.ebb.client.Output;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Files of a box that does not mean well: the host is untouched, and the answer precise. */
@Tag("kernel")
@LeakChecked
@Timeout(180)
final class DaemonFilesAcceptanceTest {
  private static final byte[] WORDS = "words".getBytes(UTF_8);
  private static final String SECRET = "of the host";

  @RegisterExtension final DaemonProcess daemon = new DaemonProcess();
  @TempDir private Path host;
  private String key = "";

  @BeforeEach
  void hideASecret() throws IOException {
    Files.writeString(host.resolve("secret"), SECRET);
  }

  @AfterEach
  void nothingHappenedToIt() throws IOException {
    assertThat(host.resolve("secret")).hasContent(SECRET);
    try (var files = Files.list(host)) {
      assertThat(files).hasSize(1);
    }
  }

  private interface Call {
    void run() throws IOException;
  }

  /** The code of the refusal, or an empty word. */
  private static String refusal(Call call) throws IOException {
    try {
      call.run();
      return "";
    } catch (EbbException e) {
      assertThat(e.status()).as(e.detail()).isBetween(400, 499);
      assertThat(e.detail()).startsWith("cannot ");
      return e.code();
    }
  }

  private static String text(InputStream content) throws IOException {
    try (content) {
      return new String(content.readAllBytes(), UTF_8);
    }
  }

  private static void sh(EbbClient client, String script) throws IOException {
    var result = client.execs("b").run(ExecRequest.of("sh", "-c", script));
    assertThat(result.exec().exitCode()).as(result.stderr().text()).isZero();
  }

  private EbbClient box(BoxRequest request) throws IOException {
    EbbClient client = daemon.client();
    client.boxes().create(request.withName("b"));
    return client;
  }

  @Test
  void noPathLeadsOutOfTheBox() throws Exception {
    EbbClient client = box(BoxRequest.defaults());
    BoxFiles files = client.files("b");
    String secret = host.resolve("secret").toString();
    sh(client, "ln -s " + secret + " link && ln -s / root && ln -s ../../../../../../.. up");
    var ways = new ArrayList<String>();
    for (String prefix :
        List.of("", "../../../../../..", "root", "up", "/proc/1/root", "/proc/self/root")) {
      ways.add(prefix + secret);
    }
    ways.add("/proc/" + daemon.pid() + "/root" + secret);
    ways.add("/proc/" + ProcessHandle.current().pid() + "/root" + secret);
    ways.add("link");
    for (String way : ways) {
      assertThat(refusal(() -> files.read(way).close())).as(way).isIn("not-found", "forbidden");
      assertThat(refusal(() -> files.list(way))).as(way).isNotEmpty();
      assertThat(refusal(() -> files.tar(way + "/..").close())).as(way).isNotEmpty();
    }
    for (String way : ways) {
      // The link may be made in the box, which does no harm.
      refusal(() -> files.write(way, WORDS));
      refusal(() -> files.move(way, way + "2"));
      refusal(() -> files.remove(way, true));
      refusal(() -> files.mkdir(way));
    }
    for (String path : List.of("/", "/etc", "/usr/bin/tar", "/proc", "/dev")) {
      assertThat(refusal(() -> files.remove(path, true))).as(path).isNotEmpty();
      assertThat(refusal(() -> files.write(path, WORDS))).as(path).isNotEmpty();
    }
    sh(client, "test -x /usr/bin/tar && test -r /etc/passwd");
  }

  @Test
  void aTreeThatChangesUnderTheHandLeadsNowhereElse() throws Exception {
    EbbClient client = box(BoxRequest.defaults());
    BoxFiles files = client.files("b");
    sh(client, "mkdir real && echo inside >real/secret");
    String swap =
        "while :; do mv real d; mv d real; ln -s %s d; rm d; done 2>/dev/null".formatted(host);
    client.execs("b").start(ExecRequest.of("sh", "-c", swap));
    var seen = new TreeSet<String>();
    for (int i = 0; i < 60; i++) {
      refusal(() -> seen.add(text(files.read("d/secret"))));
      refusal(() -> files.write("d/new", WORDS));
      refusal(() -> files.remove("d/new", false));
      refusal(() -> files.list("d"));
    }
    assertThat(seen).isSubsetOf("inside\n");
  }

  @Test
  void aPathThatIsNoFileIsRefusedWithoutWaiting() throws Exception {
    EbbClient client = box(BoxRequest.defaults());
    BoxFiles files = client.files("b");
    sh(client, "mkfifo fifo; ln -s loop loop; ln -s /dev/zero zero; mkdir dir; touch dir/file");
    for (String path : List.of("fifo", "loop", "/dev/zero", "zero", "/dev/null", "dir")) {
      assertThat(refusal(() -> files.read(path).close())).as(path).isEqualTo("conflict");
      assertThat(refusal(() -> files.write(path + "/below", WORDS)))
          .as(path)
          .isEqualTo(path.equals("dir") ? "" : "conflict");
    }
    assertThat(files.stat("fifo").type()).isEqualTo("other");
    assertThat(files.stat("zero").target()).isEqualTo("/dev/zero");
    assertThat(refusal(() -> files.remove("dir", false))).isEqualTo("conflict");
    assertThat(refusal(() -> files.list("dir/file"))).isEqualTo("conflict");
    assertThat(refusal(() -> files.mkdir("dir/file"))).isEqualTo("conflict");
    assertThat(refusal(() -> files.read("nothing").close())).isEqualTo("not-found");
    assertThat(refusal(() -> files.tar("nothing").close())).isEqualTo("not-found");
    assertThat(refusal(() -> files.write("a".repeat(255), WORDS))).isEmpty();
    assertThat(refusal(() -> files.write("a".repeat(256), WORDS))).isEqualTo("bad-request");
    assertThat(refusal(() -> files.write("a/".repeat(2500), WORDS))).isEqualTo("bad-request");
    assertThat(raw("GET", "/files?path=")).isEqualTo(400);
    assertThat(raw("GET", "/files?path=a%00b")).isEqualTo(400);
    assertThat(raw("GET", "/files")).isEqualTo(400);
    assertThat(raw("GET", "/files?path=a&path=b")).isEqualTo(400);
    assertThat(raw("PUT", "/files?path=a&mode=4755")).isEqualTo(400);
    assertThat(raw("PUT", "/files?path=a&mode=9")).isEqualTo(400);
  }

  private int raw(String method, String target) throws Exception {
    key = key.isEmpty() ? "Authorization: Bearer " + daemon.key("--admin") : key;
    return Wire.ask(daemon.uri(), method, "/v1/boxes/b" + target, "", key).status();
  }

  @Test
  void aNameMayBeAnyBytes() throws Exception {
    EbbClient client =
        box(
            BoxRequest.defaults()
                .withFile("made/with text", Output.of("é😀"))
                .withFile("made/with\ud83d\ude00", Output.of(new byte[] {(byte) 0xff}))
                .withFile("made/\udcff", Output.of("byte")));
    BoxFiles files = client.files("b");
    assertThat(text(files.read("made/with text"))).isEqualTo("é😀");
    assertThat(files.stat("made/with😀").sizeBytes()).isEqualTo(1);
    sh(client, "test -f \"$(printf 'made/\\377')\"");
    sh(client, "mkdir odd; cd odd; touch \"$(printf 'a\\nb')\" \"$(printf '\\377\\200')\" -- -rf");
    sh(client, "cd odd; touch '😀' '%2e%2e' 'a+b' 'a b' '\"' \"$(printf '\\355\\240\\200')\"");
    List<Entry> entries = files.list("odd");
    assertThat(entries)
        .extracting(Entry::name)
        .containsExactlyInAnyOrder(
            "a\nb",
            "\udcff\udc80",
            "-rf",
            "😀",
            "%2e%2e",
            "a+b",
            "a b",
            "\"",
            "\udced\udca0\udc80");
    for (Entry entry : entries) {
      String path = "odd/" + entry.name();
      files.write(path, WORDS);
      assertThat(files.stat(path).name()).isEqualTo(entry.name());
      assertThat(text(files.read(path))).isEqualTo("words");
      assertThat(text(files.tar(path))).contains("words");
    }
    assertThat(files.list("odd")).hasSameSizeAs(entries);
    assertThat(raw("GET", "/files?path=odd/%ff%80")).isEqualTo(200);
    assertThat(raw("GET", "/files?path=odd/😀")).isEqualTo(200);
    assertThat(raw("GET", "/files?path=odd/%ff%81")).isEqualTo(404);
    for (Entry entry : entries) {
      files.remove("odd/" + entry.name(), false);
    }
    assertThat(files.list("odd")).isEmpty();

    sh(client, "mkdir many; cd many; seq -f 'file-%05g' 1 10000 | xargs touch");
    assertThat(files.list("many"))
        .hasSize(10_000)
        .isSortedAccordingTo(DaemonFilesAcceptanceTest::byName);
    files.remove("many", true);
  }

  private static int byName(Entry one, Entry other) {
    return one.name().compareTo(other.name());
  }

  @Test
  void aHostileTarStaysInItsBox() throws Exception {
    var small = new Limits(null, null, null, 16L << 20);
    EbbClient client = box(BoxRequest.defaults().withLimits(small));
    BoxFiles files = client.files("b");
    String secret = host.resolve("secret").toString();
    files.mkdir("into");
    assertThat(unpack(files, Tar.of(Tar.FILE, "../up", "", 0644, WORDS))).isEqualTo("bad-request");
    for (char device : List.of(Tar.CHARACTER_DEVICE, Tar.BLOCK_DEVICE)) {
      assertThat(unpack(files, Tar.of(device, "device", "", 0666, new byte[0])))
          .isEqualTo("forbidden");
    }
    assertThat(files.list("into")).isEmpty();
    // A pipe may be made, and no call waits for it.
    assertThat(unpack(files, Tar.of(Tar.PIPE, "pipe", "", 0666, new byte[0]))).isEmpty();
    assertThat(refusal(() -> files.read("into/pipe").close())).isEqualTo("conflict");
    assertThat(unpack(files, Tar.of(Tar.FILE, "pipe", "", 0644, WORDS))).isEmpty();
    assertThat(text(files.read("into/pipe"))).isEqualTo("words");
    assertThat(unpack(files, Tar.of(Tar.HARD_LINK, "hard", secret, 0644, new byte[0])))
        .isIn("not-found", "bad-request");
    // Unpacking does not follow a link from the archive, even if that leads into the box itself.
    files.mkdir("beside");
    for (String target : List.of(host.toString(), "/workspace/beside", "../beside")) {
      assertThat(
              unpack(
                  files,
                  Tar.of(Tar.LINK, "out", target, 0777, new byte[0])
                      .with(Tar.FILE, "out/secret", "", 0644, WORDS)))
          .as(target)
          .isEqualTo("conflict");
    }
    assertThat(files.list("beside")).isEmpty();
    assertThat(unpack(files, Tar.of(Tar.FILE, "z", "", 0644, WORDS).with('x', "", "", 0, WORDS)))
        .isIn("", "bad-request");
    // Without their roots and their rights they are files like others.
    assertThat(unpack(files, Tar.of(Tar.FILE, secret, "", 0644, WORDS))).isEmpty();
    assertThat(text(files.read("into" + secret))).isEqualTo("words");
    assertThat(unpack(files, Tar.of(Tar.FILE, "suid", "", 06755, WORDS))).isEmpty();
    sh(client, "test ! -u into/suid && test ! -g into/suid && test -z \"$(find into -uid 0)\"");
    assertThat(refusal(() -> files.stat("up"))).isEqualTo("not-found");

    assertThat(unpack(files, Tar.of(Tar.FILE, "bomb", "", 0644, new byte[64 << 20])))
        .isEqualTo("too-large");
    files.remove("into", true);
    files.mkdir("into");
    files.write("fits", new byte[1 << 20]);
    assertThat(refusal(() -> files.write("bomb", new byte[64 << 20]))).isEqualTo("too-large");
    assertThat(refusal(() -> files.stat("bomb"))).isEqualTo("not-found");
    assertThat(
            refusal(() -> files.untar("nowhere", Tar.of(Tar.FILE, "a", "", 0644, WORDS).content())))
        .isEqualTo("not-found");
    for (String into : List.of("nowhere", "fits", "into")) {
      // Without members tar itself would not even look for the directory.
      assertThat(refusal(() -> files.untar(into, new ByteArrayInputStream(new byte[1024]))))
          .isEqualTo(into.equals("into") ? "" : into.equals("fits") ? "conflict" : "not-found");
    }
    assertThat(refusal(() -> files.untar("into", InputStream.nullInputStream())))
        .isEqualTo("bad-request");
    assertThat(
            refusal(
                () ->
                    files.untar(
                        "into", new ByteArrayInputStream("no tar".repeat(999).getBytes(UTF_8)))))
        .isEqualTo("bad-request");
  }

  private static String unpack(BoxFiles files, Tar tar) throws IOException {
    return refusal(() -> files.untar("into", tar.content()));
  }

  @Test
  void whatIsCutHalfWayIsSeenToBeCut() throws Exception {
    EbbClient client = box(BoxRequest.defaults());
    sh(client, "truncate -s 200M large && mkdir d && ln large d/large");
    for (String kind : List.of("file", "tar")) {
      // RACE: all of it may have been on its way when the box went; but never some of it.
      client.boxes().create(BoxRequest.defaults().withName("cut"));
      client.execs("cut").run(ExecRequest.of("truncate", "-s", "200M", "large"));
      InputStream content =
          kind.equals("tar") ? client.files("cut").tar(".") : client.files("cut").read("large");
      assertThat(content.read()).isNotNegative();
      client.boxes().remove("cut", true);
      assertWholeOrBroken(content);
    }
    InputStream content = client.files("b").read("large");
    assertThat(content.read()).isNotNegative();
    ProcessHandle.of(daemon.pid()).orElseThrow().destroyForcibly();
    assertThatExceptionOfType(IOException.class)
        .isThrownBy(() -> content.transferTo(new Nowhere()));
    content.close();
    daemon.start();
    TestHost.reapOrphans();
    assertThat(daemon.client().boxes().list(BoxQuery.all()))
        .extracting(Box::state)
        .containsOnly(BoxState.GONE);
  }

  private static void assertWholeOrBroken(InputStream content) {
    try (content) {
      assertThat(content.transferTo(new Nowhere())).isGreaterThanOrEqualTo((200L << 20) - 1);
    } catch (IOException e) {
      assertThat(e).isNotInstanceOf(EbbException.class);
    }
  }

  private static final class Nowhere extends java.io.OutputStream {
    @Override
    public void write(int b) {}

    @Override
    public void write(byte[] bytes, int offset, int length) {}
  }

  @Test
  void anUploadThatBreaksOffLeavesWhatWasThere() throws Exception {
    EbbClient client = box(BoxRequest.defaults().withFile("kept", Output.of("old")));
    String head =
        "PUT /v1/boxes/b/files?path=kept HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
            + daemon.key("--admin")
            + "\r\n";
    for (String body :
        List.of(
            "Content-Length: 1000\r\n\r\nnew", "Transfer-Encoding: chunked\r\n\r\n3\r\nnew\r\n")) {
      try (Wire wire = Wire.to(daemon.uri())) {
        wire.write(head + body);
      }
    }
    var chunked = new ByteArrayOutputStream();
    client.files("b").read("kept", chunked);
    assertThat(chunked.toString(UTF_8)).isEqualTo("old");
  }
}
