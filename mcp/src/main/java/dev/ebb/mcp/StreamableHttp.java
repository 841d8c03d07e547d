package dev.ebb.mcp;

import static java.util.Objects.requireNonNull;

import dev.ebb.server.http.Accept;
import dev.ebb.server.http.Door;
import dev.ebb.server.http.EventStream;
import dev.ebb.server.http.Exchange;
import dev.ebb.server.http.Problem;
import io.modelcontextprotocol.common.McpTransportContext;
import io.modelcontextprotocol.json.McpJsonMapper;
import io.modelcontextprotocol.json.TypeRef;
import io.modelcontextprotocol.json.schema.JsonSchemaValidator.ValidationResponse;
import io.modelcontextprotocol.server.McpServer;
import io.modelcontextprotocol.spec.HttpHeaders;
import io.modelcontextprotocol.spec.McpSchema;
import io.modelcontextprotocol.spec.McpSchema.ErrorCodes;
import io.modelcontextprotocol.spec.McpSchema.Implementation;
import io.modelcontextprotocol.spec.McpSchema.InitializeRequest;
import io.modelcontextprotocol.spec.McpSchema.InitializeResult;
import io.modelcontextprotocol.spec.McpSchema.JSONRPCMessage;
import io.modelcontextprotocol.spec.McpSchema.JSONRPCNotification;
import io.modelcontextprotocol.spec.McpSchema.JSONRPCRequest;
import io.modelcontextprotocol.spec.McpSchema.JSONRPCResponse;
import io.modelcontextprotocol.spec.McpSchema.ServerCapabilities;
import io.modelcontextprotocol.spec.McpStreamableServerSession;
import io.modelcontextprotocol.spec.McpStreamableServerTransportProvider;
import io.modelcontextprotocol.spec.ProtocolVersions;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * The streamable HTTP transport of the daemon, for the SDK's server. A virtual thread of its own
 * handles each request from first to last byte. This class does what the SDK leaves to transports:
 * the owner of a session, its end, and cancellation.
 */
final class StreamableHttp implements McpStreamableServerTransportProvider {
  static final String JSON = "application/json";

  /** When a stream with this header ends, its session ends too: see {@code ebb mcp}. */
  private static final String LIFELINE = "Ebb-Lifeline";

  private static final String CANCELLED = "notifications/cancelled";
  private static final int NO_SESSION = -32001;

  private static final List<String> VERSIONS =
      List.of(
          ProtocolVersions.MCP_2024_11_05,
          ProtocolVersions.MCP_2025_03_26,
          ProtocolVersions.MCP_2025_06_18,
          ProtocolVersions.MCP_2025_11_25);

  /**
   * The SDK's logger would log what clients send. This field keeps the logger and its level alive.
   */
  private static final Logger SDK = Logger.getLogger("io.modelcontextprotocol");

  private final Door.House house;
  private final Sessions sessions;
  private final Messages messages = new Messages();
  private final McpJsonMapper json = messages.json();
  private McpStreamableServerSession.@Nullable Factory factory;

  StreamableHttp(Door.House house, Sessions sessions) {
    SDK.setLevel(Level.OFF);
    this.house = house;
    this.sessions = sessions;
    var _ =
        McpServer.sync(this)
            .serverInfo(Implementation.builder("ebb", house.version()).title("Ebb").build())
            .instructions(Instructions.TEXT)
            .capabilities(ServerCapabilities.builder().tools(false).build())
            .jsonMapper(json)
            // Tools read their arguments with Fields, which reports what is wrong with them.
            .validateToolInputs(false)
            .jsonSchemaValidator((_, _) -> ValidationResponse.asValid(""))
            .immediateExecution(true)
            .tools(new Tools(house).specifications())
            .build();
  }

  // --- incoming messages ---

  private interface Work {
    void run() throws Refused, IOException, InterruptedException;
  }

  private void answering(Exchange exchange, Work work) throws IOException, InterruptedException {
    try {
      work.run();
    } catch (Refused e) {
      exchange.answer(e.status(), JSON, json.writeValueAsBytes(e.document()));
    }
  }

  /** Handles one message of a client, and answers if the client expects it. */
  void post(Exchange exchange) throws IOException, InterruptedException {
    answering(exchange, () -> take(exchange));
  }

  private void take(Exchange exchange) throws Refused, IOException, InterruptedException {
    requireAccept(exchange);
    requireVersion(exchange);
    byte[] body = exchange.body();
    switch (exchange.inTurn(body, () -> messages.parse(body))) {
      case JSONRPCRequest request when request.method().equals(McpSchema.METHOD_INITIALIZE) ->
          initialize(exchange, request);
      case JSONRPCRequest request -> handle(exchange, session(exchange, request.id()), request);
      case JSONRPCNotification notification -> {
        accept(session(exchange, null), notification);
        exchange.answer(202, JSON, new byte[0]);
      }
      case JSONRPCResponse response -> {
        accept(session(exchange, null), response);
        exchange.answer(202, JSON, new byte[0]);
      }
      case JSONRPCMessage other ->
          throw new Refused(
              400, ErrorCodes.INVALID_REQUEST, null, "no " + other.getClass().getSimpleName());
    }
  }

  private static void requireAccept(Exchange exchange) throws Refused {
    Accept accept = exchange.accept();
    if (!accept.allows(JSON) || !accept.allows(EventStream.TYPE)) {
      throw new Refused(
          406,
          ErrorCodes.INVALID_REQUEST,
          null,
          "send \"Accept: application/json, text/event-stream\"");
    }
  }

  private static void requireVersion(Exchange exchange) throws Refused {
    Optional<String> version = exchange.header(HttpHeaders.PROTOCOL_VERSION);
    if (version.isPresent() && !VERSIONS.contains(version.get())) {
      throw new Refused(
          400,
          ErrorCodes.INVALID_REQUEST,
          null,
          "unknown " + HttpHeaders.PROTOCOL_VERSION + "; known: " + String.join(", ", VERSIONS));
    }
  }

  private Session session(Exchange exchange, @Nullable Object request) throws Refused {
    Optional<String> id = exchange.header(HttpHeaders.MCP_SESSION_ID);
    if (id.isEmpty()) {
      throw new Refused(
          400,
          ErrorCodes.INVALID_REQUEST,
          request,
          "no " + HttpHeaders.MCP_SESSION_ID + ": begin with initialize");
    }
    return sessions
        .find(exchange.caller(), id.get())
        .orElseThrow(
            () ->
                new Refused(
                    404, NO_SESSION, request, "no such session, or no longer: begin a new one"));
  }

  // --- requests ---

  private void initialize(Exchange exchange, JSONRPCRequest request) throws Refused, IOException {
    InitializeRequest order;
    try {
      order = json.convertValue(request.params(), new TypeRef<>() {});
    } catch (RuntimeException e) {
      order = null;
    }
    if (order == null || order.protocolVersion() == null || order.clientInfo() == null) {
      throw new Refused(
          400,
          ErrorCodes.INVALID_PARAMS,
          request.id(),
          "initialize needs protocolVersion, capabilities and clientInfo");
    }
    begin(exchange, request, order);
  }

  private void begin(Exchange exchange, JSONRPCRequest request, InitializeRequest order)
      throws IOException {
    if (house.boxes().isDraining()) {
      throw new Problem(Problem.Code.DRAINING, "the daemon is going down");
    }
    if (factory == null) {
      throw new IllegalStateException("the SDK's server is not there");
    }
    var begun = factory.startSession(order);
    InitializeResult result = requireNonNull(begun.initResult().block());
    String client = order.clientInfo().name() + " " + order.clientInfo().version();
    var session = new Session(house, begun.session(), exchange.caller(), client);
    sessions.begin(session);
    exchange.header(HttpHeaders.MCP_SESSION_ID, session.id());
    exchange.answer(
        200, JSON, json.writeValueAsBytes(JSONRPCResponse.result(request.id(), result)));
  }

  private void handle(Exchange exchange, Session session, JSONRPCRequest request)
      throws Refused, IOException {
    var answer = new Answer(exchange, json);
    var call = new Call(session, exchange, answer);
    if (!session.begin(request.id(), call)) {
      throw new Refused(
          400, ErrorCodes.INVALID_REQUEST, request.id(), "a request of this id is under way");
    }
    // ORDER: a client that has the answer may use its id again.
    answer.beforeLast(() -> session.done(request.id(), call));
    try {
      respond(session, request, answer, call);
    } finally {
      session.done(request.id(), call);
    }
    answer.end();
  }

  private static void respond(Session session, JSONRPCRequest request, Answer answer, Call call)
      throws Refused, IOException {
    var context = McpTransportContext.create(Map.of(Call.KEY, call));
    try {
      session
          .protocol()
          .responseStream(answer)
          .handle(request)
          .contextWrite(each -> each.put(McpTransportContext.KEY, context))
          .block();
    } catch (RuntimeException e) {
      // Either the caller has gone and the answer was not sent, or the SDK cannot read the
      // parameters.
      answer.requireSent();
      if (!(e instanceof IllegalArgumentException)) {
        throw e;
      }
      throw new Refused(
          200,
          ErrorCodes.INVALID_PARAMS,
          request.id(),
          "the parameters of " + request.method() + " are not as the protocol has them");
    }
  }

  private static void accept(Session session, JSONRPCNotification notification) {
    session.use();
    if (notification.method().equals(CANCELLED)) {
      if (notification.params() instanceof Map<?, ?> params
          && Messages.isId(params.get("requestId"))) {
        session.cancel(requireNonNull(params.get("requestId")));
      }
      return;
    }
    session.protocol().accept(notification).block();
  }

  private static void accept(Session session, JSONRPCResponse response) {
    session.use();
    // A response to no open request is ignored.
    session.protocol().accept(response).onErrorComplete().block();
  }

  // --- the stream, and the end ---

  /** Sends messages that answer no request, for as long as the client listens. */
  void listen(Exchange exchange) throws IOException, InterruptedException {
    answering(
        exchange,
        () -> {
          if (!exchange.accept().allows(EventStream.TYPE)) {
            throw new Refused(
                406, ErrorCodes.INVALID_REQUEST, null, "send \"Accept: text/event-stream\"");
          }
          requireVersion(exchange);
          listen(exchange, session(exchange, null));
        });
  }

  private void listen(Exchange exchange, Session session) throws IOException, InterruptedException {
    boolean isLifeline = exchange.header(LIFELINE).isPresent();
    try {
      session.listen(new Listening(new EventStream(exchange), json));
    } finally {
      if (isLifeline && !session.isListening()) {
        sessions.end(session, Session.End.VANISHED);
      }
    }
  }

  /** Ends the session and everything it made. */
  void end(Exchange exchange) throws IOException, InterruptedException {
    answering(
        exchange,
        () -> {
          sessions.end(session(exchange, null), Session.End.DELETED);
          exchange.done();
        });
  }

  // --- for the SDK ---

  @Override
  public void setSessionFactory(McpStreamableServerSession.Factory factory) {
    this.factory = factory;
  }

  @Override
  public List<String> protocolVersions() {
    return VERSIONS;
  }

  /** Tools never change while the daemon runs, so there is nothing to broadcast. */
  @Override
  public Mono<Void> notifyClients(String method, Object params) {
    return Mono.empty();
  }

  @Override
  public Mono<Void> closeGracefully() {
    return Mono.empty();
  }
}
