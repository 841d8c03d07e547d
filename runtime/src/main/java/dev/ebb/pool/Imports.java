package dev.ebb.pool;

import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.regex.Pattern;

/** The modules that a text of python names in its import statements, as far as these are plain. */
final class Imports {
  private static final int LONGEST = 64;
  private static final int MOST = 32;

  private static final Pattern STATEMENT =
      Pattern.compile(
          "^[ \\t]*(?:import[ \\t]+([^\\n;#(]++)|from[ \\t]+([\\w.]++)[ \\t]+import\\b)",
          Pattern.MULTILINE);

  private static final Pattern NAME = Pattern.compile("[A-Za-z_]\\w*+(?:\\.[A-Za-z_]\\w*+){0,3}");

  private Imports() {}

  static Set<String> of(String code) {
    var names = new LinkedHashSet<String>();
    var statement = STATEMENT.matcher(code.replace(';', '\n'));
    while (statement.find() && names.size() < MOST) {
      String list = statement.group(1);
      if (list == null) {
        add(statement.group(2), names);
      } else {
        for (String each : list.split(",", MOST)) {
          add(each.strip().split("\\s", 2)[0], names);
        }
      }
    }
    return names;
  }

  private static void add(String name, Collection<String> names) {
    if (name.length() <= LONGEST && NAME.matcher(name).matches()) {
      names.add(name);
    }
  }
}
