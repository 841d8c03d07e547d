"""How a box comes up, or does not."""

import contextlib
import ctypes
import errno
import os
import random
import signal
import struct
import tempfile
import time

from case import *


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
                self.assertEqual(3 if SUBREAPER else 2, len(members(path)))

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
import os
ways = {name: os.readlink for name in ("root", "cwd", "exe", "ns/pid")}
ways |= {name: open for name in ("mem", "environ", "maps", "stack", "syscall")} | {"fd": os.listdir}
for name, way in ways.items():
    try:
        way("/proc/1/" + name)
        print("open:", name)
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
            status = dict(line.split(":\t", 1) for line in read(f"/proc/{box.init_pid}/status").splitlines())
            self.assertEqual({"0" * 16}, {status["SigPnd"], status["ShdPnd"]})

    def test_a_command_is_nobody_with_nothing(self):
        script = ("id -u; id -G; ls /proc/self/fd | wc -l; grep -E 'CapEff|NoNewPrivs|Seccomp:' /proc/self/status;"
                  " ps -o sid= -p $$; tty")
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
        self.assertEqual(1, box.outside.wait(10 * PATIENCE))
        self.assertIn("no-such-option", box.messages())
        self.assertIn("ebb-init: cannot set up the box", box.messages())

    def test_a_missing_bwrap_is_reported(self):
        box = self.box(command=["/usr/bin/no-bwrap"], hello=False)
        self.assertEqual(1, box.outside.wait(10 * PATIENCE))
        self.assertIn("ebb-init: cannot execute /usr/bin/no-bwrap: ENOENT", box.messages())

    def test_an_engine_that_goes_away_during_set_up_takes_the_box_with_it(self):
        for delay in (0, 0.001, 0.003, 0.005, 0.01, 0.02):
            box = self.box(hello=False)
            time.sleep(delay)
            box.control.close()
            self.assertIn(box.outside.wait(10 * PATIENCE), (0, 3))
            wait_until(box.is_gone, what="an empty cgroup")

    def test_a_launch_that_cannot_join_a_cgroup_leaves_nothing(self):
        if not V1:
            self.skipTest("host lacks a v1 hierarchy")
        real_open = os.open

        def open_dead(path, flags, *rest):
            """The cgroup is removed between the open and the join."""
            fd = real_open(path, flags, *rest)
            if str(path).startswith(V1[0]):
                os.rmdir(os.path.dirname(path))
            return fd
        os.open = open_dead
        try:
            box = self.box(hello=False)
        finally:
            os.open = real_open
        os.mkdir(box.v1[0])
        self.assertEqual(1, box.outside.wait(10 * PATIENCE))
        self.assertRegex(box.messages(), r"^ebb-init: cannot join cgroup 0 of --join: ENODEV\n")
        self.assertTrue(box.is_gone())
        self.assertEqual([], children())

    def test_a_launch_without_its_outside_role_ends_by_itself(self):
        for step in range(30):
            box = self.box(hello=False)
            time.sleep(step * 0.0005)
            box.outside.kill()
            box.outside.wait()
            with contextlib.suppress(EOFError):
                box.pump(lambda: box.is_greeted, 10, "hello or end")
            wait_until(lambda: box.is_greeted or box.is_gone(), 10, "the end of the box")
            box.destroy()

    def test_descriptors_for_bwrap_are_passed(self):
        with tempfile.TemporaryFile() as data:
            data.write(b"from the engine")
            data.seek(0)
            with self.a_box(keeps=[data.fileno()], options=["--ro-bind-data", "KEEP", "/etc/motd"]) as box:
                self.assertEqual(b"from the engine", box.run("cat", "/etc/motd").output())

    def test_without_cgroups_a_box_comes_up_and_dies_with_the_engine(self):
        for before_exec in (None, lambda: os.setresgid(UID, UID, UID) or os.setresuid(UID, UID, UID)):
            with self.a_box(has_cgroup=False, before_exec=before_exec) as box:
                self.assertIn(f"Uid:\t{UID}\t{UID}\t{UID}\t{UID}", read(f"/proc/{box.init_pid}/status"))

    @only_with_leaves
    def test_without_clone3_children_join_their_cgroup_by_themselves(self):
        with self.a_box(before_exec=lambda: forbid(435)) as box:
            self.assertEqual([box.init_pid], members(box.cgroup + "/init"))
            exec_ = box.start("sleep", "100")
            exec_.wait_started()
            self.assertEqual(1, len(exec_.members()))
            exec_.kill(grace=0)
            exec_.wait()
            self.assertEqual(KILLED, exec_.ended["reason"])
            os.chown(box.cgroup + "/cgroup.procs", 0, 0)
            self.assertEqual((STEP_CLONE, errno.EACCES), box.run("true").refused)

    @only_with_leaves
    def test_without_clone3_a_command_is_killed_however_early(self):
        with self.a_box(before_exec=lambda: forbid(435)) as box:
            self.assertEqual(40, len(list(self.kill_early(box))))

    def test_without_close_range_descriptors_are_closed_one_by_one(self):
        stray = os.open("/dev/zero", os.O_RDONLY)
        os.set_inheritable(stray, True)
        try:
            with self.a_box(before_exec=lambda: forbid(436)) as box:
                self.assertEqual(6, len(os.listdir(f"/proc/{box.init_pid}/fd")))
                self.assertEqual(b"0\n1\n2\n3\n", box.run("ls", "/proc/self/fd").output())
        finally:
            os.close(stray)

    def test_without_pidfds_there_is_no_box(self):
        box = self.box(hello=False, before_exec=lambda: forbid(434))
        self.assertEqual(1, box.outside.wait(10))
        self.assertIn("ebb-init: cannot open a pidfd of bwrap: ENOSYS\n", box.messages())
        self.assertTrue(box.is_gone())

    def test_a_kill_at_any_moment_of_set_up_leaves_nothing(self):
        seed = random.randrange(1 << 32)
        dice = random.Random(seed)
        seen = {"outside": 0, "outer": 0, "inner": 0, "late": 0}
        for _ in range(100):
            box = self.box(hello=False)
            time.sleep(dice.uniform(0, 0.03 * PATIENCE))
            victim = dice.choice(["outside", "outer", "inner"])
            pids = [box.outside.pid] if victim == "outside" else members(box.cgroup)
            if victim != "outside":
                pids = sorted(pids)[:1] if victim == "outer" else sorted(pids)[1:]
            seen[victim if pids else "late"] += 1
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if victim != "outside":
                self.assertIn(box.outside.wait(10 * PATIENCE), (0, 1), f"seed {seed}: {box.messages()}")
            box.destroy()
            wait_until(lambda: reap_orphans() or not children(), what=f"the end of all children, seed {seed}")
        self.assertTrue(all(count > 0 for count in seen.values()), seen)


def without(number):
    """The program of a filter that answers this call with ENOSYS."""
    return struct.pack("HBBIHBBIHBBIHBBI", 0x20, 0, 0, 0, 0x15, 0, 1, number,
                       0x06, 0, 0, 0x00050000 | errno.ENOSYS, 0x06, 0, 0, 0x7FFF0000)


def forbid(number):
    """An older kernel: a filter that answers ENOSYS. To be run between fork and exec."""
    code = ctypes.create_string_buffer(without(number))
    filter_ = ctypes.create_string_buffer(struct.pack("HxxxxxxP", 4, ctypes.addressof(code)))
    if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, filter_) != 0:
        os._exit(1)
