package dev.ebb.server.service;

import dev.ebb.code.WorkspaceFiles;
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

/** The working directory of a box as it was, to tell later what was written there since. */
final class WorkspaceWatch {
  /** Of the files that are wanted, in all. */
  private static final int CONTENT_MOST = 8 << 20;

  private final BoxFiles box;
  private final WorkspaceFiles before;

  private WorkspaceWatch(BoxFiles box, WorkspaceFiles before) {
    this.box = box;
    this.before = before;
  }

  static WorkspaceWatch of(TenantBox box) throws InterruptedException {
    BoxFiles files = box.files();
    return new WorkspaceWatch(files, WorkspaceFiles.of(files));
  }

  /** Of a box in which nothing happened yet but that these files were written. */
  static WorkspaceWatch ofNew(TenantBox box, Map<String, Optional<FileEntry>> written)
      throws InterruptedException {
    Optional<WorkspaceFiles> known =
        box.order().spec().mounts().isEmpty() ? WorkspaceFiles.ofNew(written) : Optional.empty();
    return known.isPresent()
        ? new WorkspaceWatch(box.files(), known.get())
        : WorkspaceWatch.of(box);
  }

  /** What is new or not as it was, and what is in the files that {@code wanted} matches. */
  CodeResult.Written written(List<Glob> wanted, Room room)
      throws IOException, InterruptedException {
    return written(() -> WorkspaceFiles.of(box), wanted, room);
  }

  /** What was new or changed when {@code exec} had ended. */
  CodeResult.Written writtenBy(Exec exec, List<Glob> wanted, Room room)
      throws IOException, InterruptedException {
    return written(() -> WorkspaceFiles.after(box, exec), wanted, room);
  }

  private interface Look {
    WorkspaceFiles files() throws InterruptedException;
  }

  private CodeResult.Written written(Look now, List<Glob> wanted, Room room)
      throws IOException, InterruptedException {
    WorkspaceFiles changed;
    try {
      changed = now.files().since(before);
    } catch (SandboxException e) {
      // The code took its box along, or has left it without room for a process.
      return CodeResult.Written.lost(String.valueOf(e.getMessage()));
    }
    var all = new ArrayList<CodeResult.File>();
    int left = CONTENT_MOST;
    for (Map.Entry<String, FileEntry> each : changed.files().entrySet()) {
      String path = each.getKey();
      boolean isWanted = wanted.stream().anyMatch(glob -> glob.matches(path));
      CodeResult.Content content =
          isWanted
              ? content(path, each.getValue().size(), left, room)
              : new CodeResult.Content.NotWanted();
      if (content instanceof CodeResult.Content.Whole(var bytes)) {
        left -= bytes.length;
      }
      all.add(new CodeResult.File(path, each.getValue().size(), type(path), content));
    }
    return new CodeResult.Written(all, changed.isCut(), Optional.empty());
  }

  private static String type(String path) {
    String type = URLConnection.guessContentTypeFromName(path);
    return type == null ? "application/octet-stream" : type;
  }

  private CodeResult.Content content(String path, long size, int left, Room room)
      throws IOException, InterruptedException {
    int most = (int) Math.min(left, size);
    if (size <= left && !room.hasRoomFor(size)) {
      return new CodeResult.Content.Missing("the server has no memory for it just now");
    }
    try (FileContent content = box.read(WorkspaceFiles.path(path), 0)) {
      byte[] bytes = content.readNBytes(most + 1);
      return size > left || bytes.length > most
          ? new CodeResult.Content.Missing("all that is wanted is longer than " + CONTENT_MOST)
          : new CodeResult.Content.Whole(bytes);
    } catch (SandboxException e) {
      return new CodeResult.Content.Missing(String.valueOf(e.getMessage()));
    }
  }
}
