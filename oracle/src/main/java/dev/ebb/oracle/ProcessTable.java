package dev.ebb.oracle;

import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * All processes at one moment, and the runtime that owns each.
 *
 * <p>This JVM is a child subreaper, so everything it starts stays below it for ever. Other runtimes
 * and test runs on the same host check their own processes.
 */
public final class ProcessTable {
  /** Tests that make things on the host without a runtime name them after their JVM. */
  private static final Pattern BY_PID = Pattern.compile("ebb-[a-z]+-(\\d{1,9})(-\\w+)?");

  private final int self;
  private final Map<Integer, ProcessEntry> byPid = new HashMap<>();
  private final Set<Integer> ancestors = new HashSet<>();
  private @Nullable Set<String> neighboursLinks;

  public ProcessTable(int self, List<ProcessEntry> entries) {
    this.self = self;
    entries.forEach(entry -> byPid.put(entry.pid(), entry));
    // Pid 0 is the parent of pid 1, and of what came in from outside the pid namespace.
    ancestors.add(0);
    lineage(self).forEach(each -> ancestors.add(each.pid()));
  }

  public static ProcessTable read() throws IOException {
    return new ProcessTable((int) ProcessHandle.current().pid(), ProcessEntry.readAll());
  }

  public List<ProcessEntry> entries() {
    return List.copyOf(byPid.values());
  }

  /** The process and its ancestors, the oldest last. */
  private Set<ProcessEntry> lineage(int pid) {
    var lineage = new LinkedHashSet<ProcessEntry>();
    ProcessEntry at = byPid.get(pid);
    // RACE: the table is not read in one instant, so reused numbers may even close a circle.
    while (at != null && lineage.add(at)) {
      at = byPid.get(at.parent());
    }
    return lineage;
  }

  /** It descends from this JVM. */
  public boolean isBelowUs(ProcessEntry process) {
    return lineage(process.parent()).stream().anyMatch(each -> each.pid() == self);
  }

  /**
   * It descends from a living process that we did not start. An orphan that carries Ebb's identity
   * has no such ancestor, so it may be ours.
   */
  boolean isNeighbours(ProcessEntry process) {
    return isStrangers(process) || hasNeighbourAbove(process);
  }

  /** An ordinary user starts nothing as another. */
  private boolean isStrangers(ProcessEntry process) {
    ProcessEntry us = byPid.get(self);
    return us != null && us.uid() != 0 && us.uid() != process.uid();
  }

  private boolean hasNeighbourAbove(ProcessEntry process) {
    return lineage(process.pid()).stream()
        .filter(each -> ancestors.contains(each.parent()))
        .findFirst()
        .filter(oldest -> oldest.parent() != self && !oldest.isEbbs())
        .isPresent();
  }

  /** A living process that is neither this JVM nor below it has the number. */
  boolean isNeighbour(int pid) {
    ProcessEntry process = byPid.get(pid);
    return process != null && pid != self && !isBelowUs(process);
  }

  /** The name holds the number of a {@linkplain #isNeighbour neighbour}. */
  boolean isNeighboursName(String name) {
    Matcher byPid = BY_PID.matcher(name);
    return byPid.matches() && isNeighbour(Integer.parseInt(byPid.group(1)));
  }

  /** So does a part of the path. */
  boolean isNeighboursPath(String path) {
    return Arrays.stream(path.split("/")).anyMatch(this::isNeighboursName);
  }

  /** A process that we did not start has a descriptor whose target contains {@code text}. */
  public boolean neighboursHold(String text) throws IOException {
    if (neighboursLinks == null) {
      neighboursLinks = readNeighboursLinks();
    }
    return neighboursLinks.stream().anyMatch(link -> link.contains(text));
  }

  /** This process, or one below it, has a descriptor whose target contains {@code text}. */
  public boolean weHold(String text) throws IOException {
    return readLinks(process -> !isNeighbour(process.pid())).stream()
        .anyMatch(link -> link.contains(text));
  }

  private Set<String> readNeighboursLinks() throws IOException {
    return readLinks(process -> isNeighbour(process.pid()));
  }

  private Set<String> readLinks(Predicate<ProcessEntry> whose) throws IOException {
    var links = new HashSet<String>();
    for (ProcessEntry process : byPid.values()) {
      if (whose.test(process)) {
        for (Path fd : Proc.list(process.directory().resolve("fd"))) {
          readNameableLink(fd).ifPresent(links::add);
        }
      }
    }
    return links;
  }

  /** KERNEL: a directory may lie deeper than a path can say; nothing of ours has such a name. */
  private static Optional<String> readNameableLink(Path fd) throws IOException {
    try {
      return Proc.readLink(fd);
    } catch (FileSystemException e) {
      if ("File name too long".equals(e.getReason())) {
        return Optional.empty();
      }
      throw e;
    }
  }
}
