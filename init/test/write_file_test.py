"""What init itself writes to the workspace, and sees there."""

import contextlib
import errno
import os
import struct
import time

from case import *

WRITE_FILE_MAX = 64 * 1024


class PlaceTest(Case):
    def test_a_file_is_there_for_commands(self):
        with self.a_box() as box:
            ((kind, mode, size, mtime, target, name),) = box.write_file(b"main.py", b"print(1 + 1)")
            self.assertEqual((b"f", b"644", b"12", b"", b"main.py"), (kind, mode, size, target, name))
            self.assertLess(abs(time.time() - int(mtime) / 1e9), 60 * PATIENCE)
            self.assertLess(int(mtime), time.time_ns() - 20_000_000)
            self.assertEqual(b"2\n", box.run(PYTHON, "main.py").output())
            self.assertEqual(0, box.shell("[ -O main.py ]").wait()["status"])

    def test_any_bytes_and_modes(self):
        data = bytes(range(256)) * (WRITE_FILE_MAX // 256)
        with self.a_box() as box:
            ((_, mode, size, *_),) = box.write_file("grüße\n".encode(), data, mode=0o751)
            self.assertEqual((b"751", b"%d" % WRITE_FILE_MAX), (mode, size))
            self.assertEqual(data, box.shell("cat gr*").output())
            ((_, _, size, *_),) = box.write_file(b"empty", b"")
            self.assertEqual(b"0", size)

    def test_what_is_there_stays(self):
        with self.a_box() as box:
            box.shell("echo mine >file; mkdir directory; mkfifo fifo; ln -s file link; ln -s nowhere dangling")
            for name in b"file", b"directory", b"fifo", b"link", b"dangling":
                self.assertEqual(errno.EEXIST, box.write_file(name, b"theirs"), name)
            self.assertEqual(b"mine\n", box.shell("cat file").output())
            self.assertEqual(1, box.shell("[ -e nowhere ]").wait()["status"])

    def test_no_other_place_is_named(self):
        with self.a_box() as box:
            for name in b"", b"../tmp/out", b"/tmp/out", b"a/b":
                self.assertEqual(errno.EINVAL, box.write_file(name, b"x"), name)
            for name in b".", b"..":
                self.assertIn(box.write_file(name, b"x"), (errno.EEXIST, errno.EISDIR), name)
            self.assertEqual(errno.ENAMETOOLONG, box.write_file(b"n" * 256, b"x"))
            self.assertEqual([], box.list_workspace())

    def test_one_without_room_leaves_nothing(self):
        with self.a_box() as box:
            box.shell("cat /dev/zero >full 2>/dev/null")
            self.assertEqual(errno.ENOSPC, box.write_file(b"more", b"x" * WRITE_FILE_MAX))
            self.assertEqual([b"full"], [entry[5] for entry in box.list_workspace()])

    def test_all_that_is_there_is_seen(self):
        with self.a_box() as box:
            self.assertEqual([], box.list_workspace())
            box.write_file(b"placed", b"12345")
            box.shell("echo more >written; mkdir -m 700 sub; touch sub/below; ln -s /etc link; mkfifo fifo; touch -d @1 old; printf '' >'new\nline'")
            seen = {name: (kind, mode, size) for kind, mode, size, _, _, name in box.list_workspace()}
            self.assertEqual((b"f", b"644", b"5"), seen[b"placed"])
            self.assertEqual((b"f", b"644", b"5"), seen[b"written"])
            self.assertEqual((b"d", b"700"), seen[b"sub"][:2])
            self.assertEqual((b"l", b"p", b"f"), (seen[b"link"][0], seen[b"fifo"][0], seen[b"new\nline"][0]))
            self.assertEqual(7, len(seen))
            (old,) = [entry for entry in box.list_workspace() if entry[5] == b"old"]
            self.assertEqual(b"1000000000", old[3])

    def test_more_than_fits_is_told_so(self):
        with self.a_box() as box:
            box.shell("for i in 1 2 3 4 5 6 7 8 9; do touch $i$(head -c 250 /dev/zero | tr '\\0' x); done")
            self.assertEqual(9, len(box.list_workspace()))
            box.shell("for i in $(seq 100 300); do touch file-$i; done")
            self.assertEqual(errno.E2BIG, box.list_workspace())
            box.shell("rm -f file-*")
            self.assertEqual(9, len(box.list_workspace()))

    def test_one_that_is_closed_to_all_is_not_seen(self):
        with self.a_box() as box:
            box.shell("chmod 0 .")
            self.assertEqual(errno.EACCES, box.list_workspace())
            self.assertEqual(errno.EACCES, box.write_file(b"file", b"x"))

    def test_another_file_system_is_left_alone(self):
        with self.a_box(options=["--ro-bind", "/usr", "/workspace"]) as box:
            self.assertEqual(errno.EOPNOTSUPP, box.list_workspace())
            self.assertEqual(errno.EOPNOTSUPP, box.write_file(b"file", b"x"))

    def test_what_makes_no_sense_ends_the_box(self):
        too_long = b"\0\0\0\0name\0" + b"x" * (WRITE_FILE_MAX + 1)
        for body in b"", struct.pack("=I", 0o4755) + b"name\0", b"\0\0\0\0", b"\0\0\0\0name", b"\0\0\1\0name\0", too_long:
            box = self.box()
            box.send(MSG_WRITE_FILE, 0, body)
            self.assertEqual(2 << 8, box.wait_init(), body[:20])
            box.close()

    def test_nothing_stays_open(self):
        with self.a_box() as box:
            before = box.inventory()["descriptors"]
            for i in range(20):
                box.write_file(b"file-%d" % i, b"x")
                box.write_file(b"file-0", b"x")
                box.write_file(b"a/b", b"x")
                box.list_workspace()
            self.assertEqual(before, box.inventory()["descriptors"])


class LookTest(Case):
    """What is told of the workspace with the end of a command."""

    def test_what_it_leaves_is_told_before_its_end(self):
        with self.a_box() as box:
            exec_ = box.shell("echo more >written; mkdir sub", lists=True)
            self.assertEqual({b"written": b"f", b"sub": b"d"}, {entry[5]: entry[0] for entry in exec_.seen})
            self.assertEqual([LISTED, MSG_ENDED], exec_.words[-2:])
            self.assertIsNone(box.shell("echo >again").seen)

    def test_no_process_writes_after_it_was_read(self):
        with self.a_box() as box:
            for script, timeout in ("", 0), ("sleep 1000", 500 * PATIENCE), ("trap '' TERM; while :; do :; done", 500 * PATIENCE):
                exec_ = box.shell("(while :; do echo more >>file; done) & until [ -s file ]; do :; done; " + script,
                                  lists=True, timeout=timeout, grace=50)
                self.assertEqual(TIMED_OUT if timeout else BY_ITSELF, exec_.ended["reason"], script)
                self.assertEqual(exec_.seen, box.list_workspace(), script)
                self.assertEqual(1, len(exec_.seen), script)

    def test_it_is_told_as_it_was_when_it_ended(self):
        with self.a_box() as box:
            # The socket is full, so its end waits there to be told while another writes.
            script = "head -c 4000 /dev/zero; head -c 4000 /dev/zero >&2"
            flood = [box.start("/bin/sh", "-c", script, buffered=True) for _ in range(60)]
            wait_until(lambda: len(members(box.cgroup)) == 1, 20, "their end")
            exec_ = box.start("/bin/sh", "-c", "echo 1 >first; exec sleep 0.2", lists=True)
            pid = self.sleeper(box)
            wait_until(lambda: not os.path.exists(f"/proc/{pid}"), 20, "its end")
            late = box.start("/bin/sh", "-c", "echo 1 >second; exec sleep 1000")
            self.sleeper(box)
            exec_.wait()
            self.assertEqual([b"first"], [entry[5] for entry in exec_.seen])
            self.assertTrue(all(each.wait() for each in flood))
            late.kill(grace=0)
            late.wait()

    def sleeper(self, box):
        """The pid of the command that sleeps, once it does."""
        found = []

        def look():
            for pid in members(box.cgroup):
                with contextlib.suppress(OSError):
                    found.extend([pid] if read(f"/proc/{pid}/comm") == "sleep\n" else [])
            return found

        wait_until(look, 20, "a sleeper")
        return found[0]

    def test_one_that_never_ran_has_left_nothing(self):
        with self.a_box() as box:
            exec_ = box.run("/no/such", lists=True)
            self.assertEqual((STEP_EXEC, errno.ENOENT), exec_.refused)
            self.assertIsNone(exec_.seen)

    def test_a_file_system_of_others_in_it_is_not_looked_at(self):
        """The process that serves it may never answer."""
        with self.a_box(options=["--tmpfs", "/workspace/shown"]) as box:
            self.assertEqual(errno.EOPNOTSUPP, box.list_workspace())
            self.assertEqual(errno.EOPNOTSUPP, box.shell("touch file", lists=True).seen)
        with self.a_box(options=["--tmpfs", "/workspaces", "--tmpfs", "/tmp/workspace"]) as box:
            self.assertEqual([], box.list_workspace())

    def test_what_cannot_be_told_is_no_harm(self):
        with self.a_box() as box:
            self.assertEqual(errno.E2BIG, box.shell("for i in $(seq 100 300); do touch file-$i; done", lists=True).seen)
            self.assertEqual([], box.shell("rm file-*", lists=True).seen)
            self.assertEqual(errno.EACCES, box.shell("chmod 0 .", lists=True).seen)

    def test_an_engine_that_does_not_read_hears_it_later(self):
        with self.a_box() as box:
            execs = [box.start("/bin/sh", "-c", "head -c 4000 /dev/zero", buffered=True, lists=True) for _ in range(60)]
            wait_until(lambda: len(members(box.cgroup)) == 1, 20, "their end")
            for exec_ in execs:
                exec_.wait()
                self.assertEqual([], exec_.seen)
