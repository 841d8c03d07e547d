/**
 * The services that all doors share: the boxes of all tenants with their commands, contexts,
 * deadlines and history, code runs, and events. Uses no protocol.
 */
@NullMarked
package dev.ebb.server.service;

import org.jspecify.annotations.NullMarked;
