package dev.ebb.engine;

import dev.ebb.fault.Step;
import dev.ebb.kernel.KernelException;
import dev.ebb.ledger.Ledger;
import dev.ebb.model.Certificate;
import dev.ebb.model.Kind;
import dev.ebb.store.DeadInstance;
import dev.ebb.store.Instance;
import dev.ebb.supervision.Recovery;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;

/**
 * Releases the attached boxes of an instance that a dead daemon left, and certifies each; detached
 * boxes stay. Not thread-safe.
 */
final class AttachedRelease {
  private final Instance instance;
  private final Ledger ledger;
  private final Recovery recovery;
  private final Map<String, Certificate> certificates = new LinkedHashMap<>();

  AttachedRelease(Instance instance, Recovery recovery) {
    this.instance = instance;
    this.recovery = recovery;
    ledger = instance.ledger();
  }

  List<Recovery.Finding> run() throws KernelException {
    var left = new DeadInstance(instance.id(), instance.directory(), true, ledger.holdings());
    var boxes = new LinkedHashSet<String>();
    left.holdings().forEach(held -> boxes.add(held.box()));
    boxes.remove("");
    boxes.removeAll(left.detached());
    var findings = new ArrayList<Recovery.Finding>();
    for (String box : boxes) {
      long begun = System.nanoTime();
      var found = release(left.only(held -> held.box().equals(box)));
      var took = Duration.ofNanos(System.nanoTime() - begun);
      certificates.put(box, certify(box, found, took));
      findings.addAll(found);
    }
    return findings;
  }

  /** Releases one box; a stuck box keeps all its lines, including that of its uid. */
  private List<Recovery.Finding> release(DeadInstance box) throws KernelException {
    var findings = recovery.release(box, false);
    if (findings.stream().noneMatch(each -> each.fate() instanceof Recovery.Fate.Stuck)) {
      Step.STRIKE_ATTACHED.reach();
      ledger.strike(box.holdings());
    }
    return findings;
  }

  private static Certificate certify(String box, List<Recovery.Finding> findings, Duration took) {
    var held = new EnumMap<Kind, Integer>(Kind.class);
    var released = new EnumMap<Kind, Integer>(Kind.class);
    var stuck = new ArrayList<Certificate.Stuck>();
    for (Recovery.Finding each : findings) {
      held.merge(each.kind(), 1, Integer::sum);
      if (each.fate() instanceof Recovery.Fate.Stuck(var reason)) {
        stuck.add(new Certificate.Stuck(each.kind(), each.subject(), reason));
      } else {
        released.merge(each.kind(), 1, Integer::sum);
      }
    }
    return new Certificate(box, held, released, stuck, took);
  }

  /** Returns the certificates of the boxes that were released, by id. */
  Map<String, Certificate> certificates() {
    return Map.copyOf(certificates);
  }
}
