package dev.ebb.client;

import dev.ebb.client.http.Body;
import dev.ebb.client.http.HttpTransport;
import dev.ebb.client.http.Request;
import dev.ebb.client.http.Response;
import dev.ebb.client.http.Target;
import dev.ebb.client.http.Upgrade;
import dev.ebb.client.http.WebSocket;
import dev.ebb.json.Json;
import dev.ebb.json.JsonObject;
import java.io.Closeable;
import java.io.IOException;
import java.net.ConnectException;
import java.net.ProtocolException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/** Sends requests with the client's key, and returns answers as documents or throws exceptions. */
final class Calls implements Closeable {
  private static final int MAX_DOCUMENT = 64 * 1024 * 1024;
  private static final int MAX_PROBLEM = 1024 * 1024;
  private static final String JSON = "application/json";

  private final HttpTransport transport;
  private final String key;

  /**
   * @param key empty over a unix socket
   */
  Calls(HttpTransport transport, String key) {
    this.transport = transport;
    this.key = key;
  }

  static Request get(Target target) {
    return Request.of("GET", target);
  }

  static Request post(Target target) {
    return Request.of("POST", target);
  }

  static Request post(Target target, JsonObject document) {
    return post(target).with(Body.of(JSON, Json.write(document).getBytes(StandardCharsets.UTF_8)));
  }

  static Request put(Target target, JsonObject document) {
    return Request.of("PUT", target)
        .with(Body.of(JSON, Json.write(document).getBytes(StandardCharsets.UTF_8)));
  }

  /** Returns the time limit of a call that works for this long on the server. */
  static Duration patience(Duration work) {
    return work.plus(Request.PATIENCE);
  }

  void connect() throws IOException {
    try {
      transport.connect();
    } catch (ConnectException e) {
      throw noDaemon(e);
    }
  }

  private NoDaemonException noDaemon(ConnectException e) {
    String message = "no daemon answers at " + transport.endpoint() + ": " + e.getMessage();
    return new NoDaemonException(message, e);
  }

  private Request authorized(Request request) {
    return key.isEmpty() ? request : request.with("Authorization", "Bearer " + key);
  }

  /** Sends a request; throws if the answer is an error. */
  Response send(Request request) throws IOException {
    Response response = answer(request);
    if (response.status() / 100 != 2) {
      throw problem(response);
    }
    return response;
  }

  /** Sends a request; returns any answer. */
  Response answer(Request request) throws IOException {
    try {
      return transport.send(authorized(request));
    } catch (ConnectException e) {
      throw noDaemon(e);
    }
  }

  static IOException problem(Response response) throws IOException {
    byte[] body = response.bytes(MAX_PROBLEM, Request.PATIENCE);
    return response.status() < 400
        ? new ProtocolException("unexpected status " + response.status())
        : EbbException.of(response.status(), body);
  }

  JsonObject json(Request request) throws IOException {
    Response response = send(request.with("Accept", JSON));
    return Json.readObject(response.bytes(MAX_DOCUMENT, request.patience()));
  }

  /** Sends a request whose answer has no content. */
  void done(Request request) throws IOException {
    send(request).bytes(MAX_PROBLEM, Request.PATIENCE);
  }

  Response events(Request request) throws IOException {
    return send(request.with("Accept", "text/event-stream").with(Duration.ZERO));
  }

  WebSocket webSocket(Request request) throws IOException {
    Upgrade upgrade;
    try {
      upgrade = transport.upgrade(authorized(request));
    } catch (ConnectException e) {
      throw noDaemon(e);
    }
    if (upgrade.socket() != null) {
      return upgrade.socket();
    }
    Response refusal = upgrade.refusal();
    throw refusal == null ? new ProtocolException("no WebSocket") : problem(refusal);
  }

  @Override
  public void close() {
    transport.close();
  }
}
