package dev.ebb.model;

import java.nio.file.Path;

/** A directory or file of the host shown in the box. */
public record Mount(Path host, String box, boolean readOnly) {}
