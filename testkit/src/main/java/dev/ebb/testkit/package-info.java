/**
 * What tests stand on: {@link dev.ebb.testkit.LeakCheck} looks at the real host before and after a
 * test, {@link dev.ebb.testkit.TestHost} lends a home, the fakes stand in for clock and cgroups,
 * and {@link dev.ebb.testkit.ArchitectureRules} holds what every module obeys.
 *
 * <p>May use the kernel and oracle modules and JUnit, AssertJ and ArchUnit, never the runtime: what
 * judges must not share code with what it judges.
 */
@NullMarked
package dev.ebb.testkit;

import org.jspecify.annotations.NullMarked;
