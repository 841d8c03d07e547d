"""How a command ends where there is no cgroup: by its subreaper, and by init when the subreaper is killed."""

import errno
import os
import signal
import time

from case import *
from end_test import STORM, STUBBORN
from launch_test import without

# Looks at the clock until it is killed, and says so each time it was stopped.
BYSTANDER = r"""
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
print("ready", flush=True)
while True:
    time.sleep(0.01)
"""

# Two processes that wake each other all the time, so that neither stays stopped for long.
NURSES = r"""
import os, signal
first = os.getpid()
second = os.fork() or os.getppid()
other = second if os.getpid() == first else first
print("ready", flush=True)
while True:
    try:
        os.kill(other, signal.SIGCONT)
    except ProcessLookupError:
        pass
"""

# Forks as long as it may, by a thread whose process looks dead: the first one has ended.
HEADLESS_STORM = r"""
import ctypes, os, threading, time
def storm():
    print("ready", flush=True)
    while True:
        try:
            if os.fork() == 0:
                os.setsid()
                time.sleep(0.001)
                if os.fork():
                    os._exit(0)
                time.sleep(0.01)
                os._exit(0)
        except OSError:
            pass
threading.Thread(target=storm).start()
ctypes.CDLL(None).syscall(60 if os.uname().machine == "x86_64" else 93, 0)
"""

CROWD = r"""
import os, time
try:
    while True:
        if os.fork() == 0:
            time.sleep(1000)
except OSError:
    print("ready", flush=True)
time.sleep(1000)
"""


@only_without_leaves
class SubreaperTest(Case):
    def start(self, box, program, **options):
        exec_ = box.start(PYTHON, "-c", program, **options)
        box.pump(lambda: exec_.sizes[0] >= 6, what="ready")
        return exec_

    def test_three_pids_a_running_command(self):
        with self.a_box() as box:
            sleeper = box.start("sleep", "100")
            sleeper.wait_started()
            self.assertEqual(3, len(members(box.cgroup)))
            sleeper.kill(grace=0)
            sleeper.wait()
            self.assertEqual([box.init_pid], members(box.cgroup))

    def test_one_dies_and_the_others_go_on(self):
        with self.a_box() as box:
            stays = self.start(box, BYSTANDER)
            before = stays.members()
            for program in (STUBBORN, STORM, NURSES, *[HEADLESS_STORM] * 10):
                dies = self.start(box, program, processes=100)
                dies.kill(grace=0)
                dies.wait()
                self.assertEqual((KILLED, 0), (dies.ended["reason"], dies.ended["flags"] & ~CROWDED), program)
                self.assertEqual(before, stays.members())
                wait_until(lambda: field(before[0], "State:").strip()[0] in "RS", what="a bystander that goes on")
                self.assertEqual(3, len(members(box.cgroup)), "init, and the bystander with its subreaper")
            stays.kill(grace=5000)
            stays.wait()
            self.assertEqual((KILLED, CLD_EXITED, 7), tuple(stays.ended[k] for k in ("reason", "code", "status")))

    def test_one_that_was_stopped_stays_so(self):
        with self.a_box() as box:
            stopped = box.start("/bin/sh", "-c", "echo ready; kill -STOP $$; sleep 100")
            box.pump(lambda: stopped.sizes[0] == 6, what="ready")
            (pid,) = stopped.members()
            wait_until(lambda: field(pid, "State:").strip()[0] == "T", what="a stopped command")
            time.sleep(0.15)  # whatever init knows of it is old
            dies = self.start(box, STUBBORN)
            dies.kill(grace=0)
            dies.wait()
            self.assertEqual("T", field(pid, "State:").strip()[0])

    def test_a_command_that_kills_its_subreaper_dies_with_all_it_has(self):
        killer = "import os, signal, time\nos.kill(os.getppid(), signal.SIGKILL)\ntime.sleep(1000)"
        for bystander in (False, True):
            with self.a_box() as box:
                stays = self.start(box, BYSTANDER) if bystander else None
                exec_ = box.start(PYTHON, "-c", STUBBORN.rsplit("time.sleep", 1)[0] + killer)
                exec_.wait()
                self.assertEqual((BY_ITSELF, CLD_KILLED, signal.SIGKILL),
                                 tuple(exec_.ended[k] for k in ("reason", "code", "status")))
                self.assertEqual([], exec_.members())
                self.assertEqual(3 if bystander else 1, len(members(box.cgroup)))
                if stays:
                    stays.kill(grace=0)
                    stays.wait()
                self.assert_exited(box.run("true"))

    def test_a_command_that_kills_another_subreaper_ends_that_command_only(self):
        with self.a_box() as box:
            victim = self.start(box, BYSTANDER)
            killer = self.start(box, f"import os, time\nprint('ready', flush=True)\nos.kill({victim.subreaper}, 9)\ntime.sleep(1000)")
            victim.wait()
            self.assertEqual((BY_ITSELF, CLD_KILLED, signal.SIGKILL),
                             tuple(victim.ended[k] for k in ("reason", "code", "status")))
            self.assertEqual(1, len(killer.members()))
            self.assertEqual(3, len(members(box.cgroup)), "init, and the killer with its subreaper")

    def test_whom_init_cannot_see_is_not_taken_for_dead(self):
        blind = self.file(without(217))  # getdents64
        with self.a_box(keeps=[blind], options=["--seccomp", "KEEP"]) as box:
            exec_ = box.start("/bin/sh", "-c", "kill -9 $PPID; exec sleep 1000")
            exec_.wait_started()
            wait_until(lambda: not os.path.exists(f"/proc/{box.init_pid}/root/proc/{exec_.subreaper}"),
                       what="the end of the subreaper")
            with self.assertRaisesRegex(AssertionError, "not within"):
                box.pump(lambda: exec_.ended, 0.5)

    def test_only_sigkill_ends_a_subreaper(self):
        """A libc leaves out the signals that it uses itself, 32 to 34, when it is to block all."""
        script = ("import os, signal\nfor number in set(range(1, 65)) - {signal.SIGKILL, signal.SIGSTOP}:\n"
                  "    os.kill(os.getppid(), number)\nos._exit(3)")
        with self.a_box() as box:
            self.assert_exited(box.run(PYTHON, "-c", script), 3)

    def test_a_command_that_stops_subreapers_stops_nothing(self):
        with self.a_box() as box:
            other = self.start(box, "print('ready', flush=True)\ninput()", stdin=(pipe := os.pipe())[0])
            os.close(pipe[0])
            stopper = box.run(PYTHON, "-c", f"import os\nfor pid in ({other.subreaper}, os.getppid()): os.kill(pid, 19)\nos._exit(3)")
            self.assert_exited(stopper, 3)
            os.write(pipe[1], b"\n")
            os.close(pipe[1])
            other.wait()
            self.assert_exited(other)

    def test_a_command_is_killed_however_early_beside_another(self):
        with self.a_box() as box:
            stays = self.start(box, BYSTANDER)
            before = stays.members()
            for _ in self.kill_early(box):
                self.assertEqual(3, len(members(box.cgroup)), "init, and the bystander with its subreaper")
            self.assertEqual(before, stays.members())

    def test_a_full_box_takes_no_more_and_can_be_emptied(self):
        with self.a_box() as box:
            many = self.start(box, CROWD, processes=20)
            self.assertEqual(20, len(many.members()))
            self.assertEqual((STEP_CLONE, errno.EAGAIN), box.run("true", processes=20).refused)
            many.kill(grace=0)
            many.wait()
            self.assertEqual((KILLED, CROWDED, 20), tuple(many.ended[k] for k in ("reason", "flags", "peak_processes")))
            self.assert_exited(box.run("true", processes=20))

    def test_leftovers_die_kept_ones_live_and_end_with_the_box(self):
        daemon = "setsid sleep 100 & setsid sleep 100 & exit 3"
        with self.a_box() as box:
            plain = box.shell(daemon)
            self.assert_exited(plain, 3)
            self.assertEqual(2, plain.ended["leftovers"])
            self.assertEqual([box.init_pid], members(box.cgroup))
            kept = box.shell(daemon, keep=True)
            self.assert_exited(kept, 3)
            self.assertEqual(2, len(kept.members()))
            self.assert_exited(box.shell(daemon), 3)
            self.assertEqual(2, len(kept.members()), "a kill of another leaves them alone")

    def test_a_chain_of_daemons_leaves_none(self):
        chain = "import os\nfor _ in range(200):\n  if os.fork(): os._exit(0)\n  os.setsid()\nimport time; time.sleep(1000)"
        with self.a_box() as box:
            for _ in range(20):
                exec_ = box.run(PYTHON, "-c", chain)
                self.assert_exited(exec_)
                self.assertEqual([box.init_pid], members(box.cgroup))

    def test_memory_of_the_box_is_looked_at(self):
        eater = "import time\nx = b'x' * (200 << 20)\nprint('ready', flush=True)\ntime.sleep(1000)"
        with self.a_box() as box:
            stays = self.start(box, BYSTANDER, memory=100 << 20)
            exec_ = box.start(PYTHON, "-c", eater, memory=100 << 20)
            exec_.wait()
            self.assertEqual((OUT_OF_MEMORY, CLD_KILLED, signal.SIGKILL),
                             tuple(exec_.ended[k] for k in ("reason", "code", "status")))
            self.assertGreater(exec_.ended["peak_memory"], 90 << 20)
            self.assertEqual(1, len(stays.members()))

    def test_memory_of_a_process_whose_first_thread_has_ended_counts(self):
        eater = ("import ctypes, threading, time\ndef eat():\n  time.sleep(0.2)\n  x = b'x' * (200 << 20)\n  time.sleep(1000)\n"
                 "threading.Thread(target=eat).start()\nctypes.CDLL(None).pthread_exit(None)")
        with self.a_box() as box:
            exec_ = box.start(PYTHON, "-c", eater, memory=100 << 20)
            exec_.wait()
            self.assertEqual((OUT_OF_MEMORY, CLD_KILLED), tuple(exec_.ended[k] for k in ("reason", "code")))

    def test_memory_of_what_was_kept_counts_and_it_is_the_first_to_go(self):
        eater = "import time\nx = b'x' * (%d << 20)\nopen('eaten', 'w')\ntime.sleep(1000)"
        with self.a_box() as box:
            kept = box.shell(f'setsid {PYTHON} -c "{eater % 60}" & until [ -e eaten ]; do sleep 0.01; done', keep=True, memory=100 << 20)
            self.assert_exited(kept)
            self.assertEqual(1, len(kept.members()))
            exec_ = self.start(box, eater.replace("open('eaten', 'w')", "print('ready', flush=True)") % 60, memory=100 << 20)
            wait_until(lambda: kept.members() == [], 20, "the end of what was kept")
            self.assertEqual(1, len(exec_.members()))
            alone = box.shell(f'setsid {PYTHON} -c "{eater % 150}" & sleep 0.01', keep=True, memory=100 << 20)
            wait_until(lambda: len(members(box.cgroup)) == 3, 20, "its end, but for init, the other and its subreaper")
            self.assertEqual(1, len(exec_.members()))

    def test_out_of_memory_kills_only_the_command_over_the_limit(self):
        eater = "import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)\nx = b'x' * (200 << 20)\ntime.sleep(1000)"
        with self.a_box() as box:
            kept = box.shell("setsid sleep 1000 &", keep=True, memory=100 << 20)
            hog = box.start(PYTHON, "-c", eater, memory=100 << 20)
            later = self.start(box, BYSTANDER, memory=100 << 20)
            box.shell("touch go", memory=100 << 20)
            hog.wait()
            self.assertEqual(OUT_OF_MEMORY, hog.ended["reason"])
            self.assertEqual([1, 1], [len(each.members()) for each in (kept, later)])

    def test_the_largest_command_goes_when_a_smaller_one_exceeds_the_limit(self):
        eater = "import time\nx = b'x' * (%d << 20)\nprint('ready', flush=True)\ntime.sleep(1000)"
        with self.a_box() as box:
            large = self.start(box, eater % 80, memory=100 << 20)
            small = self.start(box, eater % 30, memory=100 << 20)
            large.wait()
            self.assertEqual(OUT_OF_MEMORY, large.ended["reason"])
            self.assertEqual(1, len(small.members()))

    def test_limits_of_each_process_and_of_their_number(self):
        with self.a_box() as box:
            big = box.run(PYTHON, "-c", "x = bytearray(200 << 20)", data_size=100 << 20)
            self.assert_exited(big, 1)
            self.assertIn(b"MemoryError", big.output(1))
            forks = "import os, time\nn = 0\ntry:\n  while n < 100:\n    n += 1\n    os.fork() or time.sleep(1000)\n" \
                    "except OSError: print(n, flush=True)\ntime.sleep(0.3)"
            many = box.run(PYTHON, "-c", forks, processes=20)
            self.assert_exited(many)
            self.assertEqual(b"20\n", many.output())
            self.assertEqual((CROWDED, 20), (many.ended["flags"], many.ended["peak_processes"]))
            self.assertEqual(19, many.ended["leftovers"])

    def test_what_it_used_is_told(self):
        with self.a_box() as box:
            busy = box.run(PYTHON, "-c", "import time\nwhile time.process_time() < 0.3: pass")
            self.assertGreater(busy.ended["cpu_us"], 290000)
            self.assertLess(busy.ended["cpu_us"], 1000000 * PATIENCE)
            self.assertEqual(1, busy.ended["peak_processes"])
