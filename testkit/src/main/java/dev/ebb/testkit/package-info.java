/** LeakCheck and hand-written fakes. */
@NullMarked
package dev.ebb.testkit;

import org.jspecify.annotations.NullMarked;
