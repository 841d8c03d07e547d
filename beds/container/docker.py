"""What docker writes into config.json for `docker run` with these flags and no others (engine 28, cgroup driver cgroupfs).

Not as docker: the root file system is an overlay over this host's, the network is loopback alone, and no AppArmor
profile is set (docker-default also denies mount; see docs/containers.md).
"""

import json
import os
import resource
import stat

import seccomp

CAPABILITIES = """
CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE NET_BIND_SERVICE
NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN
SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE
MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ PERFMON BPF CHECKPOINT_RESTORE
""".split()

DEFAULT_CAPABILITIES = """
CHOWN DAC_OVERRIDE FSETID FOWNER MKNOD NET_RAW SETGID SETUID SETFCAP SETPCAP NET_BIND_SERVICE SYS_CHROOT KILL AUDIT_WRITE
""".split()

MASKED_PATHS = """
/proc/asound /proc/acpi /proc/interrupts /proc/kcore /proc/keys /proc/latency_stats /proc/timer_list /proc/timer_stats
/proc/sched_debug /proc/scsi /sys/firmware /sys/devices/virtual/powercap
""".split()

READ_ONLY_PATHS = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"]

# zero, null, urandom, random, tty, console; the runtime adds full, the pseudo terminals, and mknod of any.
DEVICES = [(1, 5), (1, 3), (1, 9), (1, 8), (5, 0), (5, 1)]

NOFILE = 1048576

REMAPPED = {"containerID": 0, "hostID": 100000, "size": 65536}


class Refused(Exception):
    """What docker, or this host, does not grant."""


def host_capabilities():
    """Those that root has here; a container can have no others."""
    with open("/proc/self/status") as status:
        bounding = next(int(line.split()[1], 16) for line in status if line.startswith("CapBnd:"))
    return [name for bit, name in enumerate(CAPABILITIES) if bounding >> bit & 1]


def capabilities(options):
    here = host_capabilities()
    if options.privileged:
        return here
    added = [name.upper().removeprefix("CAP_") for name in options.cap_add]
    if "ALL" in added:
        added = here
    for name in added:
        if name not in here:
            raise Refused(f"--cap-add {name}: root has no such capability here")
    dropped = [name.upper().removeprefix("CAP_") for name in options.cap_drop]
    kept = [] if "ALL" in dropped else DEFAULT_CAPABILITIES
    return [name for name in CAPABILITIES if name in added or (name in kept and name not in dropped)]


def process(options, names):
    uid, _, gid = options.user.partition(":")
    names = ["CAP_" + name for name in names]
    own = names if int(uid) == 0 else []
    limit = min(options.ulimit, resource.getrlimit(resource.RLIMIT_NOFILE)[1])  # root may lack CAP_SYS_RESOURCE
    return {
        "user": {"uid": int(uid), "gid": int(gid or 0)},
        "args": options.command,
        "env": [
            "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOSTNAME=bed",
            "HOME=" + ("/root" if int(uid) == 0 else "/"),
            *options.env,
        ],
        "cwd": options.workdir,
        "capabilities": {"bounding": names, "permitted": own, "effective": own, "inheritable": [], "ambient": []},
        "rlimits": [{"type": "RLIMIT_NOFILE", "soft": limit, "hard": limit}],
        "noNewPrivileges": options.no_new_privileges,
    }


def mount(kind, target, *flags, source=None):
    return {"destination": target, "type": kind, "source": source or kind, "options": list(flags)}


def mounts(options, made):
    sys_mode = "rw" if options.privileged else "ro"
    cgroup_mode = "rw" if options.privileged or options.cgroup == "rw" else "ro"
    yield mount("proc", "/proc", "nosuid", "noexec", "nodev")
    yield mount("tmpfs", "/dev", "nosuid", "strictatime", "mode=755", "size=65536k")
    yield mount("devpts", "/dev/pts", "nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5")
    yield mount("sysfs", "/sys", "nosuid", "noexec", "nodev", sys_mode)
    yield mount("cgroup", "/sys/fs/cgroup", cgroup_mode, "nosuid", "noexec", "nodev")
    yield mount("mqueue", "/dev/mqueue", "nosuid", "noexec", "nodev")
    yield mount("tmpfs", "/dev/shm", "nosuid", "noexec", "nodev", "mode=1777", "size=67108864", source="shm")
    for name in ("resolv.conf", "hostname", "hosts"):
        yield mount("bind", "/etc/" + name, "rbind", "rprivate", source=f"{made}/{name}")
    for volume in options.volume:
        source, target, *mode = volume.split(":")
        yield mount("bind", target, "rbind", "rprivate", *mode, source=source)


def resources(options):
    if options.privileged:
        allowed = [{"allow": True, "access": "rwm"}]
    else:
        allowed = [{"allow": False, "access": "rwm"}]
        allowed += [{"allow": True, "type": "c", "major": m, "minor": n, "access": "rwm"} for m, n in DEVICES]
    result = {"devices": allowed, "pids": {"limit": options.pids_limit}}
    if options.memory:
        result["memory"] = {"limit": options.memory, "swap": options.memory_swap or 2 * options.memory}
    return result


def host_devices():
    """Every device node of the host, for --privileged."""
    for entry in os.scandir("/dev"):
        status = entry.stat(follow_symlinks=False)
        kind = "c" if stat.S_ISCHR(status.st_mode) else "b" if stat.S_ISBLK(status.st_mode) else None
        if kind and entry.name not in ("ptmx", "console"):
            number = {"major": os.major(status.st_rdev), "minor": os.minor(status.st_rdev)}
            yield {"path": entry.path, "type": kind, "fileMode": stat.S_IMODE(status.st_mode), **number}


def seccomp_profile(options, names):
    if options.privileged or options.seccomp == "unconfined":
        return None
    if options.seccomp:
        with open(options.seccomp) as file:
            return json.load(file)
    return seccomp.docker_default(["CAP_" + name for name in names])


def config(options, name, root, made):
    """The config.json of the container of this name, whose files are at root and whose made-up ones are in made."""
    names = capabilities(options)
    kinds = ["mount", "uts", "pid", "ipc", "network"]
    kinds += ["cgroup"] if options.cgroupns == "private" and os.path.exists("/proc/self/ns/cgroup") else []
    linux = {
        "cgroupsPath": "/" + name,
        "namespaces": [{"type": kind} for kind in kinds if not (kind == "network" and options.network == "host")],
        "resources": resources(options),
        "maskedPaths": MASKED_PATHS,
        "readonlyPaths": READ_ONLY_PATHS,
    }
    if options.privileged or options.systempaths == "unconfined":
        linux.update(maskedPaths=[], readonlyPaths=[])
    if options.privileged:
        linux["devices"] = list(host_devices())
    if options.userns_remap:
        linux["namespaces"].append({"type": "user"})
        linux.update(uidMappings=[REMAPPED], gidMappings=[REMAPPED])
    profile = seccomp_profile(options, names)
    if profile:
        linux["seccomp"] = profile
    return {
        "ociVersion": "1.0.2",
        "hostname": "bed",
        "root": {"path": root, "readonly": options.read_only},
        "process": process(options, names),
        "mounts": list(mounts(options, made)),
        "linux": linux,
    }
