/**
 * What the command writes: plain text that no box can use to control the terminal, tables, JSON
 * documents, and exit codes. Uses no other package of the command.
 */
@NullMarked
package dev.ebb.cli.output;

import org.jspecify.annotations.NullMarked;
