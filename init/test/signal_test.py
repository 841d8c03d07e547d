"""Signals that are sent once, and nothing follows."""

import signal
import struct
import time

from case import *

# A tree of three, in sessions of their own; each says what it heard.
LISTENERS = r"""
import os, signal
numbers = (signal.SIGUSR1, signal.SIGHUP, signal.SIGRTMAX)
signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
for _ in range(2):
    if os.fork() == 0:
        os.setsid()
        break
os.write(1, b"ready\n")
while True:
    os.write(1, b"heard %d\n" % signal.sigwait(numbers))
"""


class SignalTest(Case):
    def test_every_member_hears_it_once(self):
        with self.a_box() as box:
            exec_ = box.start(PYTHON, "-c", LISTENERS)
            box.pump(lambda: exec_.output() == b"ready\n" * 3, what="three")
            for number in (signal.SIGUSR1, signal.SIGHUP, signal.SIGRTMAX):
                exec_.signal(number)
                box.pump(lambda: exec_.output().count(b"heard %d\n" % number) == 3, what="all")
            time.sleep(1.2)
            self.assertEqual(9, exec_.output().count(b"heard"))
            self.assertEqual(3, len(exec_.members()), "nothing follows")
            exec_.kill(grace=0)
            exec_.wait()

    def test_death_by_it_is_the_commands_own(self):
        with self.a_box() as box:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT):
                exec_ = box.start("sleep", "1000")
                exec_.wait_started()
                exec_.signal(number)
                exec_.wait()
                self.assertEqual((BY_ITSELF, signal.Signals(number)), (exec_.ended["reason"], exec_.ended["status"]))
                self.assertIn(exec_.ended["code"], (CLD_KILLED, CLD_DUMPED))

    def test_it_waits_for_the_command_to_run(self):
        with self.a_box() as box:
            for _ in range(20):
                exec_ = box.start("sleep", "1000")
                exec_.signal(signal.SIGINT)
                exec_.wait()
                self.assertEqual([STARTED, MSG_ENDED], exec_.words)
                self.assertEqual((BY_ITSELF, CLD_KILLED, signal.SIGINT),
                                 tuple(exec_.ended[k] for k in ("reason", "code", "status")))

    def test_stopped_it_stands_still_until_it_is_continued_or_ended(self):
        with self.a_box() as box:
            exec_ = box.start("/bin/sh", "-c", "while :; do echo x; sleep 0.01; done")
            exec_.wait_output(b"x")
            exec_.signal(signal.SIGSTOP)
            # D: a process that waits in vfork(2) for a child that is stopped.
            wait_until(lambda: all(field(pid, "State:").strip()[:1] in ("T", "D") for pid in exec_.members()), what="stop")
            exec_.signal(signal.SIGCONT)
            size = exec_.sizes[0]
            box.pump(lambda: exec_.sizes[0] > size + 20, what="more")
            exec_.signal(signal.SIGSTOP)
            exec_.kill(grace=30000)
            start = time.monotonic()
            exec_.wait()
            self.assertLess(time.monotonic() - start, min(20 * PATIENCE, 29))
            self.assertEqual((KILLED, signal.SIGTERM), (exec_.ended["reason"], exec_.ended["status"]))

    def test_others_do_not_hear_it(self):
        with self.a_box() as box:
            other, exec_ = box.start("sleep", "1000"), box.start("sleep", "1000")
            other.wait_started(), exec_.wait_started()
            exec_.signal(signal.SIGHUP)
            exec_.wait()
            self.assertEqual(1, len(other.members()))
            box.send(MSG_SIGNAL, 4711, struct.pack("=I", 1))
            exec_.signal(signal.SIGHUP)
            other.kill(grace=0)
            other.wait()

    def test_a_number_that_is_none_or_kills_ends_the_box(self):
        for number in (0, 9, 65, 1 << 31):
            box = self.box()
            box.send(MSG_SIGNAL, 1, struct.pack("=I", number))
            self.assertEqual(2 << 8, box.wait_init(), number)
            box.close()
