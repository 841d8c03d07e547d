/**
 * The {@code ebb} command: finds the command by its name, and runs it. The packages below hold the
 * commands, by subject; those of {@code box}, {@code exec}, {@code code}, {@code files}, {@code
 * watch}, {@code operate} and {@code mcp} do not use each other. A class is loaded only for the
 * command that needs it.
 */
@NullMarked
package dev.ebb.cli;

import org.jspecify.annotations.NullMarked;
