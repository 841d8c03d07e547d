"""Output that needs no log, until there is too much of it."""

import errno
import os

from case import *

DATA = bytes(range(256)) * 4096


class KeptTest(Case):
    def test_little_output_comes_with_the_words(self):
        with self.a_box() as box:
            both = box.shell("printf 'a\\0b'; printf err >&2; sleep 0.1; printf c; exit 7", buffered=True)
            self.assertEqual(([b"a\0bc", b"err"], 7), (both.buffered, both.ended["status"]))
            self.assertEqual((4, 3), (both.ended["stdout_size"], both.ended["stderr_size"]))
            self.assertNotIn(NEED_LOG, both.words)
            self.assertEqual(b"", both.output())

    def test_what_is_kept_is_told_while_the_command_runs(self):
        with self.a_box() as box:
            exec_ = box.start("/bin/sh", "-c", "echo there; sleep 100", buffered=True)
            box.pump(lambda: exec_.buffered[0] == b"there\n", what="output")
            exec_.kill(grace=0)
            self.assertEqual(KILLED, exec_.wait()["reason"])

    def test_each_has_its_own(self):
        with self.a_box() as box:
            execs = [box.start("/bin/sh", "-c", f"echo {i}; echo {-i} >&2", buffered=True) for i in range(50)]
            box.pump(lambda: all(e.ended for e in execs), what="all ends")
            self.assertEqual([[b"%d\n" % i, b"%d\n" % -i] for i in range(50)], [e.buffered for e in execs])

    def test_more_goes_to_logs_from_the_first_byte_on(self):
        with self.a_box() as box:
            for size in (BUFFERED_MAX - 1, BUFFERED_MAX, BUFFERED_MAX + 1, len(DATA)):
                reader, writer = os.pipe()
                both = box.start("/bin/sh", "-c", "tee /dev/stderr", stdin=reader, buffered=True)
                os.close(reader)
                if os.fork() == 0:
                    with os.fdopen(writer, "wb") as pipe:
                        pipe.write(DATA[:size])
                    os._exit(0)
                os.close(writer)
                ended = both.wait()
                # Of just as much as is buffered, init may hear of the end of a pipe before it knows that it is all.
                self.assertIn(NEED_LOG in both.words, {BUFFERED_MAX - 1: (False,), BUFFERED_MAX: (False, True)}.get(size, (True,)))
                outputs = (both.output(0), both.output(1)) if NEED_LOG in both.words else tuple(both.buffered)
                self.assertEqual((DATA[:size], DATA[:size]), outputs)
                self.assertEqual((size, size), (ended["stdout_size"], ended["stderr_size"]))
                self.assertLessEqual(both.words.count(NEED_LOG), 1)
                os.wait()

    def test_the_end_waits_for_the_logs_and_all_is_in_them(self):
        with self.a_box() as box:
            exec_ = box.start("head", "-c", "60000", "/dev/zero", buffered=True, gives_logs=False)
            box.pump(lambda: NEED_LOG in exec_.words, what="NEED_LOG")
            wait_until(lambda: not exec_.members(), what="its end")
            self.assert_exited(box.run("true"))
            self.assertIsNone(exec_.ended)
            exec_.give_logs()
            self.assert_exited_after_waiting(exec_)
            self.assertEqual(bytes(60000), exec_.output())
            self.assertEqual(1, exec_.words.count(NEED_LOG))

    def assert_exited_after_waiting(self, exec_):
        exec_.wait()
        self.assert_exited(exec_)

    def test_a_command_that_waits_for_logs_can_be_killed(self):
        with self.a_box() as box:
            exec_ = box.start("yes", buffered=True, gives_logs=False)
            box.pump(lambda: NEED_LOG in exec_.words, what="NEED_LOG")
            exec_.kill(grace=0)
            wait_until(lambda: not exec_.members(), what="its end")
            exec_.give_logs()
            self.assertEqual(KILLED, exec_.wait()["reason"])
            self.assertGreater(len(exec_.output()), BUFFERED_MAX)
            self.assertEqual(exec_.ended["stdout_size"], len(exec_.output()))

    def test_without_logs_the_command_goes_on_and_the_rest_is_lost(self):
        with self.a_box() as box:
            exec_ = box.start("/bin/sh", "-c", "head -c 1000000 /dev/zero; exit 3", buffered=True, gives_logs=False)
            box.pump(lambda: NEED_LOG in exec_.words, what="NEED_LOG")
            exec_.give_logs(errno.ENOSPC)
            self.assertEqual((errno.ENOSPC, 3), (exec_.wait()["log_errno"], exec_.ended["status"]))
            self.assertEqual((BUFFERED_MAX, bytes(BUFFERED_MAX)), (exec_.ended["stdout_size"], exec_.buffered[0]))
            self.assertEqual((1000000 - BUFFERED_MAX, 0), (exec_.ended["stdout_lost"], exec_.ended["stderr_lost"]))

    def test_the_limit_holds_with_and_without_logs(self):
        with self.a_box() as box:
            for limit in (0, 10, BUFFERED_MAX - 1, BUFFERED_MAX, BUFFERED_MAX + 1, 20000):
                exec_ = box.start("head", "-c", "40000", "/dev/zero", buffered=True, limit=limit)
                self.assertEqual((OUTPUT_LIMIT, TRUNCATED), (exec_.wait()["reason"], exec_.ended["flags"]), limit)
                output = exec_.output() if NEED_LOG in exec_.words else exec_.buffered[0]
                self.assertEqual(bytes(limit), output)
                self.assertEqual(len(output), exec_.ended["stdout_size"])

    def test_unrequested_logs_are_closed(self):
        with self.a_box() as box:
            exec_ = box.start("/bin/sh", "-c", "echo; sleep 100", buffered=True)
            box.pump(lambda: exec_.buffered[0], what="output")
            before = box.descriptors()
            exec_.give_logs()
            self.assert_exited(box.run("true"))
            self.assertEqual(before, box.descriptors())
            exec_.kill(grace=0)
            exec_.wait()

    def test_a_terminal_has_logs(self):
        with self.a_box() as box:
            exec_ = box.start("true", buffered=True, terminal=(24, 80))
            exec_.wait()
            self.assertEqual((STEP_REQUEST, errno.EINVAL), exec_.refused)
