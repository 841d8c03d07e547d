package dev.ebb.server.rest;

import dev.ebb.server.access.Quotas;
import dev.ebb.server.boxes.Sweeper;
import dev.ebb.server.pressure.BaselineWatch;
import dev.ebb.server.pressure.PressureWatch;
import dev.ebb.server.pressure.Watchdog;

/** Those who look after the daemon as a whole. */
@SuppressWarnings("exports") // for the daemon, see module-info
public record Watches(
    Sweeper sweeper,
    PressureWatch pressure,
    BaselineWatch baseline,
    Quotas quotas,
    Departures departures,
    Watchdog watchdog) {}
