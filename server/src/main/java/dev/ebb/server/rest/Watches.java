package dev.ebb.server.rest;

import dev.ebb.admission.BaselineWatch;
import dev.ebb.admission.PressureWatch;
import dev.ebb.server.http.Disconnects;
import dev.ebb.server.pressure.Watchdog;
import dev.ebb.server.service.Sweeper;
import dev.ebb.server.service.access.Quotas;

/** The parts that watch the whole daemon. */
@SuppressWarnings("exports") // for the daemon, see module-info
public record Watches(
    Sweeper sweeper,
    PressureWatch pressure,
    BaselineWatch baseline,
    Quotas quotas,
    Disconnects disconnects,
    Watchdog watchdog) {}
