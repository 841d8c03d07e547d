package dev.ebb.engine;

import java.nio.channels.SocketChannel;

/**
 * Runs commands in a daemon for fronts: small programs that were typed instead of a JVM of their
 * own. The module of the command line provides it.
 */
public interface Handover {
  /**
   * Serves one front until it has gone, on the virtual thread that calls. It must be a process of
   * the daemon's own user. The channel is closed afterwards, and nothing of the command is left.
   *
   * @param build the exact build of this daemon; fronts of another build are refused
   */
  void serve(SocketChannel front, String build) throws InterruptedException;
}
