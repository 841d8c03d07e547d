/**
 * The answers about boxes, commands, code and files, declared once for all doors, so that each
 * thing has the same name behind every door.
 */
@NullMarked
package dev.ebb.server.answer;

import org.jspecify.annotations.NullMarked;
