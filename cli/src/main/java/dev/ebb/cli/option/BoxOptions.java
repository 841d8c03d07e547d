package dev.ebb.cli.option;

import static dev.ebb.cli.option.Options.list;
import static dev.ebb.cli.option.Options.size;
import static dev.ebb.cli.option.Options.value;

import dev.ebb.cli.caller.Caller;
import dev.ebb.client.BoxRequest;
import dev.ebb.client.Output;
import dev.ebb.model.BoxPaths;
import dev.ebb.model.ByteSize;
import dev.ebb.model.CopiedFile;
import dev.ebb.model.Limits;
import dev.ebb.model.Mount;
import dev.ebb.model.Network;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.TypeConversionException;

/** The options of a box, and what they mean to the daemon. */
public final class BoxOptions {
  private BoxOptions() {}

  /** Adds the options of every box. */
  public static void addTo(CommandSpec spec) {
    Limits limits = Limits.defaults();
    spec.addOption(size("--memory", "memory limit, including /workspace and /tmp", limits.memory()))
        .addOption(
            value(
                "--pids",
                "N",
                Integer.class,
                Options::count,
                "limit of processes and threads (default: " + limits.pids() + ")"))
        .addOption(
            value("--cpus", "N", Double.class, Options::cpus, "limit of processors (default: all)"))
        .addOption(size("--disk", "size of /workspace", limits.disk()))
        .addOption(
            value(
                "--net",
                "none|host|allow=NAME,...",
                Network.class,
                BoxOptions::network,
                "network; allow: these hosts by a proxy, e.g. allow=example.org,*.example.org:8443"
                    + " (default: none)"))
        .addOption(
            list(
                new String[] {"--mount"},
                "HOST:BOX[:ro]",
                "mount a directory or file of the host in the box"))
        .addOption(
            list(
                new String[] {"--packages"},
                "DIR",
                "mount packages read-only (made by pip install --target, npm --prefix)"))
        .addOption(
            list(
                new String[] {"--file"},
                "HOST:BOX",
                "copy a file into the box; BOX is below /workspace unless absolute"))
        .addOption(
            Options.text(
                "--backend",
                "NAME",
                "backend that makes the box; ebb doctor lists them (default: one that can)"))
        .addOption(Options.text("--name", "NAME", "name of the box (daemon only)"))
        .addOption(
            list(new String[] {"-l", "--label"}, "KEY=VALUE", "label of the box (daemon only)"))
        .addOption(
            Options.duration("--ttl", "lifetime of the box (daemon only; default: unlimited)"))
        .addOption(
            Options.duration(
                "--idle-timeout", "lifetime without a command (daemon only; default: unlimited)"));
  }

  static Network network(String text) {
    try {
      return Network.parse(text);
    } catch (IllegalArgumentException e) {
      throw new TypeConversionException(String.valueOf(e.getMessage()));
    }
  }

  /** The request to the daemon; an option that is absent is left to the daemon. */
  public static BoxRequest request(Caller caller, ParseResult parsed) throws IOException {
    BoxRequest request =
        BoxRequest.defaults()
            .withLimits(limits(parsed))
            .withTtl(Options.<Duration>find(parsed, "--ttl").orElse(null))
            .withIdleTimeout(Options.<Duration>find(parsed, "--idle-timeout").orElse(null))
            .withNetwork(Options.<Network>find(parsed, "--net").map(Network::toString).orElse(null))
            .withBackend(Options.<String>find(parsed, "--backend").orElse(null));
    Optional<String> name = Options.find(parsed, "--name");
    if (name.isPresent()) {
      request = request.withName(name.get());
    }
    for (String label : Options.many(parsed, "--label")) {
      int equals = label.indexOf('=');
      if (equals <= 0) {
        throw Options.bad(parsed, "bad label \"" + label + "\": write KEY=VALUE");
      }
      request = request.withLabel(label.substring(0, equals), label.substring(equals + 1));
    }
    return withFiles(caller, parsed, request);
  }

  private static BoxRequest withFiles(Caller caller, ParseResult parsed, BoxRequest start)
      throws IOException {
    BoxRequest request = start;
    for (String text : Options.many(parsed, "--mount")) {
      Mount mount = mount(caller, parsed, text);
      request =
          request.withMount(
              new dev.ebb.client.Mount(mount.host().toString(), mount.box(), mount.readOnly()));
    }
    for (String text : Options.many(parsed, "--packages")) {
      request = request.withPackages(caller.absolutePath(text).toString());
    }
    for (String text : Options.many(parsed, "--file")) {
      CopiedFile file = file(caller, parsed, text);
      request = request.withFile(file.box(), Output.of(Files.readAllBytes(file.host())));
    }
    return request;
  }

  private static dev.ebb.client.Limits limits(ParseResult parsed) {
    return new dev.ebb.client.Limits(
        bytes(parsed, "--memory"),
        Options.<Integer>find(parsed, "--pids").orElse(null),
        Options.<Double>find(parsed, "--cpus").orElse(null),
        bytes(parsed, "--disk"));
  }

  static @Nullable Long bytes(ParseResult parsed, String option) {
    return Options.<ByteSize>find(parsed, option).map(ByteSize::bytes).orElse(null);
  }

  public static Mount mount(Caller caller, ParseResult parsed, String text) {
    String rest = text.endsWith(":ro") ? text.substring(0, text.length() - 3) : text;
    int colon = rest.lastIndexOf(':');
    if (colon <= 0 || colon == rest.length() - 1) {
      throw Options.bad(parsed, "bad mount \"" + text + "\": write HOST:BOX or HOST:BOX:ro");
    }
    return new Mount(
        caller.absolutePath(rest.substring(0, colon)),
        rest.substring(colon + 1),
        !rest.equals(text));
  }

  public static CopiedFile file(Caller caller, ParseResult parsed, String text) {
    int colon = text.lastIndexOf(':');
    if (colon == 0 || colon == text.length() - 1) {
      throw Options.bad(parsed, "bad file \"" + text + "\": write HOST:BOX, or HOST alone");
    }
    Path host = caller.absolutePath(colon < 0 ? text : text.substring(0, colon));
    String name = colon < 0 ? String.valueOf(host.getFileName()) : text.substring(colon + 1);
    return new CopiedFile(host, name.startsWith("/") ? name : BoxPaths.WORKSPACE + "/" + name);
  }
}
