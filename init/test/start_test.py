"""How a command starts, or why not."""

import errno
import os
import signal
import tempfile
import time
import unittest

from case import *


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

    def test_a_start_is_told_with_what_comes_next_or_soon_or_when_it_is_wanted(self):
        def patience(is_wanted):
            begun = time.monotonic()
            exec_ = box.start("sleep", "1000")
            if is_wanted:
                box.send(MSG_AWAIT_START, exec_.number)
            exec_.wait_started()
            taken = time.monotonic() - begun
            exec_.kill(0)
            exec_.wait()
            return taken

        with self.a_box() as box:
            self.assertGreater(min(patience(False) for _ in range(5)), 0.005)
            wait_until(lambda: patience(True) < 0.009, what="a start that is told at once")

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

    @only_with_leaves
    def test_a_leaf_that_is_none_is_refused(self):
        with self.a_box() as box:
            exec_ = box.new_exec()
            body = START.pack(0, 0, 100, 100, 100, 0, 0, 0, HAS_LEAF, 1, 0, 0, 0) + b"/\0true\0"
            logs = [log.fileno() for log in exec_.logs]
            box.send(MSG_START, exec_.number, body, logs + [logs[0]])
            exec_.wait()
            self.assertEqual((STEP_CLONE, errno.ENOTDIR), exec_.refused)
            forbidden = box.start("true")
            forbidden.wait()
            os.chown(box.cgroup + "/cgroup.procs", 0, 0)
            self.assertEqual((STEP_CLONE, errno.EACCES), box.run("true").refused)

    @only_with_leaves
    def test_a_leaf_can_come_as_its_files(self):
        """An engine that may not mount hands over no directory: from one a way leads up."""
        files = (("cgroup.procs", os.O_RDWR), ("cgroup.events", os.O_RDONLY), ("cgroup.kill", os.O_WRONLY))
        for given in (files, files[:2]):
            with self.a_box() as box:
                exec_ = box.run("sh", "-c", "grep -o '/work/.*' /proc/self/cgroup; cat", stdin=self.file(b"input"), leaf_files=given)
                self.assertEqual((CLD_EXITED, 0), (exec_.ended["code"], exec_.ended["status"]))
                self.assertEqual(f"/work/{exec_.number}\ninput", exec_.output().decode())
                tree = box.start("sh", "-c", "trap '' TERM; (setsid sleep 1000 &) ; echo up; sleep 1000", leaf_files=given)
                tree.wait_output(b"up")
                tree.kill(50)
                tree.wait()
                self.assertEqual([], tree.members())
        with self.a_box() as box:
            exec_ = box.start("true", leaf_files=files[:1])
            exec_.wait()
            self.assertEqual((STEP_REQUEST, errno.EINVAL), exec_.refused)

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
            self.assertEqual(read(f"/proc/{box.init_pid}/limits").split("Max open files")[1].split()[1],
                             much.output().decode().strip())
            big = box.run("dd", "if=/dev/zero", "of=big", "bs=1M", "count=2", file_size=1 << 20)
            self.assertEqual(signal.SIGXFSZ, big.ended["status"])

    def test_256_run_at_once_and_no_more(self):
        with self.a_box() as box:
            sleepers = [box.start("sleep", "100") for _ in range(256)]
            box.pump(lambda: all(s.pid for s in sleepers), 60, "256 starts")
            self.assertEqual((STEP_REQUEST, errno.EAGAIN), box.run("true").refused)
            start = time.monotonic()
            for sleeper in sleepers:
                sleeper.kill(grace=0)
            box.pump(lambda: all(s.ended for s in sleepers), what="256 ends")
            self.assertLess(time.monotonic() - start, 20 * PATIENCE, "not one after the other")
            self.assert_exited(box.run("true"))


    @unittest.skipUnless(os.path.exists("/dev/fuse"), "host lacks FUSE")
    def test_a_file_system_that_hangs_does_not_stop_init(self):
        parent = tempfile.mkdtemp(prefix=NAME + "-")
        os.chmod(parent, 0o755)
        os.mkdir(parent + "/hung")
        device = os.open("/dev/fuse", os.O_RDWR)
        options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other"
        self.assertEqual(0, libc.mount(b"ebb", (parent + "/hung").encode(), b"fuse", 0, options.encode()), "mount")
        try:
            with self.a_box(mounts=[(parent, "ro")], options=["--ro-bind", "/tmp/0", "/mnt"]) as box:
                hung = [box.start("/mnt/hung/command"),
                        box.start("true", workdir="/mnt/hung/directory", timeout=int(3000 * PATIENCE), grace=100)]
                self.assert_exited(box.run("true"))
                wait_until(lambda: descriptors_of_children(box) == [4, 4], 10, "children with nothing of others")
                hung[0].kill(grace=0)
                for exec_, reason in zip(hung, (KILLED, TIMED_OUT)):
                    exec_.wait()
                    self.assertEqual([STARTED, MSG_ENDED], exec_.words)
                    self.assertEqual(reason, exec_.ended["reason"])
        finally:
            os.close(device)
            libc.umount2((parent + "/hung").encode(), 2)
            os.rmdir(parent + "/hung")
            os.rmdir(parent)


def descriptors_of_children(box):
    """How many each child has that has not become its command; a subreaper is none, once it has its name."""
    children = [pid for pid in members(box.cgroup) if pid != box.init_pid and field(pid, "Name:").strip() == "ebb-init"]
    return [len(os.listdir(f"/proc/{pid}/fd")) for pid in children]
