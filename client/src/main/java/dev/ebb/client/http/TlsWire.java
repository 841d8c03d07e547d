package dev.ebb.client.http;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLEngineResult;
import javax.net.ssl.SSLEngineResult.HandshakeStatus;

/** TLS over a blocking channel, for a client that checks the name of the server. */
final class TlsWire implements Wire {
  private static final ByteBuffer NOTHING = ByteBuffer.allocate(0);

  private final SocketChannel channel;
  private final SSLEngine engine;

  /** Encrypted bytes that were not decrypted yet; ready to be read. */
  private ByteBuffer encrypted;

  /** Decrypted bytes that were not read yet; ready to be read. */
  private ByteBuffer decrypted;

  private final Object writing = new Object();
  private ByteBuffer outgoing;

  private TlsWire(SocketChannel channel, SSLEngine engine) {
    this.channel = channel;
    this.engine = engine;
    encrypted = ByteBuffer.allocate(engine.getSession().getPacketBufferSize()).flip();
    decrypted = ByteBuffer.allocate(engine.getSession().getApplicationBufferSize()).flip();
    outgoing = ByteBuffer.allocate(engine.getSession().getPacketBufferSize());
  }

  /**
   * Does the handshake; throws {@link javax.net.ssl.SSLException} if the server cannot be trusted.
   */
  static TlsWire open(SocketChannel channel, SSLContext trust, String host, int port)
      throws IOException {
    SSLEngine engine = trust.createSSLEngine(host, port);
    engine.setUseClientMode(true);
    var parameters = engine.getSSLParameters();
    parameters.setProtocols(new String[] {"TLSv1.3", "TLSv1.2"});
    parameters.setEndpointIdentificationAlgorithm("HTTPS");
    engine.setSSLParameters(parameters);
    var wire = new TlsWire(channel, engine);
    wire.shakeHands();
    return wire;
  }

  private void shakeHands() throws IOException {
    engine.beginHandshake();
    HandshakeStatus status = engine.getHandshakeStatus();
    while (status != HandshakeStatus.NOT_HANDSHAKING && status != HandshakeStatus.FINISHED) {
      status =
          switch (status) {
            case NEED_WRAP -> wrap(NOTHING).getHandshakeStatus();
            case NEED_TASK -> runTasks();
            default -> unwrap(true).getHandshakeStatus();
          };
    }
  }

  private HandshakeStatus runTasks() {
    for (Runnable task = engine.getDelegatedTask();
        task != null;
        task = engine.getDelegatedTask()) {
      task.run();
    }
    return engine.getHandshakeStatus();
  }

  @Override
  public int read(ByteBuffer to) throws IOException {
    while (!decrypted.hasRemaining()) {
      if (unwrapAndAnswer(true).getStatus() == SSLEngineResult.Status.CLOSED) {
        return -1;
      }
    }
    int n = Math.min(to.remaining(), decrypted.remaining());
    to.put(decrypted.slice().limit(n));
    decrypted.position(decrypted.position() + n);
    return n;
  }

  /** A server may change its keys at any time, and expects an answer to that. */
  private SSLEngineResult unwrapAndAnswer(boolean waits) throws IOException {
    SSLEngineResult result = unwrap(waits);
    HandshakeStatus status = result.getHandshakeStatus();
    if (status == HandshakeStatus.NEED_TASK) {
      status = runTasks();
    }
    if (status == HandshakeStatus.NEED_WRAP && !engine.isOutboundDone()) {
      wrap(NOTHING);
    }
    return result;
  }

  /**
   * Decrypts one record.
   *
   * @param waits whether to wait for more bytes if it is incomplete; otherwise the result is an
   *     underflow
   */
  private SSLEngineResult unwrap(boolean waits) throws IOException {
    while (true) {
      decrypted.compact();
      SSLEngineResult result;
      try {
        result = engine.unwrap(encrypted, decrypted);
      } finally {
        decrypted.flip();
      }
      switch (result.getStatus()) {
        case BUFFER_UNDERFLOW -> {
          if (!fill() && !waits) {
            return result;
          }
        }
        case BUFFER_OVERFLOW ->
            decrypted = larger(decrypted, engine.getSession().getApplicationBufferSize());
        default -> {
          return result;
        }
      }
    }
  }

  /**
   * Decrypts what has arrived. TLS ends with a closing message: without it the stream may be
   * truncated.
   */
  private boolean fill() throws IOException {
    if (encrypted.remaining() == encrypted.capacity()) {
      encrypted = larger(encrypted, engine.getSession().getPacketBufferSize());
    }
    encrypted.compact();
    try {
      int n = channel.read(encrypted);
      if (n < 0) {
        throw new EOFException("the connection was closed");
      }
      return n > 0;
    } finally {
      encrypted.flip();
    }
  }

  private static ByteBuffer larger(ByteBuffer full, int more) {
    return ByteBuffer.allocate(full.remaining() + more).put(full).flip();
  }

  @Override
  public int write(ByteBuffer from) throws IOException {
    return wrap(from).bytesConsumed();
  }

  private SSLEngineResult wrap(ByteBuffer from) throws IOException {
    synchronized (writing) {
      while (true) {
        outgoing.clear();
        SSLEngineResult result = engine.wrap(from, outgoing);
        outgoing.flip();
        while (outgoing.hasRemaining()) {
          channel.write(outgoing);
        }
        switch (result.getStatus()) {
          case BUFFER_OVERFLOW ->
              outgoing = ByteBuffer.allocate(engine.getSession().getPacketBufferSize());
          case CLOSED -> throw new EOFException("the server has closed the connection");
          default -> {
            return result;
          }
        }
      }
    }
  }

  @Override
  public boolean isQuiet() throws IOException {
    channel.configureBlocking(false);
    try {
      SSLEngineResult.Status status = SSLEngineResult.Status.OK;
      while (status == SSLEngineResult.Status.OK && !decrypted.hasRemaining()) {
        status = unwrapAndAnswer(false).getStatus();
      }
      return status == SSLEngineResult.Status.BUFFER_UNDERFLOW && !decrypted.hasRemaining();
    } finally {
      channel.configureBlocking(true);
    }
  }

  @Override
  public void close() throws IOException {
    channel.close();
  }
}
