/**
 * The values that all layers share: what an exec is, a file for a new box, text of a box.
 *
 * <p>Values only, without a dependency on another package of Ebb.
 */
@NullMarked
package dev.ebb.model;

import org.jspecify.annotations.NullMarked;
