/**
 * What is answered about boxes, commands, code and files: one declaration for all doors, so that a
 * thing has one name whoever asks.
 */
@NullMarked
package dev.ebb.server.answer;

import org.jspecify.annotations.NullMarked;
