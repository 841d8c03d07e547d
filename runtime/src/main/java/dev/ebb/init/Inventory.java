package dev.ebb.init;

import java.util.Optional;

/**
 * The contents of a box.
 *
 * @param written the entry of the file that was written right after it, see {@link
 *     InitQueries#writeFile}
 */
@SuppressWarnings("OptionalOfArray") // never compared
public record Inventory(BoxContents contents, Optional<byte[]> written) {}
