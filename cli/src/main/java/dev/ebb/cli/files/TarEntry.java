package dev.ebb.cli.files;

/**
 * One member of a tar.
 *
 * @param type as in the header: 0 file, 1 hard link, 2 symbolic link, 5 directory
 */
record TarEntry(String name, char type, int mode, long size, long modifiedSeconds, String link) {
  static final int BLOCK = 512;
  static final char FILE = '0';
  static final char HARD_LINK = '1';
  static final char SYMBOLIC_LINK = '2';
  static final char DIRECTORY = '5';

  /** Bytes after the content, up to the next block. */
  static int padding(long size) {
    return (int) ((BLOCK - size % BLOCK) % BLOCK);
  }
}
