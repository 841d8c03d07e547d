"""Commands in a terminal: what is typed, what is shown, and how they end."""

import contextlib
import errno
import os
import select
import signal
import time

from case import *

SIZE = (24, 80)
WATCHER = """
import os, signal, time
signal.signal(signal.SIGWINCH, lambda *_: os.system("stty size"))
os.system("stty size")
while True:
    time.sleep(0.1)  # python hears nothing that comes right before a sleep until that ends
"""
DEAF = "stty raw -echo; echo ready; sleep 1000"  # never reads


class TerminalTest(Case):
    @contextlib.contextmanager
    def terminal(self, box, *argv, size=SIZE, **options):
        """A command in a terminal, and the end of the pipe that types into it."""
        reader, writer = os.pipe()
        exec_ = box.start(*argv, stdin=reader, terminal=size, **options)
        os.close(reader)
        with open(writer, "wb", buffering=0) as keys:
            yield exec_, keys

    def in_terminal(self, box, script, typed=b"", **options):
        with self.terminal(box, "/bin/sh", "-c", script, **options) as (exec_, keys):
            keys.write(typed)
            exec_.wait()
        return exec_

    def test_all_three_are_the_controlling_terminal(self):
        with self.a_box() as box:
            script = "test -t 0 && test -t 1 && test -t 2 && echo out >&2 && echo tty >/dev/tty && tty; ls /proc/self/fd; exit 7"
            exec_ = self.in_terminal(box, script)
            self.assert_exited(exec_, 7)
            self.assertEqual(b"out\r\ntty\r\n/dev/pts/0\r\n0  1  2  3\r\n", exec_.output())
            self.assertEqual((len(exec_.output()), 0), (exec_.ended["stdout_size"], exec_.ended["stderr_size"]))

    def test_two_terminals_are_apart(self):
        with self.a_box() as box, self.terminal(box, "cat") as (first, keys), self.terminal(box, "cat") as (second, _):
            keys.write(b"one\n")
            first.wait_output(b"one\r\none\r\n")
            self.assertEqual(b"", second.output())
            self.assertEqual(b"2\n", box.shell("ls /dev/pts | grep -c '[0-9]'").output())
            first.kill(grace=0)
            second.kill(grace=0)
            first.wait(), second.wait()
            self.assertEqual(b"0\n", box.shell("ls /dev/pts | grep -c '[0-9]'").output(), "both masters are closed")

    def test_its_size_is_as_asked_and_follows(self):
        with self.a_box() as box:
            with self.terminal(box, PYTHON, "-c", WATCHER, size=(33, 111)) as (exec_, _):
                exec_.wait_output(b"33 111\r\n")
                exec_.resize(44, 122)
                exec_.wait_output(b"44 122\r\n")
                exec_.kill(grace=0)
                exec_.wait()

    def test_a_resize_of_what_has_no_terminal_is_nothing(self):
        with self.a_box() as box:
            exec_ = box.start("sleep", "0.3")
            exec_.resize(1, 1)
            box.send(MSG_RESIZE, 4711, bytes(4))
            exec_.wait()
            self.assert_exited(exec_)

    def test_control_c_interrupts(self):
        with self.a_box() as box, self.terminal(box, "sleep", "1000") as (exec_, keys):
            exec_.wait_started()
            keys.write(b"\x03")
            exec_.wait()
            self.assertEqual((BY_ITSELF, CLD_KILLED, signal.SIGINT),
                             tuple(exec_.ended[k] for k in ("reason", "code", "status")))

    def test_an_interactive_shell_has_job_control(self):
        with self.a_box() as box, self.terminal(box, "/bin/bash", "--norc", "-i") as (exec_, keys):
            exec_.wait_output(b"$ ")
            keys.write(b"sleep 1000\n")
            wait_until(lambda: self.foreground(exec_) == "sleep", what="the sleeper in the foreground")
            keys.write(b"\x1a")
            exec_.wait_output(b"Stopped")
            keys.write(b"kill -KILL %1; exit 9; exit 9\n")
            exec_.wait()
            self.assert_exited(exec_, 9)
            self.assertNotIn(b"no job control", exec_.output())

    @staticmethod
    def foreground(exec_):
        """The name of the process in the foreground of its terminal."""
        for pid in exec_.members():
            _, _, group, _, _, foreground = read(f"/proc/{pid}/stat").rsplit(")", 1)[1].split()[:6]
            if group == foreground:
                return field(pid, "Name:").strip()
        return None

    def test_the_end_of_input_is_typed(self):
        with self.a_box() as box:
            for typed in (b"", b"line\n", b"part of a line", b"line\npart"):
                with self.terminal(box, "/bin/sh", "-c", "stty -echo; echo ready; cat; echo end") as (exec_, keys):
                    exec_.wait_output(b"ready")
                    keys.write(typed)
                    keys.close()
                    exec_.wait()
                self.assert_exited(exec_)
                self.assertEqual(b"ready\r\n" + typed.replace(b"\n", b"\r\n") + b"end\r\n", exec_.output())

    def test_input_that_ends_before_the_command_reads_is_not_lost(self):
        with self.a_box() as box, self.terminal(box, "/bin/sh", "-c", "sleep 0.3; cat") as (exec_, keys):
            keys.write(b"early\n")
            keys.close()
            exec_.wait()
            self.assertEqual(b"early\r\nearly\r\n", exec_.output().replace(b"^D\x08\x08", b""))

    def test_bytes_are_exact_in_raw_mode(self):
        data = bytes(range(256)) * 1000
        with self.a_box() as box:
            script = f"stty raw -echo; echo ready; head -c {len(data)}"
            with self.terminal(box, "/bin/sh", "-c", script) as (exec_, keys):
                exec_.wait_output(b"ready\n")
                self.feed(box, keys, data, quiet=20)
                exec_.wait()
            self.assert_exited(exec_)
            self.assertEqual(b"ready\n" + data, exec_.output())

    def test_output_is_exact_and_none_of_it_is_lost_at_the_end(self):
        with self.a_box() as box:
            for size in (1, 4095, 4096, 4097, 70000, 1000000):
                exec_ = self.in_terminal(box, f"stty -onlcr; head -c {size} /dev/zero | tr '\\0' 'x'; echo end")
                self.assertEqual(b"x" * size + b"end\n", exec_.output())
            for _ in range(50):
                self.assertEqual(b"end\r\n", self.in_terminal(box, "echo end").output())

    def feed(self, box, keys, data, seconds=20, quiet=1):
        """Types as the other side takes it; gives what it did not take for so many seconds."""
        os.set_blocking(keys.fileno(), False)
        end = time.monotonic() + seconds * PATIENCE
        while data and time.monotonic() < end:
            if not select.select([], [keys], [], quiet)[1]:
                break
            data = data[keys.write(data[:4096]) or 0:]
        return data

    def test_a_command_that_never_reads_blocks_no_other(self):
        with self.a_box() as box, self.terminal(box, "/bin/sh", "-c", DEAF) as (deaf, keys):
            deaf.wait_output(b"ready")
            left = self.feed(box, keys, b"x" * 1_000_000)
            self.assertGreater(len(left), 800_000, "the pipe is full, and nothing of it is in init")
            before = int(field(box.init_pid, "RssAnon:").split()[0])
            start = time.monotonic()
            for _ in range(10):
                self.assert_exited(box.run("true"))
            self.assertLess(time.monotonic() - start, 60 * PATIENCE)
            self.assertLess(int(field(box.init_pid, "RssAnon:").split()[0]), before + 1000)
            cpu = self.cpu_of(box.init_pid)
            time.sleep(0.5)
            self.assertLessEqual(self.cpu_of(box.init_pid), cpu + 3 * PATIENCE, "init waits, it does not ask again and again")
            deaf.kill(grace=0)
            deaf.wait()
            self.assertEqual(KILLED, deaf.ended["reason"])

    @staticmethod
    def cpu_of(pid):
        """In ticks, a hundredth of a second each."""
        fields = read(f"/proc/{pid}/stat").rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12])

    def test_an_unused_terminal_costs_nothing_and_may_be_opened_again(self):
        with self.a_box() as box:
            script = "echo before; exec </dev/null >/dev/null 2>&1; sleep 0.7; echo after >/dev/tty; sleep 3"
            with self.terminal(box, "/bin/sh", "-c", script) as (exec_, keys):
                exec_.wait_output(b"before")
                time.sleep(0.1)
                cpu = self.cpu_of(box.init_pid)
                keys.write(b"typed into nothing\n")
                time.sleep(0.4)
                self.assertLessEqual(self.cpu_of(box.init_pid), cpu + 3 * PATIENCE)
                exec_.wait_output(b"after")
                self.assertIsNone(exec_.ended, "it is told while it lives")
                exec_.wait()
            self.assert_exited(exec_)

    def test_output_above_the_limit_ends_the_command(self):
        with self.a_box() as box:
            exec_ = self.in_terminal(box, "stty -onlcr; yes", limit=100_000)
            self.assertEqual((OUTPUT_LIMIT, TRUNCATED), (exec_.ended["reason"], exec_.ended["flags"]))
            self.assertEqual(b"y\n" * 50_000, exec_.output())

    def test_the_ladder_ends_all_of_it(self):
        script = "trap '' TERM HUP INT; setsid sleep 1000 & sleep 1000 & echo ready; sleep 1000"
        with self.a_box() as box:
            for end in (lambda e: e.kill(grace=0), lambda e: e.kill(grace=200)):
                with self.terminal(box, "/bin/bash", "-c", script) as (exec_, _):
                    exec_.wait_output(b"ready")
                    end(exec_)
                    exec_.wait()
                self.assertEqual((KILLED, []), (exec_.ended["reason"], exec_.members()))
            late = self.in_terminal(box, script, timeout=500, grace=100)
            self.assertEqual((TIMED_OUT, []), (late.ended["reason"], late.members()))

    def test_leftovers_end_and_what_is_kept_stays(self):
        script = "trap '' HUP; setsid sleep 1000 & sleep 0.2; echo bye"
        with self.a_box() as box:
            left = self.in_terminal(box, script)
            self.assert_exited(left)
            self.assertEqual((1, []), (left.ended["leftovers"], left.members()))
            kept = self.in_terminal(box, script, keep=True)
            self.assert_exited(kept)
            self.assertEqual((1, 1), (kept.ended["leftovers"], len(kept.members())))

    def test_only_the_command_holds_the_terminal(self):
        with self.a_box() as box, self.terminal(box, "sleep", "1000") as (exec_, _):
            exec_.wait_started()
            other = box.start("sleep", "1000")
            other.wait_started()
            box.pump(lambda: len(exec_.members()) == 1 and len(other.members()) == 1, what="two sleepers")
            for pid in members(box.cgroup):
                held = open_files(pid)
                slaves = sum(name.startswith("/dev/pts/") and not name.endswith("ptmx") for name in held)
                masters = sum(name.endswith("ptmx") for name in held)
                self.assertEqual((3 if pid in exec_.members() else 0, 1 if pid == box.init_pid else 0),
                                 (slaves, masters), (pid, held))
            exec_.kill(grace=0), other.kill(grace=0)
            exec_.wait(), other.wait()
            self.assertEqual(6, box.descriptors(), "as before")

    def test_a_command_that_cannot_start_leaves_no_terminal(self):
        with self.a_box() as box:
            for argv, options, step in ((["/no/such"], {}, STEP_EXEC), (["true"], {"workdir": "/no"}, STEP_WORKDIR)):
                with self.terminal(box, *argv, **options) as (exec_, _):
                    exec_.wait()
                self.assertEqual((step, errno.ENOENT), exec_.refused)
            self.assertEqual(6, box.descriptors())

    def test_input_that_is_no_pipe_is_refused(self):
        with self.a_box() as box:
            exec_ = box.run("cat", stdin=self.file("x"), terminal=SIZE)
            self.assertEqual((STEP_LIMITS, errno.EPERM), exec_.refused)
            self.assertEqual(6, box.descriptors())

    def test_a_terminal_without_input(self):
        with self.a_box() as box:
            exec_ = box.run("stty", "size", terminal=(5, 6))
            self.assertEqual(b"5 6\r\n", exec_.output())

    def test_nothing_can_be_typed_by_the_command_itself(self):
        program = "import fcntl, os; fcntl.ioctl(0, 0x5412, b'x')"
        with self.a_box() as box, self.terminal(box, PYTHON, "-c", program) as (exec_, _):
            exec_.wait()
            self.assert_exited(exec_, 1)
            self.assertIn(b"PermissionError", exec_.output())
