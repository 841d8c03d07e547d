#!/usr/bin/python3 -IS
"""Runs in the place of ebb-init: what could a compromised one reach by what it is handed?

Each START is answered by an ENDED whose output tells of each descriptor how far it leads. Roles
outside the box are the real program's.
"""
import array, os, socket, stat, struct, sys, time

REAL = "@REAL@"
SECRET = "@SECRET@"  # a file of the host that anybody may read, without its first slash
VERSION = @VERSION@
STARTED, ENDED, HELLO, START = 32, 35, 2, 16

if sys.argv[1] != "inside":
    os.execv(REAL, ["ebb-init"] + sys.argv[1:])


def message(kind, exec_id, body):
    return struct.pack("=IHHII", len(body), kind, 0, exec_id, 0) + body


def up(fd):
    """To where no way leads further up; how many steps that took, and the secret from there."""
    steps = 0
    at = os.dup(fd)
    for _ in range(64):
        above = os.open("..", os.O_RDONLY | os.O_DIRECTORY, dir_fd=at)
        here, there = os.fstat(at), os.fstat(above)
        os.close(at)
        at = above
        if (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino):
            break
        steps += 1
    try:
        secret = os.open(SECRET, os.O_RDONLY, dir_fd=at)
        found = "reached " + os.read(secret, 100).decode()
    except OSError as error:
        found = "not reached, " + os.strerror(error.errno)
    return "%d steps up, the secret was %s" % (steps, found)


def describe(fd):
    mode = os.fstat(fd).st_mode
    if stat.S_ISDIR(mode):
        return "directory, " + up(fd)
    kinds = {stat.S_IFREG: "file", stat.S_IFIFO: "pipe", stat.S_IFSOCK: "socket", stat.S_IFCHR: "device"}
    try:
        os.open("..", os.O_RDONLY, dir_fd=fd)
        way = "a way up"
    except OSError:
        way = "no way up"
    return kinds.get(stat.S_IFMT(mode), "other") + ", " + way


def survey():
    lines = []
    for name in sorted(os.listdir("/proc/self/fd"), key=int):
        try:
            lines.append("fd " + name + ": " + describe(int(name)))
        except OSError:
            pass  # the listing's own
    for path in ("/", "/proc/self/cwd", "/proc/self/root"):
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        lines.append(path + ": " + up(fd))
        os.close(fd)
    return "\n".join(lines) + "\n"


def receive(control):
    space = socket.CMSG_SPACE(16 * 4)
    head, ancillary, _, _ = control.recvmsg(16, space)
    if not head:
        sys.exit(0)
    while len(head) < 16:
        head += control.recv(16 - len(head))
    fds = array.array("i")
    for _, _, data in ancillary:
        fds.frombytes(data[: len(data) - len(data) % 4])
    size, kind, _, exec_id, _ = struct.unpack("=IHHII", head)
    while size > 0:
        size -= len(control.recv(min(size, 65536)))
    return kind, exec_id, list(fds)


def main():
    control = socket.socket(fileno=int(sys.argv[2]))
    control.setblocking(True)
    gate = int(sys.argv[3])
    os.read(gate, 1)
    nonce = control.recv(16, socket.MSG_WAITALL)
    control.sendall(message(HELLO, 0, struct.pack("=I", VERSION) + nonce))
    os.write(gate, b"\0")
    os.close(gate)
    while True:
        kind, exec_id, fds = receive(control)
        if kind != START:
            continue
        control.sendall(message(STARTED, exec_id, struct.pack("=II", 2, 0)))
        text = survey().encode()[:4000]
        ended = struct.pack("=IIiiQQIIQQIIQQQ", 0, 0, 1, 0, len(text), 0, 0, 0, 0, 0, 0, 0, time.monotonic_ns(), 0, 0)
        control.sendall(message(ENDED, exec_id, ended + struct.pack("=II", len(text), 0) + text))
        for fd in fds:
            os.close(fd)


main()
