"""How a command and all of its tree end."""

import os
import random
import signal
import subprocess
import time
import unittest

from case import *

# A tree that shrugs off SIGTERM, in sessions of its own, fathered by the dead.
STUBBORN = r"""
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for _ in range(5):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.setsid()
            time.sleep(1000)
        os._exit(0)
print("ready", flush=True)
time.sleep(1000)
"""

# The same, but it tells that it was asked to end.
ASKED = STUBBORN.replace("signal.SIG_IGN", 'lambda *_: os.write(1, b"asked")')

# A tree of two that needs a moment to end well, the child longer than its parent.
POLITE = r"""
import os, signal, time
is_child = os.fork() == 0
def end(*_):
    time.sleep(3 if is_child else 0.3)
    os.write(1, b"bye\n")
    os._exit(3)
signal.signal(signal.SIGTERM, end)
os.write(1, b"r\n")
while True:
    time.sleep(0.1)  # python hears nothing that comes right before a sleep until that ends
"""

STORM = r"""
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready", flush=True)
end = time.monotonic() + 60
while time.monotonic() < end:
    try:
        if os.fork() == 0 and os.fork() == 0:
            os.setsid()
    except OSError:
        pass
"""

# Very many processes, each of them small.
SMALL_HOGS = r"""
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(void)
{
	for (int i = 0; i < 2000; i++)
		if (fork() == 0) {
			memset(malloc(100000), 1, 100000);
			pause();
		}
	pause();
}
"""


class EndTest(Case):
    def stubborn(self, box, program=STUBBORN, **options):
        exec_ = box.start(PYTHON, "-c", program, **options)
        box.pump(lambda: exec_.sizes[0] == 6, what="ready")
        wait_until(lambda: len(exec_.members()) == 6, what="a tree of six")
        return exec_, exec_.members()

    def test_a_timeout_ends_the_whole_tree(self):
        with self.a_box() as box:
            start = time.monotonic()
            exec_, pids = self.stubborn(box, timeout=3000 * PATIENCE, grace=300)
            exec_.wait()
            took = time.monotonic() - start
            self.assertEqual((TIMED_OUT, CLD_KILLED, signal.SIGKILL),
                             tuple(exec_.ended[k] for k in ("reason", "code", "status")))
            self.assertGreater(took, 3 * PATIENCE + 0.2)
            self.assertEqual([], [pid for pid in pids if is_alive(pid)])

    def stand_still(self, box, seconds):
        """Init does not run, as when its machine, or all of its container, is paused."""
        signal.pidfd_send_signal(box.init_pidfd, signal.SIGSTOP)
        wait_until(lambda: field(box.init_pid, "State:").split()[0] == "T", what="a stopped init")
        time.sleep(seconds)
        signal.pidfd_send_signal(box.init_pidfd, signal.SIGCONT)

    def test_what_ended_in_time_while_init_stood_still_is_no_timeout(self):
        with self.a_box() as box:
            for i in range(5):
                start = time.monotonic()
                exec_ = box.start("/bin/sh", "-c", "read x; sleep 0.2; exit 3", timeout=700 * PATIENCE, grace=0,
                                  stdin=(pipe := os.pipe())[0])
                os.close(pipe[0])
                box.pump(lambda: exec_.pid is not None, what="start")
                os.close(pipe[1])
                self.stand_still(box, 0.9 * PATIENCE - (time.monotonic() - start))
                exec_.wait()
                self.assertEqual((BY_ITSELF, CLD_EXITED, 3),
                                 tuple(exec_.ended[k] for k in ("reason", "code", "status")))

    def test_an_end_says_when_it_was(self):
        with self.a_box() as box:
            before = time.monotonic_ns()
            exec_ = box.start("/bin/sleep", "0.3")
            self.assertIsNotNone(exec_.wait())
            self.assertGreater(exec_.ended["ended_ns"], before + 290_000_000)
            self.assertLess(exec_.ended["ended_ns"], time.monotonic_ns())

    def test_the_grace_ends_when_the_tree_does(self):
        with self.a_box() as box:
            exec_ = box.start(PYTHON, "-c", POLITE)
            box.pump(lambda: exec_.sizes[0] == 4, what="ready")
            start = time.monotonic()
            exec_.kill(grace=100000 * PATIENCE)
            exec_.wait()
            self.assertGreater(time.monotonic() - start, 2.9)
            self.assertEqual((KILLED, CLD_EXITED, 3), tuple(exec_.ended[k] for k in ("reason", "code", "status")))
            self.assertEqual(b"r\nr\nbye\nbye\n", exec_.output())
            self.assertEqual(1, exec_.ended["leftovers"])

    def test_a_stopped_tree_hears_the_signal(self):
        with self.a_box() as box:
            exec_ = box.start("/bin/sh", "-c", "trap 'exit 5' USR1; echo r; kill -STOP $$; sleep 100 & wait")
            box.pump(lambda: exec_.sizes[0] == 2, what="ready")
            (pid,) = exec_.members()
            wait_until(lambda: read(f"/proc/{pid}/stat").rsplit(")", 1)[1].split()[0] == "T", what="a stopped command")
            exec_.kill(grace=10000, signal_number=signal.SIGUSR1)
            exec_.wait()
            self.assertEqual((KILLED, CLD_EXITED, 5), tuple(exec_.ended[k] for k in ("reason", "code", "status")))

    def test_a_second_kill_shortens_the_grace_and_the_first_reason_stays(self):
        with self.a_box() as box:
            long = 100000 * PATIENCE
            exec_, _ = self.stubborn(box, ASKED, timeout=3000 * PATIENCE, grace=long)
            exec_.wait_output(b"asked")
            start = time.monotonic()
            exec_.kill(grace=2 * long)
            exec_.kill(grace=200)
            exec_.wait()
            self.assertGreater(time.monotonic() - start, 0.15)
            self.assertEqual(TIMED_OUT, exec_.ended["reason"])
            at_once, _ = self.stubborn(box)
            at_once.kill(grace=long)
            at_once.kill(grace=0)
            at_once.wait()
            self.assertEqual(KILLED, at_once.ended["reason"])
            at_once.kill()
            self.assert_exited(box.run("true"))

    @only_with_leaves
    def test_when_memory_is_eaten_commands_die_and_init_lives(self):
        with self.a_box() as box:
            self.assert_exited(box.run("gcc", "-static", "-x", "c", "-o", "hog", "-", stdin=self.file(SMALL_HOGS)))
            self.assert_exited(box.run("true", *["x" * 100000] * 15))  # now init is bigger than each of them
            box.limit_memory(64 << 20)
            hogs = box.start("./hog")
            hogs.wait_started()
            wait_until(box.oom_kills, 20, "an OOM kill")
            time.sleep(0.5)
            self.assertTrue(is_alive(box.init_pid))
            hogs.kill(grace=0)
            hogs.wait()
            self.assert_exited(box.run("true"))

    def test_a_storm_of_forks_dies(self):
        with self.a_box() as box:
            box.limit_pids(400)
            for grace in (0, 300):
                storm = box.start(PYTHON, "-c", STORM)
                box.pump(lambda: storm.sizes[0] == 6, what="ready")
                time.sleep(0.3)
                storm.kill(grace=grace)
                storm.wait(20)
                self.assertEqual((KILLED, 0), (storm.ended["reason"], storm.ended["flags"]))
                self.assertEqual([], storm.members())
            self.assert_exited(box.run("true"))

    @only_with_leaves
    def test_without_cgroup_kill_a_storm_dies_too(self):
        with self.a_box() as box:
            box.limit_pids(400)
            storm = box.start(PYTHON, "-c", STORM, may_kill=False)
            box.pump(lambda: storm.sizes[0] == 6, what="ready")
            time.sleep(0.3)
            storm.kill(grace=0)
            storm.wait(20)
            self.assertEqual((KILLED, 0), (storm.ended["reason"], storm.ended["flags"]))
            self.assertEqual([], storm.members())

    def test_ten_thousand_zombies_slow_nothing(self):
        script = "import os\nfor _ in range(10000):\n  if os.fork() == 0: os._exit(0)\nos.write(1, b'x')"
        with self.a_box() as box:
            many = box.start(PYTHON, "-c", script)
            box.pump(lambda: many.sizes[0] == 1 or many.ended, 120, "ten thousand zombies")
            start = time.monotonic()
            many.wait()
            self.assert_exited(many)
            self.assert_exited(box.run("true"))
            self.assertLess(time.monotonic() - start, 10 * PATIENCE)
            left = subprocess.run(["ps", "--ppid", str(box.init_pid), "-o", "pid="], capture_output=True).stdout
            self.assertEqual(b"", left)

    def test_a_daemon_does_not_delay_the_end_and_dies(self):
        with self.a_box() as box:
            for tail in ("", " >/dev/null 2>&1"):
                start = time.monotonic()
                exec_ = box.shell(f"setsid sleep 100{tail} & echo $!; exit 4")
                self.assertLess(time.monotonic() - start, 10 * PATIENCE)
                self.assert_exited(exec_, 4)
                self.assertEqual((1, 0), (exec_.ended["leftovers"], exec_.ended["flags"]))
                self.assertEqual([], exec_.members())
                self.assertTrue(exec_.output().strip().isdigit())

    def test_a_kept_daemon_lives(self):
        with self.a_box() as box:
            for script in ("setsid sleep 100 & exit 4", "setsid yes & exit 4"):
                exec_ = box.shell(script, keep=True, limit=1 << 40)
                self.assert_exited(exec_, 4)
                self.assertEqual(1, exec_.ended["leftovers"])
            sleeper = box.execs[1]
            self.assertEqual(1, len(sleeper.members()))
            killed, _ = self.stubborn(box, keep=True)
            killed.kill(grace=0)
            killed.wait()
            self.assertEqual([], killed.members())

    def test_an_end_by_itself_wins_over_a_late_kill(self):
        with self.a_box() as box:
            for _ in range(50):
                exec_ = box.start("true")
                exec_.kill(grace=random.choice([0, 1000]))
                exec_.wait()
                expected = (0, signal.SIGKILL, signal.SIGTERM)
                self.assertIn(exec_.ended["status"], expected)
                if exec_.ended["reason"] == BY_ITSELF:
                    self.assertEqual(0, exec_.ended["status"])

    @unittest.skipUnless(os.path.isdir("/sys/fs/cgroup/freezer"), "host lacks the v1 freezer, to make a process unkillable")
    def test_what_cannot_be_killed_is_called_stuck(self):
        freezer = "/sys/fs/cgroup/freezer/" + NAME
        os.mkdir(freezer)
        try:
            with self.a_box() as box:
                exec_ = box.start("sleep", "100")
                exec_.wait_started()
                (pid,) = exec_.members()
                write(freezer + "/cgroup.procs", pid)
                write(freezer + "/freezer.state", "FROZEN")
                start = time.monotonic()
                exec_.kill(grace=0)
                exec_.wait()
                self.assertGreater(time.monotonic() - start, 4.9)
                self.assertEqual((KILLED, STUCK | UNREAPED), (exec_.ended["reason"], exec_.ended["flags"]))
                self.assertEqual([pid], exec_.members())
                write(freezer + "/freezer.state", "THAWED")
                wait_until(lambda: not exec_.members(), what="death after the thaw")
                wait_until(lambda: not os.path.exists(f"/proc/{pid}"), what="reaped")
        finally:
            wait_until(lambda: remove(freezer), 10, "rmdir of the freezer")

    def test_the_lifeline_kills_everything(self):
        box = self.box()
        pids = []
        for _ in range(3):
            pids += self.stubborn(box)[1]
        start = time.monotonic()
        box.control.close()
        self.assertEqual(0, box.wait_init())
        self.assertLess(time.monotonic() - start, 10 * PATIENCE)
        wait_until(lambda: not any(is_alive(pid) for pid in pids), what="a dead box")

    def test_killing_init_kills_everything(self):
        box = self.box()
        pids = self.stubborn(box)[1]
        signal.pidfd_send_signal(box.init_pidfd, signal.SIGKILL)
        self.assertEqual(signal.SIGKILL, box.wait_init())
        wait_until(lambda: not any(is_alive(pid) for pid in pids), what="a dead box")
