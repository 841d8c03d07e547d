"""Words that make no sense: init refuses or ends, it never hangs or crashes."""

import contextlib
import errno
import os
import random
import socket
import struct
import time

from case import *

SANITIZER_FOUND = 99 << 8


class ProtocolTest(Case):
    def garbage(self, play):
        """Plays garbage; init must end by itself, or refuse and go on. Never crash, never hang."""
        box = self.box()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            play(box)
        with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
            wait_until(lambda: box.reap_init() or is_answering(box), 20, "an end or an answer")
        box.control.close()
        status = box.wait_init()
        self.assertNotEqual(SANITIZER_FOUND, status)
        self.assertTrue(os.WIFEXITED(status), status)
        box.release()

    def test_headers_that_make_no_sense_end_the_box(self):
        for header in ((0xFFFFFFFF, MSG_START, 0, 1, 0), (MESSAGE_MAX + 1, MSG_START, 0, 1, 0), (0, 99, 0, 1, 0),
                       (0, MSG_ENDED, 0, 1, 0), (16, MSG_KILL, 0, 1, 7), (0, MSG_KILL, 0, 1, 0),
                       (0, MSG_START, 3, 1, 0), (0, MSG_START, 0xFFFF, 1, 0), (2, MSG_RESIZE, 0, 1, 0),
                       (8, MSG_RESIZE, 0, 1, 0), (0, MSG_SIGNAL, 0, 1, 0), (4, MSG_SIGNAL, 0, 1, 0),
                       (4, MSG_FORGET, 0, 1, 0), (0, MSG_LISTEN, 0, 0, 0), (4, MSG_LISTEN, 0, 0, 0), (4, MSG_LISTEN, 0, 1, 0), (4, MSG_SPLIT, 0, 1, 0), (4, MSG_LIST, 0, 0, 0), (0, MSG_LIST, 0, 1, 0), (6, MSG_WRITE_FILE, 0, 1, 0),
                       (8, MSG_REARM, 0, 1, 0), (4, MSG_INVENTORY, 0, 0, 0), (0, MSG_INVENTORY, 0, 1, 0), (0, MSG_DETACH, 0, 0, 0), (8, MSG_DETACH, 0, 0, 0)):
            box = self.box()
            box.control.send(HEADER.pack(*header) + bytes(16))
            self.assertEqual(2 << 8, box.wait_init(), header)
            box.close()

    def test_descriptors_that_were_not_announced_end_the_box(self):
        for fds, claimed in ((3, 4), (4, 3), (7, 7), (253, 3), (1, 0)):
            box = self.box()
            box.send(MSG_START, 1, b"x" * 64, [0] * fds, claimed=claimed)
            self.assertEqual(2 << 8, box.wait_init(), (fds, claimed))
            box.close()

    def test_descriptors_in_the_middle_of_a_message_end_the_box(self):
        box = self.box()
        box.control.send(HEADER.pack(64, MSG_START, 0, 1, 0))
        time.sleep(0.05)
        box.control.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("i", 0))])
        self.assertEqual(2 << 8, box.wait_init())
        box.close()

    def test_bodies_that_make_no_sense_are_refused(self):
        def body(argc=1, envc=0, flags=HAS_LEAF, rows=0, columns=0, strings=b"/\0true\0"):
            return START.pack(0, 0, 100, 100, 100, 0, 0, 0, flags, argc, envc, rows, columns) + strings
        bodies = [b"", body()[:-1], body()[:START.size - 1], body(strings=b""), body(argc=0, strings=b"/\0"),
                  body(argc=2), body(envc=1), body(argc=0xFFFFFFFF, envc=0xFFFFFFFF), body(argc=0xFFFFFFFF, envc=2),
                  body(flags=0), body(flags=HAS_LEAF | 64), body(flags=HAS_LEAF | HAS_STDIN), body(flags=HAS_LEAF | FILE | TERMINAL), body(rows=1), body(columns=1), body(strings=b"/\0true\0x"),
                  body(strings=b"\0" * 1000), body(strings=b"x" * MESSAGE_MAX)[:MESSAGE_MAX]]
        with self.a_box() as box:
            for bad in bodies:
                exec_ = box.new_exec()
                leaf = os.open(exec_.leaf, os.O_RDONLY)
                box.send(MSG_START, exec_.number, bad, [log.fileno() for log in exec_.logs] + [leaf])
                os.close(leaf)
                exec_.wait()
                self.assertEqual((STEP_REQUEST, errno.EINVAL), exec_.refused, bad[:80])
            self.assertEqual(6, box.descriptors())

    def test_an_id_is_used_once(self):
        with self.a_box() as box:
            box.send(MSG_START, 0, b"")
            box.pump(lambda: box.strays, what="refusal")
            self.assertEqual([(REFUSED, 0, struct.pack("=II", STEP_REQUEST, errno.EEXIST))], box.strays)

    def test_a_message_may_come_in_pieces(self):
        with self.a_box() as box:
            exec_ = box.new_exec()
            body = START.pack(0, 0, 100, 100, 100, 0, 0, 0, HAS_LEAF, 1, 0, 0, 0) + b"/\0true\0"
            data = HEADER.pack(len(body), MSG_START, 3, exec_.number, 0) + body
            leaf = os.open(exec_.leaf, os.O_RDONLY)
            fds = struct.pack("3i", *[log.fileno() for log in exec_.logs], leaf)
            box.control.sendmsg([data[:1]], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
            os.close(leaf)
            for i in range(1, len(data)):
                box.control.send(data[i:i + 1])
                time.sleep(0.0005)
            exec_.wait()
            self.assert_exited(exec_)

    def test_random_bytes(self):
        seed = random.randrange(1 << 32)
        print(f"seed {seed}", end=" ", flush=True)
        dice = random.Random(seed)
        for _ in range(40):
            self.garbage(lambda box: fuzz(box, dice))
        self.garbage(lambda box: box.control.send(os.urandom(100000)))


def is_answering(box):
    """True once a fresh command was refused or ran."""
    exec_ = box.start("true")
    box.pump(lambda: exec_.ended or exec_.refused, 10, "answer")
    return True


def fuzz(box, dice):
    """Messages that are nearly right."""
    with contextlib.ExitStack() as stack:
        paths = ("/dev/null", "/dev/zero", "/etc/passwd", box.cgroup)
        fds = [os.open(path, os.O_RDONLY) for path in paths]
        for fd in fds:
            stack.callback(os.close, fd)
        for _ in range(dice.randrange(1, 30)):
            kind = dice.choice([MSG_START, MSG_START, MSG_KILL, MSG_RESIZE, MSG_SIGNAL])
            body = FUZZY[kind](dice)
            sent = dice.choices(fds, k=dice.choice([3, 3, 3, 4, 5, 6, 0, 2])) if kind == MSG_START else []
            kind = seldom(dice, kind, lambda: dice.randrange(1 << 16))
            body = seldom(dice, body, lambda: dice.randbytes(dice.randrange(200)))
            claimed = seldom(dice, len(sent), lambda: dice.randrange(8))
            size = seldom(dice, len(body), lambda: dice.choice([0, 1, 1 << 31, MESSAGE_MAX]))
            box.send(kind, dice.randrange(1000000, 1000050), body, sent, claimed, size)


def seldom(dice, value, other):
    return value if dice.random() < 0.97 else other()


def fuzzy_kill(dice):
    return struct.pack("=IIQ", dice.choice([0, 9, 15, 64, 65, 1 << 31]), 0, dice.choice([0, 1, 1 << 63]))


def fuzzy_start(dice):
    numbers = [dice.choice([0, 1, 5, 1 << 31, (1 << 64) - 1, dice.randrange(1 << 64)]) for _ in range(8)]
    counts = dice.choice([0, 1, 2, 3, 1 << 31]), dice.choice([0, 0, 1, 2])
    words = [b"/", b"true", b"sleep", b"100", b"x" * dice.randrange(5000), b"PATH=/bin", b"\xff"]
    strings = [dice.choice(words) + dice.choice([b"\0", b"\0", b"\0", b""]) for _ in range(dice.randrange(8))]
    return START.pack(*numbers, dice.choice([4, 4, 0, 5, 6, 9, 12, 13, 20, 21]), *counts, 0, dice.choice([0, 0, 80])) + b"".join(strings)


FUZZY = {MSG_START: fuzzy_start, MSG_KILL: fuzzy_kill, MSG_RESIZE: lambda dice: dice.randbytes(4),
         MSG_SIGNAL: lambda dice: struct.pack("=I", dice.choice([1, 2, 19, 64, 1, 2, 9, 0, 65]))}
