package dev.ebb.server.http;

import java.util.List;
import java.util.Locale;

/**
 * Where a door is reached: below a path, at a host, or both.
 *
 * @param host in lower case; a leading {@code *.} matches one label; empty: any host
 * @param path its parts; none: every path
 */
public record Mount(String host, List<String> path) {
  /** Matches every request that no other mount matches. */
  public static final Mount EVERYWHERE = new Mount("", List.of());

  public Mount {
    host = host.toLowerCase(Locale.ROOT);
    path = List.copyOf(path);
  }

  /** Below a path, such as {@code /mcp}, at any host. */
  public static Mount at(String path) {
    return new Mount("", parts(path));
  }

  /** Every path at a host, such as {@code api.example.org} or {@code *.example.org}. */
  public static Mount host(String host) {
    return new Mount(host, List.of());
  }

  private static List<String> parts(String path) {
    if (!path.startsWith("/") || path.length() == 1) {
      throw new IllegalArgumentException("a mount is a path such as /mcp, not \"" + path + "\"");
    }
    return List.of(path.substring(1).split("/"));
  }
}
