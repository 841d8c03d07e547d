"""Boxes that a zygote makes: their init, and their first command, are copies of an interpreter."""

import errno
import os
import signal

from case import *
from zygote import *

THREAD = "import _thread, time; _thread.start_new_thread(time.sleep, (1000,)); time.sleep(0.1)\n"


def memory(pid):
    """All that a process has written to."""
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as file:
        for line in maps:
            place, mode = line.split()[:2]
            begin, end = (int(number, 16) for number in place.split("-"))
            if mode.startswith("rw") and "[vvar" not in line:
                file.seek(begin)
                yield file.read(end - begin)


class ZygoteTest(ForkserverCase):
    def zygote(self, *modules, **options):
        zygote = Zygote(BINARY, *modules, **options)
        self.forkservers.append(zygote)
        return zygote

    def made_by(self, forkserver, **options):
        box = ForkserverBox(forkserver, **options)
        self.boxes.append(box)
        return box

    def test_the_first_command_is_a_copy_that_goes_on(self):
        zygote = self.zygote("json", "re")
        box = self.made_by(zygote)
        self.assertEqual({zygote.process.pid, box.init_pid}, set(children()))
        self.assertEqual([zygote.process.pid], members(zygote.cgroup))
        exec_ = Forked(box).run("import os, sys; print(os.getpid(), os.getppid(), sys.argv, 'json' in sys.modules)", "a")
        self.assertEqual((b"2 1 ['-c', 'a'] True\n", b""), (exec_.output(), exec_.output(1)))
        self.assertEqual((CLD_EXITED, 0), (exec_.ended["code"], exec_.ended["status"]))

    def test_it_can_do_no_more_than_a_forkserver(self):
        pid = self.zygote("json").process.pid
        for name in ("CapPrm:", "CapEff:"):
            self.assertEqual("00000000002010c3", field(pid, name).strip(), name)
        self.assertEqual("1", field(pid, "NoNewPrivs:").strip())
        self.assertEqual(["0", "1", "2", "3"], sorted(os.listdir(f"/proc/{pid}/fd")))
        self.assertNotEqual(os.readlink("/proc/self/ns/net"), os.readlink(f"/proc/{pid}/ns/net"))

    def test_its_init_is_as_any_other(self):
        zygote = self.zygote()
        box = self.made_by(zygote)
        self.assertEqual("ebb-init inside " + os.path.basename(box.cgroup), read(f"/proc/{box.init_pid}/cmdline").strip("\0"))
        names = sorted(os.readlink(f"/proc/{box.init_pid}/fd/{fd}").split(":")[0] for fd in os.listdir(f"/proc/{box.init_pid}/fd"))
        self.assertEqual(["/dev/null"] * 3 + ["anon_inode"] * 2 + ["socket"], names)
        self.assertEqual(0, int(field(box.init_pid, "CapEff:"), 16))
        box.close()
        self.assertEqual(0, box.init_status, "init ends well when its engine goes")

    def test_what_init_knows_of_the_engine_is_not_in_its_copy(self):
        box = self.made_by(self.zygote())
        copy = Forked(box)
        copy.wait_started()
        pid = members(box.cgroup + "/work")[0]
        wait_until(lambda: read(f"/proc/{pid}/comm") == "ebb-waiting\n", 10, "a copy that waits")
        self.assertTrue(any(box.nonce in part for part in memory(box.init_pid)), "so it can be found at all")
        self.assertFalse(any(box.nonce in part for part in memory(pid)))
        copy.run("pass")

    def test_only_the_first_command_can_be_a_copy(self):
        box = self.made_by(self.zygote())
        self.assertEqual(0, Forked(box).run("pass").ended["status"])
        second = Forked(box)
        second.exec.wait()
        os.close(second.writer)
        self.assertEqual((STEP_REQUEST, errno.EINVAL), second.exec.refused)
        self.assertEqual(b"executed\n", box.run("echo", "executed").output())

    def test_what_was_executed_before_leaves_no_copy(self):
        box = self.made_by(self.zygote())
        self.assertEqual(0, box.run("true").ended["status"])
        second = Forked(box)
        second.exec.wait()
        os.close(second.writer)
        self.assertEqual((STEP_REQUEST, errno.EINVAL), second.exec.refused)

    def test_other_boxes_have_no_copies(self):
        forkserver = Forkserver(BINARY)
        self.forkservers.append(forkserver)
        for box in self.made_by(forkserver), self.box():
            copy = Forked(box)
            copy.exec.wait()
            os.close(copy.writer)
            self.assertEqual((STEP_REQUEST, errno.EINVAL), copy.exec.refused)

    def test_one_of_many_threads_is_no_zygote(self):
        zygote = self.zygote(before=THREAD, is_ready=False)
        self.assertEqual(1, zygote.process.wait(20 * PATIENCE))
        self.assertIn("many threads", zygote.messages())

    def test_one_that_cannot_import_says_so(self):
        zygote = self.zygote("no_such_module", is_ready=False)
        self.assertEqual(1, zygote.process.wait(20 * PATIENCE))
        self.assertIn("No module named 'no_such_module'", zygote.messages())

    def test_its_end_ends_no_box(self):
        zygote = self.zygote()
        box = self.made_by(zygote)
        copy = Forked(box)
        copy.wait_started()
        zygote.process.send_signal(signal.SIGKILL)
        self.assertEqual(-signal.SIGKILL, zygote.process.wait())
        self.assertEqual(b"2\n", copy.run("print(1 + 1)").output())

    def test_it_ends_with_its_engine(self):
        self.assertEqual(0, self.zygote().close())
