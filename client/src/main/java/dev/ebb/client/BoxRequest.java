package dev.ebb.client;

import dev.ebb.client.json.JsonObject;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The box that is wanted; what is null is left to the daemon. Immutable.
 *
 * @param ttl how long it may live
 * @param idleTimeout how long it may do nothing
 * @param packages directories of the daemon's host
 * @param detached it outlives the daemon, and the next one finds it
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
    boolean detached) {

  /** A file that a box is to begin with. */
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
        null, Map.of(), null, null, Limits.DEFAULTS, null, List.of(), List.of(), List.of(), false);
  }

  public BoxRequest withName(String newName) {
    return new BoxRequest(
        newName, labels, ttl, idleTimeout, limits, network, mounts, packages, files, detached);
  }

  public BoxRequest withLabel(String key, String value) {
    var more = new LinkedHashMap<>(labels);
    more.put(key, value);
    return new BoxRequest(
        name, more, ttl, idleTimeout, limits, network, mounts, packages, files, detached);
  }

  public BoxRequest withTtl(@Nullable Duration newTtl) {
    return new BoxRequest(
        name, labels, newTtl, idleTimeout, limits, network, mounts, packages, files, detached);
  }

  public BoxRequest withIdleTimeout(@Nullable Duration timeout) {
    return new BoxRequest(
        name, labels, ttl, timeout, limits, network, mounts, packages, files, detached);
  }

  public BoxRequest withLimits(Limits newLimits) {
    return new BoxRequest(
        name, labels, ttl, idleTimeout, newLimits, network, mounts, packages, files, detached);
  }

  /** {@code none} or {@code host}. */
  public BoxRequest withNetwork(@Nullable String newNetwork) {
    return new BoxRequest(
        name, labels, ttl, idleTimeout, limits, newNetwork, mounts, packages, files, detached);
  }

  public BoxRequest withMount(Mount mount) {
    return new BoxRequest(
        name,
        labels,
        ttl,
        idleTimeout,
        limits,
        network,
        and(mounts, mount),
        packages,
        files,
        detached);
  }

  public BoxRequest withPackages(String directory) {
    return new BoxRequest(
        name,
        labels,
        ttl,
        idleTimeout,
        limits,
        network,
        mounts,
        and(packages, directory),
        files,
        detached);
  }

  public BoxRequest withFile(String path, Output content) {
    List<NewFile> more = and(files, new NewFile(path, content));
    return new BoxRequest(
        name, labels, ttl, idleTimeout, limits, network, mounts, packages, more, detached);
  }

  /** It outlives the daemon, and the next one finds it. */
  public BoxRequest withDetached() {
    return new BoxRequest(
        name, labels, ttl, idleTimeout, limits, network, mounts, packages, files, true);
  }

  private static <T> List<T> and(List<T> list, T one) {
    var more = new ArrayList<>(list);
    more.add(one);
    return more;
  }

  JsonObject document() {
    return JsonObject.empty()
        .with("name", name)
        .with("labels", Documents.unlessEmpty(JsonObject.ofStrings(labels)))
        .with("ttlMillis", Documents.millis(ttl))
        .with("idleTimeoutMillis", Documents.millis(idleTimeout))
        .with("limits", Documents.unlessEmpty(limits.document()))
        .with("network", network)
        .with("mounts", Documents.unlessEmpty(mounts.stream().map(Mount::document).toList()))
        .with("packages", Documents.unlessEmpty(packages))
        .with("files", Documents.unlessEmpty(files.stream().map(NewFile::document).toList()))
        .with("detached", detached ? Boolean.TRUE : null);
  }
}
