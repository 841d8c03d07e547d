/** Reads and writes JSON as RFC 8259 defines it. Start with {@link Json}. */
@NullMarked
package dev.ebb.json;

import org.jspecify.annotations.NullMarked;
