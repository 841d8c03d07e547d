/**
 * The socket at which fronts hand their commands over. What becomes of them is known to the module
 * of the command line. May use {@code metrics}.
 */
@NullMarked
package dev.ebb.server.front;

import org.jspecify.annotations.NullMarked;
