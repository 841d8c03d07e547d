/**
 * Commands for fronts, run in a daemon: the messages to a front ({@code init/front/front.h}), and
 * the front as a caller. May use all packages of the command.
 */
@NullMarked
package dev.ebb.cli.front;

import org.jspecify.annotations.NullMarked;
