package dev.ebb.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.model.BoxSpec;
import dev.ebb.model.ExecSpec;
import dev.ebb.testkit.Feature;
import dev.ebb.testkit.LeakChecked;
import dev.ebb.testkit.TestHost;
import java.io.IOException;
import java.nio.file.Files;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The filter, call by call: in a box it answers, on the host the kernel does. */
@Tag("kernel")
@LeakChecked
@Timeout(60)
final class SeccompKernelTest {
  private static final Pattern RULE =
      Pattern.compile("\\b(?:DENY|DENY_IF|ABSENT|NO_FAMILY_IF)\\((\\w+)[,)]");

  /** Calls that a host may forbid even to root: by lockdown, sysctl or its own sandbox. */
  private static final Set<String> MAY_BE_FORBIDDEN =
      Set.of(
          "bpf",
          "delete_module",
          "finit_module",
          "init_module",
          "io_uring_enter",
          "io_uring_register",
          "io_uring_setup",
          "ioperm",
          "iopl",
          "kexec_file_load",
          "kexec_load",
          "perf_event_open",
          "userfaultfd");

  @RegisterExtension final Prober prober = new Prober();

  @Test
  void everyDeniedCallIsDenied() throws IOException, InterruptedException {
    Map<String, String> inBox = callsInBox();
    assertThat(inBox).hasSizeGreaterThan(70);
    inBox.forEach((call, errno) -> assertThat(errno).as(call).isEqualTo(expected(call)));
  }

  private static String expected(String call) {
    if (call.startsWith("socket protocol")) {
      return "EPROTONOSUPPORT";
    }
    return switch (call.split(" ")[0]) {
      case "clone3", "openat2" -> "ENOSYS";
      case "socket", "socketpair" -> "EAFNOSUPPORT";
      default -> "EPERM";
    };
  }

  /** Hence it was the filter that denied. */
  @Test
  void withoutTheFilterTheKernelAnswersOtherwise() throws IOException, InterruptedException {
    TestHost.require(Feature.ROOT); // to whom the kernel itself forbids little
    Map<String, String> onHost = parse(Prober.run(Prober.python("calls.py")));
    var same = new HashSet<String>();
    callsInBox()
        .forEach(
            (call, errno) -> {
              if (errno.equals(onHost.get(call))) {
                same.add(call);
              }
            });
    assertThat(same).isSubsetOf(MAY_BE_FORBIDDEN);
  }

  @Test
  void everyRuleOfTheFilterIsProbed() throws IOException, InterruptedException {
    String source = Files.readString(TestHost.root().resolve("init/box/seccomp.c"));
    var rules =
        RULE.matcher(source).results().map(match -> match.group(1)).collect(Collectors.toSet());
    var probed =
        callsInBox().keySet().stream().map(call -> call.split(" ")[0]).collect(Collectors.toSet());
    rules.remove("name"); // of the macros themselves
    assertThat(rules).hasSizeGreaterThan(50);
    if (System.getProperty("os.arch").equals("aarch64")) {
      rules.removeAll(Set.of("chmod", "mknod", "creat", "open", "iopl", "ioperm", "modify_ldt"));
    }
    assertThat(probed).containsAll(rules);
  }

  @Test
  void theCallsOfAnotherArchitectureKill() throws IOException, InterruptedException {
    Assumptions.assumeTrue(System.getProperty("os.arch").equals("amd64"), "host lacks i386 calls");
    assertThat(prober.inBox("foreign_abi")).isEqualTo("SIGSYS");
    assertThat(Prober.onHost("foreign_abi")).isEqualTo("exit 0");
  }

  @Test
  void callsThatCommandsNeedAreAllowed() throws IOException, InterruptedException {
    var threads =
        """
        import os, socket, subprocess, threading
        thread = threading.Thread(target=print, args=('thread',)); thread.start(); thread.join()
        print(subprocess.run(['echo', 'child'], capture_output=True, text=True).stdout, end='')
        os.mkdir('d'); os.chmod('d', 0o1777); open('f', 'w').close(); os.chmod('f', 0o755)
        server = socket.create_server(('127.0.0.1', 0)); client = socket.create_connection(server.getsockname())
        print(len(socket.if_nameindex()))
        """;
    assertThat(prober.run(BoxSpec.defaults(), ExecSpec.of("/usr/bin/python3", "-c", threads)))
        .isEqualTo("thread\nchild\n1");
  }

  private Map<String, String> callsInBox() throws IOException, InterruptedException {
    var run = prober.engine().run(BoxSpec.defaults(), ExecSpec.of(Prober.python("calls.py")));
    assertThat(run.cause().code()).as(run.stderr().text()).isZero();
    return parse(run.stdout().text());
  }

  private static Map<String, String> parse(String lines) {
    var calls = new LinkedHashMap<String, String>();
    lines
        .lines()
        .forEach(line -> calls.put(line.substring(0, line.lastIndexOf(' ')), lastWord(line)));
    return calls;
  }

  private static String lastWord(String line) {
    return line.substring(line.lastIndexOf(' ') + 1);
  }
}
