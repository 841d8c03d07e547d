package dev.ebb.server.service;

import dev.ebb.engine.Engine;
import dev.ebb.server.metrics.Metrics;
import dev.ebb.server.service.access.TenantMemory;

/**
 * The parts that the boxes of all tenants share.
 *
 * @param isRehearsal whether these are the boxes of a rehearsal, which are not worth a line in the
 *     log
 */
record Facilities(
    Engine engine, Events events, Metrics metrics, TenantMemory memory, boolean isRehearsal) {}
