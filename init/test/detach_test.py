"""A detached box: its engines come and go, and it tells each of them all that it knows."""

import contextlib
import errno
import os
import random
import signal
import socket
import struct
import time

from case import *
from lost_test import fill, small_disk
from end_test import STUBBORN
from protocol_test import fuzz

SLOTS = 256
LINES = "".join(f"{i}\n" for i in range(1, 100001)).encode()


def cpu(pid):
    """Seconds that it has used."""
    fields = read(f"/proc/{pid}/stat").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wakeups(pid):
    return int(field(pid, "voluntary_ctxt_switches:"))


class DetachTest(Case):
    @contextlib.contextmanager
    def a_detached_box(self, milliseconds=0):
        box = self.box()
        box.detach(milliseconds)
        yield box
        self.assertTrue(is_alive(box.init_pid))
        box.destroy()

    @contextlib.contextmanager
    def without_engine(self, box):
        """While there is no engine."""
        box.control.close()
        yield
        box.reconnect()

    def assert_idle(self, box, seconds=0.5):
        start = time.monotonic()
        before = cpu(box.init_pid), wakeups(box.init_pid)
        time.sleep(seconds)
        after = cpu(box.init_pid), wakeups(box.init_pid)
        took = time.monotonic() - start
        self.assertLess(after[0] - before[0], min(0.2 * PATIENCE, 0.8) * took)
        self.assertLess(after[1] - before[1], 200 * took)

    @staticmethod
    def stop(box):
        signal.pidfd_send_signal(box.init_pidfd, signal.SIGSTOP)
        wait_until(lambda: field(box.init_pid, "State:").split()[0] == "T", what="a stopped init")

    def assert_ended(self, exec_, reason):
        exec_.wait()
        self.assertEqual(reason, exec_.ended["reason"])
        self.assertEqual([STARTED, MSG_ENDED], [word for word in exec_.words if word != OUTPUT])
        self.assertEqual([len(exec_.output(i)) for i in range(2)], [exec_.ended["stdout_size"], exec_.ended["stderr_size"]])

    # ----------------------------------------------------- while there is no engine

    def test_an_end_meanwhile_is_told_with_its_time(self):
        with self.a_detached_box() as box:
            exec_ = box.start("/bin/sleep", "0.3")
            box.pump(lambda: exec_.pid is not None, what="start")
            with self.without_engine(box):
                time.sleep(0.5 * PATIENCE)
                over = time.monotonic_ns()
                time.sleep(0.3)
            exec_.wait()
            self.assertLess(exec_.ended["ended_ns"], over)

    def test_output_made_meanwhile_is_complete(self):
        with self.a_detached_box() as box:
            both = box.start("/bin/sh", "-c", "echo a; read x; seq 100000; seq 100000 >&2", stdin=(pipe := os.pipe())[0])
            os.close(pipe[0])
            box.pump(lambda: both.sizes == (2, 0), what="the first line")
            with self.without_engine(box):
                os.write(pipe[1], b"\n")
                os.close(pipe[1])
                wait_until(lambda: both.output(1) == LINES, what="its output")
            self.assert_ended(both, BY_ITSELF)
            self.assertEqual(b"a\n" + LINES, both.output())
            self.assertEqual(0, both.ended["status"])

    def test_what_no_disk_took_is_told_to_the_next_engine(self):
        with self.a_detached_box() as box, small_disk(1 << 20) as (logs, filler):
            fill(filler)
            fds = [log.fileno() for log in logs]
            some = box.start("/bin/sh", "-c", "echo some; sleep 0.3; echo more", logs=fds)
            much = box.start("/bin/sh", "-c", "sleep 0.3; head -c 30000 /dev/zero", logs=fds)
            box.pump(lambda: some.buffered[0] and much.pid, what="the first line")
            with self.without_engine(box):
                wait_until(lambda: not some.members() + much.members(), what="their ends")
            some.wait(), much.wait()
            self.assertEqual((b"some\nmore\n", 0), (some.buffered[0], some.ended["stdout_lost"]))
            self.assertEqual((bytes(BUFFERED_MAX), 30000 - BUFFERED_MAX), (much.buffered[0], much.ended["stdout_lost"]))

    def test_sizes_are_told_of_what_still_runs(self):
        with self.a_detached_box() as box:
            loud = box.start("/bin/sh", "-c", "seq 100000; seq 100000 >&2; sleep 100")
            mute = box.start("sleep", "100")
            loud.wait_started(), mute.wait_started()
            pids = [(each.pid, each.subreaper) for each in (loud, mute)]
            with self.without_engine(box):
                wait_until(lambda: loud.output(1) == LINES, what="its output")
            self.assertEqual([STARTED, OUTPUT], loud.words)
            self.assertEqual((len(LINES), len(LINES)), loud.sizes)
            self.assertEqual([STARTED], mute.words)
            self.assertEqual(pids, [(each.pid, each.subreaper) for each in (loud, mute)])

    def test_a_timeout_is_held(self):
        with self.a_detached_box() as box:
            polite, stubborn = box.start("sleep", "100", timeout=400), box.start(PYTHON, "-c", STUBBORN, timeout=400, grace=200)
            polite.wait_started(), stubborn.wait_started()
            with self.without_engine(box):
                wait_until(lambda: not polite.members() + stubborn.members(), what="their ends")
            self.assert_ended(polite, TIMED_OUT)
            self.assert_ended(stubborn, TIMED_OUT)

    def test_an_output_limit_is_held(self):
        with self.a_detached_box() as box:
            flood = box.start("/bin/sh", "-c", "sleep 0.1; exec yes", limit=1000000)
            flood.wait_started()
            with self.without_engine(box):
                wait_until(lambda: not flood.members(), what="its end")
            self.assert_ended(flood, OUTPUT_LIMIT)
            self.assertEqual(TRUNCATED, flood.ended["flags"])

    def test_how_each_ended_is_known(self):
        with self.a_detached_box() as box:
            execs = [box.start("/bin/sh", "-c", f"sleep 0.3; exit {i}") for i in range(5)]
            missing, killed = box.start("nix"), box.start("/bin/sh", "-c", "sleep 0.3; kill -9 $$")
            box.pump(lambda: killed.pid and missing.refused and all(each.pid for each in execs), what="all starts")
            with self.without_engine(box):
                wait_until(lambda: members(box.cgroup) == [box.init_pid], what="all ends")
            box.pump(lambda: killed.ended and missing.refused and all(e.ended for e in execs), what="all ends")
            self.assertEqual({each.number for each in [*execs, missing, killed]}, set(box.synced))
            for status, exec_ in enumerate(execs):
                self.assert_exited(exec_, status)
                self.assert_ended(exec_, BY_ITSELF)
            self.assertEqual(((STEP_EXEC, errno.ENOENT), [REFUSED]), (missing.refused, missing.words))
            self.assertEqual((CLD_KILLED, 9), (killed.ended["code"], killed.ended["status"]))

    def test_init_rests(self):
        with self.a_detached_box() as box:
            self.assert_exited(box.shell("echo x"))
            exec_ = box.start("/bin/sh", "-c", "echo x; sleep 0.2; echo y; sleep 100")
            box.pump(lambda: exec_.sizes[0] >= 2, what="x")
            with self.without_engine(box):
                wait_until(lambda: exec_.output() == b"x\ny\n", what="y")
                self.assert_idle(box)
            exec_.kill(grace=0)
            exec_.wait()
            self.assert_idle(box)

    # -------------------------------------------------------------- the next engine

    def test_the_next_engine_is_as_good_as_the_first(self):
        with self.a_detached_box() as box:
            stubborn = box.start(PYTHON, "-c", STUBBORN)
            box.pump(lambda: stubborn.sizes[0] == 6, what="ready")
            with self.without_engine(box):
                pass
            self.assertEqual([STARTED, OUTPUT], stubborn.words)
            self.assert_exited(box.shell("exit 3"), 3)
            self.assertNotIn(b"socket", box.shell("ls -l /proc/self/fd").output())
            stubborn.kill(grace=0)
            self.assert_ended(stubborn, KILLED)
            self.assertEqual([], stubborn.members())

    def test_an_end_is_told_until_it_is_forgotten(self):
        with self.a_detached_box() as box:
            ended, refused, running = box.shell("exit 7"), box.run("nix"), box.start("sleep", "100")
            running.wait_started()
            running.forget()
            box.send(MSG_FORGET, 4711)
            self.assert_exited(box.run("true"))  # so they were heard
            for _ in range(2):
                with self.without_engine(box):
                    pass
                self.assert_exited(ended, 7)
                self.assertEqual([[STARTED, MSG_ENDED], [REFUSED], [STARTED]],
                                 [each.words for each in (ended, refused, running)])
            ended.forget()
            self.assert_exited(box.run("true"))
            with self.without_engine(box):
                pass
            self.assertEqual([[], [REFUSED], [STARTED]], [each.words for each in (ended, refused, running)])
            running.kill(grace=0)
            for _ in range(2):
                self.assert_ended(running, KILLED)
                box.reconnect()

    def test_a_start_that_was_none_is_not_told_again(self):
        with self.a_detached_box() as box:
            box.send(MSG_START, 0)
            box.pump(lambda: box.strays, what="refusal")
            for _ in range(2):
                box.reconnect()
            self.assertEqual([(REFUSED, 0, struct.pack("=II", STEP_REQUEST, errno.EEXIST))], box.strays)

    def test_what_was_told_before_it_was_detached_is_not_told_again(self):
        box = self.box()
        before, running = box.run("true"), box.start("sleep", "100")
        running.wait_started()
        box.detach()
        with self.without_engine(box):
            pass
        self.assertEqual(([], [STARTED]), (before.words, running.words))

    def refuse(self, box, count):
        """Fills slots with starts that make no sense."""
        for _ in range(count):
            exec_ = box.new_exec()
            box.send(MSG_START, exec_.number)
            exec_.wait()
        return exec_

    def test_unforgotten_ends_fill_all_slots_and_init_still_listens(self):
        with self.a_detached_box() as box:
            last = self.refuse(box, SLOTS)
            self.assertEqual((STEP_REQUEST, errno.EINVAL), last.refused)
            for _ in range(3):
                none = box.run("true")
                self.assertEqual((STEP_REQUEST, errno.EAGAIN), none.refused)
            box.send(MSG_START, last.number - 1)
            with self.assertRaisesRegex(AssertionError, "a word after the last word"):
                box.pump(lambda: False, 20)
            with self.without_engine(box):
                pass
            self.assertEqual(([REFUSED], []), (last.words, none.words))
            last.forget()
            self.assert_exited(box.run("true"))
            self.assertEqual((STEP_REQUEST, errno.EAGAIN), box.run("true").refused)

    def test_the_last_caller_is_the_engine(self):
        with self.a_detached_box() as box:
            exec_ = box.start("sleep", "100")
            exec_.wait_started()
            for _ in range(20):
                old = box.control.dup()
                old.settimeout(10 * PATIENCE)
                box.reconnect()
                self.assertEqual([STARTED], exec_.words)
                with contextlib.suppress(ConnectionResetError):
                    while old.recv(65536):
                        pass
                old.close()
            self.assertEqual(0, exec_.kill(grace=0) or exec_.wait()["flags"])

    def test_the_old_engine_goes_when_the_new_one_is_there(self):
        with self.a_detached_box() as box:
            self.assert_exited(box.run("true"))
            self.stop(box)
            old = box.control.dup()
            box.connect()
            old.close()
            signal.pidfd_send_signal(box.init_pidfd, signal.SIGCONT)
            box.pump(lambda: box.is_synced, what="SYNCED")
            self.assert_exited(box.run("true"))

    def test_a_thousand_callers_cost_nothing(self):
        with self.a_detached_box() as box:
            exec_ = box.start("/bin/sh", "-c", "while sleep 0.01; do echo x; done")
            exec_.wait_started()
            box.reconnect()
            descriptors, before = box.descriptors(), cpu(box.init_pid)
            for i in range(1000):
                caller = box.dial()
                if i % 3 == 1:
                    caller.send(b"?" * random.randrange(40))
                if i % 3 == 2:
                    caller.recv(1)
                caller.close()
            box.reconnect()
            self.assertEqual(descriptors, box.descriptors())
            self.assertLess(cpu(box.init_pid) - before, 2 * PATIENCE)
            box.control.close()
            wait_until(lambda: box.descriptors() == descriptors - 1, what="one descriptor less")
            self.assert_idle(box)
            box.reconnect()
            exec_.kill(grace=0)
            self.assert_ended(exec_, KILLED)
            self.assertEqual({b"x"}, set(exec_.output().split()))

    def test_a_caller_that_does_not_read_is_told_all_when_it_does(self):
        with self.a_detached_box() as box:
            execs = [box.start("/bin/sh", "-c", f"exit {i}") for i in range(SLOTS - 1)]
            box.pump(lambda: all(each.ended for each in execs), 60, "all ends")
            loud = box.start("/bin/sh", "-c", "while sleep 0.02; do echo x; done")
            loud.wait_started()
            box.connect()
            self.assert_idle(box, 1)
            self.assertEqual([], loud.words)
            box.pump(lambda: box.is_synced, what="SYNCED")
            for status, exec_ in enumerate(execs):
                self.assertEqual([STARTED, MSG_ENDED], exec_.words)
                self.assert_exited(exec_, status)
            self.assertEqual([STARTED, OUTPUT], loud.words[:2])
            loud.kill(grace=0)
            self.assert_ended(loud, KILLED)

    # -------------------------------------------------------------------- garbage

    def test_half_a_message_is_dropped_with_its_descriptors(self):
        with self.a_detached_box() as box:
            box.reconnect()
            descriptors = box.descriptors()
            for size in (1, HEADER.size, HEADER.size + 10):
                data = (HEADER.pack(64, MSG_START, 3, 1, 0) + bytes(64))[:size]
                box.control.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("3i", 0, 1, 2))])
                wait_until(lambda: box.descriptors() == descriptors + 3, what="three descriptors")
                box.reconnect()
                self.assertEqual(descriptors, box.descriptors())
                self.assert_exited(box.run("true"))

    def test_garbage_ends_the_connection(self):
        with self.a_detached_box() as box:
            sleeper = box.start("sleep", "100")
            sleeper.wait_started()
            for garbage in (bytes(16), b"\xff" * 100, HEADER.pack(8, MSG_DETACH, 0, 0, 0) + bytes(8)):
                box.control.send(garbage)
                with self.assertRaises(EOFError):
                    box.pump(lambda: False, 5)
                box.reconnect()
            self.assertEqual([STARTED], sleeper.words)

    def test_random_bytes(self):
        seed = random.randrange(1 << 32)
        print(f"seed {seed}", end=" ", flush=True)
        dice = random.Random(seed)
        with self.a_detached_box() as box:
            for _ in range(40):
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    fuzz(box, dice)
                box.reconnect()
            self.assertTrue(is_alive(box.init_pid))

    def test_only_a_listening_stream_socket_will_do(self):
        def listen(socket_, address):
            socket_.bind(address)
            socket_.listen()
            return socket_
        with contextlib.ExitStack() as stack:
            pair = socket.socketpair()
            tcp = listen(socket.socket(socket.AF_INET), ("127.0.0.1", 0))
            packets = listen(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET), "")
            right, plain = listen(socket.socket(socket.AF_UNIX), ""), socket.socket(socket.AF_UNIX)
            for each in (*pair, tcp, packets, right, plain):
                stack.enter_context(each)
            ends = struct.pack("=Q", 0)
            wrong = [(0, ends, [fd]) for fd in (self.file("x"), *(s.fileno() for s in (pair[0], tcp, packets, plain)))]
            wrong += [(0, ends, []), (0, ends, [right.fileno()] * 2), (0, ends[1:], [right.fileno()]), (1, ends, [right.fileno()])]
            for number, body, fds in wrong:
                box = self.box()
                box.send(MSG_DETACH, number, body, fds)
                self.assertEqual(2 << 8, box.wait_init(), (number, body, fds))
                box.close()

    # ------------------------------------------------------------------- its end

    def test_the_deadline_ends_the_box_whether_there_is_an_engine_or_not(self):
        for is_connected in (True, False):
            box = self.box()
            exec_ = box.start(PYTHON, "-c", STUBBORN)
            box.pump(lambda: exec_.sizes[0] == 6, what="ready")
            start = time.monotonic()
            box.detach(500)
            if not is_connected:
                box.control.close()
            self.assertEqual(0, box.wait_init())
            self.assertGreater(time.monotonic() - start, 0.45)
            box.close()

    def test_the_last_detach_counts(self):
        long = 3000 * PATIENCE
        for last in (0, long):
            box = self.box()
            box.detach(0 if last else long, box.path + "-before")
            box.detach(last)
            box.reconnect()
            with socket.socket(socket.AF_UNIX) as caller, self.assertRaises(ConnectionRefusedError):
                caller.connect(box.path + "-before")
            self.assertEqual(7, box.descriptors())
            if last:
                self.assertEqual(0, box.wait_init())
            else:
                time.sleep(long / 1000 + 0.5)
                self.assertTrue(is_alive(box.init_pid))
            box.destroy()

    def test_an_engine_that_dies_at_once_after_detach_has_detached(self):
        for words in ((MSG_DETACH,), (MSG_START, MSG_DETACH, MSG_START)):
            box = self.box()
            self.stop(box)
            for word in words:
                box.detach() if word == MSG_DETACH else box.start("sleep", "100")
            box.control.close()
            signal.pidfd_send_signal(box.init_pidfd, signal.SIGCONT)
            box.reconnect()
            self.assertEqual([], [word for each in box.execs.values() for word in each.words])
            self.assertEqual([box.init_pid], members(box.cgroup))
            self.assertEqual(7, box.descriptors())
