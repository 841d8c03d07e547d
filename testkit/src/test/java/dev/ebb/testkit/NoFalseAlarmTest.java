package dev.ebb.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.channels.Selector;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.jar.JarFile;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Resources that the JDK itself opens at first use are no leak. */
class NoFalseAlarmTest {
  private final Snapshot before = Snapshot.take();

  @AfterEach
  void nothingIsSeen() {
    before.assertNoLeaks();
  }

  @Test
  void doingNothing() {
    nothingIsSeen();
  }

  @Test
  void randomNumbers() throws Exception {
    assertThat(SecureRandom.getInstanceStrong().generateSeed(4)).hasSize(4);
    assertThat(new SecureRandom().nextInt(4)).isLessThan(4);
  }

  @Test
  void jarsThatAClassLoaderKeepsOpen() throws Exception {
    Path jar = Path.of(Test.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    try (var file = new JarFile(jar.toFile())) {
      assertThat(file.size()).isPositive();
      nothingIsSeen();
    }
  }

  @Test
  void socketsOnVirtualThreads() throws Exception {
    try (var threads = Executors.newVirtualThreadPerTaskExecutor();
        var server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        var selector = Selector.open()) {
      var accepted = threads.submit(server::accept);
      try (var client = new Socket(server.getInetAddress(), server.getLocalPort())) {
        accepted.get().close();
        assertThat(client.getInputStream().read()).isEqualTo(-1);
      }
      assertThat(selector.selectNow()).isZero();
    }
  }

  @Test
  void poolsOfTheJdk() throws Exception {
    var later = CompletableFuture.delayedExecutor(1, TimeUnit.MILLISECONDS);
    assertThat(CompletableFuture.supplyAsync(() -> 1, later).get()).isEqualTo(1);
  }

  @Test
  void manyChildrenAtOnce() throws Exception {
    for (int i = 0; i < 20; i++) {
      new ProcessBuilder("true").start();
    }
  }

  @Test
  @Timeout(60)
  void theWatchdogOfJUnit() throws Exception {
    Files.delete(Files.createTempFile("leak", "check"));
  }
}
