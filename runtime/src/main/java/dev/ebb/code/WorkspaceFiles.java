package dev.ebb.code;

import dev.ebb.exec.BoxFiles;
import dev.ebb.exec.Exec;
import dev.ebb.model.FileEntry;
import dev.ebb.model.SandboxException;
import java.util.ArrayDeque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The regular files below the working directory of a box at one moment, by their paths.
 *
 * @param files in the order of the walk: those of a directory by name, then those of the next
 * @param isCut whether there are more, or deeper ones, than the walk visits
 */
public record WorkspaceFiles(Map<String, FileEntry> files, boolean isCut) {
  private static final String ROOT = "/workspace";

  private static final int FILES_MOST = 1_000;
  private static final int DIRECTORIES_MOST = 100;

  /** The limit for one directory: more than enough to find out that there are too many. */
  private static final int LISTED_MOST = FILES_MOST + DIRECTORIES_MOST + 1;

  /** Lists the files. A file that is written meanwhile is listed as it was, or not at all. */
  public static WorkspaceFiles of(BoxFiles box) throws InterruptedException {
    return of(box, box.workspace());
  }

  /** Lists the files that a command has left, after its end. */
  public static WorkspaceFiles after(BoxFiles box, Exec exec) throws InterruptedException {
    return of(box, box.workspaceAfter(exec));
  }

  private static WorkspaceFiles of(BoxFiles box, List<FileEntry> top) throws InterruptedException {
    var files = new LinkedHashMap<String, FileEntry>();
    var directories = new ArrayDeque<>(List.of(""));
    boolean isCut = false;
    for (int looked = 0; !directories.isEmpty(); looked++) {
      if (looked == DIRECTORIES_MOST) {
        isCut = true;
        break;
      }
      String directory = directories.remove();
      for (FileEntry entry : directory.isEmpty() ? top : list(box, directory)) {
        String path = directory.isEmpty() ? entry.name() : directory + "/" + entry.name();
        switch (entry.type()) {
          case DIRECTORY -> directories.add(path);
          case FILE -> {
            if (files.size() < FILES_MOST) {
              files.put(path, entry);
            } else {
              isCut = true;
            }
          }
          case LINK, OTHER -> {}
        }
      }
    }
    return new WorkspaceFiles(files, isCut);
  }

  /**
   * Lists the files of a box that has only these, which were just written.
   *
   * @param written by the paths they were written to; an empty entry is unknown
   * @return empty: the box must be listed
   */
  public static Optional<WorkspaceFiles> ofNew(Map<String, Optional<FileEntry>> written) {
    var files = new LinkedHashMap<String, FileEntry>();
    for (var each : written.entrySet()) {
      String path = each.getKey();
      String below = path.startsWith(ROOT + "/") ? path.substring(ROOT.length() + 1) : path;
      if (each.getValue().isEmpty() || !isPlain(below)) {
        return Optional.empty();
      }
      files.put(below, each.getValue().get());
    }
    return Optional.of(new WorkspaceFiles(files, false));
  }

  /**
   * Returns whether no other file can have that name. No pattern is used: there may be thousands of
   * names.
   */
  private static boolean isPlain(String path) {
    return Stream.of(path.split("/", -1)).noneMatch(name -> name.isEmpty() || name.startsWith("."));
  }

  private static List<FileEntry> list(BoxFiles box, String directory) throws InterruptedException {
    try {
      return box.list(ROOT + "/" + directory, LISTED_MOST);
    } catch (SandboxException e) {
      // RACE: removed meanwhile, or closed by the code to itself: nothing can be listed.
      return List.of();
    }
  }

  /** Returns the files that are new or changed. */
  public WorkspaceFiles since(WorkspaceFiles before) {
    var changed = new LinkedHashMap<>(files);
    changed.entrySet().removeIf(each -> each.getValue().equals(before.files.get(each.getKey())));
    return new WorkspaceFiles(changed, isCut);
  }

  /** Returns the path of a file in the box. */
  public static String path(String file) {
    return ROOT + "/" + file;
  }
}
