"""Plays the engine against a real forkserver: boxes that are cloned, not executed."""

import array
import os
import select
import socket
import struct
import subprocess
import tempfile

from case import *

ORDER = struct.Struct("=IIQQII32s")
READY = 8
HAS_LEAF_FLAG, HIDES_CGROUPS = 1, 2
FIRST, COUNT = UID - 8, 16  # of host uids; that of boxes is amid them
ROOT_UID = FIRST + 3
USERNS_UID = UID - FIRST  # as the forkserver's own is below it

TEMPLATE = """--unshare-pid --unshare-ipc --unshare-uts --unshare-net --as-pid-1 --clearenv --ro-bind /usr /usr
 --symlink usr/bin /bin --symlink usr/lib /lib --symlink usr/lib64 /lib64 --symlink usr/sbin /sbin --proc /proc
 --dev /dev --remount-ro /dev --dir /tmp --dir /workspace --remount-ro / --chdir /""".split()


class Forkserver:
    """One forkserver, with its own cgroup, as long as it is open."""

    count = 0

    def __init__(self, binary, command=None, userns=False, shared=False, before_exec=None, is_ready=True, has_leaf=True,
                 zygote=None):
        Forkserver.count += 1
        self.binary = binary
        self.cgroup = f"{V2}/forkserver{Forkserver.count}"
        self.uid = USERNS_UID if userns else 0 if shared else UID  # of a box, as the forkserver calls it
        self.owner = ROOT_UID if userns else 0  # of the cgroups that it clones into
        os.mkdir(self.cgroup)
        os.chown(V2 + "/cgroup.procs", self.owner, self.owner)
        self.control, theirs = socket.socketpair()
        self.log = tempfile.TemporaryFile()
        fds = {"control": theirs.fileno(), "self": os.open(binary, os.O_RDONLY)}
        fds |= {"leaf": os.open(self.cgroup, os.O_RDONLY)} if has_leaf else {}
        fds |= {} if zygote is None else {"zygote": zygote}
        argv = ["ebb-init", "forkserver"]
        for name, fd in fds.items():
            argv += ["--" + name, str(fd)]
        argv += ["--root", str(UID)] if shared else []
        argv += ["--root", str(ROOT_UID), "--first", str(FIRST), "--count", str(COUNT)] if userns else []
        argv += ["--", *(command or ["/usr/bin/bwrap"] + TEMPLATE)]
        self.process = subprocess.Popen(argv, executable=f"/proc/self/fd/{fds['self']}", stdin=subprocess.DEVNULL,
                                        pass_fds=list(fds.values()), stdout=subprocess.DEVNULL, stderr=self.log,
                                        start_new_session=True, preexec_fn=before_exec)
        theirs.close()
        for name in ("self", "leaf"):
            if name in fds:
                os.close(fds[name])
        if is_ready:
            self.await_ready()

    def await_ready(self):
        assert select.select([self.control], [], [], 20 * PATIENCE)[0], "ready"
        data = self.control.recv(HEADER.size)
        assert len(data) == HEADER.size and HEADER.unpack(data)[1] == READY, (data, self.messages())

    def messages(self):
        if self.log.closed:
            return ""
        self.log.seek(0)
        return self.log.read().decode(errors="replace")

    def order(self, name, control, leaf=None, tasks=(), flags=HIDES_CGROUPS, disk=1 << 28, temporary=1 << 26, uid=None):
        fds = [control] + ([leaf] if leaf is not None else []) + list(tasks)
        flags = (flags & ~HIDES_CGROUPS if "nsdelegate" in OPTIONS else flags) | (HAS_LEAF_FLAG if leaf is not None else 0)
        body = ORDER.pack(flags, self.uid if uid is None else uid, disk, temporary, len(fds), len(tasks), name.encode())
        self.control.sendmsg([body], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))])

    def close(self):
        self.control.close()
        status = self.process.wait(10 * PATIENCE)
        self.log.close()
        wait_until(lambda: remove(self.cgroup), 5, f"rmdir {self.cgroup}")
        os.chown(V2 + "/cgroup.procs", 0, 0)
        return status


class Born:
    """In place of the outside role: there is none."""

    def wait(self, _=None):
        return 0


class ForkserverBox(Box):
    def __init__(self, forkserver, hello=True, has_cgroup=True, **order):
        self.forkserver, self.order, self.unmade = forkserver, order, None
        self.uid = order.get("uid", UID)
        super().__init__(forkserver.binary, hello=hello, has_cgroup=has_cgroup)

    def spawn(self, options, mounts, command, keeps, has_cgroup, before_exec):
        self.control, theirs = socket.socketpair()
        self.control.send(self.nonce)
        self.outside = Born()
        fds = []
        if has_cgroup:
            os.chown(self.cgroup + "/init/cgroup.procs", self.forkserver.owner, self.forkserver.owner)
            fds = [os.open(self.cgroup + "/init", os.O_RDONLY)]
            fds += [os.open(path + "/tasks", os.O_WRONLY) for path in self.v1]
        self.forkserver.order(f"b{Box.count}", theirs.fileno(), fds[0] if fds else None, fds[1:], **self.order)
        theirs.close()
        for fd in fds:
            os.close(fd)

    def understand(self, kind, number, body):
        if kind == LAUNCHED:  # either may come first
            (self.init_pid,) = struct.unpack("=I", body)
            self.init_pidfd = self.fds.pop(0)
        elif kind == HELLO:
            assert body == struct.pack("=I", VERSION) + self.nonce
            self.is_greeted = True
        elif kind == 3:
            self.unmade = body.decode()
        else:
            super().understand(kind, number, body)

    def wait_hello(self):
        self.pump(lambda: self.is_greeted and self.init_pid, 10, "hello")

    def messages(self):
        return f"{self.unmade} {self.forkserver.messages()}"


class ForkserverCase(Case):
    """Ends the boxes before their makers."""

    def setUp(self):
        super().setUp()
        self.forkservers = []

    def tearDown(self):
        for box in self.boxes:
            if not box.log.closed:
                box.destroy()
        for forkserver in self.forkservers:
            if not forkserver.log.closed:
                forkserver.close()
        super().tearDown()
