/**
 * HTTP for every door: connections and their limits, callers, routes, requests and answers, JSON,
 * events and WebSockets. {@link dev.ebb.server.http.Door} is what a protocol brings to it. Knows
 * the services, and no door.
 */
@NullMarked
package dev.ebb.server.http;

import org.jspecify.annotations.NullMarked;
