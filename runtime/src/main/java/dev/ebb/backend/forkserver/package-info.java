/**
 * The backends that clone a resident process: a forkserver, whose template bubblewrap has made, or
 * a zygote, which is a forkserver inside an interpreter.
 *
 * <p>May use backend, backend.bubblewrap and the layers below.
 */
@NullMarked
package dev.ebb.backend.forkserver;

import org.jspecify.annotations.NullMarked;
