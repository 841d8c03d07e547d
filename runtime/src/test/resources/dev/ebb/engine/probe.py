"""What hostile code would try. probe.py NAME [ARGUMENT...] makes one attempt and prints what came of it: a word or
value if it worked, the name of the errno if not. Run in a box, and on the host or in a plain bwrap for comparison."""

import atexit
import ctypes
import errno
import mmap
import os
import resource
import select
import signal
import socket
import stat
import sys
import time

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
IS_X86 = os.uname().machine == "x86_64"


def syscall(number, *arguments):
    result = libc.syscall(ctypes.c_long(number), *(ctypes.c_long(argument) for argument in arguments))
    if result < 0:
        raise OSError(ctypes.get_errno(), "")
    return result


def attempt(action, *arguments):
    """The value, or the name of the errno."""
    try:
        result = action(*arguments)
        return "yes" if result is None else str(result)
    except OSError as e:
        return errno.errorcode.get(e.errno, str(e.errno))


# ------------------------------------------------------------------- processes

def pids():
    return " ".join(sorted((name for name in os.listdir("/proc") if name.isdigit()), key=int))


def signal_process(pid, number):
    os.kill(int(pid), int(number))


def signal_all(pid):
    """Every signal to one process, by number and by pidfd; afterwards: is it alive?"""
    patience = 0.05 if int(pid) else 20  # a child of ours cannot but die, when it has its turn
    pid = int(pid) or spawn()
    fd = os.pidfd_open(pid)
    for number in range(1, 65):
        attempt(os.kill, pid, number)
        attempt(signal.pidfd_send_signal, fd, number)
    return "dead" if select.select([fd], [], [], patience)[0] else "alive"


def spawn():
    """A child that sleeps: what pid 1 shall not be, an ordinary process."""
    pid = os.fork()
    if pid == 0:
        time.sleep(60)
        os._exit(0)
    os.setpgid(pid, pid)
    atexit.register(os.kill, pid, signal.SIGKILL)
    return pid


def intrude(pid):
    """All ways into the memory and the descriptors of another process."""
    pid = int(pid) or spawn()
    fd = os.pidfd_open(pid)
    calls = {"ptrace": (101, 117), "process_vm_readv": (310, 270), "pidfd_getfd": (438, 438), "kcmp": (312, 272)}
    number = {name: numbers[0 if IS_X86 else 1] for name, numbers in calls.items()}
    word = ctypes.create_string_buffer(8)
    vector = (ctypes.c_void_p * 2)(ctypes.addressof(word), 8)
    attempts = {
        "seize": lambda: syscall(number["ptrace"], 0x4206, pid, 0, 0),
        "readv": lambda: syscall(number["process_vm_readv"], pid, ctypes.addressof(vector), 1, ctypes.addressof(vector), 1, 0),
        "getfd": lambda: syscall(number["pidfd_getfd"], fd, 0, 0) and "fd",
        "kcmp": lambda: syscall(number["kcmp"], pid, os.getpid(), 0, 0, 0),
    }
    for name in ("mem", "environ", "maps", "auxv", "syscall", "pagemap"):
        attempts[name] = lambda name=name: os.close(os.open(f"/proc/{pid}/{name}", os.O_RDONLY))
    attempts["write"] = lambda: os.close(os.open(f"/proc/{pid}/mem", os.O_RDWR))
    attempts["oom"] = lambda: os.close(os.open(f"/proc/{pid}/oom_score_adj", os.O_RDWR))
    for name in ("exe", "cwd", "root", "ns/mnt", "ns/pid"):
        attempts[name] = lambda name=name: os.readlink(f"/proc/{pid}/{name}") and None
    for name in ("fd", "fdinfo", "map_files"):
        attempts[name] = lambda name=name: os.listdir(f"/proc/{pid}/{name}") and None
    results = {name: attempt(action) for name, action in attempts.items()}
    return " ".join(f"{name}={result}" for name, result in results.items())


def hamper(pid):
    """All ways to set the limits and the turns of another process of the same user."""
    pid = int(pid) or spawn()
    idle = os.sched_param(0)
    attempts = {
        "limit": lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, 3)) and None,
        "limits": lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE) and None,
        "policy": lambda: os.sched_setscheduler(pid, os.SCHED_IDLE, idle),
        "parameter": lambda: os.sched_setparam(pid, idle),
        "affinity": lambda: os.sched_setaffinity(pid, os.sched_getaffinity(0)),
        "nice": lambda: os.setpriority(os.PRIO_PROCESS, pid, 19),
        "nice-group": lambda: os.setpriority(os.PRIO_PGRP, os.getpgid(pid), 19),
        "nice-user": lambda: os.setpriority(os.PRIO_USER, os.getuid(), 19),
    }
    results = {name: attempt(action) for name, action in attempts.items()}
    return " ".join(f"{name}={result}" for name, result in results.items())


def status(*fields):
    lines = dict(line.split(":", 1) for line in open("/proc/self/status"))
    return " ".join(f"{field}={' '.join(lines[field].split())}" for field in fields)


def environment():
    return " ".join(sorted(os.environ))


def descriptors():
    found = []
    for name in sorted(os.listdir("/proc/self/fd"), key=int):
        if os.path.exists(f"/proc/self/fd/{name}"):  # not the directory being listed
            found.append(f"{name}={os.readlink(f'/proc/self/fd/{name}').partition(':')[0]}")
    return " ".join(found)


# ---------------------------------------------------------------------- rights

def raise_limit(name, value):
    limit = getattr(resource, "RLIMIT_" + name)
    try:
        resource.setrlimit(limit, (int(value), int(value)))
    except ValueError:
        raise OSError(errno.EPERM, "") from None


def lower_core_limit():
    """All ways to 0, at which a core goes to the host's handler; gives what the limit is then."""
    none = (ctypes.c_uint64 * 2)()
    low_half_is_zero = mmap_at(1 << 32)
    set_limit, both = (160, 302) if IS_X86 else (164, 261)
    attempt(syscall, set_limit, resource.RLIMIT_CORE, ctypes.addressof(none))
    attempt(syscall, both, 0, resource.RLIMIT_CORE, ctypes.addressof(none), 0)
    attempt(syscall, both, os.getpid(), resource.RLIMIT_CORE, ctypes.addressof(none), 0)
    attempt(syscall, both, 0, resource.RLIMIT_CORE, low_half_is_zero, 0)
    return resource.getrlimit(resource.RLIMIT_CORE)[0]


def mmap_at(place):
    """Some zeros, where the caller wants them."""
    libc.mmap.restype = ctypes.c_long
    fixed = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x10
    return libc.mmap(ctypes.c_void_p(place), ctypes.c_size_t(4096), mmap.PROT_READ, fixed, -1, ctypes.c_long(0))


def become_root():
    os.setuid(0)


def renice():
    os.setpriority(os.PRIO_PROCESS, 0, -5)


def realtime():
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))


def user_namespace():
    """By unshare, by clone, by clone3: one letter each, x for refused."""
    new_user, ways = 0x10000000, ""
    for way in ("unshare", "clone", "clone3"):
        child = os.fork()
        if child == 0:
            if way == "unshare":
                failed = libc.unshare(new_user) != 0
            elif way == "clone":
                pid = libc.syscall(56 if IS_X86 else 220, new_user | signal.SIGCHLD, 0, 0, 0, 0)
                failed = pid < 0
            else:
                arguments = (ctypes.c_uint64 * 11)(new_user, 0, 0, 0, signal.SIGCHLD)
                pid = libc.syscall(435, ctypes.byref(arguments), 88)
                failed = pid < 0
            os._exit(failed)
        ways += "x" if os.waitpid(child, 0)[1] else way[0]
    return ways


def setuid_programs():
    """How many of the set-user-id programs that are there would be honoured: mounts without nosuid."""
    return sum("nosuid" not in line.split()[5].split(",") for line in open("/proc/self/mountinfo"))


# ----------------------------------------------------------------------- files

def places(*skipped):
    """Directories, down to a few levels, in which a file can be made."""
    found = []
    for top, names, _ in os.walk("/"):
        depth = top.rstrip("/").count("/")
        if top.startswith("/proc/") or top.startswith("/usr/") and depth > 2 or depth > 4:
            names[:] = []
        if not top.startswith(("/proc/",) + skipped) and makes_file(top):
            found.append(top)
    return " ".join(sorted(found))


def makes_file(directory):
    path = os.path.join(directory, ".ebb-probe")
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        os.unlink(path)
        return True
    except OSError:
        return False


def kernel_settings():
    """Settings that could be written, by their directory in /proc/sys. Opens them only."""
    found = {name for name in ("sysrq-trigger", "mtrr", "kcore", "kmsg") if opens("/proc/" + name)}
    for top, _, names in os.walk("/proc/sys"):
        if any(opens(os.path.join(top, name)) for name in names):
            found.add(top.split("/")[3])
    return " ".join(sorted(found))


def opens(path):
    return attempt(lambda: os.close(os.open(path, os.O_WRONLY))) == "yes"


def fill(path, most):
    """Writes until it is full, or to `most` bytes; says how many it was and why it ended."""
    done, reason = 0, "enough"
    fd = os.open(os.path.join(path, "filling"), os.O_CREAT | os.O_WRONLY)
    while done < int(most) and reason == "enough":
        try:
            done += os.write(fd, bytes(1 << 16))
        except OSError as e:
            reason = errno.errorcode[e.errno]
    os.unlink(os.path.join(path, "filling"))
    return f"{done} {reason}"


def read(path):
    return open(path).read().strip()


def write(path, text="x"):
    with open(path, "w") as file:
        file.write(text)


def set_id(path):
    """All ways to a set-user-id file below a directory, the paths of those that worked."""
    plain = os.path.join(path, "plain")
    write(plain)
    fd = os.open(plain, os.O_RDONLY)
    ways = {
        "chmod": lambda name: os.chmod(plain, 0o4755),
        "setgid": lambda name: os.chmod(plain, 0o2755),
        "fchmod": lambda name: os.fchmod(fd, 0o4755),
        "fchmodat2": lambda name: syscall(452, -100, address(plain), 0o4755, 0),
        "create": lambda name: os.open(name, os.O_CREAT | os.O_WRONLY, 0o4755),
        "tmpfile": lambda name: os.open(path, os.O_TMPFILE | os.O_WRONLY, 0o4755),
        "mknod": lambda name: os.mknod(name, stat.S_IFREG | 0o4755),
        "openat2": lambda name: open_how(name, os.O_CREAT | os.O_WRONLY, 0o4755),
    }
    worked = [way for way, action in ways.items() if not attempt(action, os.path.join(path, way)).startswith("E")]
    return " ".join(worked)


def address(text):
    address.kept = ctypes.create_string_buffer(text.encode())
    return ctypes.addressof(address.kept)


def open_how(name, flags, mode):
    how = (ctypes.c_uint64 * 3)(flags, mode, 0)
    return syscall(437, -100, address(name), ctypes.addressof(how), 24)


def make_device(path):
    os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))


# --------------------------------------------------------------------- sockets

def connect_tcp(port):
    with socket.socket() as client:
        client.settimeout(5)
        client.connect(("127.0.0.1", int(port)))


def connect_abstract(name):
    with socket.socket(socket.AF_UNIX) as client:
        client.connect("\0" + name)


def connect_path(path):
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(path)


def listen(name):
    """Not an attempt, but its target: a TCP port and an abstract name; says which port and waits for its end."""
    tcp, abstract = socket.socket(), socket.socket(socket.AF_UNIX)
    tcp.bind(("127.0.0.1", 0))
    abstract.bind("\0" + name)
    tcp.listen()
    abstract.listen()
    print(tcp.getsockname()[1], flush=True)
    sys.stdin.read()


def interfaces():
    return " ".join(name for _, name in socket.if_nameindex())


def families():
    """Every family of which a socket can be made."""
    made = set()
    for family in range(64):
        for kind in (1, 2, 3, 5):
            fd = libc.socket(family, kind, 0)
            if fd >= 0:
                made.add(family)
                os.close(fd)
    return " ".join(map(str, sorted(made)))


def netlinks():
    """Every netlink protocol of which a socket can be made."""
    made = [protocol for protocol in range(32) if libc.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol) >= 0]
    return " ".join(map(str, made))


def hoard_datagrams(most):
    """Bytes that can be left in the buffers of sockets, up to `most`."""
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    hoards, payload, room = [], bytes(60000), 0
    while room <= int(most):
        hoard = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        hoard.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 30)
        hoard.bind(("127.0.0.1", 0))
        hoard.setblocking(False)
        hoards.append(hoard)
        # KERNEL: socket(7): cut to net.core.rmem_max, which may be small, and reported doubled.
        room += min(100 * len(payload), hoard.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) // 2)
        for _ in range(100):
            attempt(sender.sendto, payload, hoard.getsockname())
    held = 0
    for hoard in hoards:
        try:
            while True:
                held += len(hoard.recv(len(payload)))
        except BlockingIOError:
            pass
    return held


def shared_memory(size):
    """As much in System V segments, which no tmpfs bounds."""
    libc.shmat.restype = ctypes.c_void_p
    for _ in range(int(size) >> 20):
        segment = libc.shmget(0, 1 << 20, 0o1600)
        if segment < 0:
            raise OSError(ctypes.get_errno(), "")
        ctypes.memset(libc.shmat(segment, None, 0), 1, 1 << 20)


def foreign_abi():
    """getpid as the i386 knows it, in machine code."""
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(bytes.fromhex("b814000000cd80c3"))
    child = os.fork()
    if child == 0:
        address_of = ctypes.addressof(ctypes.c_char.from_buffer(code))
        os._exit(0 if ctypes.CFUNCTYPE(ctypes.c_int)(address_of)() == os.getpid() else 1)
    code = os.waitpid(child, 0)[1]
    return signal.Signals(code & 127).name if code & 127 else f"exit {code >> 8}"


if __name__ == "__main__":
    print(attempt(globals()[sys.argv[1]], *sys.argv[2:]))
