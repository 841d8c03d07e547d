package dev.ebb.code;

import dev.ebb.exec.BoxFiles;
import dev.ebb.exec.Exec;
import dev.ebb.exec.FileContent;
import dev.ebb.model.FileEntry;
import dev.ebb.model.Glob;
import dev.ebb.model.SandboxException;
import java.io.IOException;
import java.net.URLConnection;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Remembers the working directory of a box, to find out later what was written there. */
public final class WorkspaceWatch {
  /** The most bytes of all requested files. */
  private static final int CONTENT_MOST = 8 << 20;

  private final BoxFiles box;
  private final WorkspaceFiles before;

  private WorkspaceWatch(BoxFiles box, WorkspaceFiles before) {
    this.box = box;
    this.before = before;
  }

  public static WorkspaceWatch of(BoxFiles files) throws InterruptedException {
    return new WorkspaceWatch(files, WorkspaceFiles.of(files));
  }

  /**
   * Watches a box in which only these files were written.
   *
   * @param hasMounts whether the box shows files that are not its own
   */
  static WorkspaceWatch ofNew(
      BoxFiles files, boolean hasMounts, Map<String, Optional<FileEntry>> written)
      throws InterruptedException {
    Optional<WorkspaceFiles> known = hasMounts ? Optional.empty() : WorkspaceFiles.ofNew(written);
    return known.isPresent() ? new WorkspaceWatch(files, known.get()) : WorkspaceWatch.of(files);
  }

  /**
   * Returns the files that are new or changed, with the content of those that {@code wanted}
   * matches.
   */
  public Written written(List<Glob> wanted, Room room) throws IOException, InterruptedException {
    return written(() -> WorkspaceFiles.of(box), wanted, room);
  }

  /** Returns the files that were new or changed at the end of {@code exec}. */
  Written writtenBy(Exec exec, List<Glob> wanted, Room room)
      throws IOException, InterruptedException {
    return written(() -> WorkspaceFiles.after(box, exec), wanted, room);
  }

  private interface Look {
    WorkspaceFiles files() throws InterruptedException;
  }

  private Written written(Look now, List<Glob> wanted, Room room)
      throws IOException, InterruptedException {
    WorkspaceFiles changed;
    try {
      changed = now.files().since(before);
    } catch (SandboxException e) {
      // The code ended its box, or left it without room for a process.
      return Written.lost(String.valueOf(e.getMessage()));
    }
    var all = new ArrayList<Written.File>();
    int left = CONTENT_MOST;
    for (Map.Entry<String, FileEntry> each : changed.files().entrySet()) {
      String path = each.getKey();
      boolean isWanted = wanted.stream().anyMatch(glob -> glob.matches(path));
      Written.Content content =
          isWanted
              ? content(path, each.getValue().size(), left, room)
              : new Written.Content.NotWanted();
      if (content instanceof Written.Content.Whole(var bytes)) {
        left -= bytes.length;
      }
      all.add(new Written.File(path, each.getValue().size(), type(path), content));
    }
    return new Written(all, changed.isCut(), Optional.empty());
  }

  private static String type(String path) {
    String type = URLConnection.guessContentTypeFromName(path);
    return type == null ? "application/octet-stream" : type;
  }

  private Written.Content content(String path, long size, int left, Room room)
      throws IOException, InterruptedException {
    int most = (int) Math.min(left, size);
    if (size <= left && !room.hasRoomFor(size)) {
      return new Written.Content.Missing("the server has no memory for it just now");
    }
    try (FileContent content = box.read(WorkspaceFiles.path(path), 0)) {
      byte[] bytes = content.readNBytes(most + 1);
      return size > left || bytes.length > most
          ? new Written.Content.Missing("all that is wanted is longer than " + CONTENT_MOST)
          : new Written.Content.Whole(bytes);
    } catch (SandboxException e) {
      return new Written.Content.Missing(String.valueOf(e.getMessage()));
    }
  }
}
