package dev.ebb.testkit;

import dev.ebb.oracle.Trace;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;

/** Fails a test that leaves anything on the host; bound by {@link LeakChecked}. */
public final class LeakCheck
    implements BeforeAllCallback, BeforeEachCallback, AfterEachCallback, AfterAllCallback {
  private static final Namespace NAMESPACE = Namespace.create(LeakCheck.class);

  private final Duration patience;

  public LeakCheck() {
    this(Snapshot.PATIENCE);
  }

  LeakCheck(Duration patience) {
    this.patience = patience;
  }

  @Override
  public void beforeAll(ExtensionContext context) {
    before(context);
  }

  @Override
  public void beforeEach(ExtensionContext context) {
    before(context);
  }

  @Override
  public void afterEach(ExtensionContext context) {
    after(context);
  }

  @Override
  public void afterAll(ExtensionContext context) {
    after(context);
  }

  private static void before(ExtensionContext context) {
    context.getStore(NAMESPACE).put(context.getUniqueId(), Snapshot.take());
  }

  private void after(ExtensionContext context) {
    List<Trace> leaks = snapshot(context).map(s -> s.leaksSince(patience)).orElse(List.of());
    // A leak is reported once, by the innermost that sees it.
    for (var at = context.getParent(); at.isPresent(); at = at.get().getParent()) {
      snapshot(at.get()).ifPresent(snapshot -> snapshot.accept(leaks));
    }
    Snapshot.failOn(leaks);
  }

  private static Optional<Snapshot> snapshot(ExtensionContext context) {
    return Optional.ofNullable(
        context.getStore(NAMESPACE).get(context.getUniqueId(), Snapshot.class));
  }
}
