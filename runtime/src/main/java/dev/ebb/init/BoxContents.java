package dev.ebb.init;

/**
 * What init finds in its box.
 *
 * @param processes including init
 * @param descriptors of init
 * @param files files and directories where commands may write
 * @param blocks of memory that these take
 */
public record BoxContents(int processes, int descriptors, long files, long blocks) {}
