/**
 * The engine's side of ebb-init: the messages on the control socket of a box, and the calls made
 * with them.
 *
 * <p>A visible pair with init/protocol.h, which {@link dev.ebb.init.Protocol} repeats number by
 * number. {@link dev.ebb.init.InitChannel} is read first. May use the layers below: cgroup,
 * process, store, model.
 */
@NullMarked
package dev.ebb.init;

import org.jspecify.annotations.NullMarked;
