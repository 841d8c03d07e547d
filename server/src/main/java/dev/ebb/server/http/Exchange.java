package dev.ebb.server.http;

import static java.util.Objects.requireNonNull;

import dev.ebb.kernel.ProcessClock;
import dev.ebb.model.SandboxException;
import dev.ebb.server.service.TenantBox;
import dev.ebb.server.service.TenantExec;
import dev.ebb.server.service.access.Caller;
import dev.ebb.server.service.access.TenantMemory;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
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

/** One request and its answer, in our words. Blocking: each has a virtual thread of its own. */
@SuppressWarnings("exports") // for the door of MCP, see module-info
public final class Exchange {
  static final int BODY_MOST = 16 << 20;

  /** What a request takes in any case: buffers, its thread, and a body that is short. */
  static final long REQUEST = 32 * 1024;

  private static final int BODY_SHORT = 8 * 1024;

  /** What becomes of a body takes several times of it: its text, the values in it, their copies. */
  private static final int BODY_WEIGHT = 4;

  /** Of one value in a body, beside its text; and how many there can be. */
  private static final long VALUE_WEIGHT = 64;

  private static final long VALUES_MOST = 200_000;

  private static final Duration ANSWER_PATIENCE = Duration.ofSeconds(10);
  private static final Duration ROOM_PATIENCE = Duration.ofMillis(250);
  private static final int BODY_CHUNK = 16 * 1024;
  private static final int BODY_RATE = 64 * 1024;
  private static final Duration BODY_PATIENCE = Duration.ofSeconds(15);
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

  /** The box that it works with. */
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

  /** Notes the box that it works with, and gives it back. */
  public TenantBox about(TenantBox box) {
    subject = box;
    return box;
  }

  /** What to answer when it failed: its box may have ended under it. */
  public RuntimeException meanwhile(RuntimeException failure) {
    return subject == null || failure instanceof Problem ? failure : subject.meanwhile(failure);
  }

  // --- what was asked ---

  /** A parameter, which the operation of the route has. */
  public <T> T get(Parameter<T> parameter) {
    return parameter.reader().read(this, parameter.name());
  }

  /** A part of the path, as the route names it. */
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

  /** What is not any tenant's is for admins. */
  public void requireAdmin() {
    if (!caller().isAdmin()) {
      throw new Problem(Problem.Code.FORBIDDEN, "an admin key is needed");
    }
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

  /** Whether the caller wants this rather than JSON. */
  public boolean accepts(String type) {
    return request.getHeaders().getValuesList(HttpHeader.ACCEPT).stream()
        .anyMatch(value -> value.contains(type));
  }

  public InputStream content() {
    requirePlain();
    return Content.Source.asInputStream(request);
  }

  /** The body is of no use any more; what was kept of it has a claim of its own. */
  public void forgetBody() {
    claim.shrinkTo(REQUEST);
  }

  /** Of what the body takes, the part of these bytes, which are kept longer than the request. */
  public TenantMemory.Claim keep(byte[] bytes) {
    return claim.split(bytes.length);
  }

  /** Room for an answer that holds so many bytes; false when there is none for a while. */
  public boolean hasRoomFor(long bytes) throws InterruptedException {
    return claim.tryAdd(bytes, ANSWER_PATIENCE);
  }

  /**
   * The content, for as long as a command may read it; how long that takes is the command's affair.
   */
  public StdinBody content(TenantExec exec) {
    requirePlain();
    // Else the request fails for good while nobody reads, which is while the command does not.
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

  /** The whole body, which must be short. */
  public byte[] body() throws IOException {
    long length = request.getLength();
    requireShort(length);
    // Of a known length it is claimed and made at once: to make it grow would copy it many times.
    byte[] body = new byte[claimBody(0, Math.max(BODY_SHORT, length))];
    int size = 0;
    long values = 0;
    long begun = ProcessClock.nanos();
    try (InputStream content = content()) {
      for (int n = read(content, body, size); n >= 0; n = read(content, body, size)) {
        values = claimValues(body, size, n, values);
        size += n;
        requireInTime(ProcessClock.nanos() - begun, size);
        if (size == body.length && size != length) {
          requireShort(size + 1L);
          body = Arrays.copyOf(body, claimBody(size, 2L * size));
        }
        Turns.giveWay();
      }
    }
    return size == body.length ? body : Arrays.copyOf(body, size);
  }

  /** The body, as the object that it must be. */
  public Fields fields() throws IOException {
    byte[] body = body();
    return inTurn(body, () -> Fields.parse(body));
  }

  /** The body, as the object that this describes. */
  public Fields fields(RequestSchema schema) throws IOException {
    return fields().as(schema);
  }

  /** Has a body worked up: a long one when no other long one of the tenant is. */
  public <T, E extends Exception> T inTurn(byte[] body, TenantMemory.Work<T, E> work) throws E {
    return body.length <= BODY_CHUNK ? work.done() : claim.inTurn(work);
  }

  private static int read(InputStream content, byte[] body, int size) throws IOException {
    boolean isWhole = size == body.length;
    int n =
        isWhole
            ? content.read()
            : content.read(body, size, Math.min(BODY_CHUNK, body.length - size));
    if (isWhole && n >= 0) {
      throw new IOException("the body is longer than it says");
    }
    return n;
  }

  /** Room for a body that grows; to how much. */
  private int claimBody(long before, long wanted) {
    addSoon(BODY_WEIGHT * (Math.max(BODY_SHORT, wanted) - Math.max(BODY_SHORT, before)));
    return Math.toIntExact(wanted);
  }

  /** A client has its answer a moment before what its last request took is given back. */
  private void addSoon(long bytes) {
    try {
      claim.add(bytes);
    } catch (SandboxException e) {
      if (!hasRoomSoon(bytes)) {
        throw e;
      }
    }
  }

  private boolean hasRoomSoon(long bytes) {
    try {
      return claim.tryAdd(bytes, ROOM_PATIENCE);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  /**
   * A short value becomes many times what it is; there are no more than these, or it is refused.
   */
  private long claimValues(byte[] body, int from, int length, long before) {
    long values = before;
    for (int i = from; i < from + length && values < VALUES_MOST; i++) {
      values += body[i] == ',' || body[i] == ':' || body[i] == '[' || body[i] == '{' ? 1 : 0;
    }
    long free = BODY_SHORT / 4;
    addSoon(VALUE_WEIGHT * (Math.max(values, free) - Math.max(before, free)));
    return values;
  }

  /** In a small heap less than anywhere else. */
  private void requireShort(long length) {
    long most = Math.min(BODY_MOST, BODY_SHORT + memory.largest() / BODY_WEIGHT);
    if (length > most) {
      throw new Problem(Problem.Code.TOO_LARGE, "the body is larger than " + most + " bytes");
    }
  }

  /** Whoever drips a body is not waited for: each byte would begin the idle timeout anew. */
  static void requireInTime(long nanos, long length) {
    if (nanos > BODY_PATIENCE.plusSeconds(length / BODY_RATE).toNanos()) {
      throw new Problem(
          Problem.Code.TIMED_OUT, "the body comes slower than " + BODY_RATE + " bytes a second");
    }
  }

  /** Whether the caller has hung up before anything was answered. */
  public boolean hasLeft() {
    return departure.isOver();
  }

  // --- what is answered ---

  /** Of a long document no more than a buffer is in memory beside it. */
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

  /** For an answer of unknown length; it is on its way with the first byte. */
  public OutputStream stream(int status, String type) {
    head(response, status, type);
    return Content.Sink.asOutputStream(response);
  }

  private static void head(Response response, int status, String type) {
    response.setStatus(status);
    response.getHeaders().put(HttpHeader.CONTENT_TYPE, type);
    response.getHeaders().put(new HttpField(HttpHeader.CACHE_CONTROL, "no-store"));
  }

  /** Goes on as a WebSocket, if the caller wants that. */
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
