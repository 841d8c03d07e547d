"""A command that has waited gets its limits anew; what is in a box is counted."""

import os
import time

from case import *

ANY = 1 << 62

# Waits for a byte, then does what it is told.
WAITING = "import os, sys; os.read(0, 1); exec(sys.argv[1])"


class RenewTest(Case):
    def waiting(self, box, code, **options):
        reader, writer = os.pipe()
        self.files.append(os.fdopen(writer, "wb", 0))
        try:
            exec_ = box.start(PYTHON, "-c", WAITING, code, stdin=reader, files=ANY, file_size=ANY, **options)
        finally:
            os.close(reader)
        exec_.wait_started()
        return exec_

    def go(self):
        self.files[-1].write(b"x")

    def test_it_has_the_limits_of_its_order(self):
        with self.a_box() as box:
            exec_ = self.waiting(box, "import resource as r; print(r.getrlimit(r.RLIMIT_NOFILE), r.getrlimit(r.RLIMIT_FSIZE))")
            exec_.rearm(files=77, file_size=4096)
            box.inventory()
            self.go()
            self.assertEqual(0, exec_.wait()["status"])
            self.assertEqual(b"(77, 77) (4096, 4096)\n", exec_.output())

    def test_its_time_begins_anew(self):
        with self.a_box() as box:
            exec_ = self.waiting(box, "import time; time.sleep(100)", timeout=100_000)
            begin = time.monotonic()
            exec_.rearm(timeout=300, grace=0)
            self.go()
            self.assertEqual(TIMED_OUT, exec_.wait()["reason"])
            self.assertGreaterEqual(time.monotonic() - begin, 0.299)

    def test_one_that_had_a_timeout_may_be_given_none(self):
        with self.a_box() as box:
            exec_ = self.waiting(box, f"import time; time.sleep({3.5 * PATIENCE}); print('whole')", timeout=3000 * PATIENCE)
            exec_.rearm()
            self.go()
            self.assertEqual(BY_ITSELF, exec_.wait()["reason"])
            self.assertEqual(b"whole\n", exec_.output())

    def test_its_output_is_limited(self):
        with self.a_box() as box:
            exec_ = self.waiting(box, "print('x' * 1000)")
            exec_.rearm(limit=10, grace=0)
            box.inventory()
            self.go()
            self.assertEqual(OUTPUT_LIMIT, exec_.wait()["reason"])
            self.assertEqual(b"x" * 10, exec_.output())

    def test_what_it_leaves_is_kept_if_it_is_so_ordered(self):
        with self.a_box() as box:
            for flags, left in ((0, 0), (KEEP, 1)):
                exec_ = self.waiting(box, "import subprocess as s; s.Popen(['sleep', '1000'], stdin=s.DEVNULL, stdout=s.DEVNULL, stderr=s.DEVNULL)")
                exec_.rearm(flags=flags)
                box.inventory()
                self.go()
                exec_.wait()
                self.assertEqual(left, len(exec_.members()))

    def test_what_it_leaves_in_the_workspace_is_told_if_it_is_so_ordered(self):
        with self.a_box() as box:
            for flags, seen in ((0, None), (LIST, [b"file"])):
                exec_ = self.waiting(box, "open('file', 'w')")
                exec_.rearm(flags=flags)
                self.go()
                exec_.wait()
                self.assertEqual(seen, exec_.seen and [entry[5] for entry in exec_.seen])

    @only_without_leaves
    def test_its_processes_are_limited(self):
        with self.a_box() as box:
            exec_ = self.waiting(box, """
n = 0
try:
    while True:
        if os.fork() == 0:
            import time; time.sleep(100)
        n += 1
except BlockingIOError:
    print(n, flush=True)
""", processes=100)
            exec_.rearm(processes=5)
            box.inventory()
            self.go()
            exec_.wait()
            self.assertEqual(b"4\n", exec_.output())

    def test_one_that_has_ended_is_no_error(self):
        with self.a_box() as box:
            exec_ = box.run("true")
            exec_.rearm(timeout=1)
            self.assertEqual(b"fine\n", box.shell("echo fine").output())

    def test_what_is_no_limit_ends_the_box(self):
        for wrong in ({"flags": TERMINAL}, {"argc": 1}):
            box = self.box()
            box.start("sleep", "100").rearm(**wrong)
            self.assertEqual(2 << 8, box.wait_init())
            box.close()


class ContentsTest(Case):
    def test_an_empty_box_has_init_alone(self):
        with self.a_box() as box:
            self.assertEqual(1, box.inventory()["processes"])
            self.assertEqual(box.inventory(), box.inventory())

    def test_processes_are_counted(self):
        with self.a_box() as box:
            before = box.inventory()
            exec_ = box.start("sleep", "100")
            exec_.wait_started()
            now = box.inventory()
            self.assertEqual(before["processes"] + (2 if SUBREAPER else 1), now["processes"])
            self.assertLess(before["descriptors"], now["descriptors"])
            exec_.kill(grace=0)
            exec_.wait()
            self.assertEqual(before, box.inventory())

    def test_an_empty_file_is_counted_wherever_it_is(self):
        with self.a_box() as box:
            before = box.inventory()
            for directory in ("/workspace", "/tmp", "/dev/shm"):
                box.shell(f"touch {directory}/x")
                self.assertEqual(before["files"] + 1, box.inventory()["files"], directory)
                box.shell(f"rm {directory}/x")
            self.assertEqual(before, box.inventory())

    def test_bytes_are_counted(self):
        with self.a_box() as box:
            before = box.inventory()
            box.shell("exec 3>/workspace/x; rm /workspace/x; echo x >&3; sleep 1000 & exit", keep=True)
            self.assertLess(before["blocks"], box.inventory()["blocks"])
