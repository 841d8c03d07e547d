package dev.ebb.client;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Selects boxes.
 *
 * @param labels each as {@code key=value}; a box must have all
 */
public record BoxQuery(List<String> labels, @Nullable BoxState state, @Nullable String name) {
  public BoxQuery {
    labels = List.copyOf(labels);
  }

  public static BoxQuery all() {
    return new BoxQuery(List.of(), null, null);
  }

  public BoxQuery withLabel(String key, String value) {
    var more = new ArrayList<>(labels);
    more.add(key + "=" + value);
    return new BoxQuery(more, state, name);
  }

  public BoxQuery withState(BoxState newState) {
    return new BoxQuery(labels, newState, name);
  }

  public BoxQuery withName(String newName) {
    return new BoxQuery(labels, state, newName);
  }
}
