"""Output that no disk takes: the beginning is kept in memory, the rest is counted."""

import contextlib
import errno
import os
import subprocess
import tempfile

from case import *

MIB = 1 << 20


@contextlib.contextmanager
def small_disk(size):
    """A file system of this size, which two logs lie on; and the path of a file that fills it."""
    with tempfile.TemporaryDirectory() as where:
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "ebb-test", where], check=True)
        try:
            logs = [open(os.path.join(where, name), "w+b", buffering=0) for name in ("out", "err")]
            yield logs, os.path.join(where, "filler")
            for log in logs:
                log.close()
        finally:
            subprocess.run(["umount", "-l", where], check=True)


def fill(path):
    with open(path, "wb", buffering=0) as filler, contextlib.suppress(OSError):
        while True:
            filler.write(bytes(65536))


def content(log):
    return os.pread(log.fileno(), 1 << 30, 0)


class LostTest(Case):
    def start(self, box, script, logs, **more):
        return box.start("/bin/sh", "-c", script, logs=[log.fileno() for log in logs], **more)

    def loss(self, exec_):
        ended = exec_.wait()
        return ended["log_errno"], ended["stdout_lost"], ended["stderr_lost"]

    def sizes(self, exec_):
        return exec_.ended["stdout_size"], exec_.ended["stderr_size"]

    def test_little_output_needs_no_disk(self):
        with self.a_box() as box, small_disk(MIB) as (logs, filler):
            fill(filler)
            exec_ = self.start(box, "printf 0123456789; printf err >&2; sleep 0.1; echo more", logs)
            self.assertEqual((0, 0, 0), self.loss(exec_))
            self.assertEqual(([b"0123456789more\n", b"err"], (15, 3)), (exec_.buffered, self.sizes(exec_)))

    def test_on_a_full_disk_the_beginning_is_kept_and_the_rest_is_counted(self):
        with self.a_box() as box, small_disk(MIB) as (logs, filler):
            fill(filler)
            exec_ = self.start(box, "head -c 30000 /dev/zero; echo done >&2; exit 3", logs)
            self.assertEqual((errno.ENOSPC, 30000 - BUFFERED_MAX, 0), self.loss(exec_))
            self.assertEqual(([bytes(BUFFERED_MAX), b"done\n"], (BUFFERED_MAX, 5)), (exec_.buffered, self.sizes(exec_)))
            self.assertEqual((BY_ITSELF, 3), (exec_.ended["reason"], exec_.ended["status"]))

    def test_a_disk_that_becomes_full_has_what_it_took(self):
        with self.a_box() as box, small_disk(2 * MIB) as (logs, _):
            exec_ = self.start(box, "echo first >&2; seq 1000000; echo last >&2", logs)
            error, lost, lost_errors = self.loss(exec_)
            whole = b"".join(b"%d\n" % i for i in range(1, 1000001))
            stored, errors = self.sizes(exec_)
            self.assertEqual((errno.ENOSPC, len(whole)), (error, stored + lost))
            self.assertGreater(stored, MIB)
            self.assertEqual(whole[:stored], content(logs[0])[:stored])
            # What came after may be in memory, since all of it is short.
            self.assertEqual((11, 0), (errors, lost_errors))
            self.assertEqual(b"first\nlast\n", exec_.buffered[1] or content(logs[1]))

    def test_a_disk_that_flaps_leaves_no_gap(self):
        with self.a_box() as box, small_disk(2 * MIB) as (logs, filler):
            reader, writer = os.pipe()
            exec_ = self.start(box, "seq 100000; read go; seq 100000; echo . >&2; read go; seq 100000", logs, stdin=reader)
            os.close(reader)
            part = b"".join(b"%d\n" % i for i in range(1, 100001))
            box.pump(lambda: exec_.sizes[0] == len(part), what="the first part")
            fill(filler)
            os.write(writer, b"\n")
            box.pump(lambda: exec_.sizes[1] == 2, what="the second part")
            os.unlink(filler)
            os.write(writer, b"\n")
            os.close(writer)
            error, lost, _ = self.loss(exec_)
            stored = exec_.ended["stdout_size"]
            self.assertEqual((errno.ENOSPC, 3 * len(part)), (error, stored + lost))
            self.assertGreaterEqual(stored, len(part))
            self.assertEqual((3 * part)[:stored], content(logs[0])[:stored])


    def test_logs_that_take_nothing_when_they_come(self):
        with self.a_box() as box, small_disk(MIB) as (logs, filler):
            fill(filler)
            exec_ = box.start("/bin/sh", "-c", "head -c 30000 /dev/zero; echo done >&2", buffered=True, gives_logs=False)
            box.pump(lambda: NEED_LOG in exec_.words, what="NEED_LOG")
            exec_.logs = logs
            exec_.give_logs()
            self.assertEqual((errno.ENOSPC, 30000 - BUFFERED_MAX, 0), self.loss(exec_))
            self.assertEqual(([bytes(BUFFERED_MAX), b"done\n"], (BUFFERED_MAX, 5)), (exec_.buffered, self.sizes(exec_)))

    def test_a_segment_tells_what_it_lost_and_the_next_begins_anew(self):
        with self.a_box() as box:
            reader, writer = os.pipe()
            exec_ = box.start("/bin/sh", "-c", "while read n; do head -c $n /dev/zero; echo . >&2; done", stdin=reader,
                              segments=True, gives_logs=False)
            os.close(reader)
            os.write(writer, b"30000\n")
            box.pump(lambda: NEED_LOG in exec_.words, what="NEED_LOG")
            exec_.give_logs(errno.ENOSPC)
            box.pump(lambda: exec_.sizes[1] == 2, what="its end")
            segment = exec_.split()
            self.assertEqual(((BUFFERED_MAX, 2), (30000 - BUFFERED_MAX, 0), errno.ENOSPC),
                             (segment["sizes"], segment["lost"], segment["errno"]))
            os.write(writer, b"10\n")
            box.pump(lambda: exec_.sizes == (10, 2), what="the next")
            segment = exec_.split()
            self.assertEqual(((10, 2), (0, 0), 0), (segment["sizes"], segment["lost"], segment["errno"]))
            os.close(writer)
            self.assertEqual((0, 0, 0), self.loss(exec_))
