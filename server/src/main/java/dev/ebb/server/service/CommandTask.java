package dev.ebb.server.service;

import dev.ebb.model.ExecSpec;
import java.util.Optional;

/**
 * A command to run.
 *
 * @param input everything that it is to read; empty: nothing, or what is written later
 */
@SuppressWarnings("OptionalOfArray") // never compared, never changed
public record CommandTask(ExecSpec spec, Optional<byte[]> input) {}
