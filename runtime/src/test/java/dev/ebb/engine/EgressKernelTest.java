package dev.ebb.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.box.Box;
import dev.ebb.model.BoxSpec;
import dev.ebb.testkit.LeakChecked;
import java.net.InetAddress;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A box reaches what its policy allows, by its proxy, and nothing else in any way. */
@Tag("kernel")
@LeakChecked
@Timeout(180)
final class EgressKernelTest {
  @RegisterExtension final Internet internet = new Internet();

  private static BoxSpec allowing(String... rules) {
    return Internet.allowing(rules);
  }

  private String place() {
    return internet.place();
  }

  private String inBox(BoxSpec spec, String... words) throws Exception {
    return internet.inBox(spec, words);
  }

  // --- what is allowed ---

  @Test
  void anAllowedNameIsReachedByTunnelAndByRequest() throws Exception {
    var spec = allowing(place());
    assertThat(inBox(spec, "echo", place())).isEqualTo("ECHO origin 1000");
    assertThat(inBox(spec, "get", "http://" + place() + "/x")).endsWith("hello from origin");
    assertThat(internet.origin().log())
        .startsWith("GET /x HTTP/1.1\r\nHost: " + place() + "\r\nConnection: close\r\n");
    assertThat(internet.outcomes()).containsExactly(place() + " allowed", place() + " allowed");
    assertThat(internet.lookedUp()).containsExactly("origin.test", "origin.test");
  }

  @Test
  void aBodyGoesThroughWhole() throws Exception {
    String request = "POST http://" + place() + "/ HTTP/1.1\\r\\nHost: " + place();
    assertThat(inBox(allowing(place()), "raw", request, "\\r\\nContent-Length: 5\\r\\n\\r\\nwords"))
        .endsWith("hello from origin words");
    String size = Integer.toString(64 << 20);
    assertThat(inBox(allowing(place()), "big", "http://" + place() + "/big?" + size, size))
        .isEqualTo("same");
  }

  @Test
  void commandsGetTheProxyInTheirEnvironment() throws Exception {
    assertThat(inBox(allowing("a.org"), "variables").lines())
        .contains("HTTP_PROXY=http://127.0.0.1:3128", "https_proxy=http://127.0.0.1:3128")
        .contains("ALL_PROXY=http://127.0.0.1:3128", "NO_PROXY=localhost,127.0.0.1,::1")
        .noneMatch(line -> line.endsWith("=-"));
    assertThat(inBox(BoxSpec.defaults(), "variables").lines())
        .allMatch(line -> line.endsWith("=-"));
  }

  // --- what is refused ---

  @Test
  void aNameOutsideThePolicyIsRefusedWithoutALookUp() throws Exception {
    assertThat(
            inBox(
                allowing("origin.test:1"),
                "statuses",
                "origin.test",
                "other.test",
                "origin.test.other.test"))
        .isEqualTo("origin.test 403 403\nother.test 403 403\norigin.test.other.test 403 403");
    assertThat(internet.lookedUp()).isEmpty();
    assertThat(internet.origin().log()).isEmpty();
    assertThat(internet.outcomes())
        .contains("other.test:443 policy", "other.test:80 policy")
        .hasSize(6);
    assertThat(inBox(allowing("a.org"), "get", "http://other.test/"))
        .startsWith("HTTP/1.1 403 Ebb: other.test:80 is not allowed by the network of this box");
  }

  @Test
  void anAddressIsRefusedInEveryForm() throws Exception {
    var forms =
        List.of(
            "127.0.0.1",
            "127.1",
            "2130706433",
            "017700000001",
            "0x7f.1",
            "0x7f000001",
            "0177.0.0.1",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "169.254.169.254",
            "1.1.1.1");
    var words = new java.util.ArrayList<>(List.of("statuses"));
    words.addAll(forms);
    assertThat(inBox(allowing("*:*"), words.toArray(String[]::new)).lines())
        .hasSameSizeAs(forms)
        .allMatch(line -> line.endsWith(" 403 403"));
    assertThat(internet.lookedUp()).isEmpty();
  }

  @Test
  void aNameThatLeadsToAClosedAddressIsRefused() throws Exception {
    internet.put("inside.test", "10.0.0.1");
    internet.put("metadata.test", "169.254.169.254");
    internet.put("six.test", "::1");
    internet.put("nat64.test", "64:ff9b::7f00:1");
    internet.put("beside.test", "127.0.0.2");
    internet.put("mixed.test", "127.0.0.1", "10.0.0.1");
    assertThat(
            inBox(
                    allowing("*"),
                    "statuses",
                    "inside.test",
                    "metadata.test",
                    "six.test",
                    "nat64.test",
                    "beside.test",
                    "mixed.test")
                .lines())
        .hasSize(6)
        .allMatch(line -> line.endsWith(" 403 403"));
    assertThat(internet.outcomes()).allMatch(each -> each.endsWith(" address"));
    assertThat(inBox(allowing("*"), "statuses", "nowhere.test")).isEqualTo("nowhere.test 502 502");
  }

  /** Checked is what is connected to: a second look would see something else. */
  @Test
  void aNameThatChangesBetweenLookAndConnectionDoesNotMatter() throws Exception {
    try (var inside = Origin.open("127.0.0.2", "inside")) {
      var calls = new ConcurrentLinkedQueue<String>();
      var good = List.of(InetAddress.ofLiteral("127.0.0.1"));
      var bad = List.of(InetAddress.ofLiteral("127.0.0.2"));
      internet
          .engine()
          .egress()
          .configure(
              Internet.SETTINGS.withResolver(
                  name -> {
                    calls.add(name);
                    return calls.size() % 2 == 1 ? good : bad;
                  }));
      Box box = internet.engine().create(allowing("rebind.test:*"));
      // The second look of each pair leads inside, where the port is closed or that of the origin.
      assertThat(internet.in(box, "echo", "rebind.test:" + internet.origin().port()))
          .isEqualTo("ECHO origin 1000");
      assertThat(calls).hasSize(1);
      assertThat(internet.in(box, "echo", "rebind.test:" + inside.port()))
          .startsWith("HTTP/1.1 403 ");
      assertThat(calls).hasSize(2);
      assertThat(inside.log()).isEmpty();
    }
  }

  @Test
  void aRedirectToAClosedAddressLeadsNowhere() throws Exception {
    internet.put("inside.test", "192.168.0.1");
    var spec = allowing("*:*");
    String begin = "http://" + place() + "/redirect?";
    assertThat(inBox(spec, "follow", begin + "http://169.254.169.254/latest/"))
        .startsWith("HTTP/1.1 403 ");
    assertThat(inBox(spec, "follow", begin + "http://inside.test/")).startsWith("HTTP/1.1 403 ");
    assertThat(inBox(spec, "follow", begin + "http://" + place() + "/x"))
        .endsWith("hello from origin");
  }

  @Test
  void thereIsNoOtherWay() throws Exception {
    String without = inBox(BoxSpec.defaults(), "direct", "1.1.1.1", "443");
    assertThat(without).isEqualTo("ENETUNREACH ENETUNREACH EPERM ENETUNREACH EACCES");
    assertThat(inBox(allowing("*:*"), "direct", "1.1.1.1", "443")).isEqualTo(without);
    assertThat(inBox(allowing("*:*"), "resolve", "origin.test")).isEqualTo("no address");
    assertThat(internet.prober().inBox(allowing("*:*"), "interfaces")).isEqualTo("lo");
    assertThat(internet.lookedUp()).isEmpty();
  }

  // --- smuggling ---

  @Test
  void anAmbiguousRequestReachesNoServer() throws Exception {
    Box box = internet.engine().create(allowing(place()));
    String line = "POST http://" + place() + "/ HTTP/1.1\\r\\nHost: " + place() + "\\r\\n";
    String second = "GET /smuggled HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n";
    for (String fields :
        List.of(
            "Content-Length: 5\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\n",
            "Content-Length: 0\\r\\nContent-Length: 40\\r\\n\\r\\n",
            "Content-Length: 0\\r\\n Content-Length: 40\\r\\n\\r\\n",
            "X: y\\nContent-Length: 40\\r\\n\\r\\n",
            "Content-Length : 40\\r\\n\\r\\n",
            "Host: other.test\\r\\n\\r\\n")) {
      assertThat(internet.in(box, "raw", line, fields, second)).startsWith("HTTP/1.1 400 ");
    }
    String elsewhere = "GET http://" + place() + "/ HTTP/1.1\\r\\nHost: other.test\\r\\n\\r\\n";
    assertThat(internet.in(box, "raw", elsewhere)).startsWith("HTTP/1.1 400 ");
    assertThat(internet.origin().log()).isEmpty();
  }

  @Test
  void aSecondRequestOnAConnectionIsNotForwarded() throws Exception {
    Box box = internet.engine().create(allowing(place()));
    String first =
        "GET http://" + place() + "/hang HTTP/1.1\\r\\nHost: " + place() + "\\r\\n\\r\\n";
    String second = "GET http://other.test/ HTTP/1.1\\r\\nHost: other.test\\r\\n\\r\\n";
    assertThat(internet.in(box, "raw", first, second)).startsWith("HTTP/1.1 400 ");
    assertThat(internet.origin().log()).isEmpty();
  }
}
