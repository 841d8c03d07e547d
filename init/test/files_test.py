"""File operations, done in the box as its user."""

import errno
import os
import struct
import time

from case import *

DEEP = """
import os
for _ in range(10000):
    os.mkdir("d")
    os.chdir("d")
    open("f", "w").close()
"""
# Swaps a directory and a link to another, at once and often, for as long as it runs.
SWAPPER = """
import ctypes, os
libc = ctypes.CDLL(None)
os.makedirs("victim", exist_ok=True)
open("victim/precious", "w").close()
print("ready", flush=True)
def play():
    os.makedirs("real/inner/below", exist_ok=True)
    if not os.path.lexists("link"):
        os.symlink("/workspace/victim", "link")
    while libc.renameat2(-100, b"real/inner", -100, b"link", 2) == 0:
        pass
while True:
    try:
        play()
        os.unlink("link")
    except OSError:
        os.system("rm -rf link")
"""
# Moves a directory with much in it to where something precious is, and back.
MOVER = """
import os, shutil
os.makedirs("else", exist_ok=True)
open("else/precious", "w").close()
print("ready", flush=True)
def play():
    shutil.rmtree("tree", ignore_errors=True)
    shutil.rmtree("else/big", ignore_errors=True)
    os.makedirs("tree/big/below", exist_ok=True)
    for i in range(300):
        open(f"tree/big/below/{i}", "w").close()
    for _ in range(200):
        os.rename("tree/big", "else/big")
        os.rename("else/big", "tree/big")
while True:
    try:
        play()
    except OSError:
        pass
"""


def frames(data, size=50_000):
    """As the engine sends content: frames, then an empty one."""
    parts = [data[i:i + size] for i in range(0, len(data), size)]
    return b"".join(struct.pack("=I", len(part)) + part for part in parts + [b""])


class FilesTest(Case):
    def file_operation(self, box, *argv, **options):
        exec_ = box.run(*argv, is_file=True, **options)
        self.assertIsNone(exec_.refused)
        self.assertEqual((BY_ITSELF, CLD_EXITED), (exec_.ended["reason"], exec_.ended["code"]), argv)
        self.assertEqual(b"", exec_.output(1))
        return exec_

    def does(self, box, *argv, **options):
        exec_ = self.file_operation(box, *argv, **options)
        self.assertEqual(0, exec_.ended["status"], f"{argv[:3]}: {os.strerror(exec_.ended['status'])}")
        return exec_.output()

    def fails(self, error, box, *argv, **options):
        status = self.file_operation(box, *argv, **options).ended["status"]
        self.assertEqual(errno.errorcode[error], errno.errorcode.get(status, status), argv[:3])

    def puts(self, box, path, data, mode="644", **options):
        return self.does(box, "write", path, mode, stdin=self.file(frames(data)), **options)

    def entries(self, text):
        fields = text.split(b"\0")
        self.assertEqual(b"", fields.pop())
        self.assertEqual(0, len(fields) % 6)
        return {fields[i + 5]: fields[i:i + 5] for i in range(0, len(fields), 6)}

    # ---------------------------------------------------------- read and write

    def test_content_is_byte_exact(self):
        data = bytes(range(256)) * 4000
        with self.a_box() as box:
            self.puts(box, "file", data)
            self.assertEqual(data, self.does(box, "read", "file", "0"))
            self.assertEqual(data[1000:], self.does(box, "read", "/workspace/file", "1000"))
            self.assertEqual(b"", self.does(box, "read", "file", str(len(data))))
            self.assertEqual(b"", self.does(box, "read", "file", str(1 << 40)))
            self.puts(box, "empty", b"")
            self.assertEqual(b"", self.does(box, "read", "empty", "0"))

    def test_a_reader_may_be_slow_and_nothing_is_staged_for_it(self):
        data = bytes(range(256)) * 4000
        with self.a_box() as box:
            self.puts(box, "file", data)
            reader, writer = os.pipe()
            exec_ = box.start("read", "file", "0", is_file=True, piped=writer)
            os.close(writer)
            exec_.wait_started()
            with open(reader, "rb") as pipe:
                self.assertEqual(data[:1000], pipe.read(1000))
                self.assertIsNone(exec_.ended)
                self.assertEqual(data[1000:], pipe.read())
            exec_.wait()
            self.assertEqual((0, 0), (exec_.ended["status"], exec_.ended["stdout_size"]))

    def test_a_reader_that_goes_ends_it(self):
        with self.a_box() as box:
            self.puts(box, "file", bytes(1 << 20))
            reader, writer = os.pipe()
            exec_ = box.start("read", "file", "0", is_file=True, piped=writer)
            os.close(writer)
            os.close(reader)
            exec_.wait()
            self.assertEqual(errno.EPIPE, exec_.ended["status"])

    def test_what_is_piped_has_no_stdin_and_no_logs(self):
        with self.a_box() as box:
            for options in ({"stdin": self.file(b"")}, {"segments": True}):
                reader, writer = os.pipe()
                exec_ = box.start("stat", ".", is_file=True, piped=writer, **options)
                os.close(writer)
                os.close(reader)
                exec_.wait()
                self.assertEqual((STEP_REQUEST, errno.EINVAL), exec_.refused)

    def test_holes_count_by_their_size(self):
        with self.a_box() as box:
            box.shell("truncate -s 1T sparse; echo 12345 > short")
            self.fails(errno.EFBIG, box, "read", "sparse", "0", str(1 << 30))
            self.assertEqual(bytes(10), self.does(box, "read", "sparse", str((1 << 40) - 10), "10"))
            self.assertEqual(b"12345\n", self.does(box, "read", "short", "0", "6"))
            self.fails(errno.EFBIG, box, "read", "short", "0", "5")
            self.fails(errno.EINVAL, box, "read", "short", "0", "-1")

    def test_a_listing_is_in_order(self):
        with self.a_box() as box:
            box.run(PYTHON, "-c", "for i in range(3000): open(f'{i * 7919 % 3000:04}', 'w').close()")
            names = list(self.entries(self.does(box, "list", ".")))
            self.assertEqual([f"{i:04}".encode() for i in range(3000)], names)

    def test_it_belongs_to_the_user_and_has_its_mode(self):
        with self.a_box() as box:
            for mode in ("644", "600", "755", "0", "1777"):
                self.puts(box, "a/b/c/file", b"x", mode)
                self.assertEqual(f"{mode} 1000 755\n".encode(),
                                 box.shell("stat -c %a\\ %u a/b/c/file | tr '\\n' ' '; stat -c %a a/b").output())
            self.fails(errno.EPERM, box, "write", "setuid", "4755", stdin=self.file(frames(b"x")))
            self.fails(errno.EINVAL, box, "write", "file", "8", stdin=self.file(frames(b"x")))
            self.fails(errno.EINVAL, box, "write", "file", "17777", stdin=self.file(frames(b"x")))
            self.assertEqual(b"a\n", box.shell("ls -A").output())

    def test_only_regular_files_are_read_and_nothing_blocks(self):
        with self.a_box() as box:
            box.shell("mkfifo pipe; ln -s pipe link; mkdir dir; ln -s loop loop")
            box.run(PYTHON, "-c", "import socket; socket.socket(socket.AF_UNIX).bind('socket')")
            for path, error in (("pipe", errno.ENXIO), ("link", errno.ENXIO), ("socket", errno.ENXIO),
                                ("/dev/zero", errno.ENXIO), ("/dev/tty", errno.ENXIO), ("/dev/ptmx", errno.ENXIO),
                                ("dir", errno.EISDIR), ("/", errno.EISDIR), ("loop", errno.ELOOP),
                                ("none", errno.ENOENT), ("pipe/x", errno.ENOTDIR)):
                start = time.monotonic()
                self.fails(error, box, "read", path, "0")
                self.assertLess(time.monotonic() - start, 5 * PATIENCE)

    def test_what_makes_no_sense_is_an_errno(self):
        with self.a_box() as box:
            for error, argv in ((errno.EINVAL, ["read"]), (errno.EINVAL, ["read", "x"]), (errno.EINVAL, ["nonsense", "x"]),
                                (errno.EINVAL, ["read", "x", "-1"]), (errno.EINVAL, ["read", "x", "1x"]),
                                (errno.EINVAL, ["read", "x", str(1 << 63)]), (errno.ENOENT, ["read", "", "0"]),
                                (errno.ENOENT, ["list", ""]), (errno.ENOENT, ["mkdir", ""]), (errno.ENOENT, ["move", "", "x"]),
                                (errno.ENAMETOOLONG, ["stat", "x" * 256]), (errno.ENAMETOOLONG, ["mkdir", "x/" * 2500]),
                                (errno.ENAMETOOLONG, ["list", "x" * 1_000_000]), (errno.EINVAL, ["remove", "x", "y"]),
                                (errno.EINVAL, ["remove", ".", "recursive"]), (errno.EINVAL, ["remove", "a/..", "recursive"]),
                                (errno.EBUSY, ["remove", "//", "recursive"]), (errno.ENOENT, ["remove", "x", "recursive"])):
                box.shell("mkdir -p a")
                self.fails(error, box, *argv)
            self.fails(errno.ENAMETOOLONG, box, "write", "x" * 256, "644", stdin=self.file(frames(b"x")))
            self.fails(errno.ENOENT, box, "write", "", "644", stdin=self.file(frames(b"x")))
            self.assertEqual(b"a\n", box.shell("ls -A").output())

    def test_a_file_is_replaced_whole_or_not_at_all(self):
        with self.a_box() as box:
            self.puts(box, "file", b"old")
            whole = frames(b"new" * 1000)
            for part in (b"", whole[:2], whole[:1000], whole[:-1]):
                self.fails(errno.ECANCELED, box, "write", "file", "644", stdin=self.file(part))
            self.assertEqual(b"old", self.does(box, "read", "file", "0"))
            for end in (lambda e: e.kill(grace=0), lambda e: e.kill(grace=5000)):
                reader, writer = os.pipe()
                exec_ = box.start("write", "file", "644", is_file=True, stdin=reader)
                os.close(reader)
                os.write(writer, whole[:1000])
                exec_.wait_started()
                end(exec_)
                exec_.wait()
                os.close(writer)
                self.assertEqual(KILLED, exec_.ended["reason"])
            self.assertEqual((b"old", b"file\n"), (self.does(box, "read", "file", "0"), box.shell("ls -A").output()))

    def test_a_full_file_system_leaves_the_old_file(self):
        with self.a_box() as box:
            self.puts(box, "/tmp/file", b"old")
            self.fails(errno.ENOSPC, box, "write", "/tmp/file", "644", stdin=self.file(frames(bytes(80 << 20))))
            self.fails(errno.EFBIG, box, "write", "/tmp/file", "644", stdin=self.file(frames(bytes(2 << 20))),
                       file_size=1 << 20)
            self.assertEqual(b"old", self.does(box, "read", "/tmp/file", "0"))
            self.assertEqual(b"file\n", box.shell("ls -A /tmp").output())
            self.assertEqual(b"1\n", box.shell("df --output=used -B1M /tmp | tail -n1 | tr -d ' '").output(), "rounded up")

    def test_a_link_is_replaced_not_followed(self):
        with self.a_box() as box:
            box.shell("echo old > old; ln -s old link; ln -s /tmp/nowhere dangling; mkdir dir; ln -s dir way; mkfifo pipe")
            self.puts(box, "link", b"new")
            self.puts(box, "dangling", b"new")
            self.puts(box, "way/file", b"new")
            self.assertEqual(b"old\nnewnewnew", box.shell("cat old link dangling dir/file; ls /tmp").output())
            for path, error in (("dir", errno.EISDIR), ("dir/", errno.EISDIR), ("new/", errno.EISDIR), ("pipe", errno.EEXIST), (".", errno.EISDIR),
                                ("old/x", errno.ENOTDIR), ("/usr/x", errno.EROFS), ("/proc/x/y", errno.ENOENT)):
                self.fails(error, box, "write", path, "644", stdin=self.file(frames(b"x")))
            self.fails(errno.ENOENT, box, "stat", "new")

    def test_paths_end_in_the_box(self):
        with self.a_box() as box:
            box.shell("ln -s /etc up; ln -s / root; ln -s ../../../../../.. top")
            for path in ("/etc/shadow", "up/shadow", "../etc/shadow", "../../../../../../../etc/shadow", "root/etc/shadow",
                         "top/etc/shadow", "/proc/1/root/etc/shadow"):
                status = self.file_operation(box, "read", path, "0").ended["status"]
                self.assertIn(status, (errno.ENOENT, errno.EACCES), path)
            self.fails(errno.EACCES, box, "read", "/proc/1/environ", "0")

    def test_what_the_kernel_tells_of_init_is_no_file(self):
        """A file operation is a copy of init: its maps are those of all boxes of one maker."""
        with self.a_box() as box:
            box.shell("ln -s /proc/self/maps maps; ln -s /proc/self self; ln -s /proc/self/root root; echo x > mine")
            for path in ("/proc/self/maps", "/proc/self/auxv", "/proc/thread-self/stat", "/proc/version", "maps", "self/maps", "/dev/fd/../maps"):
                self.fails(errno.EACCES, box, "read", path, "0")
            for path in ("/proc", "/proc/self", "/proc/self/exe", "self/exe", "/proc/1"):
                self.fails(errno.EACCES, box, "stat", path)
            for path in ("/proc", "/proc/self", "self", "/dev/fd"):
                self.fails(errno.EACCES, box, "list", path)
            self.assertEqual(b"x\n", self.does(box, "read", "root/workspace/mine", "0"))
            self.does(box, "stat", "self")  # the link itself is the box's
            self.does(box, "list", "/")

    # ----------------------------------------------------------- stat and list

    def test_entries_say_what_there_is(self):
        with self.a_box() as box:
            box.shell("printf 12345 > file; chmod 640 file; touch -d @1234567890.123456789 file; mkdir dir; ln -s 'a b' link; "
                      "mkfifo pipe; touch -d @99999999999999 future; touch -d @-1.5 past")
            found = self.entries(self.does(box, "list", "."))
            self.assertEqual([b"f", b"640", b"5", b"1234567890123456789", b""], found[b"file"])
            self.assertEqual([b"d", b"755"], found[b"dir"][:2])
            self.assertEqual([b"l", b"777", b"3"], found[b"link"][:3])
            self.assertEqual(b"a b", found[b"link"][4])
            self.assertEqual(b"p", found[b"pipe"][0])
            self.assertEqual(b"-1500000000", found[b"past"][3])
            self.assertEqual(b"9223372035000000000", found[b"future"][3])
            for path, name in (("file", b"file"), ("/workspace/file", b"file"), ("dir/", b"dir"), ("/", b"/"), (".", b".")):
                self.assertEqual([name], list(self.entries(self.does(box, "stat", path))))
            self.assertEqual({b"link": found[b"link"]}, self.entries(self.does(box, "stat", "link")))
            self.fails(errno.ENOENT, box, "stat", "none")
            self.fails(errno.ENOTDIR, box, "list", "file")
            self.fails(errno.ENOTDIR, box, "list", "pipe")
            self.assertEqual(b"", self.does(box, "list", "dir"))
            box.shell("mkdir shy; touch shy/x; chmod 400 shy; mkdir shut; chmod 0 shut")
            self.assertEqual({b"x": [b"f", b"0", b"0", b"0", b""]}, self.entries(self.does(box, "list", "shy")))
            self.fails(errno.EACCES, box, "list", "shut")

    def test_names_may_be_any_bytes(self):
        names = [b"new\nline", b"\xff\xfe", b" ", b"-rf", b"x" * 255, "ü".encode(), bytes(range(1, 47)), b"\x1b[2J"]
        with self.a_box() as box:
            for name in names:
                self.puts(box, name, name)
                self.assertEqual(name, self.does(box, "read", name, "0"))
            self.assertEqual(set(names), set(self.entries(self.does(box, "list", "/workspace"))))
            self.does(box, "move", names[0], b"to\n\xff")
            self.does(box, "remove", b"to\n\xff")
            self.assertEqual(set(names[1:]), set(self.entries(self.does(box, "list", "/workspace"))))

    def test_ten_thousand_entries(self):
        with self.a_box() as box:
            box.run(PYTHON, "-c", "for i in range(10000): open(f'{i:0200}', 'w').close()")
            self.assertEqual(10000, len(self.entries(self.does(box, "list", "."))))
            self.does(box, "mkdir", "/tmp/x")

    # --------------------------------------------------- mkdir, move and remove

    def test_directories_are_made_with_their_parents(self):
        with self.a_box() as box:
            for path in ("a/b/c", "a/b/c", "/tmp/x/y//z/", "a/./b/../d"):
                self.does(box, "mkdir", path)
            box.shell("touch file; ln -s /none dangling; ln -s a way")
            self.does(box, "mkdir", "way")
            self.fails(errno.EEXIST, box, "mkdir", "file")
            self.fails(errno.EEXIST, box, "mkdir", "dangling")
            self.fails(errno.ENOTDIR, box, "mkdir", "file/x")
            self.fails(errno.EROFS, box, "mkdir", "/usr/x")
            self.assertEqual(b"a a/b a/b/c a/d", b" ".join(sorted(box.shell("find a").output().split())))

    def test_moves(self):
        with self.a_box() as box:
            box.shell("echo 1 > a; echo 2 > b; mkdir dir full; touch full/x; ln -s a link")
            self.does(box, "move", "a", "b")
            self.does(box, "move", "link", "dir/link")
            self.assertEqual(b"1\na\n", box.shell("cat b; readlink dir/link").output())
            for error, argv in ((errno.ENOENT, ("none", "x")), (errno.ENOTEMPTY, ("dir", "full")), (errno.EISDIR, ("b", "dir")),
                                (errno.EXDEV, ("b", "/tmp/b")), (errno.EINVAL, ("dir", "dir/x"))):
                self.fails(error, box, "move", *argv)

    def test_removes_what_is_named_and_follows_no_link(self):
        with self.a_box() as box:
            box.shell("mkdir keep; touch keep/x file; ln -s keep link; mkdir -p tree/sub; ln -s ../keep tree/out; "
                      "ln -s /workspace/keep tree/sub/out; mkfifo tree/pipe; mkdir empty")
            self.does(box, "remove", "file")
            self.does(box, "remove", "link")
            self.does(box, "remove", "empty/")
            self.fails(errno.ENOTEMPTY, box, "remove", "tree")
            self.does(box, "remove", "tree", "recursive")
            self.fails(errno.ENOENT, box, "remove", "tree", "recursive")
            self.does(box, "remove", "keep/x", "recursive")
            self.assertEqual(b"keep\n", box.shell("ls -A").output())
            box.shell("mkdir -p locked/in; touch locked/in/x; chmod 500 locked/in")
            self.fails(errno.EACCES, box, "remove", "locked", "recursive")

    def test_ten_thousand_levels(self):
        with self.a_box() as box:
            self.assert_exited(box.run(PYTHON, "-c", DEEP))
            self.does(box, "remove", "d", "recursive", files=16)
            self.assertEqual(b"", box.shell("ls -A").output())

    def test_a_mount_in_the_way_is_left_alone(self):
        with self.a_box(options=["--tmpfs", "/workspace/tree/mount"]) as box:
            box.shell("touch tree/mount/precious tree/x")
            self.fails(errno.EBUSY, box, "remove", "tree", "recursive")
            self.assertEqual(b"precious\n", box.shell("ls -A tree/mount").output())

    def test_swapped_links_lead_nowhere(self):
        with self.a_box() as box:
            swapper = box.start(PYTHON, "-c", SWAPPER)
            swapper.wait_output(b"ready")
            for _ in range(300):
                exec_ = self.file_operation(box, "remove", "real", "recursive")
                self.assertIn(exec_.ended["status"], (0, errno.ENOENT, errno.ESTALE))
            self.assertIsNone(swapper.ended, swapper.output(1))
            swapper.kill(grace=0)
            swapper.wait()
            self.assertEqual(b"precious\n", box.shell("ls -A victim").output())

    def test_what_is_moved_meanwhile_takes_nothing_along(self):
        with self.a_box() as box:
            mover = box.start(PYTHON, "-c", MOVER)
            mover.wait_output(b"ready")
            seen, end = set(), time.monotonic() + 20 * PATIENCE
            while errno.ESTALE not in seen and time.monotonic() < end:
                removed = self.file_operation(box, "remove", "tree", "recursive")
                seen.add(removed.ended["status"])
                for log in removed.logs:
                    log.close()  # on a slow host there are many before they meet
                self.assertIsNone(mover.ended, mover.output(1))
            mover.kill(grace=0)
            mover.wait()
            self.assertIn(errno.ESTALE, seen)
            self.assertEqual(b"precious\n", box.shell("ls -A else | grep -v big").output())

    # ---------------------------------------------------------------- as execs

    def test_it_is_as_confined_as_a_command(self):
        with self.a_box() as box:
            reader, writer = os.pipe()
            exec_ = box.start("write", "x", "644", is_file=True, stdin=reader)
            os.close(reader)
            exec_.wait_started()
            (pid,) = exec_.members()
            for name, value in (("Seccomp:", "2"), ("NoNewPrivs:", "1"), ("CapEff:", "0" * 16), ("Uid:", str(UID))):
                self.assertEqual(value, field(pid, name).split()[0], name)
            held = {os.readlink(f"/proc/{pid}/fd/{fd}").split(":")[0] for fd in os.listdir(f"/proc/{pid}/fd")}
            self.assertEqual(["pipe"], sorted(name for name in held if not name.startswith("/")), held)
            os.close(writer)
            exec_.wait()
            self.assertEqual(errno.ECANCELED, exec_.ended["status"])

    def test_output_has_its_limit(self):
        with self.a_box() as box:
            self.puts(box, "file", bytes(1_000_000))
            exec_ = box.run("read", "file", "0", is_file=True, limit=1000)
            self.assertEqual((OUTPUT_LIMIT, TRUNCATED), (exec_.ended["reason"], exec_.ended["flags"]))
