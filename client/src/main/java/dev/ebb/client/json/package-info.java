/** JSON, strictly, and no more of it than the client needs; {@link Json} is read first. */
@NullMarked
package dev.ebb.client.json;

import org.jspecify.annotations.NullMarked;
