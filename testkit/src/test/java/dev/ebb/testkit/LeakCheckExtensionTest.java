package dev.ebb.testkit;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Scope;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Tests that leak are failed by the check; that it does is asserted around it. */
@ExtendWith(LeakCheckExtensionTest.ExpectRed.class)
class LeakCheckExtensionTest {
  private static Scope leaked = new Scope();

  @RegisterExtension final TestHost host = TestHost.needing();

  @Test
  void aTestThatLeaksADescriptorFails() throws KernelException {
    Fd.event(leaked);
  }

  @Test
  void aTestThatLeavesAFileInItsHomeFails() throws Exception {
    Path file = Files.createFile(host.home().resolve("left"));
    leaked.own(() -> file.toFile().delete());
  }

  /** Stands where the check would, and expects it to fail, until the leak is gone. */
  static final class ExpectRed
      implements BeforeAllCallback, BeforeEachCallback, AfterEachCallback, AfterAllCallback {
    private final LeakCheck check = new LeakCheck();
    private final LeakCheck hasty = new LeakCheck(Duration.ofMillis(100));

    @Override
    public void beforeAll(ExtensionContext context) {
      check.beforeAll(context);
    }

    @Override
    public void beforeEach(ExtensionContext context) {
      leaked = new Scope();
      check.beforeEach(context);
    }

    @Override
    public void afterEach(ExtensionContext context) throws KernelException {
      assertThatThrownBy(() -> hasty.afterEach(context)).hasMessageStartingWith("leaked\n");
      assertThatCode(() -> check.afterAll(context.getParent().orElseThrow()))
          .as("what the test has reported, the class does not report again")
          .doesNotThrowAnyException();
      leaked.close();
      check.afterEach(context);
    }

    @Override
    public void afterAll(ExtensionContext context) {
      check.afterAll(context);
    }
  }
}
