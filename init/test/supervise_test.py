"""What is around the daemon: two processes that pass on, and reap."""

import fcntl
import os
import pty
import random
import re
import resource
import select
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import time

from case import *

TELL = """
import os, signal
everything = set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP, signal.SIGTSTP, signal.SIGCHLD}
signal.pthread_sigmask(signal.SIG_BLOCK, everything)
print(os.environ["EBB_SUPERVISOR"], os.getpid(), flush=True)
while True:
    print(signal.Signals(signal.sigwaitinfo(everything).si_signo).name, flush=True)
"""

# A shell with job control, for one job.
SHELL = """
import os, signal, sys
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
job = os.fork()
if job == 0:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.execv(sys.argv[1], sys.argv[1:])
while True:
    _, status = os.waitpid(job, os.WUNTRACED)
    if not os.WIFSTOPPED(status):
        os._exit(os.waitstatus_to_exitcode(status) & 127)
    print("stopped by", os.WSTOPSIG(status), flush=True)
    os.killpg(job, signal.SIGCONT)
"""

TELL_WHO = "echo $EBB_SUPERVISOR $$; "
NULLS = ["/dev/null"] * 3
LIVES_ON = "setsid sleep 1000 </dev/null >/dev/null 2>&1 & echo $EBB_SUPERVISOR $$ $!; "


def children_of(pid):
    return [int(child) for child in read(f"/proc/{pid}/task/{pid}/children").split()]


def state(pid):
    return field(pid, "State:").split()[0]


def names_of_fds(pid):
    path = f"/proc/{pid}/fd"
    return sorted(os.readlink(f"{path}/{fd}").split(":")[0] for fd in os.listdir(path))


def wait_to_read(file):
    if not select.select([file], [], [], 10 * PATIENCE)[0]:
        raise AssertionError("nothing is said")


class Supervised:
    """A program that prints its pid and those of the two around it."""

    def __init__(self, argv, **options):
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE} | options
        self.outer = subprocess.Popen([BINARY, "supervise", "--", *argv], bufsize=0, **options)

    def introduce(self):
        """Takes what TELL_WHO and LIVES_ON say."""
        _, self.inner, self.program, *orphans = [int(pid) for pid in self.line().split()]
        self.orphan = orphans[0] if orphans else None
        return self

    def line(self):
        wait_to_read(self.outer.stdout)
        return self.outer.stdout.readline().decode().strip()

    def rest(self):
        """All that it writes until its last writer is gone."""
        said = b""
        while True:
            wait_to_read(self.outer.stdout)
            part = self.outer.stdout.read(65536)
            if not part:
                return said
            said += part

    def end(self, seconds=10):
        status = self.outer.wait(seconds * PATIENCE)
        self.outer.stdout.close()
        return status


class SuperviseTest(Case):
    def tearDown(self):
        """Processes left by a failed test become our children, one after the other."""
        reap_orphans()
        left = children()
        while children():
            for pid in children():
                self.kill(pid)
                os.waitpid(pid, 0)
        super().tearDown()
        self.assertEqual([], left, "children are left")

    def supervise(self, *argv, **options):
        return Supervised(argv, **options)

    def shell(self, script, **options):
        return self.supervise("/bin/sh", "-c", script, **options)

    def teller(self, **options):
        return self.supervise(PYTHON, "-c", TELL, **options).introduce()

    def kill(self, pid):
        os.kill(pid, signal.SIGKILL)

    def adopt(self, pid):
        """One that has fallen to us: how it ended."""
        statuses = []

        def has_ended():
            ended, status = os.waitpid(pid, os.WNOHANG) if pid in children() else (0, 0)
            statuses.extend([status] if ended else [])
            return statuses
        wait_until(has_ended, what=f"the end of {pid}")
        return os.waitstatus_to_exitcode(statuses[0])

    def wait_for_fds(self, pid, expected):
        wait_until(lambda: names_of_fds(pid) == expected, what=f"{expected}, not {names_of_fds(pid)}")

    # ----------------------------------------------------------------- status

    def test_it_ends_as_the_program_does(self):
        for script, status in (("exit 0", 0), ("exit 3", 3), ("exit 255", 255), ("kill -TERM $$", -signal.SIGTERM),
                               ("kill -KILL $$", -signal.SIGKILL), ("kill -USR1 $$", -signal.SIGUSR1)):
            self.assertEqual(status, self.shell(script).end(), script)
            self.assertEqual([], children())

    def test_a_program_that_is_killed_from_outside_is_told_of(self):
        for number in (signal.SIGKILL, signal.SIGTERM):
            supervised = self.shell(TELL_WHO + "exec sleep 1000").introduce()
            os.kill(supervised.program, number)
            self.assertEqual(-number, supervised.end())

    def test_a_core_is_the_programs_alone(self):
        def allow_cores():
            hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
            resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
        supervised = self.shell("ulimit -c 0; kill -SEGV $$", preexec_fn=allow_cores, cwd="/tmp")
        _, status = os.waitpid(supervised.outer.pid, 0)
        supervised.outer.returncode = status
        supervised.outer.stdout.close()
        self.assertEqual((signal.SIGSEGV, False), (os.WTERMSIG(status), os.WCOREDUMP(status)))

    def test_a_program_that_cannot_be_executed_is_explained(self):
        for path, status in (("/nix", 127), ("/etc/passwd", 126)):
            supervised = self.supervise(path, stderr=subprocess.PIPE)
            self.assertRegex(supervised.outer.stderr.read().decode(), f"^ebb-init: cannot execute {path}: E[A-Z]+\n$")
            supervised.outer.stderr.close()
            self.assertEqual(status, supervised.end())

    def test_the_status_is_known_though_the_end_of_children_was_ignored(self):
        ignore = lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        self.assertEqual(3, self.shell("exit 3", preexec_fn=ignore).end())

    # ---------------------------------------------------------------- program

    def test_the_program_is_as_if_it_were_started_directly(self):
        script = """
import os
print(os.getcwd(), os.getpgrp(), os.getsid(0), {k: v for k, v in os.environ.items() if k != "EBB_SUPERVISOR"})
print([os.readlink("/proc/self/fd/" + fd).split(":")[0] for fd in sorted(os.listdir("/proc/self/fd"))[:-1]])
print([line for line in open("/proc/self/status") if line.startswith(("SigB", "SigI", "SigC", "Cap", "Seccomp:", "NoNew"))])
"""

        def before():
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2})
        with open("/dev/zero") as stray:
            options = {"cwd": "/usr", "env": {"A": "b c"}, "pass_fds": [stray.fileno()], "preexec_fn": before,
                       "process_group": 0, "stdout": subprocess.PIPE}
            argv = [PYTHON, "-c", script]
            direct = subprocess.Popen(argv, stdin=subprocess.DEVNULL, **options)
            supervised = self.supervise(*argv, **options)
        expected = direct.communicate()[0].decode().replace(str(direct.pid), "PID")
        found = supervised.rest().decode().replace(str(supervised.outer.pid), "PID")
        self.assertEqual(0, supervised.end())
        self.assertEqual(expected, found)
        for word in ("/usr PID ", "/dev/zero", "SigBlk:\\t0000000000000800"):
            self.assertIn(word, found)
        ignored = int(re.search(r"SigIgn:\\t(\w+)", found)[1], 16)
        self.assertTrue(ignored & 1 << signal.SIGHUP - 1, found)

    def test_the_program_knows_its_supervisor(self):
        supervised = self.shell("echo $EBB_SUPERVISOR $$; exec sleep 1000")
        outer, inner, program = [int(pid) for pid in supervised.line().split()]
        self.assertEqual((supervised.outer.pid, [inner], [program]), (outer, children_of(outer), children_of(inner)))
        supervised.outer.terminate()
        self.assertEqual(-signal.SIGTERM, supervised.end())

    def test_standard_descriptors_that_are_closed_stay_closed(self):
        script = 'exec <&- 2>&-; exec "$0" supervise -- /bin/ls /proc/self/fd'
        listed = subprocess.run(["/bin/sh", "-c", script, BINARY], stdout=subprocess.PIPE, timeout=10 * PATIENCE)
        self.assertEqual((0, b"0\n1\n"), (listed.returncode, listed.stdout))  # 0 is of ls itself

    # ---------------------------------------------------------------- signals

    def test_every_signal_is_passed_on(self):
        supervised = self.teller()
        kinds = set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD, signal.SIGTSTP, signal.SIGTTIN,
                                       signal.SIGTTOU}
        for number in sorted(kinds):
            supervised.outer.send_signal(number)
            self.assertEqual(number.name, supervised.line())
        self.kill(supervised.program)
        self.assertEqual(-signal.SIGKILL, supervised.end())

    def test_a_stop_by_hand_stops_both_and_so_it_goes_on(self):
        supervised = self.teller(process_group=0)
        for _ in range(5):
            supervised.outer.send_signal(signal.SIGTSTP)
            for pid in (supervised.program, supervised.outer.pid):
                wait_until(lambda: state(pid) == "T", what="a stopped process")
            self.assertNotEqual("T", state(supervised.inner))
            supervised.outer.send_signal(signal.SIGCONT)
            self.assertEqual("SIGCONT", supervised.line())
        self.kill(supervised.program)
        self.assertEqual(-signal.SIGKILL, supervised.end())

    def test_the_terminal_reaches_the_program_once(self):
        pid, terminal = pty.fork()
        if pid == 0:
            os.execv(PYTHON, [PYTHON, "-c", SHELL, BINARY, "supervise", "--", PYTHON, "-c", TELL])
        with os.fdopen(terminal, "r+b", buffering=0) as screen:
            fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
            said = []

            def hear_until(word):
                heard = b""
                while not re.search(word, heard):
                    wait_to_read(screen)
                    heard += screen.read(1)
                said.extend(re.findall(r"SIG\w+|stopped by \d+", heard.decode()))
            hear_until(rb"\d\r\n")
            del said[:]
            for _ in range(20):
                screen.write(b"\x03")
                hear_until(rb"SIGINT\r\n")
            screen.write(b"\x1c")
            hear_until(rb"SIGQUIT\r\n")
            fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 90, 0, 0))
            hear_until(rb"SIGWINCH\r\n")
            screen.write(b"\x1a")
            hear_until(rb"stopped by 20\r\n")
            hear_until(rb"SIGCONT\r\n")
            (job,) = children_of(pid)
            os.kill(job, signal.SIGUSR1)
            hear_until(rb"SIGUSR1\r\n")
            # The second SIGCONT is passed on; the job's group had the first.
            counts = {word: said.count(word) for word in said if word != "SIGCONT"}
            self.assertEqual({"SIGINT": 20, "SIGQUIT": 1, "SIGWINCH": 1, "stopped by 20": 1, "SIGUSR1": 1}, counts)
            (inner,) = children_of(job)
            self.kill(*children_of(inner))
            self.assertEqual(-signal.SIGKILL & 127, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))

    # ---------------------------------------------------------------- orphans

    def test_what_dies_with_the_program_is_gone_before_its_status_is_told(self):
        count = max(1, 10 // PATIENCE)  # the outer one does not wait longer on a slow host
        # Each reads to the end of what only the program can write to, so all end with it.
        orphans = f"for i in $(seq {count}); do setsid sh -c 'cat <&4 & echo $!; exec cat' <&4 3>&- & echo $!; done"
        directory = tempfile.mkdtemp(prefix=NAME + "-")
        fifo = directory + "/fifo"
        os.mkfifo(fifo)
        supervised = self.shell(f"exec 3<>{fifo} 4<{fifo}; {orphans}; exec 4<&-; read all; exit 7", stdin=subprocess.PIPE)
        pids = [int(supervised.line()) for _ in range(2 * count)]
        supervised.outer.stdin.close()
        self.assertEqual(b"", supervised.rest())
        self.assertEqual(7, supervised.end())
        shutil.rmtree(directory)
        self.assertEqual([], [pid for pid in pids if os.path.exists(f"/proc/{pid}")])
        # On a slow host the outer one may not have waited for the inner one's own end.
        wait_until(lambda: PATIENCE == 1 or not children(), what="the inner one's end")
        self.assertEqual([], children())

    def test_what_lives_on_does_not_hold_the_status_back(self):
        begun = time.monotonic()
        supervised = self.shell(LIVES_ON + "exit 7").introduce()
        inner, sleeper = supervised.inner, supervised.orphan
        self.assertEqual(b"", supervised.rest(), "the end of its output")
        self.assertEqual(7, supervised.end())
        self.assertLess(time.monotonic() - begun, 5 * PATIENCE)
        self.assertEqual((True, inner), (is_alive(sleeper), int(field(sleeper, "PPid:"))))
        self.wait_for_fds(inner, NULLS + ["anon_inode"] * 2)
        self.assertEqual("/", os.readlink(f"/proc/{inner}/cwd"))
        self.assertEqual(inner, os.getsid(inner))
        self.kill(sleeper)
        self.assertEqual(0, self.adopt(inner))
        self.assertFalse(os.path.exists(f"/proc/{sleeper}"))

    def test_only_the_program_holds_its_descriptors(self):
        supervised = self.shell(TELL_WHO + "exec >&-; exec sleep 1000").introduce()
        self.assertEqual(b"", supervised.rest(), "the end of its output")
        for pid in (supervised.outer.pid, supervised.inner):
            self.wait_for_fds(pid, NULLS + ["anon_inode"] * 2 + ["socket"])
            self.assertEqual("/", os.readlink(f"/proc/{pid}/cwd"))
        supervised.outer.terminate()
        self.assertEqual(-signal.SIGTERM, supervised.end())

    def test_other_children_of_the_outer_process_are_not_waited_for(self):
        script = 'sleep 1000 >/dev/null & echo $!; exec "$0" supervise -- /bin/sh -c "exit 3"'
        shell = subprocess.Popen(["/bin/sh", "-c", script, BINARY], stdout=subprocess.PIPE)
        sleeper = int(shell.stdout.readline())
        shell.stdout.close()
        self.assertEqual(3, shell.wait(10 * PATIENCE))
        self.kill(sleeper)
        self.assertEqual(-signal.SIGKILL, self.adopt(sleeper))

    # ------------------------------------------------------------------ kills

    def test_killing_the_outer_process_kills_the_program(self):
        supervised = self.shell(LIVES_ON + "exec sleep 1000").introduce()
        self.kill(supervised.outer.pid)
        self.assertEqual(-signal.SIGKILL, supervised.end())
        wait_until(lambda: not os.path.exists(f"/proc/{supervised.program}"), what="the end of the program")
        self.assertTrue(is_alive(supervised.inner) and is_alive(supervised.orphan))
        self.kill(supervised.orphan)
        self.assertEqual(0, self.adopt(supervised.inner))

    def test_when_the_inner_process_is_killed_the_outer_one_supervises(self):
        supervised = self.shell("trap 'exit 5' TERM; " + LIVES_ON + "while :; do sleep 0.01; done").introduce()
        self.kill(supervised.inner)
        wait_until(lambda: int(field(supervised.program, "PPid:")) == supervised.outer.pid, what="the program as its child")
        supervised.outer.terminate()
        self.assertEqual(5, supervised.end())
        self.assertFalse(os.path.exists(f"/proc/{supervised.program}"))
        self.assertEqual([supervised.orphan], children(), "what lives on is left to the next subreaper")
        self.kill(supervised.orphan)
        self.adopt(supervised.orphan)

    def test_it_ends_though_inner_process_and_program_are_killed_and_something_lives_on(self):
        supervised = self.shell(LIVES_ON + "exec sleep 1000").introduce()
        self.kill(supervised.inner)
        self.kill(supervised.program)
        self.assertEqual(-signal.SIGKILL, supervised.end())
        self.kill(supervised.orphan)
        self.adopt(supervised.orphan)

    def test_it_ends_with_the_program_though_the_inner_process_is_stopped(self):
        supervised = self.shell(LIVES_ON + "exec sleep 1000").introduce()
        os.kill(supervised.inner, signal.SIGSTOP)
        wait_until(lambda: state(supervised.inner) == "T", what="a stopped supervisor")
        self.kill(supervised.program)
        self.assertEqual(-signal.SIGKILL, supervised.end())
        self.assertEqual(supervised.inner, int(field(supervised.orphan, "PPid:")), "the inner supervisor goes on to reap")
        self.kill(supervised.orphan)
        self.assertEqual(0, self.adopt(supervised.inner))

    def test_it_ends_with_the_program_though_the_inner_process_is_stopped_again_and_again(self):
        supervised = self.shell(TELL_WHO + "exec sleep 1000").introduce()
        stopper = subprocess.Popen(
            ["/bin/sh", "-c", f"while kill -STOP {supervised.inner} 2>/dev/null; do :; done"]
        )
        try:
            wait_until(lambda: state(supervised.inner) == "T", what="a stopped supervisor")
            self.kill(supervised.program)
            self.assertEqual(-signal.SIGKILL, supervised.end())
        finally:
            stopper.kill()
            stopper.wait()

    def test_the_inner_process_may_be_killed_when_the_program_is_dead(self):
        supervised = self.shell(LIVES_ON + "exit 7").introduce()
        self.kill(supervised.inner)
        self.kill(supervised.orphan)
        self.assertEqual(7, supervised.end())
        self.assertEqual([], children())

    def test_a_kill_at_any_moment_leaves_nothing(self):
        seed = random.randrange(1 << 32)
        dice = random.Random(seed)
        seen = {"early": 0, "late": 0}
        for victim in ["outer", "inner"] * 60:
            supervised = self.shell("exec sleep 1000 >/dev/null")
            end = time.monotonic() + dice.uniform(0, 0.004 * PATIENCE)
            while time.monotonic() < end:
                pass
            if victim == "inner":
                while not children_of(supervised.outer.pid):
                    pass  # a moment: to be in time
            pids = [supervised.outer.pid, *children_of(supervised.outer.pid)]
            self.kill(pids[victim == "inner"])
            if victim == "inner":
                supervised.outer.terminate()
            status = supervised.end()
            seen["early" if status == 125 else "late"] += 1
            self.assertIn(status, (-signal.SIGKILL,) if victim == "outer" else (125, -signal.SIGTERM), f"seed {seed}")
            for pid in (pid for pid in children() if victim == "outer"):
                self.assertEqual(0, self.adopt(pid), f"seed {seed}")
            self.assertEqual([], children(), f"seed {seed}, {victim}")
        self.assertTrue(all(seen.values()), seen)
