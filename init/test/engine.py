"""Plays the engine of Ebb against a real ebb-init: real cgroups, a real bwrap, real processes."""

import array
import contextlib
import ctypes
import os
import select
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time

VERSION = 13
HEADER = struct.Struct("=IHHII")
START = struct.Struct("=QQQQQQQQIIIHH")
ENDED = struct.Struct("=IIiiQQIIQQIIQQQ")
CONTENTS = struct.Struct("=IIQQ")
SIZES = struct.Struct("=QQ")
BUFFERED_HEAD = struct.Struct("=II")
SEGMENT_HEAD = struct.Struct("=QQIIQQ")
LAUNCHED, HELLO = 1, 2
MSG_START, MSG_KILL, MSG_RESIZE, MSG_SIGNAL, MSG_DETACH, MSG_FORGET, MSG_REARM, MSG_INVENTORY, MSG_LOG_FDS, MSG_LISTEN, MSG_SPLIT, MSG_WRITE_FILE, MSG_LIST, MSG_AWAIT_START = range(16, 30)
STARTED, REFUSED, OUTPUT, MSG_ENDED, SYNCED, MSG_CONTENTS, NEED_LOG, LISTENING, SEGMENT, FILE_WRITTEN, LISTED = range(32, 43)
HAS_STDIN, KEEP, HAS_LEAF, TERMINAL, FILE, BUFFERED, RESUMED, SEGMENTS, LIST, PIPED, LEAF_FILES = 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024
STEP_REQUEST, STEP_CLONE, STEP_WORKDIR, STEP_LIMITS, STEP_EXEC = 1, 2, 3, 4, 5
BY_ITSELF, KILLED, TIMED_OUT, OUTPUT_LIMIT, OUT_OF_MEMORY = 0, 1, 2, 3, 4
STUCK, TRUNCATED, UNREAPED, CROWDED = 1, 2, 4, 8
CLD_EXITED, CLD_KILLED, CLD_DUMPED = 1, 2, 3

MESSAGE_MAX = 4 << 20
BUFFERED_MAX = 4096
PATIENCE = int(os.environ.get("EBB_PATIENCE", "1"))  # a factor for a slow machine, such as an emulated one

UID = 1879100000
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/workspace", "LANG": "C.UTF-8"}
NAME = f"ebb-inittest-{os.getpid()}"
SUBREAPER = os.environ.get("EBB_INIT_SUBREAPER") == "1"  # commands get a subreaper instead of a cgroup leaf
PR_SET_CHILD_SUBREAPER = 36
CLONE_NEWNS, MS_REC, MS_PRIVATE, MS_SHARED = 0x20000, 0x4000, 1 << 18, 1 << 20
libc = ctypes.CDLL(None, use_errno=True)


def read(path):
    with open(path) as file:
        return file.read()


def write(path, text):
    with open(path, "w") as file:
        file.write(str(text))


def entries(body):
    """Of a report: an errno and what it tells of files."""
    (error,) = struct.unpack("=I", body[:4])
    fields = body[4:].split(b"\0")
    assert fields.pop() == b"" and not (error and fields)
    return error, [tuple(fields[i : i + 6]) for i in range(0, len(fields), 6)]


def unified():
    """The mount point of cgroup v2, and its options."""
    for line in read("/proc/mounts").splitlines():
        _, point, kind, options = line.split()[:4]
        if kind == "cgroup2":
            return point, options.split(",")
    sys.exit("no cgroup2 is mounted: these tests need it")


ROOT, OPTIONS = unified()
V2 = os.path.join(ROOT, NAME)
IS_PURE = {"pids", "memory"} <= set(read(ROOT + "/cgroup.controllers").split())
V1 = [os.path.join("/sys/fs/cgroup", c, NAME) for c in ("pids", "memory") if os.path.isdir("/sys/fs/cgroup/" + c)]


def become_engine():
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    keep_mounts_apart()
    for path in [V2] + V1:
        os.mkdir(path)
    delegate(ROOT)
    delegate(V2)


def keep_mounts_apart():
    """What others on the host mount meanwhile is no leak of ours; what a box mounts would still come back to us."""
    if libc.unshare(CLONE_NEWNS) or any(libc.mount(None, b"/", None, MS_REC | how, None) for how in (MS_PRIVATE, MS_SHARED)):
        sys.exit("cannot make a mount namespace: " + os.strerror(ctypes.get_errno()))


def delegate(cgroup):
    """Lets the children have limits, where these are version 2's."""
    if IS_PURE:
        write(cgroup + "/cgroup.subtree_control", "+pids +memory")


def stop_being_engine():
    """Gives back what failed tests left, too."""
    write(V2 + "/cgroup.kill", 1)
    wait_until(lambda: not members(V2), 10, "an empty cgroup")
    reap_orphans()
    for top in [V2] + V1:
        for path, _, _ in os.walk(top, topdown=False):
            os.rmdir(path)
    for name in os.listdir("/tmp"):
        if name.startswith(NAME):
            shutil.rmtree("/tmp/" + name)


def wait_until(condition, seconds=10, what="condition"):
    end = time.monotonic() + seconds * PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.002)


def members(cgroup):
    """Pids in a cgroup and below it."""
    return [int(pid) for path, _, _ in os.walk(cgroup) for pid in read(path + "/cgroup.procs").split()]


def children():
    """Our own children, zombies too."""
    return [int(pid) for pid in read("/proc/thread-self/children").split()]


def field(pid, name):
    """Of /proc/PID/status; empty when the process is gone."""
    try:
        return next(line for line in read(f"/proc/{pid}/status").splitlines() if line.startswith(name))[len(name):]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def open_files(pid):
    """What its descriptors lead to, but for the files of /proc that init has open for a moment to count processes."""
    names = []
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            names.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
    return [name for name in names if not (SUBREAPER and name.startswith("/proc"))]


def is_alive(pid):
    try:
        return read(f"/proc/{pid}/stat").rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


class Exec:
    """What the engine knows of one exec."""

    def __init__(self, box, number, leaf):
        self.box, self.number, self.leaf = box, number, leaf
        self.logs = [tempfile.TemporaryFile(dir=box.directory) for _ in range(2)]
        self.gives_logs = True
        self.hear_nothing()

    def hear_nothing(self):
        self.words = []  # types of messages, in order
        self.pid = self.refused = self.ended = None
        self.subreaper = 0
        self.seen = None  # in the workspace, in the end
        self.segments = []
        self.begin_segment()

    def begin_segment(self):
        self.sizes = (0, 0)
        self.buffered = [b"", b""]
        self.has_logs = False

    def hear(self, kind, body):
        assert self.ended is None and self.refused is None, "a word after the last word"
        self.words.append(kind)
        if kind == STARTED:
            self.pid, self.subreaper = struct.unpack("=II", body)
        elif kind == REFUSED:
            self.refused = struct.unpack("=II", body)
        elif kind == OUTPUT:
            assert self.pid is not None, "output before its start"
            sizes = SIZES.unpack_from(body)
            assert sizes >= self.sizes and sizes != self.sizes, "output that is no news"
            self.sizes = sizes
            self.buffer(body[SIZES.size:])
        elif kind == NEED_LOG:
            if self.gives_logs:
                self.give_logs()
        elif kind == SEGMENT:
            stdout, stderr, flags, error, *lost = SEGMENT_HEAD.unpack_from(body)
            self.buffer(body[SEGMENT_HEAD.size:])
            output = self.output() if self.has_logs else self.buffered[0]
            self.segments.append({"stdout": output, "sizes": (stdout, stderr), "flags": flags, "errno": error,
                                  "lost": tuple(lost)})
            self.begin_segment()
        elif kind == LISTED:
            error, found = entries(body)
            self.seen = error or found
        elif kind == MSG_ENDED:
            assert self.pid is not None, "an end before its start"
            names = ("reason", "flags", "code", "status", "stdout_size", "stderr_size", "log_errno", "leftovers",
                     "cpu_us", "peak_memory", "peak_processes", "zero", "ended_ns", "stdout_lost", "stderr_lost")
            self.buffer(body[ENDED.size:])
            self.ended = dict(zip(names, ENDED.unpack_from(body)))
        else:
            raise AssertionError(f"unknown word {kind}")

    def buffer(self, sent):
        stdout, stderr = BUFFERED_HEAD.unpack_from(sent)
        assert len(sent) == BUFFERED_HEAD.size + stdout + stderr
        self.buffered[0] += sent[BUFFERED_HEAD.size:BUFFERED_HEAD.size + stdout]
        self.buffered[1] += sent[BUFFERED_HEAD.size + stdout:]

    def split(self):
        """Ends the segment, and hears of it."""
        count = len(self.segments)
        self.box.send(MSG_SPLIT, self.number)
        self.box.pump(lambda: len(self.segments) > count or self.ended, what="segment")
        assert len(self.segments) > count, "it has ended"
        return self.segments[-1]

    def give_logs(self, error=0):
        self.has_logs = not error
        if self.segments:
            self.logs = [tempfile.TemporaryFile(dir=self.box.directory) for _ in range(2)]
        fds = [] if error else [log.fileno() for log in self.logs]
        self.box.send(MSG_LOG_FDS, self.number, struct.pack("=I", error), fds)

    def wait_started(self, seconds=10):
        self.box.pump(lambda: self.pid is not None or self.refused, seconds, "start")
        return self.pid

    def wait(self, seconds=20):
        self.box.pump(lambda: self.ended or self.refused, seconds, "end")
        return self.ended

    def output(self, stream=0):
        log = self.logs[stream].fileno()
        return os.pread(log, os.fstat(log).st_size, 0)  # init writes where its offset is, and that is ours too

    def kill(self, grace=5000, signal_number=0):
        self.box.send(MSG_KILL, self.number, struct.pack("=IIQ", signal_number, 0, grace))

    def signal(self, number):
        self.box.send(MSG_SIGNAL, self.number, struct.pack("=I", number))

    def resize(self, rows, columns):
        self.box.send(MSG_RESIZE, self.number, struct.pack("=HH", rows, columns))

    def forget(self):
        self.box.send(MSG_FORGET, self.number)

    def rearm(self, timeout=0, grace=1000, limit=1 << 30, files=1024, file_size=1 << 40, processes=0, flags=0, argc=0):
        self.box.send(MSG_REARM, self.number, START.pack(timeout, grace, limit, files, file_size, 0, 0, processes,
                                                         flags, argc, 0, 0, 0))

    def wait_output(self, text, seconds=10):
        # RACE: its words may be heard before who it is, and who its subreaper.
        self.box.pump(lambda: (text in self.output() and self.pid is not None) or self.ended, seconds,
                      f"{text} in {self.output()[-200:]}")
        assert text in self.output(), self.output()

    def members(self):
        return self.box.descendants(self.subreaper) if SUBREAPER else members(self.leaf)

    def close(self):
        for log in self.logs:
            log.close()
        wait_until(lambda: self.remove_leaf(), 5, f"rmdir {self.leaf}, members {self.members()}")

    def remove_leaf(self):
        try:
            os.rmdir(self.leaf)
            return True
        except OSError:
            return False


class Box:
    """One box: cgroups, the outside role, and the control socket to init."""

    count = 0
    uid = UID  # on the host

    def __init__(self, binary, options=(), mounts=(), hello=True, command=None, keeps=(), has_cgroup=True,
                 before_exec=None):
        Box.count += 1
        self.directory = tempfile.mkdtemp(prefix=NAME + "-")
        self.path = self.directory + "/control"
        self.cgroup = f"{V2}/b{Box.count}"
        self.v1 = [f"{path}/b{Box.count}" for path in V1] if has_cgroup else []
        self.execs, self.next, self.buffer, self.fds, self.strays = {}, 1, b"", [], []
        self.init_pid = self.init_pidfd = self.init_status = None
        self.binary, self.is_greeted, self.is_synced = binary, False, False
        for path in [self.cgroup, self.cgroup + "/init", self.cgroup + "/work"] + self.v1:
            os.mkdir(path)
        delegate(self.cgroup)
        os.chown(self.cgroup + "/cgroup.procs", self.uid, self.uid)
        self.nonce = os.urandom(16)
        self.log = open(self.directory + "/log", "w+b")
        self.spawn(options, mounts, command or ["/usr/bin/bwrap"] + BWRAP, keeps, has_cgroup, before_exec)
        if hello:
            self.wait_hello()

    def spawn(self, options, mounts, command, keeps, has_cgroup, before_exec):
        self.control, theirs = socket.socketpair()
        self.control.send(self.nonce)
        ours = {"self": os.open(self.binary, os.O_RDONLY), "control": theirs.detach()}
        if has_cgroup:
            ours |= {"box": os.open(self.cgroup, os.O_RDONLY), "leaf": os.open(self.cgroup + "/init", os.O_RDONLY)}
        arguments = [(name, fd, "") for name, fd in ours.items()]
        arguments += [("join", os.open(path + "/tasks", os.O_WRONLY), "") for path in self.v1]
        arguments += [("mount", os.open(path, os.O_PATH), ":" + mode) for path, mode in mounts]
        arguments += [("keep", os.dup(fd), "") for fd in keeps]
        fds = [fd for _, fd, _ in arguments]
        argv = ["ebb-init", "outside", "--uid", str(UID), "--gid", str(UID)]
        for name, fd, suffix in arguments:
            argv += ["--" + name, f"{fd}{suffix}"]
        argv += ["--", *command, *(option.replace("KEEP", str(fds[-1])) for option in options)]
        self.outside = subprocess.Popen(argv, executable=f"/proc/self/fd/{ours['self']}", stdin=subprocess.DEVNULL,
                                        pass_fds=fds, stdout=subprocess.DEVNULL, stderr=self.log,
                                        start_new_session=True, preexec_fn=before_exec)
        for fd in fds:
            os.close(fd)

    def controller(self, name):
        """Where the limits of the whole box are, init's too."""
        return self.cgroup if IS_PURE else next(path for path in self.v1 if f"/{name}/" in path)

    def limit_pids(self, count):
        write(self.controller("pids") + "/pids.max", count)

    def limit_memory(self, size):
        write(self.controller("memory") + ("/memory.max" if IS_PURE else "/memory.limit_in_bytes"), size)

    def oom_kills(self):
        counts = read(self.controller("memory") + ("/memory.events" if IS_PURE else "/memory.oom_control"))
        return int(dict(line.split() for line in counts.splitlines())["oom_kill"])

    def wait_hello(self):
        self.pump(lambda: self.is_greeted, 10, "hello")
        assert self.outside.wait(10 * PATIENCE) == 0, self.messages()

    def messages(self):
        self.log.seek(0)
        return self.log.read().decode(errors="replace")

    # ------------------------------------------------------------------ words

    def send(self, kind, number, body=b"", fds=(), claimed=None, size=None):
        size = len(body) if size is None else size
        header = HEADER.pack(size, kind, len(fds) if claimed is None else claimed, number, 0)
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        data = header + body
        sent = self.control.sendmsg([data], rights)
        while sent < len(data):
            sent += self.control.send(data[sent:])

    def detach(self, milliseconds=0, path=None):
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path or self.path)
            listener.listen()
            self.send(MSG_DETACH, 0, struct.pack("=Q", milliseconds), [listener.fileno()])

    def dial(self):
        caller = socket.socket(socket.AF_UNIX)
        caller.settimeout(10 * PATIENCE)
        caller.connect(self.path)
        return caller

    def connect(self):
        """Is the next engine, which knows nothing yet."""
        self.control.close()
        self.control, self.buffer = self.dial(), b""
        self.is_greeted = self.is_synced = False
        for exec_ in self.execs.values():
            exec_.hear_nothing()

    def reconnect(self):
        self.connect()
        self.pump(lambda: self.is_synced, what="SYNCED")

    def start(self, *argv, env=None, workdir="/workspace", timeout=0, grace=1000, limit=1 << 30, files=1024,
              file_size=1 << 40, keep=False, stdin=None, logs=None, may_kill=True, memory=0, data_size=0, processes=0,
              terminal=None, is_file=False, buffered=False, gives_logs=True, resumed=False, segments=False, lists=False,
              piped=None, leaf_files=()):
        exec_ = self.new_exec(may_kill)
        exec_.gives_logs = gives_logs
        env = ENVIRONMENT if env is None else env
        strings = [workdir, *argv] + [f"{k}={v}" for k, v in env.items()]
        flags = (KEEP if keep else 0) | (HAS_STDIN if stdin is not None else 0) | (TERMINAL if terminal else 0)
        flags |= (FILE if is_file else 0) | (BUFFERED if buffered else 0) | (RESUMED if resumed else 0)
        flags |= (BUFFERED | SEGMENTS if segments else 0) | (LIST if lists else 0) | (0 if piped is None else BUFFERED | PIPED) | (LEAF_FILES if leaf_files else 0)
        buffered = buffered or piped is not None
        body = START.pack(timeout, grace, limit, files, file_size, memory, data_size, processes,
                          flags | (0 if SUBREAPER else HAS_LEAF), len(argv), len(env), *(terminal or (0, 0)))
        body += b"".join(os.fsencode(s) + b"\0" for s in strings)
        leaf = [os.open(f"{exec_.leaf}/{name}", mode) for name, mode in leaf_files] or [os.open(exec_.leaf, os.O_RDONLY)]
        logs = [] if buffered or segments else logs or [log.fileno() for log in exec_.logs]
        fds = logs + ([] if SUBREAPER else leaf) + ([stdin] if stdin is not None else []) + ([] if piped is None else [piped])
        try:
            self.send(MSG_START, exec_.number, body, fds)
        finally:
            for fd in leaf:
                os.close(fd)
        return exec_

    def new_exec(self, may_kill=True):
        leaf = f"{self.cgroup}/work/{self.next}"
        os.mkdir(leaf)
        for name in ("cgroup.procs", "cgroup.kill")[:2 if may_kill else 1]:
            os.chown(f"{leaf}/{name}", self.uid, self.uid)
        exec_ = self.execs[self.next] = Exec(self, self.next, leaf)
        self.next += 1
        return exec_

    def run(self, *argv, **options):
        """Starts a command and waits for its end."""
        exec_ = self.start(*argv, **options)
        exec_.wait()
        return exec_

    def shell(self, script, **options):
        return self.run("/bin/sh", "-c", script, **options)

    def inventory(self):
        """What init says there is in the box."""
        self.contents = []
        self.send(MSG_INVENTORY, 0)
        self.pump(lambda: self.contents, what="what there is")
        return self.contents.pop()

    def write_file(self, name, data, mode=0o644):
        """What is said of a new file in the workspace: an errno, or entries."""
        return self.ask(MSG_WRITE_FILE, struct.pack("=I", mode) + name + b"\0" + data)

    def list_workspace(self):
        """The same of all that is there."""
        return self.ask(MSG_LIST, b"")

    def ask(self, kind, body):
        self.reports = []
        self.send(kind, 0, body)
        self.pump(lambda: self.reports, what="a report")
        answer, error, entries = self.reports.pop()
        assert answer - FILE_WRITTEN == kind - MSG_WRITE_FILE
        return error or entries

    def listen(self, port):
        """The socket on the loopback of the box, or an errno."""
        self.listening = []
        self.send(MSG_LISTEN, 0, struct.pack("=I", port))
        self.pump(lambda: self.listening, what="a listening socket")
        return self.listening.pop()

    def pump(self, condition, seconds=20, what="word"):
        """Hears messages until the condition holds."""
        end = time.monotonic() + seconds * PATIENCE
        while not condition():
            left = end - time.monotonic()
            if left <= 0:
                raise AssertionError(f"not within {seconds} s: {what}; log: {self.messages()}")
            if select.select([self.control], [], [], left)[0] and not self.hear():
                raise EOFError(f"the box is gone while waiting for {what}: {self.messages()}")

    def hear(self):
        try:
            data, rights, _, _ = self.control.recvmsg(65536, 1024)
        except ConnectionResetError:
            return False
        for _, _, fds in rights:
            self.fds += array.array("i", fds)
        self.buffer += data
        while len(self.buffer) >= HEADER.size:
            size, kind, fds, number, zero = HEADER.unpack(self.buffer[:HEADER.size])
            if len(self.buffer) < HEADER.size + size:
                break
            body = self.buffer[HEADER.size:HEADER.size + size]
            self.buffer = self.buffer[HEADER.size + size:]
            assert zero == 0
            self.understand(kind, number, body)
        return bool(data)

    def understand(self, kind, number, body):
        if kind == LAUNCHED:
            assert not self.is_greeted, "launched comes before hello"
            (self.init_pid,) = struct.unpack("=I", body)
            self.init_pidfd = self.fds.pop(0)
        elif kind == HELLO:
            assert body == struct.pack("=I", VERSION) + self.nonce
            assert self.init_pid, "hello comes after launched"
            assert not self.is_greeted, "hello comes once"
            self.is_greeted = True
        elif not self.is_greeted:
            raise AssertionError(f"{kind} before hello")
        elif kind == SYNCED:
            assert (number, self.is_synced) == (0, False)
            self.synced = struct.unpack(f"{len(body) // 4}I", body)
            self.is_synced = True
        elif kind == MSG_CONTENTS:
            assert number == 0
            self.contents.append(dict(zip(("processes", "descriptors", "files", "blocks"), CONTENTS.unpack(body))))
        elif kind in (FILE_WRITTEN, LISTED) and number == 0:
            self.reports.append((kind, *entries(body)))
        elif kind == LISTENING:
            assert number == 0
            (error,) = struct.unpack("=I", body)
            self.listening.append(error or socket.socket(fileno=self.fds.pop(0)))
        elif number in self.execs:
            self.execs[number].hear(kind, body)
        else:
            self.strays.append((kind, number, body))

    # -------------------------------------------------------------------- end

    def descendants(self, subreaper):
        """What descends from a subreaper, known by its pid inside; from none that lives, if it is dead."""
        inside = {pid: field(pid, "NSpid:").split()[-1:] for pid in members(self.cgroup)}
        parents = {pid: int(field(pid, "PPid:") or 0) for pid in inside}
        subreapers = [pid for pid in inside if field(pid, "Name:").strip() == "ebb-subreaper"]
        ours = [pid for pid in subreapers if inside[pid] == [str(subreaper)]]

        def leader_of(pid):
            while pid in parents and pid not in subreapers:
                pid = parents[pid]
            return pid
        return [pid for pid in inside if pid not in subreapers and pid != self.init_pid and is_alive(pid) and
                ([leader_of(pid)] == ours if ours else leader_of(pid) not in subreapers)]

    def descriptors(self):
        return len(open_files(self.init_pid))

    def is_gone(self):
        return not members(self.cgroup)

    def wait_init(self, seconds=10):
        """Reaps init, which by now is our child, and gives its wait status."""
        wait_until(lambda: self.init_status is not None or self.reap_init(), seconds, "init's end")
        return self.init_status

    def reap_init(self):
        pid, status = os.waitpid(self.init_pid, os.WNOHANG)
        if pid:
            self.init_status = status
        return bool(pid)

    def close(self):
        """Ends the box by its lifeline and proves that nothing of it is left."""
        self.control.close()
        self.outside.wait(10 * PATIENCE)
        if self.init_pid and self.init_status is None:
            self.wait_init()
        self.release()

    def destroy(self):
        """Ends the box by its cgroup, whatever state it is in."""
        write(self.cgroup + "/cgroup.kill", 1)
        self.control.close()
        self.outside.wait(10 * PATIENCE)
        wait_until(self.is_gone, 10, "an empty cgroup")
        if self.init_pid:
            with contextlib.suppress(ChildProcessError):
                self.wait_init()
        self.release()

    def release(self):
        wait_until(self.is_gone, 10, "an empty cgroup")
        for exec_ in self.execs.values():
            exec_.close()
        for path in [self.cgroup + "/work", self.cgroup + "/init", self.cgroup] + self.v1:
            wait_until(lambda: remove(path), 5, f"rmdir {path}")
        for fd in self.fds + ([self.init_pidfd] if self.init_pidfd is not None else []):
            os.close(fd)
        self.log.close()
        shutil.rmtree(self.directory)


def remove(path):
    try:
        os.rmdir(path)
        return True
    except OSError:
        return False


def reap_orphans():
    """Waits for what fell to us, as a subreaper has to."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


BWRAP = """--unshare-user --unshare-pid --unshare-ipc --unshare-uts --unshare-net --disable-userns
 --as-pid-1 --uid 1000 --gid 1000 --hostname box --clearenv --ro-bind /usr /usr --symlink usr/bin /bin
 --symlink usr/lib /lib --symlink usr/lib64 /lib64 --symlink usr/sbin /sbin --proc /proc --dev /dev
 --size 67108864 --tmpfs /dev/shm --remount-ro /dev --size 67108864 --perms 1777 --tmpfs /tmp
 --size 268435456 --tmpfs /workspace --chdir /workspace""".split()
# With nsdelegate a cgroup namespace would keep init, whose root is <box>/init, from cloning into <box>/work.
BWRAP += [] if "nsdelegate" in OPTIONS else ["--unshare-cgroup"]
