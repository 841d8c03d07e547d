/**
 * The values that all layers share, and that programs which embed Ebb see: what a box, a command
 * and their limits shall be, how a command ended, what was released, and why something was refused.
 *
 * <p>Values only: none of them holds anything of the host. They use no other package of the engine.
 */
@NullMarked
package dev.ebb.model;

import org.jspecify.annotations.NullMarked;
