package dev.ebb.server.http;

import static java.util.Objects.requireNonNull;

import dev.ebb.server.service.TenantBox;
import dev.ebb.server.service.TenantExec;
import dev.ebb.server.service.access.Caller;
import dev.ebb.server.service.access.TenantMemory;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.eclipse.jetty.http.HttpField;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.io.Content;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.Blocker;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.websocket.server.ServerWebSocketContainer;
import org.jspecify.annotations.Nullable;

/** One request and its answer. Blocking: each exchange has its own virtual thread. */
@SuppressWarnings("exports") // for the door of MCP, see module-info
public final class Exchange {
  static final int BODY_MOST = 16 << 20;

  /** The memory of any request: buffers, its thread, and a short body. */
  static final long REQUEST = 32 * 1024;

  private static final Duration ANSWER_PATIENCE = Duration.ofSeconds(10);
  private static final long LONGEST_MILLIS = Duration.ofDays(3650).toMillis();

  private final Request request;
  private final Response response;
  private final Callback callback;
  private final Caller caller;
  private final Map<String, String> path;
  private final Query query;
  private final Disconnects.Watch departure;
  private final TenantMemory memory;
  private final TenantMemory.Claim claim;
  private boolean upgraded;

  /** The box that the request works with. */
  private @Nullable TenantBox subject;

  Exchange(
      Request request,
      Response response,
      Callback callback,
      Caller caller,
      Map<String, String> path,
      Query query,
      Disconnects.Watch departure,
      TenantMemory memory,
      TenantMemory.Claim claim) {
    this.request = request;
    this.response = response;
    this.callback = callback;
    this.caller = caller;
    this.path = path;
    this.query = query;
    this.departure = departure;
    this.memory = memory;
    this.claim = claim;
  }

  public Caller caller() {
    return caller;
  }

  /** Notes the box that the request works with, and returns it. */
  public TenantBox about(TenantBox box) {
    subject = box;
    return box;
  }

  /** Returns the problem to report for a failure: the box may have ended meanwhile. */
  public RuntimeException meanwhile(RuntimeException failure) {
    return subject == null || failure instanceof Problem ? failure : subject.meanwhile(failure);
  }

  // --- what was asked ---

  /** Returns a parameter, which the operation of the route declares. */
  public <T> T get(Parameter<T> parameter) {
    return parameter.reader().read(this, parameter.name());
  }

  /** Returns a part of the path, by its name in the route. */
  public String path(String name) {
    return requireNonNull(path.get(name));
  }

  public Optional<String> query(String name) {
    List<String> values = query.all(name);
    if (values.size() > 1) {
      throw bad("query \"" + name + "\" comes more than once");
    }
    return values.stream().findFirst();
  }

  public String required(String name) {
    return query(name).orElseThrow(() -> bad("query \"" + name + "\" is missing"));
  }

  public List<String> queries(String name) {
    return query.all(name);
  }

  public boolean flag(String name, boolean otherwise) {
    return query(name)
        .map(
            text ->
                switch (text) {
                  case "true", "1", "" -> true;
                  case "false", "0" -> false;
                  default -> throw bad("query \"" + name + "\" must be true or false");
                })
        .orElse(otherwise);
  }

  public long number(String name, long otherwise, long most) {
    return query(name)
        .map(
            text -> {
              try {
                long number = Long.parseLong(text);
                if (number >= 0 && number <= most) {
                  return number;
                }
              } catch (NumberFormatException e) {
                // Below.
              }
              throw bad("query \"" + name + "\" must be a whole number from 0 to " + most);
            })
        .orElse(otherwise);
  }

  public Duration millis(String name, Duration otherwise) {
    return Duration.ofMillis(number(name, otherwise.toMillis(), LONGEST_MILLIS));
  }

  private static Problem bad(String detail) {
    return new Problem(Problem.Code.BAD_REQUEST, detail);
  }

  public Optional<String> header(String name) {
    return Optional.ofNullable(request.getHeaders().get(name));
  }

  /** Returns the media types that the caller accepts. */
  public Accept accept() {
    return Accept.of(request.getHeaders().getValuesList(HttpHeader.ACCEPT));
  }

  /** Returns the media type to answer with, the first one by default; refuses with 406 if none. */
  public String negotiate(String... offers) {
    return accept().choose(offers).orElseThrow(() -> Problem.notAcceptable(offers));
  }

  public InputStream content() {
    requirePlain();
    return Content.Source.asInputStream(request);
  }

  /** Releases the body, which is no longer needed; kept parts have their own claims. */
  public void forgetBody() {
    claim.shrinkTo(REQUEST);
  }

  /** Splits the claim for bytes that are kept longer than the request off the claim of the body. */
  public TenantMemory.Claim keep(byte[] bytes) {
    return claim.split(bytes.length);
  }

  /**
   * Claims memory for an answer of this many bytes, waiting for some time; returns false on a
   * timeout.
   */
  public boolean hasRoomFor(long bytes) throws InterruptedException {
    return claim.tryAdd(bytes, ANSWER_PATIENCE);
  }

  /** Returns the content as a stream that a command reads at its own pace. */
  public StdinBody content(TenantExec exec) {
    requirePlain();
    // Otherwise the request would time out while the command does not read.
    request.addIdleTimeoutListener(_ -> false);
    return new StdinBody(request, exec);
  }

  private void requirePlain() {
    boolean isCoded =
        header("Content-Encoding").filter(word -> !word.equals("identity")).isPresent()
            || header("Transfer-Encoding").filter(word -> !isChunked(word)).isPresent();
    if (isCoded) {
      throw bad("a body that is encoded is not known here; send it as it is");
    }
  }

  private static boolean isChunked(String coding) {
    return coding.strip().equalsIgnoreCase("chunked");
  }

  /** Reads the whole body, which must be short. */
  public byte[] body() throws IOException {
    try (InputStream content = content()) {
      return new BodyReader(claim, mostBody()).read(content, request.getLength());
    }
  }

  /** Parses the body, which must be an object. */
  public Fields fields() throws IOException {
    byte[] body = body();
    return inTurn(body, () -> Fields.parse(body));
  }

  /** Parses the body by this schema. */
  public Fields fields(RequestSchema schema) throws IOException {
    return fields().as(schema);
  }

  /** Processes a body; long bodies of one tenant are processed one at a time. */
  public <T, E extends Exception> T inTurn(byte[] body, TenantMemory.Work<T, E> work) throws E {
    return BodyReader.isShort(body) ? work.done() : claim.inTurn(work);
  }

  /** Returns the most bytes of a body, which are fewer in a small heap. */
  private long mostBody() {
    return Math.min(BODY_MOST, BodyReader.most(memory.largest()));
  }

  /** Returns whether the caller has disconnected before the answer began. */
  public boolean hasLeft() {
    return departure.isOver();
  }

  // --- what is answered ---

  /** Sends a document; beside it, no more than a buffer is in memory. */
  public void answer(int status, Object document) throws IOException {
    var whole = JsonOutput.write(document, () -> stream(status, "application/json"));
    if (whole.isPresent()) {
      answer(status, "application/json", whole.get());
    }
  }

  public void answer(int status, String type, byte[] body) throws IOException {
    answer(response, status, type, body);
  }

  static void answer(Response response, int status, String type, byte[] body) throws IOException {
    head(response, status, type);
    response.getHeaders().put(HttpHeader.CONTENT_LENGTH, body.length);
    try (var blocker = Blocker.callback()) {
      response.write(true, ByteBuffer.wrap(body), blocker);
      blocker.block();
    }
  }

  public void done() {
    response.setStatus(204);
  }

  /** Opens a stream for an answer of unknown length, which begins with the first byte. */
  public OutputStream stream(int status, String type) {
    head(response, status, type);
    return Content.Sink.asOutputStream(response);
  }

  private static void head(Response response, int status, String type) {
    response.setStatus(status);
    response.getHeaders().put(HttpHeader.CONTENT_TYPE, type);
    response.getHeaders().put(new HttpField(HttpHeader.CACHE_CONTROL, "no-store"));
  }

  /** Upgrades to a WebSocket, if the caller requests that. */
  public void upgrade(Object socket) {
    var container =
        requireNonNull(request.getContext().getAttribute(ServerWebSocketContainer.class.getName()));
    upgraded =
        ((ServerWebSocketContainer) container)
            .upgrade((ask, answer, failed) -> socket, request, response, callback);
    if (!upgraded) {
      throw bad("this is a WebSocket: send an upgrade");
    }
  }

  boolean isUpgraded() {
    return upgraded;
  }

  public void header(String name, String value) {
    response.getHeaders().put(name, value);
  }

  public boolean isAnswered() {
    return response.isCommitted();
  }

  public static byte[] json(Object document) {
    return JsonOutput.write(document);
  }
}
