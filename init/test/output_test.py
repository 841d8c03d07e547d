"""Where output goes, and how much of it."""

import errno
import os
import tempfile
import time

from case import *


class OutputTest(Case):
    def test_output_is_byte_exact(self):
        data = bytes(range(256)) * 4096 + b"no newline"
        with self.a_box() as box, tempfile.TemporaryFile(dir="/tmp") as source:
            source.write(data)
            source.seek(0)
            both = box.start("/bin/sh", "-c", "tee /dev/stderr", stdin=source.fileno())
            both.wait()
            self.assertEqual((data, data), (both.output(0), both.output(1)))
            self.assertEqual((len(data), len(data)), (both.ended["stdout_size"], both.ended["stderr_size"]))

    def test_output_above_the_limit_ends_the_command(self):
        limit = 5_000_000
        with self.a_box() as box:
            for script in ("head -c 50000000 /dev/zero; sleep 100",
                           "trap '' TERM; head -c 50000000 /dev/zero; head -c 50000000 /dev/zero >&2"):
                flood = box.shell(script, limit=limit)
                self.assertEqual((OUTPUT_LIMIT, TRUNCATED), (flood.ended["reason"], flood.ended["flags"]), script)
                self.assertEqual(bytes(limit), flood.output())
                self.assertEqual(limit, flood.ended["stdout_size"])
                self.assertEqual(b"", flood.output(1))

    def test_the_limit_itself_is_allowed(self):
        with self.a_box() as box:
            for _ in range(20):
                exact = box.shell("head -c 600 /dev/zero; head -c 400 /dev/zero >&2", limit=1000)
                self.assert_exited(exact)
                self.assertEqual(0, exact.ended["flags"])
                above = box.shell("head -c 600 /dev/zero; head -c 401 /dev/zero >&2", limit=1000)
                self.assertEqual((OUTPUT_LIMIT, TRUNCATED), (above.ended["reason"], above.ended["flags"]))
                self.assertEqual(600, len(above.output()))
                self.assertEqual(bytes(400), above.output(1))

    def test_an_engine_that_does_not_read_loses_no_end(self):
        with self.a_box() as box:
            script = "for i in 1 2 3 4 5 6 7 8 9; do echo x; sleep 0.01; done"
            execs = [box.start("/bin/sh", "-c", script) for _ in range(100)]
            flood = box.start("yes", limit=1 << 40)
            time.sleep(3)
            flood.kill(grace=0)
            box.pump(lambda: all(e.ended for e in execs + [flood]), what="all ends")
            self.assertTrue(all(e.output() == b"x\n" * 9 for e in execs))

    def flood(self, box):
        """Sends requests and hears no answer until init listens no more."""
        leaf = os.open(box.cgroup, os.O_RDONLY)
        box.control.setblocking(False)
        sent, patience = 0, 0
        while patience < 100:
            try:
                box.send(MSG_START, 1000000 + sent, b"", [leaf])
                sent, patience = sent + 1, 0
            except BlockingIOError:
                time.sleep(0.005)
                patience += 1
        box.control.setblocking(True)
        os.close(leaf)
        return sent

    def test_a_flood_of_starts_without_listening_is_held_back_not_lost(self):
        with self.a_box() as box:
            sent = self.flood(box)
            self.assertGreater(sent, 257)
            box.pump(lambda: len(box.strays) == sent, what="all refusals")
            self.assertEqual(set(range(1000000, 1000000 + sent)), {number for _, number, _ in box.strays})
            self.assert_exited(box.run("true"))

    def test_the_lifeline_works_while_init_does_not_listen(self):
        with self.a_box() as box:
            self.flood(box)
