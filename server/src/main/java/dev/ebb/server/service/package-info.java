/**
 * What every door needs, once: the boxes of all tenants with their commands, contexts, deadlines
 * and history, code runs, and events. Knows no protocol.
 */
@NullMarked
package dev.ebb.server.service;

import org.jspecify.annotations.NullMarked;
