package dev.ebb.model;

import java.nio.file.Path;

/** A file of the host copied into the box when it is made. */
public record CopiedFile(Path host, String box) {}
