"""Boxes that a forkserver makes, and what becomes of them when it, or the engine, goes."""

import contextlib
import os
import random
import signal
import subprocess
import time

from case import *
from forkserver import *

# What a command is and may do, in words that do not depend on the maker of its box.
LOOK = r"""
grep -E '^(Uid|Gid|Groups|Cap|NoNewPrivs|Seccomp)' /proc/self/status; hostname; ulimit -a; cat /proc/self/oom_score_adj
awk '{ print $5, $6, $(NF-2) }' /proc/self/mountinfo | sed 's/relatime//' | sort -u
find / /dev /tmp /workspace -maxdepth 1 -printf '%p %M %l\n' | sort -u
find / -path /proc -prune -o -path /dev/pts -o -writable -not -type l -print | sort; find /proc/sys -writable
unshare -U true; unshare -m true; echo 1 > /proc/sys/user/max_user_namespaces; echo 9 > /proc/sys/kernel/shmmax
mount -t tmpfs none /tmp; ls /proc/1/fd; cat /proc/1/environ; ip -o addr
df -k --output=size /tmp /dev/shm /workspace; readlink /dev/ptmx; ls /dev/pts; python3 -c 'import os; os.openpty()'
"""


# Takes at most MOST of each resource that the kernel counts for each user; prints how many it got.
TAKE = r"""
import ctypes, os, signal, time
libc = ctypes.CDLL(None)
def take(some, most=MOST):
    return next(n for n in range(most + 1) if n == most or some(n) < 0)
watches = take(lambda _: libc.inotify_init1(0))
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGRTMIN])
signals = take(lambda _: libc.sigqueue(os.getpid(), signal.SIGRTMIN, None))
attributes = (ctypes.c_long * 8)(0, 10, 1024)
name = lambda n: b"/ebb-%d-%d" % (os.getpid(), n)
queues = take(lambda n: libc.mq_open(name(n), os.O_CREAT | os.O_RDWR, 0o600, attributes))
for n in range(queues):
    libc.mq_unlink(name(n))
print(watches, signals, queues)
"""
TAKE_ALL = TAKE.replace("MOST", "200000")
TAKE_ONE = TAKE.replace("MOST", "1")


class ForkserverTest(ForkserverCase):
    def forkserver(self, **options):
        forkserver = Forkserver(BINARY, **options)
        self.forkservers.append(forkserver)
        return forkserver

    def made_by(self, forkserver, **options):
        box = ForkserverBox(forkserver, **options)
        self.boxes.append(box)
        return box

    def test_init_is_our_child_and_alone_in_its_box(self):
        forkserver = self.forkserver()
        box = self.made_by(forkserver)
        self.assertEqual([box.init_pid], members(box.cgroup))
        self.assertEqual({forkserver.process.pid, box.init_pid}, set(children()))
        self.assertEqual([forkserver.process.pid], members(forkserver.cgroup))
        for path in box.v1:
            self.assertEqual([box.init_pid], members(path))
        self.assertEqual("ebb-init inside " + os.path.basename(box.cgroup), read(f"/proc/{box.init_pid}/cmdline").strip("\0"))
        names = sorted(os.readlink(f"/proc/{box.init_pid}/fd/{fd}").split(":")[0] for fd in os.listdir(f"/proc/{box.init_pid}/fd"))
        self.assertEqual(["/dev/null"] * 3 + ["anon_inode"] * 2 + ["socket"], names)
        box.close()
        self.assertEqual(0, box.init_status, "init ends well when its engine goes")

    def test_a_forkserver_holds_little(self):
        for userns in (False, True):
            forkserver = self.forkserver(userns=userns)
            pid = forkserver.process.pid
            self.assertEqual("", field(pid, "Groups:").strip())
            for _ in range(3):
                self.made_by(forkserver).close()
            wait_until(lambda: len(os.listdir(f"/proc/{pid}/fd")) == 4, what="four descriptors")
            self.assertEqual([pid], children())
            forkserver.close()

    def test_a_forkserver_can_do_on_the_host_what_it_needs_to(self):
        pid = self.forkserver().process.pid
        for name in ("CapPrm:", "CapEff:"):
            self.assertEqual("00000000002010c3", field(pid, name).strip(), name)
        self.assertEqual("1", field(pid, "NoNewPrivs:").strip())

    def test_root_clones_into_the_cgroups_of_another(self):
        """As an earlier engine left them, whose forkserver had a user namespace."""
        forkserver = self.forkserver()
        os.chown(V2 + "/cgroup.procs", ROOT_UID, ROOT_UID)
        self.made_by(forkserver).close()

    def test_a_forkserver_with_a_userns_is_nobody_on_the_host(self):
        pid = self.forkserver(userns=True).process.pid
        self.assertEqual([str(ROOT_UID)] * 4, field(pid, "Uid:").split())
        self.assertNotEqual(os.readlink("/proc/self/ns/user"), os.readlink(f"/proc/{pid}/ns/user"))

    def test_what_a_user_may_have_each_box_has_for_itself(self):
        forkserver = self.forkserver()
        greedy, other = self.made_by(forkserver), self.made_by(forkserver, uid=UID + 1)
        holder = greedy.start(PYTHON, "-uc", TAKE_ALL + "time.sleep(100)")
        holder.wait_output(b"\n")
        all_there_are = holder.output().split()
        self.assertNotIn(b"0", all_there_are)
        self.assertEqual(all_there_are, other.run(PYTHON, "-c", TAKE_ALL).output().split())
        self.assert_some_are_left()

    def test_a_box_of_a_userns_takes_nothing_from_root(self):
        holder = self.made_by(self.forkserver(userns=True)).start(PYTHON, "-uc", TAKE_ALL + "time.sleep(100)")
        holder.wait_output(b"\n")
        self.assert_some_are_left()

    def assert_some_are_left(self):
        # One of each is proof enough: other tests of this user run meanwhile and need some, too.
        self.assertEqual(b"1 1 1\n", subprocess.run([PYTHON, "-c", TAKE_ONE], capture_output=True).stdout)

    def test_a_box_is_the_same_however_it_was_made(self):
        for userns in (False, True):
            self.compare(self.made_by(self.forkserver(userns=userns)).shell(LOOK))

    def compare(self, by_forkserver):
        by_bwrap = self.box(options="--ro-bind /proc/sys /proc/sys --perms 0700 --dir /tmp/home --remount-ro /".split() +
                            "--chmod 1777 /dev/shm".split()).shell(LOOK)
        self.maxDiff = None
        self.assertGreater(len(by_forkserver.output().splitlines()), 60)
        self.assertEqual(by_bwrap.output().decode(), by_forkserver.output().decode())
        self.assertEqual(by_bwrap.output(1).decode(), by_forkserver.output(1).decode())

    def test_no_two_boxes_share_a_namespace(self):
        forkserver = self.forkserver()
        boxes = [self.made_by(forkserver) for _ in range(2)]
        for name in ["mnt", "pid", "ipc", "uts", "net", "user"] + ([] if "nsdelegate" in OPTIONS else ["cgroup"]):
            pids = ["self", forkserver.process.pid] + [box.init_pid for box in boxes]
            seen = [os.readlink(f"/proc/{pid}/ns/{name}") for pid in pids]
            # The forkserver is in our own, where a box is not.
            self.assertEqual(4 if name in ("mnt", "uts") else 3, len(set(seen)), (name, seen))

    def test_init_has_nothing_left_of_what_its_maker_could_do(self):
        box = self.made_by(self.forkserver())
        for name in ("CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:"):
            self.assertEqual("0" * 16, field(box.init_pid, name).strip(), name)
        self.assertEqual("1", field(box.init_pid, "NoNewPrivs:").strip())
        self.assertEqual("", field(box.init_pid, "Groups:").strip())
        self.assertEqual(f"1000 {UID} 1", " ".join(read(f"/proc/{box.init_pid}/uid_map").split()))
        self.assertEqual("deny\n", read(f"/proc/{box.init_pid}/setgroups"))
        self.assertEqual(b"0\n", box.run("cat", "/proc/sys/user/max_user_namespaces").output())

    def test_the_terminals_of_a_box_are_its_own(self):
        forkserver = self.forkserver()
        first, second = self.made_by(forkserver), self.made_by(forkserver)
        holder = first.start(PYTHON, "-uc", "import os, time; print(os.ttyname(os.openpty()[1])); time.sleep(100)")
        holder.wait_output(b"/dev/pts/0")
        self.assertEqual(b"ptmx\n", second.run("ls", "/dev/pts").output())

    def test_sizes_are_those_of_the_order(self):
        box = self.made_by(self.forkserver(), disk=1 << 20, temporary=1 << 21)
        sizes = box.shell("df -k --output=size /workspace /tmp /dev/shm | tail -n +2 | tr -d ' '").output().split()
        self.assertEqual([b"1024", b"2048", b"2048"], sizes)

    def test_what_goes_wrong_is_told(self):
        forkserver = self.forkserver(userns=True)
        box = self.made_by(forkserver, hello=False, uid=COUNT + 5)
        with self.assertRaises(EOFError):
            box.wait_hello()
        self.assertRegex(box.unmade, "^cannot .+: EINVAL$")
        box.destroy()
        os.chown(V2 + "/cgroup.procs", 0, 0)
        box = self.made_by(forkserver, hello=False)
        with self.assertRaises(EOFError):
            box.wait_hello()
        self.assertEqual("cannot clone the init of the box: EACCES", box.unmade)
        box.destroy()
        os.chown(V2 + "/cgroup.procs", ROOT_UID, ROOT_UID)
        self.made_by(forkserver).close()

    def test_a_forkserver_without_its_template_ends_and_tells(self):
        for command, said in ((["/usr/bin/bwrap", "--no-such-option"], "no-such-option"),
                              (["/usr/bin/no-bwrap"], "cannot execute /usr/bin/no-bwrap: ENOENT")):
            forkserver = self.forkserver(command=command, is_ready=False)
            self.assertEqual(1, forkserver.process.wait(20 * PATIENCE))
            self.assertIn(said, forkserver.messages())

    def test_a_forkserver_ends_with_its_engine_and_its_boxes_live_on(self):
        forkserver = self.forkserver()
        box = self.made_by(forkserver)
        self.assertEqual(0, forkserver.close())
        self.assert_exited(box.shell("true"))

    def test_an_engine_that_goes_at_any_moment_takes_the_box_along(self):
        forkserver = self.forkserver()
        for step in range(40):
            box = self.made_by(forkserver, hello=False)
            time.sleep(step * 0.0001)
            box.control.close()
            wait_until(box.is_gone, what="an empty cgroup")
            reap_orphans()

    def test_a_forkserver_that_is_killed_at_any_moment_leaves_whole_boxes_or_none(self):
        seed = random.randrange(1 << 32)
        dice = random.Random(seed)
        seen = {True: 0, False: 0}
        rounds = 0
        while rounds < 20 or (rounds < 400 and not all(seen.values())):
            rounds += 1
            forkserver = self.forkserver()
            forkserver.process.send_signal(signal.SIGSTOP)
            boxes = [self.made_by(forkserver, hello=False) for _ in range(3)]
            forkserver.process.send_signal(signal.SIGCONT)
            time.sleep(dice.uniform(0, 0.004))
            forkserver.process.kill()
            forkserver.close()
            for box in boxes:
                with contextlib.suppress(EOFError):
                    box.pump(lambda: box.is_greeted, 10, "hello or end")
                seen[box.is_greeted] += 1
                if box.is_greeted and box.init_pid:
                    self.assert_exited(box.shell("true"))
                box.destroy()
            wait_until(lambda: reap_orphans() or not children(), what=f"the end of all children, seed {seed}")
        self.assertTrue(all(seen.values()), f"seed {seed}: {seen}")

    def test_without_cgroups_or_a_uid_of_its_own_a_box_comes_up(self):
        def become_user():
            os.setgroups([])
            os.setresgid(0, 0, 0)  # docker's --user 1000
            os.setresuid(UID, UID, UID)
        forkserver = self.forkserver(shared=True, has_leaf=False, before_exec=become_user)
        box = self.made_by(forkserver, has_cgroup=False)
        self.assertEqual([str(UID)] * 4, field(box.init_pid, "Uid:").split())
        self.assertEqual(["0"] * 4, field(box.init_pid, "Gid:").split())
        if not SUBREAPER:
            return  # commands without a cgroup have a subreaper
        look = box.shell("id -u; find /proc/sys -writable; unshare -U true || echo none").output()
        self.assertEqual(b"1000\nnone\n", look)
