"""What one types: the front has a daemon run the command, or becomes java. Daemon and java are played here."""

import contextlib
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

FRONT = os.path.abspath(sys.argv[1]).replace("ebb-init", "ebb")
JAVA = '#!/bin/sh\necho "java $@"; grep SigIgn /proc/self/status >&2; exit 42\n'
PATIENCE = 20


class Daemon:
    """A front's connection, seen from the other end."""

    def __init__(self, connection):
        connection.settimeout(PATIENCE)
        self.connection = connection

    def receive(self):
        head = self.exactly(5)
        return head[:1].decode(), self.exactly(struct.unpack("!I", head[1:])[0])

    def exactly(self, length):
        content = b""
        while len(content) < length:
            chunk = self.connection.recv(length - len(content))
            if not chunk:
                raise EOFError
            content += chunk
        return content

    def send(self, kind, content=b""):
        self.connection.sendall(kind.encode() + struct.pack("!I", len(content)) + content)

    def begin(self):
        """Lets the command begin, and returns what the front said of it."""
        kind, content = self.receive()
        assert kind == "H", kind
        self.send("Y")
        assert self.receive() == ("G", b"")
        return content.decode().split("\0")[:-1]

    def is_over(self):
        try:
            return self.connection.recv(1) == b""
        except ConnectionResetError:
            return True


class FrontTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory(prefix="front")
        self.root = pathlib.Path(self.directory.name)
        lib = self.root / "dist/target/ebb/lib"
        lib.mkdir(parents=True)
        self.front = str(shutil.copy(FRONT, lib / "ebb"))
        (lib.parent / "build").write_text("this build\n")
        start = self.root / "dist/start"
        start.write_text(JAVA)
        start.chmod(0o755)
        (self.root / "home").mkdir()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(self.root / "home/ebb.sock.cli"))
        self.listener.listen(4)
        self.listener.settimeout(PATIENCE)
        self.environment = {"PATH": os.environ["PATH"], "EBB_HOME": str(self.root / "home"), "EBB_BUILD": "never", "SECRET": "x"}

    def tearDown(self):
        self.listener.close()
        self.directory.cleanup()

    def call(self, *words, **options):
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
        return subprocess.Popen([self.front, *words], env=self.environment, **options)

    def accept(self):
        return Daemon(self.listener.accept()[0])

    @contextlib.contextmanager
    def a_command(self, *words, **options):
        front = self.call(*words, **options)
        daemon = self.accept()
        daemon.begin()
        try:
            yield front, daemon
        finally:
            front.kill()
            front.communicate()
            daemon.connection.close()

    def assert_java(self, front, *words):
        out, err = front.communicate(timeout=PATIENCE)
        self.assertEqual((42, f"java {' '.join(words)}\n"), (front.returncode, out.decode()), err)
        return err.decode()

    # --- which way ---

    def test_hello_says_what_the_command_needs_and_no_more(self):
        front = self.call("ls", "-q", "", "ä", cwd="/usr")
        self.assertEqual(["this build", "/usr", "0", "0", "0", "4", "ls", "-q", "", "ä", f"EBB_HOME={self.root}/home"],
                         self.accept().begin())
        front.communicate()
        self.assertEqual(125, front.returncode, "the daemon has gone")

    def test_without_a_daemon_it_becomes_java(self):
        self.listener.close()
        self.assert_java(self.call("ls", "a b"), "ls", "a b")
        os.unlink(self.root / "home/ebb.sock.cli")
        self.assert_java(self.call("ls"), "ls")

    def test_a_command_that_is_refused_becomes_java(self):
        front = self.call("serve")
        daemon = self.accept()
        daemon.receive()
        daemon.send("N")
        err = self.assert_java(front, "serve")
        # glibc's posix_spawn, as make uses it, has its children ignore two signals.
        ours = [line for line in pathlib.Path("/proc/self/status").read_text().splitlines() if line.startswith("SigIgn:")]
        # Python itself ignores SIGPIPE and SIGXFSZ, and resets both in a child.
        ignored = int(ours[0].split()[1], 16) & ~(1 << 12 | 1 << 24)
        self.assertIn(f"SigIgn:\t{ignored:016x}", err, "java ignores no signal that the caller does not")

    def test_a_daemon_that_does_not_answer_runs_nothing(self):
        front = self.call("ls")
        daemon = self.accept()
        self.assert_java(front, "ls")
        self.assertEqual("H", daemon.receive()[0])
        self.assertTrue(daemon.is_over(), "there was no GO")

    def test_a_full_backlog_makes_nobody_wait(self):
        waiting = []
        with self.assertRaises(BlockingIOError):
            for _ in range(100):
                each = socket.socket(socket.AF_UNIX)
                waiting.append(each)
                each.setblocking(False)
                each.connect(str(self.root / "home/ebb.sock.cli"))
        self.assert_java(self.call("ls"), "ls")
        for each in waiting:
            each.close()

    def test_the_socket_of_another_user_is_not_asked(self):
        listener = os.path.join(self.directory.name, "other.cli")
        os.chmod(self.directory.name, 0o777)
        script = (f"import socket, time; s = socket.socket(socket.AF_UNIX); s.bind({listener!r}); s.listen();"
                  f"import os; os.chmod({listener!r}, 0o777); print(flush=True); c = s.accept()[0]; print(c.recv(1), flush=True)")
        other = subprocess.Popen(["/usr/bin/python3", "-c", script], stdout=subprocess.PIPE, user=59998)
        other.stdout.readline()
        self.environment["EBB_SOCKET"] = listener[:-len(".cli")]
        self.assert_java(self.call("ls"), "ls")
        self.assertEqual(b"b''\n", other.communicate()[0])

    def test_who_has_a_daemon_elsewhere_or_wants_none_has_java(self):
        for variable in "EBB_URL=http://x", "EBB_FRONT=never":
            name, value = variable.split("=")
            self.environment[name] = value
            self.assert_java(self.call("ls"), "ls")
            del self.environment[name]

    def test_without_a_stream_it_becomes_java(self):
        for fd in 0, 2:
            shell = subprocess.Popen(["sh", "-c", f"exec \"$0\" ls {fd}<&-", self.front], env=self.environment,
                                     stdout=subprocess.PIPE)
            self.assertEqual(b"java ls\n", shell.communicate()[0])

    def test_newer_sources_are_built_first(self):
        del self.environment["EBB_BUILD"]
        names = re.search(r"sources\[\] = {([^}]*)}", (pathlib.Path(__file__).parent.parent / "front/place.c").read_text()).group(1)
        names = re.findall(r'"([^"]+)"', names)
        setup = (pathlib.Path(__file__).parent.parent.parent / "dist/setup.sh").read_text()
        self.assertIn(" ".join(names[:7]), setup, "both look in the same places")
        for name in names:
            if name != "dist":
                (self.root / name).mkdir() if "." not in name else (self.root / name).touch()
        (self.root / "cli/src/main").mkdir(parents=True)
        (self.root / "cli/src/test").mkdir()
        source = self.root / "cli/src/main/Some.java"
        source.touch()
        self.built()
        self.assertTrue(self.is_handed_over())
        for unrelated in "cli/src/test/Test.java", "init/build/x", "cli/target/y":
            (self.root / unrelated).parent.mkdir(exist_ok=True)
            (self.root / unrelated).touch()
            self.assertTrue(self.is_handed_over(), unrelated)
        for change in source.touch, source.unlink, (self.root / "pom.xml").touch, (self.root / "dist/new").touch:
            self.built()
            time.sleep(0.02)
            change()
            self.assertFalse(self.is_handed_over(), change)

    def built(self):
        time.sleep(0.02)
        (self.root / "dist/target/built").touch()

    def is_handed_over(self):
        front = self.call("version")
        daemon = self.accept()
        daemon.receive()
        with contextlib.suppress(EOFError, ConnectionResetError, BrokenPipeError):
            daemon.send("Y")
            daemon.receive()
            daemon.send("X", b"\3")
        front.communicate()
        return front.returncode == 3

    # --- streams ---

    def test_output_and_the_code_are_those_of_the_command(self):
        with self.a_command("x") as (front, daemon):
            for kind, content in ("O", b"out\0"), ("E", b"err"), ("P", b"text"), ("O", b"x" * 65536):
                daemon.send(kind, content)
            daemon.send("X", b"\7")
            self.assertEqual((b"out\0text" + b"x" * 65536, b"err"), front.communicate(timeout=PATIENCE))
            self.assertEqual(7, front.returncode)

    def test_input_is_read_when_it_is_asked_for(self):
        with self.a_command("x", stdin=subprocess.PIPE) as (front, daemon):
            front.stdin.write(b"abcdef")
            front.stdin.flush()
            daemon.send("R", struct.pack("!I", 2))
            self.assertEqual(("I", b"ab"), daemon.receive())
            daemon.send("C")
            self.assertEqual(("D", b""), daemon.receive(), "nothing more was read")
            front.stdin.close()
            daemon.send("R", struct.pack("!I", 100))
            self.assertEqual(("I", b"cdef"), daemon.receive())
            daemon.send("R", struct.pack("!I", 100))
            self.assertEqual(("I", b""), daemon.receive())
            front.stdin = None

    def test_input_that_cannot_be_read_is_reported(self):
        directory = os.open("/", os.O_RDONLY)
        with self.a_command("x", stdin=directory) as (_, daemon):
            daemon.send("R", struct.pack("!I", 2))
            self.assertEqual(("U", b"Is a directory"), daemon.receive())
        os.close(directory)

    def test_a_reader_that_has_gone_is_reported_and_is_no_failure(self):
        with self.a_command("x") as (front, daemon):
            front.stdout.close()
            daemon.send("P", b"text")
            self.assertEqual(("F", b"\1Broken pipe"), daemon.receive())
            daemon.send("C")
            self.assertEqual(("D", b""), daemon.receive())
            daemon.send("X", b"\0")
            self.assertEqual(0, front.wait(PATIENCE))
            front.stdout = None

    def test_text_that_cannot_be_written_is_no_success(self):
        for kind, code in ("P", 125), ("O", 0):
            with open("/dev/full", "w") as full, self.a_command("x", stdout=full) as (front, daemon):
                daemon.send(kind, b"text")
                self.assertEqual(("F", b"\1No space left on device"), daemon.receive())
                daemon.send("X", b"\0")
                self.assertEqual(b"ebb: cannot write the output: No space left on device\n" if code else b"",
                                 front.communicate(timeout=PATIENCE)[1])
                self.assertEqual(code, front.returncode)

    def test_a_stream_that_does_not_block_is_waited_for(self):
        out, into = os.pipe()
        os.set_blocking(into, False)
        with self.a_command("x", stdout=into) as (front, daemon):
            os.close(into)
            for _ in range(2):
                daemon.send("O", b"y" * 65536)
            daemon.send("X", b"\0")
            read = 0
            while chunk := os.read(out, 65536):
                read += len(chunk)
            self.assertEqual(2 * 65536, read)
            self.assertEqual(0, front.wait(PATIENCE))
        os.close(out)

    # --- signals ---

    def test_a_signal_that_is_not_caught_ends_the_front(self):
        for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
            with self.a_command("x") as (front, daemon):
                daemon.send("C")
                daemon.receive()
                front.send_signal(number)
                self.assertEqual(128 + number, front.wait(PATIENCE))
                self.assertTrue(daemon.is_over())

    def test_a_signal_that_is_caught_is_sent(self):
        with self.a_command("x") as (front, daemon):
            daemon.send("M", struct.pack("!I", 1 << signal.SIGINT))
            daemon.send("C")
            daemon.receive()
            front.send_signal(signal.SIGINT)
            self.assertEqual(("S", bytes([signal.SIGINT])), daemon.receive())
            daemon.send("X", bytes([130]))
            self.assertEqual(130, front.wait(PATIENCE))

    def test_a_signal_is_heard_while_the_reader_sleeps(self):
        with self.a_command("x") as (front, daemon):
            for _ in range(2):
                daemon.send("O", b"y" * 65536)
            time.sleep(0.2)
            front.send_signal(signal.SIGINT)
            self.assertEqual(130, front.wait(PATIENCE))

    def test_a_signal_that_the_caller_ignores_stays_ignored(self):
        ignore = lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)
        with self.a_command("x", preexec_fn=ignore) as (front, daemon):
            front.send_signal(signal.SIGHUP)
            daemon.send("C")
            self.assertEqual(("D", b""), daemon.receive())

    # --- the daemon's end ---

    def test_a_daemon_that_dies_is_reported(self):
        with self.a_command("x") as (front, daemon):
            daemon.connection.close()
            self.assertEqual(b"ebb: the daemon ended before the command did\n", front.communicate(timeout=PATIENCE)[1])
            self.assertEqual(125, front.returncode)

    def test_a_daemon_that_talks_nonsense_is_left(self):
        for nonsense in b"O\xff\xff\xff\xff", b"O\x00\x01\x00\x01":
            with self.a_command("x") as (front, daemon):
                daemon.connection.sendall(nonsense)
                self.assertEqual(125, front.wait(PATIENCE))

    # --- terminals ---

    def test_the_terminal_is_raw_while_it_is_to_be(self):
        for way in "told", "ended", "killed by a signal", "abandoned":
            master, slave = pty.openpty()
            cooked = termios.tcgetattr(slave)
            with self.a_command("x", stdin=slave, stdout=slave) as (front, daemon):
                daemon.send("T", b"\1")
                self.assertEqual(("D", b""), daemon.receive())
                self.assertFalse(termios.tcgetattr(slave)[3] & (termios.ICANON | termios.ECHO | termios.ISIG))
                if way == "told":
                    daemon.send("T", b"\0")
                    daemon.send("C")
                    daemon.receive()
                elif way == "ended":
                    daemon.send("X", b"\0")
                    front.wait(PATIENCE)
                elif way == "abandoned":
                    daemon.connection.close()
                    front.wait(PATIENCE)
                else:
                    front.send_signal(signal.SIGTERM)
                    front.wait(PATIENCE)
                self.assertEqual(cooked, termios.tcgetattr(slave), way)
            os.close(master)
            os.close(slave)

    def test_raw_mode_is_there_again_after_a_stop(self):
        master, slave = pty.openpty()
        cooked = termios.tcgetattr(slave)
        with self.a_command("x", stdin=slave, stdout=slave) as (front, daemon):
            daemon.send("T", b"\1")
            daemon.receive()
            front.send_signal(signal.SIGSTOP)
            os.waitpid(front.pid, os.WUNTRACED)
            termios.tcsetattr(slave, termios.TCSANOW, cooked)
            front.send_signal(signal.SIGCONT)
            self.assertEqual("W", daemon.receive()[0])
            self.assertFalse(termios.tcgetattr(slave)[3] & termios.ICANON)
        os.close(master)
        os.close(slave)

    def test_a_new_size_is_sent(self):
        master, slave = pty.openpty()
        with self.a_command("x", stdin=slave, stdout=slave) as (front, daemon):
            daemon.send("C")
            daemon.receive()
            termios.tcsetwinsize(slave, (50, 132))
            front.send_signal(signal.SIGWINCH)
            self.assertEqual(("W", struct.pack("!HH", 50, 132)), daemon.receive())
        os.close(master)
        os.close(slave)

    def test_a_stopped_front_reads_nothing(self):
        master, slave = pty.openpty()
        with self.a_command("x", stdin=slave, stdout=slave) as (front, daemon):
            daemon.send("R", struct.pack("!I", 100))
            daemon.send("C")
            daemon.receive()
            front.send_signal(signal.SIGSTOP)
            os.waitpid(front.pid, os.WUNTRACED)
            os.write(master, b"secret\n")
            self.assertEqual([], select.select([daemon.connection], [], [], 0.3)[0])
            self.assertEqual(b"secret\n", os.read(slave, 100))
        os.close(master)
        os.close(slave)
