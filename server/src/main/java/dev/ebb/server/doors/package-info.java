/**
 * The signs of doors that are modules of their own: what the daemon knows of them, and documents,
 * before they are loaded.
 */
@NullMarked
package dev.ebb.server.doors;

import org.jspecify.annotations.NullMarked;
