package dev.ebb.backend;

import dev.ebb.init.BoxContents;
import dev.ebb.init.CallOff;
import dev.ebb.init.ExecEvents;
import dev.ebb.init.InitChannel;
import dev.ebb.init.Inventory;
import dev.ebb.init.StartRequest;
import dev.ebb.kernel.Deadline;
import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Pidfd;
import dev.ebb.kernel.Scope;
import dev.ebb.kernel.Signal;
import dev.ebb.model.ExecKind;
import dev.ebb.model.FirstFile;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** A box whose pid 1 is ebb-init at the other end of a control socket. */
public record InitSandbox(InitChannel channel) implements Sandbox {
  /** The capabilities of every box that ebb-init serves. */
  public static final Capabilities CAPABILITIES =
      Capabilities.of(
          Capability.LEAVES,
          Capability.FREEZE,
          Capability.DETACH,
          Capability.EGRESS,
          Capability.TERMINAL,
          Capability.FILES,
          Capability.INVENTORY);

  /** Connects to the init of a box that an earlier engine had detached. */
  public static Sandbox reconnect(
      BackendHost host, Scope scope, Fd directory, byte[] nonce, Pidfd init)
      throws KernelException {
    return new InitSandbox(
        InitChannel.reconnect(
            scope, host.poller(), host.discards()::discard, directory, nonce, init));
  }

  @Override
  public Optional<Pidfd> init() {
    return channel.init();
  }

  @Override
  public void whenClosed(Runnable listener) {
    channel.whenClosed(listener);
  }

  @Override
  public void start(
      int exec, StartRequest request, List<Fd> fds, boolean isPiped, ExecEvents events)
      throws KernelException {
    channel.start(exec, request, fds, isPiped, events);
  }

  @Override
  public void expect(int exec, ExecEvents events) {
    channel.expect(exec, events);
  }

  @Override
  public void awaitStart(int exec) throws KernelException {
    channel.awaitStart(exec);
  }

  @Override
  public void rearm(int exec, StartRequest request) throws KernelException {
    channel.rearm(exec, request);
  }

  @Override
  public void kill(int exec, Signal signal, Duration grace) throws KernelException {
    channel.kill(exec, signal, grace);
  }

  @Override
  public void signal(int exec, Signal signal) throws KernelException {
    channel.signal(exec, signal);
  }

  @Override
  public void resize(int exec, ExecKind.Terminal size) throws KernelException {
    channel.resize(exec, size);
  }

  @Override
  public void split(int exec) throws KernelException {
    channel.split(exec);
  }

  @Override
  public void giveLogs(int exec, Fd stdout, Fd stderr) throws KernelException {
    channel.giveLogs(exec, stdout, stderr);
  }

  @Override
  public void refuseLogs(int exec, int errno) throws KernelException {
    channel.refuseLogs(exec, errno);
  }

  @Override
  public Optional<BoxContents> inventory(Deadline deadline)
      throws KernelException, InterruptedException {
    return channel.queries().inventory(deadline);
  }

  @Override
  public Optional<Inventory> inventoryThenWrite(FirstFile file, Deadline deadline)
      throws KernelException, InterruptedException {
    return channel.queries().inventoryThenWrite(file, deadline);
  }

  @Override
  public Optional<byte[]> writeFile(FirstFile file, Deadline deadline)
      throws KernelException, InterruptedException {
    return channel.queries().writeFile(file, deadline);
  }

  @Override
  public Optional<byte[]> list(Deadline deadline) throws KernelException, InterruptedException {
    return channel.queries().list(deadline);
  }

  @Override
  public Fd listen(int port, Deadline deadline) throws KernelException, InterruptedException {
    return channel.queries().listen(port, deadline);
  }

  @Override
  public byte[] nonce() {
    return channel.nonce();
  }

  @Override
  public void detach(Fd directory, Duration deadline) throws KernelException {
    channel.detach(directory, deadline);
  }

  @Override
  public boolean greet(Deadline deadline, CallOff callOff)
      throws KernelException, InterruptedException {
    return channel.greet(deadline, callOff);
  }

  @Override
  public int highestKnown() {
    return channel.highestKnown();
  }

  @Override
  public void forget(int exec) throws KernelException {
    channel.forget(exec);
  }

  @Override
  public void leave() {
    channel.leave();
  }
}
