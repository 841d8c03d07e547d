/** Black-box tests: the packaged dist as a user drives it. */
@NullMarked
package dev.ebb.acceptance;

import org.jspecify.annotations.NullMarked;
