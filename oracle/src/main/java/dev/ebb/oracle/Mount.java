package dev.ebb.oracle;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;

/** One line of mountinfo. */
public record Mount(String id, Path point, String type, String source) {
  private static final Pattern OCTAL = Pattern.compile("\\\\([0-7]{3})");

  public static List<Mount> readAll() throws IOException {
    return Proc.lines(Proc.SELF.resolve("mountinfo")).stream().map(Mount::parse).toList();
  }

  private static Mount parse(String line) {
    // KERNEL: proc(5), mountinfo: id … root mountpoint options [optional fields] - type source …
    String[] halves = line.split(" - ", 2);
    String[] mount = halves[0].split(" ");
    String[] type = halves[1].split(" ");
    return new Mount(mount[0], Path.of(unescape(mount[4])), type[0], unescape(type[1]));
  }

  private static String unescape(String text) {
    return OCTAL
        .matcher(text)
        .replaceAll(octal -> "\\" + (char) Integer.parseInt(octal.group(1), 8));
  }

  boolean isCgroup() {
    return type.equals("cgroup") || type.equals("cgroup2");
  }
}
