package dev.ebb.egress;

import java.io.IOException;
import java.net.InetAddress;
import java.util.List;

/** Finds the addresses of a name; may take its time, on a thread of its own. */
@FunctionalInterface
public interface Resolver {
  /** Resolves names as programs on this host do. */
  Resolver OF_HOST = name -> List.of(InetAddress.getAllByName(name));

  List<InetAddress> resolve(String name) throws IOException;
}
