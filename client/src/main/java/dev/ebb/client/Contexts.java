package dev.ebb.client;

import dev.ebb.client.http.Request;
import dev.ebb.client.http.Target;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** The stateful interpreters of one box, by id or name. */
public final class Contexts {
  private final Calls calls;
  private final String box;

  Contexts(Calls calls, String box) {
    this.calls = calls;
    this.box = box;
  }

  private Target target(String... segments) {
    var all = new ArrayList<>(List.of("v1", "boxes", box, "contexts"));
    all.addAll(List.of(segments));
    return Target.of(all.toArray(String[]::new));
  }

  public Context create(ContextRequest request) throws IOException {
    return Context.read(calls.json(Calls.post(target(), request.document())));
  }

  /** Lists the contexts that are not removed, oldest first. */
  public List<Context> list() throws IOException {
    return Documents.list(calls.json(Calls.get(target())).objects("contexts"), Context::read);
  }

  public Context inspect(String context) throws IOException {
    return Context.read(calls.json(Calls.get(target(context))));
  }

  /** Runs code after all earlier cells; a caller that disconnects interrupts it. */
  public CellResult run(String context, CellRequest cell) throws IOException {
    return CellResult.read(calls.json(cell(context, cell).with(Duration.ZERO)));
  }

  /** Runs a cell and follows its output. */
  public CellFollowing runAndFollow(String context, CellRequest cell) throws IOException {
    return new CellFollowing(EventSource.once(calls.events(cell(context, cell))));
  }

  private Request cell(String context, CellRequest cell) {
    return Calls.post(target(context, "cells"), cell.document());
  }

  /** Interrupts the running cell; the interpreter keeps its state. */
  public Context interrupt(String context) throws IOException {
    return Context.read(calls.json(Calls.post(target(context, "interrupt"))));
  }

  /** Ends the interpreter, which loses its state, and starts another. */
  public Context restart(String context) throws IOException {
    return Context.read(calls.json(Calls.post(target(context, "restart"))));
  }

  /** Ends the context and everything that its code started. */
  public Context remove(String context) throws IOException {
    return Context.read(calls.json(Request.of("DELETE", target(context))));
  }
}
