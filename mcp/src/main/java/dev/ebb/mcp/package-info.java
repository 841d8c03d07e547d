/**
 * The Model Context Protocol: sessions over streamable HTTP, and tools that work in boxes. Each
 * session owns the boxes it makes, and they go with it, whatever ends it. Uses the server's http
 * and services, no other door; the SDK is used here only.
 */
@org.jspecify.annotations.NullMarked
package dev.ebb.mcp;
