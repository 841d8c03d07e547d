/**
 * What tests stand on: {@link dev.ebb.testkit.LeakCheck} looks at the real host before and after a
 * test, {@link dev.ebb.testkit.TestHost} lends a home, and the fakes stand in for clock and
 * cgroups.
 *
 * <p>May use the kernel and oracle modules and JUnit, never the runtime: what judges must not share
 * code with what it judges.
 */
@NullMarked
package dev.ebb.testkit;

import org.jspecify.annotations.NullMarked;
