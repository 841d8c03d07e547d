package dev.ebb.server.service;

import dev.ebb.model.ExecSpec;
import java.util.Optional;

/**
 * A command that is to be run.
 *
 * @param input all that it is to read; empty: what is written to it later, or nothing
 */
@SuppressWarnings("OptionalOfArray") // never compared, never changed
public record CommandTask(ExecSpec spec, Optional<byte[]> input) {}
