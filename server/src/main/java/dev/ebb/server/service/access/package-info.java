/** Callers and their rights: keys, policy, caps, quotas, and the memory that a tenant may use. */
@NullMarked
package dev.ebb.server.service.access;

import org.jspecify.annotations.NullMarked;
