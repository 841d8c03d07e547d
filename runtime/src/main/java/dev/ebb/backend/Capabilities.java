package dev.ebb.backend;

import java.util.EnumSet;
import java.util.Optional;
import java.util.Set;

/** What the boxes of a backend can do. */
public record Capabilities(Set<Capability> all) {
  public Capabilities {
    all = Set.copyOf(all);
  }

  public static Capabilities of(Capability... all) {
    return new Capabilities(Set.of(all));
  }

  public Capabilities with(Capability... added) {
    var more = EnumSet.noneOf(Capability.class);
    more.addAll(all);
    more.addAll(Set.of(added));
    return new Capabilities(more);
  }

  public Capabilities without(Capability... lacked) {
    var rest = EnumSet.noneOf(Capability.class);
    rest.addAll(all);
    rest.removeAll(Set.of(lacked));
    return new Capabilities(rest);
  }

  public boolean has(Capability capability) {
    return all.contains(capability);
  }

  /** Returns the first capability that {@code spec} needs and that is missing here. */
  public Optional<Capability> lackedBy(SandboxSpec spec) {
    return Capability.neededBy(spec).stream().filter(each -> !has(each)).findFirst();
  }
}
