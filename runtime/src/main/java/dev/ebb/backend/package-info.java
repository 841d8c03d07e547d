/**
 * How sandboxes are made and used: {@link dev.ebb.backend.SandboxBackend} makes one, {@link
 * dev.ebb.backend.Sandbox} is a living one.
 *
 * <p>A backend is a package below this one and a line in the engine's registration; no other
 * package names its classes. May use the layers below: ledger, store, cgroup, process, init.
 */
@NullMarked
package dev.ebb.backend;

import org.jspecify.annotations.NullMarked;
