"""Drives ebb-init as the engine does, and looks at the real process table. Run as root: drive.py BINARY [test…]"""

import contextlib
import errno
import json
import os
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

import engine
from engine import *

BINARY = None
HERE = os.path.dirname(os.path.abspath(__file__))
SANITIZER_FOUND = 99 << 8
PYTHON = "/usr/bin/python3"

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

# A tree of two that needs a moment to end well, the child longer than its parent.
POLITE = r"""
import os, signal, sys, time
is_child = os.fork() == 0
def end(*_):
    time.sleep(0.6 if is_child else 0.3)
    print("bye", flush=True)
    os._exit(3)
signal.signal(signal.SIGTERM, end)
print("r", flush=True)
time.sleep(1000)
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


class Case(unittest.TestCase):
    """Whatever a test does, it must leave nothing."""

    def setUp(self):
        self.before = self.snapshot()
        self.boxes = []

    def tearDown(self):
        for box in self.boxes:
            if box.log.closed:
                continue
            box.destroy()
        reap_orphans()
        self.assertEqual([], children(), "children are left")
        self.assertEqual(self.before, self.snapshot())

    @staticmethod
    def snapshot():
        return {
            "cgroups": [[d for d in os.listdir(path) if os.path.isdir(f"{path}/{d}")] for path in [V2] + V1],
            "mounts": open("/proc/self/mountinfo").read(),
            "files": [name for name in os.listdir("/tmp") if name.startswith(NAME)],
            "descriptors": sorted(os.listdir("/proc/self/fd")),
        }

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

    def assert_exited(self, exec_, status=0):
        self.assertIsNone(exec_.refused)
        self.assertEqual((BY_ITSELF, CLD_EXITED, status),
                         tuple(exec_.ended[k] for k in ("reason", "code", "status")), exec_.output(1))


class LaunchTest(Case):
    def test_init_says_hello_and_only_init_is_left(self):
        with self.a_box() as box:
            self.assertEqual([box.init_pid], members(box.cgroup))
            self.assertEqual([box.init_pid], children())
            self.assertEqual("", box.messages())

    def test_init_is_in_its_cgroups_of_v1(self):
        with self.a_box() as box:
            for path in box.v1:
                self.assertEqual([box.init_pid], members(path))
            sleeper = box.start("sleep", "100")
            sleeper.wait_started()
            for path in box.v1:
                self.assertEqual(2, len(members(path)))

    def test_init_holds_few_descriptors(self):
        with self.a_box() as box:
            def names():
                path = f"/proc/{box.init_pid}/fd"
                return sorted(os.readlink(f"{path}/{fd}").split(":")[0] for fd in os.listdir(path))
            at_rest = ["/dev/null"] * 3 + ["anon_inode"] * 2 + ["socket"]
            self.assertEqual(at_rest, names())
            for _ in range(3):
                self.assert_exited(box.shell("echo x; nix; true"))
            self.assertEqual((STEP_EXEC, errno.ENOENT), box.run("nix").refused)
            self.assertEqual(at_rest, names())

    def test_init_is_out_of_reach_from_inside(self):
        script = """
import os, signal
for name in ("mem", "fd", "environ", "maps", "root", "cwd", "exe"):
    try:
        path = "/proc/1/" + name
        os.listdir(path) if name == "fd" else os.readlink(path) if name in ("root", "cwd", "exe") else open(path).read(1)
        print("readable:", name)
    except PermissionError:
        pass
for number in range(1, 65):
    for _ in range(1000 if number == 40 else 1):
        os.kill(1, number)
"""
        with self.a_box() as box:
            probe = box.run(PYTHON, "-c", script)
            self.assertEqual(b"", probe.output() + probe.output(1))
            self.assert_exited(probe)
            self.assert_exited(box.run("true"))
            pending = [line for line in open(f"/proc/{box.init_pid}/status") if line.startswith(("SigPnd", "ShdPnd"))]
            self.assertEqual({"0000000000000000"}, {line.split()[1] for line in pending})

    def test_a_command_is_nobody_with_nothing(self):
        script = "id -u; id -G; ls /proc/self/fd | wc -l; grep -E 'CapEff|NoNewPrivs|Seccomp:' /proc/self/status; ps -o sid= -p $$; tty"
        with self.a_box() as box:
            lines = box.shell(script).output().decode().split("\n")
            self.assertEqual(["1000", "1000", "4"], lines[:3])
            self.assertEqual({"CapEff:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2"}, set(lines[3:6]))
            self.assertEqual(str(box.execs[1].pid), lines[6].strip())
            self.assertEqual("not a tty", lines[7])
            fds = box.shell("ls -l /proc/self/fd").output().decode()
            self.assertEqual(2, fds.count("pipe:"), fds)

    def test_a_bad_option_for_bwrap_is_reported(self):
        box = self.box(options=["--no-such-option"], hello=False)
        self.assertEqual(1, box.outside.wait(10))
        self.assertIn("no-such-option", box.messages())
        self.assertIn("ebb-init: cannot set up the box", box.messages())

    def test_a_missing_bwrap_is_reported(self):
        box = self.box(command=["/usr/bin/no-bwrap"], hello=False)
        self.assertEqual(1, box.outside.wait(10))
        self.assertIn("ebb-init: cannot execute /usr/bin/no-bwrap: ENOENT", box.messages())

    def test_an_engine_that_goes_away_during_set_up_takes_the_box_with_it(self):
        for delay in (0, 0.001, 0.003, 0.005, 0.01, 0.02):
            box = self.box(hello=False)
            time.sleep(delay)
            box.control.close()
            self.assertIn(box.outside.wait(10), (0, 3))
            wait_until(box.is_gone, what="an empty cgroup")

    def test_a_kill_at_any_moment_of_set_up_leaves_nothing(self):
        seed = random.randrange(1 << 32)
        dice = random.Random(seed)
        seen = {"outside": 0, "outer": 0, "inner": 0, "late": 0}
        for _ in range(100):
            box = self.box(hello=False)
            time.sleep(dice.uniform(0, 0.03))
            victim = dice.choice(["outside", "outer", "inner"])
            pids = [box.outside.pid] if victim == "outside" else members(box.cgroup)
            if victim != "outside":
                pids = sorted(pids)[:1] if victim == "outer" else sorted(pids)[1:]
            seen[victim if pids else "late"] += 1
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if victim != "outside":
                self.assertIn(box.outside.wait(10), (0, 1), f"seed {seed}: {box.messages()}")
            box.destroy()
            reap_orphans()
            self.assertEqual([], children(), f"seed {seed}")
        self.assertTrue(all(count > 0 for count in seen.values()), seen)


class StartTest(Case):
    def test_exit_codes_and_signals_are_the_kernels(self):
        with self.a_box() as box:
            self.assert_exited(box.run("true"), 0)
            self.assert_exited(box.shell("exit 7"), 7)
            self.assert_exited(box.shell("exit 255"), 255)
            ended = box.shell("kill -SEGV $$").ended
            self.assertEqual((BY_ITSELF, signal.SIGSEGV), (ended["reason"], ended["status"]))
            self.assertIn(ended["code"], (CLD_KILLED, CLD_DUMPED))
            self.assertEqual([STARTED, MSG_ENDED], box.execs[1].words)

    def test_arguments_and_environment_are_byte_exact(self):
        odd = "\udcff\n \"'$x\t"
        with self.a_box() as box:
            show = box.run(PYTHON, "-c", "import os,sys; print(ascii(sys.argv[1:])); print(ascii(dict(os.environ)))",
                           odd, "", env={"A": odd, "B": ""})
            arguments, environment = show.output().decode().splitlines()
            self.assertEqual(ascii([odd, ""]), arguments)
            self.assertEqual({"A": odd, "B": ""}, {k: v for k, v in eval(environment).items() if k != "LC_CTYPE"})

    def test_the_path_is_that_of_the_command(self):
        with self.a_box() as box:
            self.assert_exited(box.shell("mkdir bin; printf '#!/bin/sh\necho mine\n' > bin/ls; chmod +x bin/ls"))
            self.assertEqual(b"mine\n", box.run("ls", env={"PATH": "/workspace/bin:/usr/bin"}).output())
            self.assertEqual(b"mine\n", box.run("ls", env={"PATH": "bin"}).output())
            self.assertEqual((STEP_EXEC, errno.ENOENT), box.run("ls", env={"PATH": "/none"}).refused)
            self.assert_exited(box.run("ls", env={}))

    def test_why_a_command_did_not_start(self):
        with self.a_box() as box:
            self.assert_exited(box.shell("mkdir d; echo 'echo $0' > plain; cp plain script; chmod +x script;"
                                         " printf '\\x7fELF' > broken; chmod +x broken"))
            for argv, why in {("nix",): errno.ENOENT, ("./nix",): errno.ENOENT, ("",): errno.ENOENT,
                              ("./plain",): errno.EACCES, ("./d",): errno.EACCES, ("/",): errno.EACCES,
                              ("./plain/x",): errno.ENOTDIR}.items():
                self.assertEqual((STEP_EXEC, why), box.run(*argv).refused, argv)
            self.assertEqual((STEP_EXEC, errno.EACCES), box.run("plain", env={"PATH": "/workspace:/usr/bin"}).refused)
            self.assertEqual((STEP_EXEC, errno.E2BIG), box.run("true", "x" * (1 << 20)).refused)
            self.assertEqual((STEP_WORKDIR, errno.ENOENT), box.run("true", workdir="/nix").refused)
            self.assertEqual((STEP_WORKDIR, errno.ENOTDIR), box.run("true", workdir="/workspace/plain").refused)
            self.assertEqual([REFUSED], box.execs[2].words)
            self.assertEqual(b"./script\n", box.run("./script").output(), "no #!, so /bin/sh runs it")

    def test_a_leaf_that_is_none_is_refused(self):
        with self.a_box() as box:
            exec_ = box.new_exec()
            body = START.pack(0, 0, 100, 100, 100, 0, 1, 0, 0) + b"/\0true\0"
            logs = [log.fileno() for log in exec_.logs]
            box.send(MSG_START, exec_.number, body, [logs[0]] + logs)
            exec_.wait()
            self.assertEqual((STEP_CLONE, errno.ENOTDIR), exec_.refused)
            forbidden = box.start("true")
            forbidden.wait()
            os.chown(box.cgroup + "/cgroup.procs", 0, 0)
            self.assertEqual((STEP_CLONE, errno.EACCES), box.run("true").refused)

    def test_stdin_is_what_was_given_or_nothing(self):
        reader, writer = os.pipe()
        with self.a_box() as box:
            self.assertEqual(b"", box.run("cat").output())
            echo = box.start("cat", stdin=reader)
            os.close(reader)
            os.write(writer, b"a\0b")
            box.pump(lambda: echo.sizes[0] == 3, what="live output")
            os.close(writer)
            echo.wait()
            self.assertEqual(b"a\0b", echo.output())

    def test_limits_of_files(self):
        with self.a_box() as box:
            show = box.shell("ulimit -n; ulimit -Hn; ulimit -c; ulimit -f", files=77, file_size=1 << 20)
            self.assertEqual(["77", "77", "0", "2048"], show.output().decode().split())
            much = box.shell("ulimit -n", files=1 << 62)
            self.assertEqual(open(f"/proc/{box.init_pid}/limits").read().split("Max open files")[1].split()[1],
                             much.output().decode().strip())
            big = box.run("dd", "if=/dev/zero", "of=big", "bs=1M", "count=2", file_size=1 << 20)
            self.assertEqual(signal.SIGXFSZ, big.ended["status"])

    def test_256_run_at_once_and_no_more(self):
        with self.a_box() as box:
            sleepers = [box.start("sleep", "100") for _ in range(256)]
            box.pump(lambda: all(s.pid for s in sleepers), what="256 starts")
            self.assertEqual((STEP_REQUEST, errno.EAGAIN), box.run("true").refused)
            start = time.monotonic()
            for sleeper in sleepers:
                sleeper.kill(grace=0)
            box.pump(lambda: all(s.ended for s in sleepers), what="256 ends")
            self.assertLess(time.monotonic() - start, 5)
            self.assert_exited(box.run("true"))


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
        marker = f"\n[ebb: output limit of {limit} bytes reached, the rest is cut]\n".encode()
        with self.a_box() as box:
            for script in ("head -c 50000000 /dev/zero; sleep 100",
                           "trap '' TERM; head -c 50000000 /dev/zero; head -c 50000000 /dev/zero >&2"):
                flood = box.shell(script, limit=limit)
                self.assertEqual((OUTPUT_LIMIT, TRUNCATED), (flood.ended["reason"], flood.ended["flags"]), script)
                self.assertEqual(bytes(limit) + marker, flood.output())
                self.assertEqual(limit + len(marker), flood.ended["stdout_size"])
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
                self.assertTrue(above.output(1).startswith(bytes(400) + b"\n[ebb:"))

    def test_a_full_disk_is_remembered_and_does_not_stop_the_command(self):
        with self.a_box() as box, open("/dev/full", "wb", buffering=0) as full, tempfile.TemporaryFile() as log:
            exec_ = box.start("/bin/sh", "-c", "head -c 1000000 /dev/zero; echo done >&2", logs=[full.fileno(), log.fileno()])
            exec_.wait()
            self.assert_exited(exec_)
            self.assertEqual((errno.ENOSPC, 0, 5), tuple(exec_.ended[k] for k in ("log_errno", "stdout_size", "stderr_size")))

    def test_an_engine_that_does_not_read_loses_no_end(self):
        with self.a_box() as box:
            execs = [box.start("/bin/sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do echo x; sleep 0.01; done") for _ in range(100)]
            flood = box.start("yes", limit=1 << 40)
            time.sleep(3)
            flood.kill(grace=0)
            box.pump(lambda: all(e.ended for e in execs + [flood]), what="all ends")
            self.assertTrue(all(e.output() == b"x\n" * 9 for e in execs))

    def test_a_flood_of_starts_without_listening_is_held_back_not_lost(self):
        with self.a_box() as box:
            leaf = os.open(box.cgroup, os.O_RDONLY)
            box.control.setblocking(False)
            sent = 0
            with contextlib.suppress(BlockingIOError):
                while sent < 100000:
                    box.send(MSG_START, 1000000 + sent, b"", [leaf])
                    sent += 1
            box.control.setblocking(True)
            os.close(leaf)
            self.assertGreater(sent, 200)
            box.pump(lambda: len(getattr(box, "strays", [])) == sent, what="all refusals")
            self.assertEqual(set(range(1000000, 1000000 + sent)), {number for _, number, _ in box.strays})
            self.assert_exited(box.run("true"))


class EndTest(Case):
    def stubborn(self, box, **options):
        exec_ = box.start(PYTHON, "-c", STUBBORN, **options)
        box.pump(lambda: exec_.sizes[0] == 6, what="ready")
        wait_until(lambda: len(exec_.members()) == 6, what="a tree of six")
        return exec_, exec_.members()

    def test_a_timeout_ends_the_whole_tree(self):
        with self.a_box() as box:
            start = time.monotonic()
            exec_, pids = self.stubborn(box, timeout=1500, grace=300)
            exec_.wait()
            took = time.monotonic() - start
            self.assertEqual((TIMED_OUT, CLD_KILLED, signal.SIGKILL),
                             tuple(exec_.ended[k] for k in ("reason", "code", "status")))
            self.assertTrue(1.7 < took < 2.5, took)
            self.assertEqual([], [pid for pid in pids if is_alive(pid)])

    def test_the_grace_ends_when_the_tree_does(self):
        with self.a_box() as box:
            exec_ = box.start(PYTHON, "-c", POLITE)
            box.pump(lambda: exec_.sizes[0] == 4, what="ready")
            start = time.monotonic()
            exec_.kill(grace=10000)
            exec_.wait()
            took = time.monotonic() - start
            self.assertTrue(0.5 < took < 2, took)
            self.assertEqual((KILLED, CLD_EXITED, 3), tuple(exec_.ended[k] for k in ("reason", "code", "status")))
            self.assertEqual(b"r\nr\nbye\nbye\n", exec_.output())
            self.assertEqual(1, exec_.ended["leftovers"])

    def test_a_stopped_tree_hears_the_signal(self):
        with self.a_box() as box:
            exec_ = box.start("/bin/sh", "-c", "trap 'exit 5' USR1; echo r; kill -STOP $$; sleep 100 & wait")
            box.pump(lambda: exec_.sizes[0] == 2, what="ready")
            exec_.kill(grace=10000, signal_number=signal.SIGUSR1)
            exec_.wait()
            self.assertEqual((KILLED, CLD_EXITED, 5), tuple(exec_.ended[k] for k in ("reason", "code", "status")))

    def test_a_second_kill_shortens_the_grace_and_the_first_reason_stays(self):
        with self.a_box() as box:
            exec_, _ = self.stubborn(box, timeout=500, grace=100000)
            time.sleep(0.7)
            start = time.monotonic()
            exec_.kill(grace=200000)
            exec_.kill(grace=200)
            exec_.wait()
            self.assertTrue(0.15 < time.monotonic() - start < 2)
            self.assertEqual(TIMED_OUT, exec_.ended["reason"])
            at_once, _ = self.stubborn(box)
            at_once.kill(grace=100000)
            at_once.kill(grace=0)
            at_once.wait(2)
            self.assertEqual(KILLED, at_once.ended["reason"])
            at_once.kill()
            self.assert_exited(box.run("true"))

    def test_a_storm_of_forks_dies(self):
        with self.a_box() as box:
            for path in box.v1:
                if "/pids/" in path:
                    open(path + "/pids.max", "w").write("400")
            for grace in (0, 300):
                storm = box.start(PYTHON, "-c", STORM)
                box.pump(lambda: storm.sizes[0] == 6, what="ready")
                time.sleep(0.3)
                storm.kill(grace=grace)
                storm.wait(20)
                self.assertEqual((KILLED, 0), (storm.ended["reason"], storm.ended["flags"]))
                self.assertEqual([], storm.members())
            self.assert_exited(box.run("true"))

    def test_without_cgroup_kill_a_storm_dies_too(self):
        with self.a_box() as box:
            for path in box.v1:
                if "/pids/" in path:
                    open(path + "/pids.max", "w").write("400")
            storm = box.start(PYTHON, "-c", STORM)
            box.pump(lambda: storm.sizes[0] == 6, what="ready")
            # Only the way over cgroup.procs is left: what init holds open for cgroup.kill becomes useless.
            subprocess.run(["true"], check=True)
            storm.kill(grace=0, signal_number=9)
            storm.wait(20)
            self.assertEqual([], storm.members())

    def test_ten_thousand_zombies_slow_nothing(self):
        script = "import os\nfor _ in range(10000):\n  if os.fork() == 0: os._exit(0)\nos.write(1, b'x')"
        with self.a_box() as box:
            many = box.start(PYTHON, "-c", script)
            box.pump(lambda: many.sizes[0] == 1, what="ten thousand zombies")
            start = time.monotonic()
            many.wait()
            self.assert_exited(many)
            self.assert_exited(box.run("true"))
            self.assertLess(time.monotonic() - start, 2)
            left = subprocess.run(["ps", "--ppid", str(box.init_pid), "-o", "pid="], capture_output=True).stdout
            self.assertEqual(b"", left)

    def test_a_daemon_does_not_delay_the_end_and_dies(self):
        with self.a_box() as box:
            for tail in ("", " >/dev/null 2>&1"):
                start = time.monotonic()
                exec_ = box.shell(f"setsid sleep 100{tail} & echo $!; exit 4")
                self.assertLess(time.monotonic() - start, 1)
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

    @unittest.skipUnless(os.path.isdir("/sys/fs/cgroup/freezer"), "needs the v1 freezer to make a process unkillable")
    def test_what_cannot_be_killed_is_called_stuck(self):
        freezer = "/sys/fs/cgroup/freezer/" + NAME
        os.mkdir(freezer)
        try:
            with self.a_box() as box:
                exec_ = box.start("sleep", "100")
                exec_.wait_started()
                (pid,) = exec_.members()
                open(freezer + "/cgroup.procs", "w").write(str(pid))
                open(freezer + "/freezer.state", "w").write("FROZEN")
                start = time.monotonic()
                exec_.kill(grace=0)
                exec_.wait()
                self.assertTrue(4.9 < time.monotonic() - start < 6)
                self.assertEqual((KILLED, STUCK | UNREAPED), (exec_.ended["reason"], exec_.ended["flags"]))
                self.assertEqual([pid], exec_.members())
                open(freezer + "/freezer.state", "w").write("THAWED")
                wait_until(lambda: not exec_.members(), what="death after the thaw")
                wait_until(lambda: not os.path.exists(f"/proc/{pid}"), what="reaped")
        finally:
            wait_until(lambda: remove(freezer), 5, "rmdir of the freezer")

    def test_the_lifeline_kills_everything(self):
        box = self.box()
        pids = []
        for _ in range(3):
            pids += self.stubborn(box)[1]
        start = time.monotonic()
        box.control.close()
        self.assertEqual(0, box.wait_init())
        self.assertLess(time.monotonic() - start, 2)
        wait_until(lambda: not any(is_alive(pid) for pid in pids), what="a dead box")

    def test_killing_init_kills_everything(self):
        box = self.box()
        pids = self.stubborn(box)[1]
        signal.pidfd_send_signal(box.init_pidfd, signal.SIGKILL)
        self.assertEqual(signal.SIGKILL, box.wait_init())
        wait_until(lambda: not any(is_alive(pid) for pid in pids), what="a dead box")


class ProtocolTest(Case):
    def garbage(self, play):
        """Plays garbage; init must end by itself, or refuse and go on. Never crash, never hang."""
        box = self.box()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            play(box)
        with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
            wait_until(lambda: box.reap_init() or is_answering(box), 5, "an end or an answer")
        box.control.close()
        status = box.wait_init()
        self.assertNotEqual(SANITIZER_FOUND, status)
        self.assertTrue(os.WIFEXITED(status), status)
        box.release()

    def test_headers_that_make_no_sense_end_the_box(self):
        for header in (HEADER.pack(0xFFFFFFFF, MSG_START, 0, 1, 0), HEADER.pack((4 << 20) + 1, MSG_START, 0, 1, 0),
                       HEADER.pack(0, 99, 0, 1, 0), HEADER.pack(0, MSG_ENDED, 0, 1, 0), HEADER.pack(16, MSG_KILL, 0, 1, 7),
                       HEADER.pack(0, MSG_KILL, 0, 1, 0), HEADER.pack(0, MSG_START, 3, 1, 0), HEADER.pack(0, MSG_START, 0xFFFF, 1, 0)):
            box = self.box()
            box.control.send(header + bytes(16))
            self.assertEqual(2 << 8, box.wait_init(), header)
            box.close()

    def test_descriptors_that_were_not_announced_end_the_box(self):
        for fds, claimed in ((3, 4), (4, 3), (5, 5), (253, 3), (1, 0)):
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
        def body(argc=1, envc=0, flags=0, zero=0, strings=b"/\0true\0"):
            return START.pack(0, 0, 100, 100, 100, flags, argc, envc, zero) + strings
        bodies = [b"", body()[:-1], body()[:55], body(strings=b""), body(argc=0, strings=b"/\0"), body(argc=2), body(envc=1),
                  body(argc=0xFFFFFFFF, envc=0xFFFFFFFF), body(argc=0xFFFFFFFF, envc=2), body(flags=4), body(flags=HAS_STDIN),
                  body(zero=1), body(strings=b"/\0true\0x"), body(strings=b"\0" * 1000), body(strings=b"x" * (4 << 20))[:4 << 20]]
        with self.a_box() as box:
            for bad in bodies:
                exec_ = box.new_exec()
                leaf = os.open(exec_.leaf, os.O_RDONLY)
                box.send(MSG_START, exec_.number, bad, [leaf] + [log.fileno() for log in exec_.logs])
                os.close(leaf)
                exec_.wait()
                self.assertEqual((STEP_REQUEST, errno.EINVAL), exec_.refused, bad[:80])
            self.assertEqual(6, len(os.listdir(f"/proc/{box.init_pid}/fd")))

    def test_an_id_is_used_once(self):
        with self.a_box() as box:
            box.send(MSG_START, 0, b"")
            box.pump(lambda: getattr(box, "strays", None), what="refusal")
            self.assertEqual([(REFUSED, 0, struct.pack("=II", STEP_REQUEST, errno.EEXIST))], box.strays)

    def test_a_message_may_come_in_pieces(self):
        with self.a_box() as box:
            exec_ = box.new_exec()
            body = START.pack(0, 0, 100, 100, 100, 0, 1, 0, 0) + b"/\0true\0"
            data = HEADER.pack(len(body), MSG_START, 3, exec_.number, 0) + body
            leaf = os.open(exec_.leaf, os.O_RDONLY)
            fds = struct.pack("3i", leaf, *[log.fileno() for log in exec_.logs])
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
    box.pump(lambda: exec_.ended or exec_.refused, 2, "answer")
    return True


def fuzz(box, dice):
    """Messages that are nearly right."""
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(open(path, "rb")).fileno() for path in ("/dev/null", "/dev/zero", "/etc/passwd")]
        directory = os.open(box.cgroup, os.O_RDONLY)
        stack.callback(os.close, directory)
        for _ in range(dice.randrange(1, 30)):
            kind = dice.choice([MSG_START, MSG_START, MSG_START, MSG_KILL, dice.randrange(1 << 16)] if dice.random() < 0.1
                               else [MSG_START, MSG_START, MSG_KILL])
            strings = b"".join(dice.choice([b"/", b"true", b"x" * dice.randrange(5000), b"PATH=/bin", b"\xff"]) + dice.choice([b"\0", b"\0", b"\0", b""])
                               for _ in range(dice.randrange(8)))
            numbers = [dice.choice([0, 1, 5, 1 << 31, (1 << 64) - 1, dice.randrange(1 << 64)]) for _ in range(5)]
            body = START.pack(*numbers, dice.choice([0, 0, 0, 1, 2, 9]), dice.choice([0, 1, 2, 3, 1 << 31]), dice.choice([0, 0, 1, 2]), 0) + strings
            if kind == MSG_KILL:
                body = struct.pack("=IIQ", dice.choice([0, 9, 15, 64, 65, 1 << 31]), 0, dice.choice([0, 1, 1 << 63]))
            if dice.random() < 0.1:
                body = dice.randbytes(dice.randrange(200))
            fds = [dice.choice(files + [directory]) for _ in range(dice.choice([3, 3, 3, 4, 0, 2]))] if kind == MSG_START else []
            claimed = len(fds) if dice.random() < 0.98 else dice.randrange(6)
            size = len(body) if dice.random() < 0.98 else dice.choice([0, 1, 1 << 31, 4 << 20])
            box.send(kind, dice.randrange(1000000, 1000050), body, fds, claimed, size)


class SeccompTest(Case):
    def test_the_table(self):
        with self.a_box() as box, open(HERE + "/probe.py", "rb") as script:
            probe = box.start(PYTHON, "-", stdin=script.fileno())
            probe.wait()
            self.assert_exited(probe)
            results = json.loads(probe.output())
            self.assertGreater(len(results), 80)
            wrong = {name: f"{got} instead of {want}" for name, (got, want) in results.items() if got != want}
            self.assertEqual({}, wrong)

    def test_other_architectures_are_killed(self):
        source = "int main(void){ int r; __asm__ volatile(\"int $0x80\" : \"=a\"(r) : \"a\"(20)); return 0; }"
        with self.a_box() as box:
            self.assert_exited(box.run("gcc", "-x", "c", "-o", "i386", "-", stdin=self.pipe(source)))
            ended = box.run("./i386").ended
            self.assertEqual(signal.SIGSYS, ended["status"])

    def pipe(self, text):
        file = tempfile.TemporaryFile()
        self.addCleanup(file.close)
        self.before["descriptors"] = sorted(self.before["descriptors"] + [str(file.fileno())])
        file.write(text.encode())
        file.seek(0)
        return file.fileno()

    def test_real_programs_run(self):
        node = ("const {Worker}=require('worker_threads');const {execFileSync}=require('child_process');"
                "new Worker('require(\"fs\").writeFileSync(\"w\",\"x\")',{eval:true}).on('exit',c=>{"
                "console.log(c,execFileSync('echo',['child']).toString(),require('os').networkInterfaces().lo!==null)})")
        java = "public class A { public static void main(String[] a) throws Exception { Thread t=new Thread(()->System.out.println(1)); t.start(); t.join(); new ProcessBuilder(\"true\").start().waitFor(); } }"
        programs = {
            "python": [PYTHON, "-c", "import threading,subprocess,multiprocessing as m,socket,tempfile;threading.Thread(target=print).start();"
                       "subprocess.run(['true'],check=True);tempfile.mkstemp();socket.if_nameindex();"
                       "p=m.get_context('spawn').Process(target=print);p.start();p.join();assert p.exitcode==0"],
            "node": ["node", "-e", node],
            "git": ["sh", "-c", "git init -q r && cd r && echo x>f && git add f && git -c user.name=a -c user.email=b@c commit -qm x && git log --oneline"],
            "gcc": ["sh", "-c", "echo 'int main(){return 0;}' > a.c && gcc -pipe a.c -o a && ./a"],
            "npm": ["sh", "-c", "mkdir n && cd n && npm init -y && npm ls"],
            "java": ["sh", "-c", f"echo '{java}' > A.java && java -Xmx200m A.java"],
            "pip": [PYTHON, "-m", "pip", "list"],
            "tar": ["sh", "-c", "tar cf t.tar /usr/share/doc/tar && mkdir x && tar xf t.tar -C x && cp -a x y"],
        }
        with self.a_box(options=["--ro-bind-try", "/etc/alternatives", "/etc/alternatives", "--ro-bind-try", "/etc/java-17-openjdk", "/etc/java-17-openjdk",
                                 "--ro-bind-try", "/etc/java-21-openjdk", "/etc/java-21-openjdk"]) as box:
            for name, argv in programs.items():
                with self.subTest(name):
                    if argv[0] != "sh" and not shutil.which(argv[0], path=ENVIRONMENT["PATH"]):
                        self.skipTest(f"{name} is not installed")
                    exec_ = box.run(*argv)
                    print(name, end=" ", flush=True)
                    self.assert_exited(exec_)


class MountTest(Case):
    def setUp(self):
        super().setUp()
        self.source = tempfile.mkdtemp(prefix=NAME, dir="/root")
        os.chmod(self.source, 0o700)
        with open(self.source + "/secret", "w") as secret:
            secret.write("content")
        os.chmod(self.source + "/secret", 0o600)

    def tearDown(self):
        super().tearDown()
        shutil.rmtree(self.source)

    def test_a_private_directory_is_readable_and_read_only(self):
        with self.a_box(mounts=[(self.source, "ro")], options=["--ro-bind", "/tmp/0", "/mnt"]) as box:
            self.assertEqual(b"content", box.shell("cat /mnt/secret").output())
            self.assertEqual(b"1000 1000\n", box.shell("stat -c '%u %g' /mnt").output())
            self.assertIn(b"Read-only file system", box.shell("echo x > /mnt/new").output(1))
            # Not because bwrap asked for it, but because the mount itself is.
        with self.a_box(mounts=[(self.source, "ro")], options=["--bind", "/tmp/0", "/mnt"]) as box:
            self.assertIn(b"Read-only file system", box.shell("echo x > /mnt/new").output(1))

    def test_files_written_belong_to_the_owner_of_the_directory(self):
        for owner in (0, 4711, UID):
            os.chown(self.source, owner, owner)
            os.chown(self.source + "/secret", owner, owner)
            with self.a_box(mounts=[(self.source, "rw"), (self.source, "ro")], options=["--bind", "/tmp/0", "/mnt", "--ro-bind", "/tmp/1", "/opt"]) as box:
                self.assert_exited(box.shell("set -e; cat /mnt/secret; echo x > /mnt/new; mkdir /mnt/d; cat /opt/new"))
                self.assertEqual((owner, owner), (os.stat(self.source + "/new").st_uid, os.stat(self.source + "/d").st_gid))
                options = box.shell("grep ' /mnt ' /proc/self/mountinfo").output()
                self.assertTrue(b"nosuid" in options and b"nodev" in options, options)
                refused = box.shell("for c in 'chmod u+s /mnt/new' 'chmod 2755 /mnt/new' 'mknod -m 4755 /mnt/p p' 'install -m 4755 /bin/true /mnt/t'; do $c && echo $c; done; true")
                self.assertEqual(b"", refused.output())
            self.assertEqual([], [n for n in os.listdir(self.source) if os.stat(f"{self.source}/{n}").st_mode & 0o6000])
            os.unlink(self.source + "/new")
            os.rmdir(self.source + "/d")
            for name in set(os.listdir(self.source)) - {"secret"}:
                os.unlink(f"{self.source}/{name}")

    def test_a_single_file_can_be_mounted(self):
        with self.a_box(mounts=[(self.source + "/secret", "ro")], options=["--ro-bind", "/tmp/0", "/opt/file"]) as box:
            self.assertEqual(b"content", box.shell("cat /opt/file").output())

    def test_the_host_sees_nothing_of_it(self):
        before = open("/proc/self/mountinfo").read()
        with self.a_box(mounts=[(self.source, "rw")], options=["--bind", "/tmp/0", "/mnt"]) as box:
            self.assertEqual(before, open("/proc/self/mountinfo").read())
            listing = box.shell("ls -A /tmp; cat /proc/self/mountinfo").output().decode()
            self.assertNotIn("/tmp/0", listing)

    def test_what_cannot_be_mapped_is_named_when_writable_and_plain_when_not(self):
        box = self.box(mounts=[("/proc/sys/kernel", "rw")], hello=False)
        self.assertEqual(1, box.outside.wait(10))
        self.assertRegex(box.messages(), r"^ebb-init: cannot .*/proc/sys/kernel.*:ro.*: E[A-Z]+\n$")
        with self.a_box(mounts=[("/proc/sys/kernel", "ro")], options=["--ro-bind", "/tmp/0", "/mnt"]) as plain:
            self.assert_exited(plain.shell("cat /mnt/ostype"))


def main():
    global BINARY
    if os.geteuid() != 0:
        sys.exit("run me as root: I make cgroups and boxes of another uid")
    BINARY = os.path.abspath(sys.argv.pop(1))
    os.environ.pop("PYTHONPATH", None)
    become_engine()
    try:
        program = unittest.main(exit=False, verbosity=2, warnings="ignore")
    finally:
        reap_orphans()
        stop_being_engine()
    sys.exit(not program.result.wasSuccessful())


if __name__ == "__main__":
    main()
