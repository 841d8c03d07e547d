/** Code, in boxes that are served. */
@NullMarked
package dev.ebb.server.code;

import org.jspecify.annotations.NullMarked;
