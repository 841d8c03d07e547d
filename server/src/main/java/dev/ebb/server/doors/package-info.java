/**
 * The signs of doors in separate modules: what the daemon knows and documents about them before
 * they are loaded.
 */
@NullMarked
package dev.ebb.server.doors;

import org.jspecify.annotations.NullMarked;
