/**
 * HTTP/1.1 and WebSocket on a blocking {@link java.nio.channels.SocketChannel}; start with {@link
 * HttpTransport}.
 *
 * <p>Nothing that a server sends is trusted: every length has a limit, every wait a deadline unless
 * the caller asked for none, and malformed input is a {@link java.net.ProtocolException}.
 */
@NullMarked
package dev.ebb.client.http;

import org.jspecify.annotations.NullMarked;
