/**
 * The Model Context Protocol: sessions over streamable HTTP, and tools that work in boxes. Each
 * session owns the boxes it makes; they end with the session, however it ends. Uses the server's
 * http and services, and no other door. Only this package uses the SDK.
 */
@org.jspecify.annotations.NullMarked
package dev.ebb.mcp;
