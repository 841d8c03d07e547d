/** The daemon itself: what it is configured with, how it comes up and goes down. */
@NullMarked
package dev.ebb.server;

import org.jspecify.annotations.NullMarked;
