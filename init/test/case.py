"""What the tests have in common: a box to play with, and the proof that nothing is left of it."""

import contextlib
import os
import signal
import sys
import tempfile
import unittest

from engine import *

BINARY = os.path.abspath(sys.argv[1])
PYTHON = "/usr/bin/python3"


def only_with_leaves(test):
    return None if SUBREAPER else test


def only_without_leaves(test):
    return test if SUBREAPER else None


class Case(unittest.TestCase):
    """Whatever a test does, it must leave nothing."""

    def setUp(self):
        self.before = self.snapshot()
        self.boxes, self.files = [], []

    def tearDown(self):
        for box in self.boxes:
            if not box.log.closed:
                box.destroy()
        for file in self.files:
            file.close()
        wait_until(lambda: reap_orphans() or not children(), what="the end of all children")
        self.assertEqual(self.before, self.snapshot())

    @staticmethod
    def snapshot():
        return {
            "cgroups": [[d for d in os.listdir(path) if os.path.isdir(f"{path}/{d}")] for path in [V2] + V1],
            "mounts": read("/proc/self/mountinfo"),
            "files": [name for name in os.listdir("/tmp") if name.startswith(NAME)],
            "descriptors": sorted(os.listdir("/proc/self/fd")),
        }

    def kill_early(self, box):
        """Commands that are killed as they are started, one after the other."""
        for grace, status in ((0, signal.SIGKILL), (60000, signal.SIGTERM)) * 20:
            exec_ = box.start("sleep", "1000")
            exec_.kill(grace=grace)
            exec_.wait(4)
            self.assertEqual((KILLED, 0, CLD_KILLED, status),
                             tuple(exec_.ended[k] for k in ("reason", "flags", "code", "status")))
            yield exec_

    def box(self, *args, **options):
        box = Box(BINARY, *args, **options)
        self.boxes.append(box)
        return box

    @contextlib.contextmanager
    def a_box(self, **options):
        box = self.box(**options)
        yield box
        box.close()
        self.assertEqual(0, box.init_status, "init ends well when its engine goes")

    def file(self, content):
        """A descriptor to read this from, for as long as the test runs."""
        file = tempfile.TemporaryFile()
        self.files.append(file)
        file.write(content if isinstance(content, bytes) else content.encode())
        file.seek(0)
        return file.fileno()

    def assert_exited(self, exec_, status=0):
        self.assertIsNone(exec_.refused)
        self.assertEqual((BY_ITSELF, CLD_EXITED, status),
                         tuple(exec_.ended[k] for k in ("reason", "code", "status")), exec_.output(1))
