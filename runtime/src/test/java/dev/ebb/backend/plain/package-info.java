/** A backend of the tests: a package and a line of a registration are all that one needs. */
@NullMarked
package dev.ebb.backend.plain;

import org.jspecify.annotations.NullMarked;
