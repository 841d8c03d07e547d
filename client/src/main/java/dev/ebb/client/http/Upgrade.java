package dev.ebb.client.http;

import org.jspecify.annotations.Nullable;

/** Either a WebSocket, or the answer of a server that gave none. */
public record Upgrade(@Nullable WebSocket socket, @Nullable Response refusal) {}
