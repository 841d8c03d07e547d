/**
 * Control groups, which hold and limit all processes of boxes.
 *
 * <p>Files bear the kernel's names, one class a controller. A read error is an error, never "no
 * process". The mode is decided once, at start. May use ledger, store and kernel.
 */
@NullMarked
package dev.ebb.cgroup;

import org.jspecify.annotations.NullMarked;
