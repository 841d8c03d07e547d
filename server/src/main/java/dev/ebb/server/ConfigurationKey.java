package dev.ebb.server;

import java.util.Locale;

/** Everything that can be configured; the items of a list are separated by commas. */
enum ConfigurationKey {
  SOCKET("socket", "path of the unix socket to listen on"),
  LISTEN(
      "listen", "HOST:PORT to listen on over TCP, for callers with a key; empty: unix socket only"),
  TLS_CERTIFICATE("tls.certificate", "PEM file with the certificate chain for TCP"),
  TLS_KEY("tls.key", "PEM file with the key of the certificate, PKCS#8"),
  HOSTS("hosts", "host names accepted over TCP, besides those of the loopback"),
  CONNECTIONS(
      "connections", "maximum number of connections (default: a quarter of the descriptors)"),
  LOG_FORMAT("log.format", "text: lines of key=value (default), or json: one object a line"),
  LOG_LEVEL("log.level", "lowest level of the log: debug, info (default), warning or error"),
  MOUNTS("policy.mounts", "directories that every tenant may mount read-only"),
  WRITABLE_MOUNTS("policy.writable-mounts", "directories that every tenant may mount writable"),
  HOST_NETWORK(
      "policy.host-network", "true: every tenant may use the network of the host (default: false)"),
  EGRESS(
      "policy.egress",
      "host names that every tenant may allow its boxes, e.g. *.example.org, or *"),
  BACKENDS("policy.backends", "backends that every tenant may choose, e.g. bubblewrap"),
  EGRESS_PRIVATE(
      "egress.private",
      "addresses that boxes may reach by name although not public, e.g. 10.1.0.0/16"),
  EGRESS_CONNECTIONS(
      "egress.connections",
      "maximum number of connections of all boxes (default: by the descriptors, up to 1024)"),
  MEMORY(
      "limits.memory",
      "maximum memory of a box, e.g. 2g (default: that of the host); empty, as for all"
          + " limits: unlimited"),
  PIDS(
      "limits.pids",
      "maximum number of processes and threads of a box (default: that of the host)"),
  CPUS("limits.cpus", "maximum number of processors of a box (default: those of the host)"),
  DISK(
      "limits.disk",
      "maximum size of a workspace, e.g. 1g (default: the memory of the host, which holds it)"),
  OUTPUT("limits.output", "maximum output of a command, e.g. 64m"),
  OPEN_FILES("limits.open-files", "maximum number of open files of a process"),
  FILE_SIZE("limits.file-size", "maximum size of a file that a command writes, e.g. 1g"),
  TIMEOUT("limits.timeout", "maximum timeout and grace period of a command, e.g. 10m"),
  TTL("limits.ttl", "maximum lifetime of a box, e.g. 7d"),
  SWEEP_INTERVAL(
      "sweep.interval", "time between sweeps of the host, e.g. 1m; 0: sweep on request only"),
  WARN("pressure.warn", "warn above this percentage of any limit (default: 60)"),
  ALERT("pressure.alert", "clean up and queue new work above this percentage (default: 80)"),
  FULL("pressure.full", "refuse new work above this percentage (default: 95)"),
  QUEUE("pressure.queue", "maximum number of queued requests at the alert level (default: 128)"),
  WAIT("pressure.wait", "maximum time in the queue, e.g. 10s"),
  QUIET("pressure.quiet", "time without work after which the daemon counts as idle, e.g. 10s"),
  QUOTA_BOXES(
      "quotas.boxes", "maximum number of boxes of a tenant; empty, as for all quotas: unlimited"),
  QUOTA_EXECS("quotas.execs", "maximum number of running commands of a tenant"),
  QUOTA_MEMORY("quotas.memory", "maximum sum of the memory limits of a tenant's boxes, e.g. 8g"),
  QUOTA_CPUS("quotas.cpus", "maximum sum of the processor limits of a tenant's boxes"),
  QUOTA_PIDS("quotas.pids", "maximum sum of the process limits of a tenant's boxes"),
  QUOTA_RATE("quotas.rate", "maximum number of requests of a tenant per second"),
  MCP_IDLE("mcp.idle", "time after which an unused MCP session ends, e.g. 10m"),
  MCP_SESSIONS("mcp.sessions", "maximum number of MCP sessions of a tenant (default: 100)"),
  POOL(
      "pool",
      "adaptive: warm boxes and interpreters by use; fixed: what pool.… says; off (default:"
          + " adaptive)"),
  POOL_IDLE(
      "pool.idle",
      "adaptive: time without a request after which warm boxes of a kind go (default: 5m)"),
  POOL_MIN("pool.min", "minimum number of warm boxes, even without demand (default: 1)"),
  POOL_MAX("pool.max", "maximum number of warm boxes (default: 8); 0: none"),
  POOL_AGE("pool.age", "maximum age of a warm box, e.g. 10m"),
  POOL_INTERPRETERS(
      "pool.interpreters",
      "maximum number of warm boxes with each interpreter, e.g. python3:2,node:1 (adaptive:"
          + " python3:8,node:4)"),
  POOL_PRELOAD(
      "pool.preload",
      "modules that a warm python3 imports, e.g. json,numpy (adaptive: those that programs import)"),
  POOL_ZYGOTE(
      "pool.zygote",
      "true: clone warm python3 from a zygote, see docs/adr/0008 (default: true if adaptive)"),
  POOL_ZYGOTE_AGE("pool.zygote-age", "maximum age of a zygote, e.g. 10m"),
  POOL_ZYGOTE_COUNT("pool.zygote-count", "maximum number of clones of a zygote (default: 1000)"),
  REHEARSAL(
      "rehearsal",
      "false: do not run boxes of its own after the start, to be fast (default: true)");

  private final String name;
  private final String description;

  ConfigurationKey(String name, String description) {
    this.name = name;
    this.description = description;
  }

  String wireName() {
    return name;
  }

  String description() {
    return description;
  }

  String flag() {
    return "--" + name.replace('.', '-');
  }

  String variable() {
    return "EBB_" + name.replace('.', '_').replace('-', '_').toUpperCase(Locale.ROOT);
  }
}
