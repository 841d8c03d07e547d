"""Output in segments: each as a whole, and none with a byte of another."""

import os
import signal

from case import *

# Writes as many bytes as a line of its stdin says.
WRITER = ("/bin/sh", "-c", "while read -r n; do head -c $n /dev/zero; echo done >&2; done")


class SegmentTest(Case):
    def feed(self, box, command, **options):
        """Starts a command, and returns with it the descriptor that writes to its stdin."""
        reader, writer = os.pipe()
        exec_ = box.start(*command, stdin=reader, segments=True, **options)
        os.close(reader)
        return exec_, writer

    def talk(self, box, **options):
        exec_, writer = self.feed(box, WRITER, **options)
        return exec_, os.fdopen(writer, "w")

    def write(self, exec_, line, size):
        """Has it written, and knows by its stderr that it has."""
        before = exec_.sizes[1]
        line.write(f"{size}\n")
        line.flush()
        exec_.box.pump(lambda: exec_.sizes[1] > before, what="output")

    def test_each_is_whole_and_begins_anew(self):
        with self.a_box() as box:
            exec_, line = self.talk(box)
            with line:
                for size in (0, 1, BUFFERED_MAX, BUFFERED_MAX + 1, 300000, 5, 0):
                    self.write(exec_, line, size)
                    segment = exec_.split()
                    self.assertEqual(((size, 5), 0, 0), (segment["sizes"], segment["flags"], segment["errno"]))
                    self.assertEqual(bytes(size), segment["stdout"])
            self.assert_exited_after(exec_)
            self.assertEqual((0, 0), (exec_.ended["stdout_size"], exec_.ended["stderr_size"]))

    def assert_exited_after(self, exec_):
        exec_.wait()
        self.assert_exited(exec_)

    def test_what_is_in_the_pipes_when_it_is_split_is_of_this_segment(self):
        code = "import os\nfor i in range(200): os.read(0, 1); os.write(1, b'%03d' % i)\nos.read(0, 1)"
        with self.a_box() as box:
            exec_, writer = self.feed(box, (PYTHON, "-c", code))
            exec_.wait_started()
            with os.fdopen(writer, "wb", 0) as line:
                before = self.writes(exec_)
                for i in range(200):
                    line.write(b".")
                    # The kernel has counted it, whether or not init has read it.
                    wait_until(lambda: self.writes(exec_) > before + i, what="its word")
                    self.assertEqual(b"%03d" % i, exec_.split()["stdout"])
            self.assert_exited_after(exec_)

    def test_what_init_learns_of_together_with_the_split_is_of_this_segment(self):
        code = "import os\nwhile os.read(0, 1): os.write(1, b'word')"
        with self.a_box() as box:
            exec_, writer = self.feed(box, (PYTHON, "-c", code))
            exec_.wait_started()
            with os.fdopen(writer, "wb", 0) as line:
                for _ in range(5):
                    before = self.writes(exec_)
                    signal.pidfd_send_signal(box.init_pidfd, signal.SIGSTOP)
                    # KERNEL: epoll tells of what was ready first.
                    box.send(MSG_SPLIT, exec_.number)
                    line.write(b".")
                    wait_until(lambda: self.writes(exec_) > before, what="its word")
                    count = len(exec_.segments)
                    signal.pidfd_send_signal(box.init_pidfd, signal.SIGCONT)
                    box.pump(lambda: len(exec_.segments) > count, what="segment")
                    self.assertEqual(b"word", exec_.segments[-1]["stdout"])
            self.assert_exited_after(exec_)

    @staticmethod
    def writes(exec_):
        try:
            lines = read(f"/proc/{exec_.members()[0]}/io").splitlines()
            return next(int(line.split()[1]) for line in lines if line.startswith("syscw"))
        except (FileNotFoundError, ProcessLookupError, IndexError):
            return 1 << 30

    def test_a_segment_waits_for_its_logs(self):
        with self.a_box() as box:
            exec_, line = self.talk(box, gives_logs=False)
            with line:
                line.write("100000\n")
                line.flush()
                box.pump(lambda: NEED_LOG in exec_.words, what="NEED_LOG")
                box.send(MSG_SPLIT, exec_.number)
                self.assert_exited(box.run("true"))
                self.assertEqual([], exec_.segments)
                exec_.gives_logs = True  # for the next, which may come along with this one
                exec_.give_logs()
                box.pump(lambda: exec_.segments, what="segment")
                first = exec_.segments[0]
                self.assertEqual(first["sizes"][0], len(first["stdout"]))
                self.assertGreater(len(first["stdout"]), BUFFERED_MAX)
                box.pump(lambda: exec_.sizes[1] == 5 or NEED_LOG in exec_.words[2:], what="the rest")
            exec_.wait()
            rest = exec_.ended["stdout_size"]
            self.assertEqual(100000, first["sizes"][0] + rest)

    def test_above_the_limit_it_is_split_and_goes_on(self):
        with self.a_box() as box:
            exec_, line = self.talk(box, limit=1000)
            with line:
                for _ in range(3):
                    self.write_much(exec_, line)
                    segment = exec_.split()
                    self.assertEqual(TRUNCATED, segment["flags"])
                    self.assertEqual(bytes(1000), segment["stdout"])
                    self.write(exec_, line, 10)
                    self.assertEqual((bytes(10), 0), (exec_.split()["stdout"], exec_.segments[-1]["flags"]))
            self.assert_exited_after(exec_)

    def write_much(self, exec_, line):
        exec_.wait_started()
        wait_until(lambda: len(exec_.members()) == 1, what="the shell alone")
        before = self.writes(exec_)
        line.write("500000\n")
        line.flush()
        exec_.box.pump(lambda: exec_.sizes[0] >= 1000, what="the limit")
        # Also its last word, which is not reported: it would be of the next segment.
        wait_until(lambda: len(exec_.members()) == 1 and self.writes(exec_) > before, what="its end")

    def test_the_end_tells_what_was_not_cut(self):
        with self.a_box() as box:
            exec_, line = self.talk(box)
            with line:
                self.write(exec_, line, 7)
                exec_.split()
                self.write(exec_, line, 3)
            self.assert_exited_after(exec_)
            self.assertEqual((3, 5), (exec_.ended["stdout_size"], exec_.ended["stderr_size"]))
            box.send(MSG_SPLIT, exec_.number)
            self.assert_exited(box.run("true"))

    def test_only_what_has_segments_can_be_split(self):
        box = self.box()
        exec_ = box.start("sleep", "100", buffered=True)
        exec_.wait_started()
        box.send(MSG_SPLIT, exec_.number)
        self.assertEqual(2 << 8, box.wait_init())
        box.close()
