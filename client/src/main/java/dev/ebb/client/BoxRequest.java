package dev.ebb.client;

import dev.ebb.json.JsonObject;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A request for a box; the daemon chooses null values. Immutable.
 *
 * @param ttl how long it may live
 * @param idleTimeout how long it may do nothing
 * @param packages directories of the daemon's host
 * @param backend the name of the backend that must make it; null: any that can
 * @param detached whether it outlives the daemon, and the next daemon adopts it
 */
public record BoxRequest(
    @Nullable String name,
    Map<String, String> labels,
    @Nullable Duration ttl,
    @Nullable Duration idleTimeout,
    Limits limits,
    @Nullable String network,
    List<Mount> mounts,
    List<String> packages,
    List<NewFile> files,
    @Nullable String backend,
    boolean detached) {

  /** A file that is in the box from its start. */
  public record NewFile(String path, Output content) {
    JsonObject document() {
      return JsonObject.empty().with("path", path).with("content", content.document());
    }
  }

  public BoxRequest {
    labels = Collections.unmodifiableMap(new LinkedHashMap<>(labels));
    mounts = List.copyOf(mounts);
    packages = List.copyOf(packages);
    files = List.copyOf(files);
  }

  public static BoxRequest defaults() {
    return new BoxRequest(
        null,
        Map.of(),
        null,
        null,
        Limits.DEFAULTS,
        null,
        List.of(),
        List.of(),
        List.of(),
        null,
        false);
  }

  public BoxRequest withName(String changed) {
    return copy(copy -> copy.name = changed);
  }

  public BoxRequest withLabel(String key, String value) {
    return copy(copy -> copy.labels.put(key, value));
  }

  public BoxRequest withTtl(@Nullable Duration changed) {
    return copy(copy -> copy.ttl = changed);
  }

  public BoxRequest withIdleTimeout(@Nullable Duration changed) {
    return copy(copy -> copy.idleTimeout = changed);
  }

  public BoxRequest withLimits(Limits changed) {
    return copy(copy -> copy.limits = changed);
  }

  /** {@code none}, {@code host}, or {@code allow=} and names with a comma between each two. */
  public BoxRequest withNetwork(@Nullable String changed) {
    return copy(copy -> copy.network = changed);
  }

  public BoxRequest withMount(Mount mount) {
    return copy(copy -> copy.mounts.add(mount));
  }

  public BoxRequest withPackages(String directory) {
    return copy(copy -> copy.packages.add(directory));
  }

  public BoxRequest withFile(String path, Output content) {
    return copy(copy -> copy.files.add(new NewFile(path, content)));
  }

  /** Requires the backend of this name. */
  public BoxRequest withBackend(@Nullable String changed) {
    return copy(copy -> copy.backend = changed);
  }

  /** Makes a box that outlives the daemon, and is adopted by the next one. */
  public BoxRequest withDetached() {
    return copy(copy -> copy.detached = true);
  }

  private BoxRequest copy(Consumer<Copy> change) {
    var copy = new Copy(this);
    change.accept(copy);
    return copy.request();
  }

  /** A mutable copy of a request. */
  private static final class Copy {
    private @Nullable String name;
    private final Map<String, String> labels;
    private @Nullable Duration ttl;
    private @Nullable Duration idleTimeout;
    private Limits limits;
    private @Nullable String network;
    private final List<Mount> mounts;
    private final List<String> packages;
    private final List<NewFile> files;
    private @Nullable String backend;
    private boolean detached;

    private Copy(BoxRequest request) {
      name = request.name;
      labels = new LinkedHashMap<>(request.labels);
      ttl = request.ttl;
      idleTimeout = request.idleTimeout;
      limits = request.limits;
      network = request.network;
      mounts = new ArrayList<>(request.mounts);
      packages = new ArrayList<>(request.packages);
      files = new ArrayList<>(request.files);
      backend = request.backend;
      detached = request.detached;
    }

    private BoxRequest request() {
      return new BoxRequest(
          name,
          labels,
          ttl,
          idleTimeout,
          limits,
          network,
          mounts,
          packages,
          files,
          backend,
          detached);
    }
  }

  JsonObject document() {
    return JsonObject.empty()
        .with("name", name)
        .with("labels", Documents.unlessEmpty(JsonObject.ofStrings(labels)))
        .with("ttlMillis", Documents.millis(ttl))
        .with("idleTimeoutMillis", Documents.millis(idleTimeout))
        .with("limits", Documents.unlessEmpty(limits.document()))
        .with("network", Documents.network(network))
        .with("mounts", Documents.unlessEmpty(mounts.stream().map(Mount::document).toList()))
        .with("packages", Documents.unlessEmpty(packages))
        .with("files", Documents.unlessEmpty(files.stream().map(NewFile::document).toList()))
        .with("backend", backend)
        .with("detached", detached ? Boolean.TRUE : null);
  }
}
