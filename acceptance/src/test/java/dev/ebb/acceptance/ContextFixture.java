package dev.ebb.acceptance;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import dev.ebb.client.BoxRequest;
import dev.ebb.client.CellRequest;
import dev.ebb.client.CellResult;
import dev.ebb.client.ContextRequest;
import dev.ebb.client.Contexts;
import dev.ebb.client.EbbClient;
import java.io.IOException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** Gives each test a box of its own, and runs cells in contexts of that box. */
abstract class ContextFixture {
  private final DaemonProcess daemon;
  EbbClient client;
  String box;
  Contexts contexts;

  ContextFixture(DaemonProcess daemon) {
    this.daemon = daemon;
  }

  @BeforeEach
  void makeABox() throws Exception {
    client = daemon.client();
    box = client.boxes().create(BoxRequest.defaults()).id();
    contexts = client.contexts(box);
  }

  @AfterEach
  void removeTheBox() throws Exception {
    assertThat(client.boxes().remove(box, true).clean()).isTrue();
    client.close();
  }

  String create(String language) throws IOException {
    return contexts.create(ContextRequest.of(language)).id();
  }

  CellResult run(String context, String code) throws IOException {
    return contexts.run(context, CellRequest.of(code));
  }

  static String plain(CellResult cell) {
    return requireNonNull(cell.result().get("text/plain"), cell.document().toString()).text();
  }
}
