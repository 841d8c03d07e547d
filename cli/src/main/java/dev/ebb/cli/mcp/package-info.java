/**
 * {@code ebb mcp}: a bridge between stdin and stdout and the MCP interface of the daemon. May use
 * {@code output}, {@code caller}, {@code option} and {@code daemon}.
 */
@NullMarked
package dev.ebb.cli.mcp;

import org.jspecify.annotations.NullMarked;
