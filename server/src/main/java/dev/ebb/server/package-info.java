/** The daemon itself: its configuration, its start and its end. */
@NullMarked
package dev.ebb.server;

import org.jspecify.annotations.NullMarked;
