package dev.ebb.init;

/**
 * The processes, descriptors and files that init finds in its box.
 *
 * @param processes including init
 * @param descriptors of init
 * @param files files and directories where commands may write
 * @param blocks of memory that these take
 */
public record BoxContents(int processes, int descriptors, long files, long blocks) {}
