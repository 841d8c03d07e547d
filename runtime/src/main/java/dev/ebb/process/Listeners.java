package dev.ebb.process;

import dev.ebb.kernel.Errno;
import dev.ebb.kernel.KernelException;
import java.io.BufferedReader;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.function.LongPredicate;
import java.util.regex.Pattern;

/** The open ports of a network namespace: listening TCP and bound UDP sockets. */
public final class Listeners {
  private static final Path PROC = Path.of("/proc");
  private static final List<String> TABLES = List.of("tcp", "tcp6", "udp", "udp6");

  /** KERNEL: TCP_LISTEN; and TCP_CLOSE, which is how a UDP socket without a peer shows. */
  private static final String LISTEN = "0A";

  private static final String WITHOUT_PEER = "07";

  /** KERNEL: proc(5), net/tcp: number, local address, remote address, state, … */
  private static final int LOCAL = 1;

  private static final int STATE = 3;
  private static final int INODE = 9;
  private static final Pattern BLANKS = Pattern.compile("\\s+");
  private static final String SOCKET = "socket:[";

  private Listeners() {}

  /**
   * One listening socket.
   *
   * @param protocol tcp, tcp6, udp or udp6
   * @param inode of the socket
   */
  public record Listener(String protocol, String address, int port, long inode) {
    @Override
    public String toString() {
      boolean isVersion6 = address.indexOf(':') >= 0;
      return protocol + " " + (isVersion6 ? "[" + address + "]" : address) + ":" + port;
    }
  }

  /**
   * Returns the listeners that {@code pid} sees; none if it is gone.
   *
   * @param wanted the inodes of their sockets
   * @param most the bound of the result: a box may have any number
   */
  public static List<Listener> of(int pid, LongPredicate wanted, int most) throws KernelException {
    var all = new ArrayList<Listener>();
    for (String table : TABLES) {
      Path file = PROC.resolve(Integer.toString(pid)).resolve("net").resolve(table);
      try (BufferedReader lines = Files.newBufferedReader(file, StandardCharsets.US_ASCII)) {
        String line = lines.readLine(); // the heading
        while (line != null && all.size() < most) {
          line = lines.readLine();
          if (line != null) {
            add(table, line, wanted, all);
          }
        }
      } catch (NoSuchFileException e) {
        // The process is gone, or the host lacks this protocol.
      } catch (IOException e) {
        // KERNEL: a dying process has no network namespace any more, which is EINVAL or ESRCH.
        if (ProcFs.stat(pid).filter(stat -> !stat.isZombie()).isPresent()) {
          throw new KernelException("read " + file + " (" + e + ")", Errno.EIO);
        }
      }
    }
    return all;
  }

  private static void add(String table, String line, LongPredicate wanted, List<Listener> all) {
    String[] fields = BLANKS.split(line.strip());
    String state = table.startsWith("tcp") ? LISTEN : WITHOUT_PEER;
    if (fields.length > INODE && fields[STATE].equals(state)) {
      long inode = Long.parseLong(fields[INODE]);
      if (wanted.test(inode)) {
        all.add(parse(table, fields[LOCAL], inode));
      }
    }
  }

  static Listener parse(String table, String local, long inode) {
    int colon = local.lastIndexOf(':');
    return new Listener(
        table,
        address(local.substring(0, colon)),
        Integer.parseInt(local.substring(colon + 1), 16),
        inode);
  }

  /** KERNEL: words of four bytes, each as this processor has it in memory: here, the last first. */
  private static String address(String hex) {
    byte[] printed = HexFormat.of().parseHex(hex);
    byte[] bytes = new byte[printed.length];
    for (int i = 0; i < printed.length; i++) {
      bytes[i] = printed[i / 4 * 4 + 3 - i % 4];
    }
    try {
      return InetAddress.getByAddress(bytes).getHostAddress();
    } catch (java.net.UnknownHostException e) {
      throw new IllegalArgumentException("no address: " + hex, e);
    }
  }

  /** The inodes of the sockets that these processes have open. */
  public static Set<Long> sockets(List<Integer> pids) {
    var inodes = new HashSet<Long>();
    for (int pid : pids) {
      Path descriptors = PROC.resolve(Integer.toString(pid)).resolve("fd");
      try (var entries = Files.newDirectoryStream(descriptors)) {
        for (Path entry : entries) {
          addSocket(entry, inodes);
        }
      } catch (IOException | java.nio.file.DirectoryIteratorException e) {
        // The process has ended meanwhile.
      }
    }
    return inodes;
  }

  private static void addSocket(Path descriptor, Set<Long> inodes) {
    try {
      String target = Files.readSymbolicLink(descriptor).toString();
      if (target.startsWith(SOCKET)) {
        inodes.add(Long.parseLong(target.substring(SOCKET.length(), target.length() - 1)));
      }
    } catch (IOException e) {
      // The descriptor was closed meanwhile.
    }
  }
}
