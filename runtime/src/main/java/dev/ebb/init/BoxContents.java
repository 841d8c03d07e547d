package dev.ebb.init;

/**
 * What its init finds in a box.
 *
 * @param processes init among them
 * @param descriptors of init
 * @param files and directories where commands may write
 * @param blocks of memory that these take
 */
public record BoxContents(int processes, int descriptors, long files, long blocks) {}
