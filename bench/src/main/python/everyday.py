"""A client of Ebb's daemon that is not Ebb's: plain HTTP on the unix socket, by Python's standard library.

    everyday.py SOCKET        for each line on stdin it does one thing and answers with one line

    GET PATH                  one request
    POST PATH BODY            one request; BODY is JSON in one line
    ALONE PATH BODY           a POST that gets a box of its own, and then that box's certificate
    LOOP SECONDS PATH BODY    the same POST again and again; then the certificate of the last box
    BARE                      1+1, by a bare python3 that is asked over a pipe

The answer is four fields: the nanoseconds until the answer was read, those until the certificate was there (for
LOOP: how many were answered), the status, and the answer itself. The clock is read before the request is
written and after its answer is parsed.
"""
import json
import socket
import subprocess
import sys
import time

PATIENCE = 60
RETRY = 0.0005
IDLE = 30  # the daemon closes connections that are idle for longer than a minute


class Daemon:
    """One connection that is kept."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(path)
        self.buffer = b""

    def ask(self, method, path, body=""):
        data = body.encode()
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n"
        if data:
            head += f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n"
        self.socket.sendall(head.encode() + b"\r\n" + data)
        status, fields = self.head()
        text = self.body(fields)
        return status, json.loads(text) if text.strip() else {}

    def more(self):
        data = self.socket.recv(65536)
        if not data:
            raise EOFError("the daemon closed the connection")
        self.buffer += data

    def line(self):
        while b"\r\n" not in self.buffer:
            self.more()
        line, self.buffer = self.buffer.split(b"\r\n", 1)
        return line.decode("latin-1")

    def take(self, count):
        while len(self.buffer) < count:
            self.more()
        data, self.buffer = self.buffer[:count], self.buffer[count:]
        return data

    def head(self):
        status = int(self.line().split(" ")[1])
        fields = {}
        while line := self.line():
            name, value = line.split(":", 1)
            fields[name.lower()] = value.strip()
        return status, fields

    def body(self, fields):
        if "chunked" not in fields.get("transfer-encoding", ""):
            return self.take(int(fields.get("content-length", 0)))
        parts = []
        while size := int(self.line().split(";")[0], 16):
            parts.append(self.take(size))
            self.line()
        self.line()
        return b"".join(parts)


def certify(daemon, answer):
    """Waits for the certificate of the box of an answer, unless the answer holds it."""
    if "certificate" in answer:
        return answer["certificate"]
    give_up = time.monotonic() + PATIENCE
    while time.monotonic() < give_up:
        status, found = daemon.ask("GET", f"/v1/certificates/{answer['box']}")
        if status == 200 and found.get("released") != "pending":
            return found.get("certificate", found)
        time.sleep(RETRY)
    raise TimeoutError("no certificate of " + answer["box"])


def require(status, answer, path):
    """A run that failed must not count as a fast one."""
    ended = answer.get("exitCode", 0) == 0 and answer.get("outcome", "ok") == "ok"
    if status >= 300 or not (ended or path.endswith("/kill?graceMillis=0")):
        raise ValueError(f"{path}: {status} {json.dumps(answer)}")


def alone(daemon, path, body):
    status, answer = daemon.ask("POST", path, body)
    answered = time.perf_counter_ns()
    require(status, answer, path)
    if not certify(daemon, answer)["clean"]:
        raise ValueError("not clean: " + json.dumps(answer))
    return answered, status, answer


def loop(daemon, seconds, path, body):
    count = 0
    answer = None
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end:
        status, answer = daemon.ask("POST", path, body)
        require(status, answer, path)
        count += 1
    if answer:
        certify(daemon, answer)
    return count


class Bare:
    def __init__(self):
        code = "while True: print(eval(input()), flush=True)"
        self.process = subprocess.Popen(
            ["/usr/bin/python3", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )

    def ask(self):
        self.process.stdin.write(b"1+1\n")
        if self.process.stdout.readline() != b"2\n":
            raise EOFError("the bare interpreter is gone")


def main():
    daemon = Daemon(sys.argv[1])
    used = time.monotonic()
    bare = None
    for line in sys.stdin:
        if time.monotonic() - used > IDLE:
            daemon = Daemon(sys.argv[1])
        verb, *words = line.rstrip("\n").split(" ", 3 if line.startswith("LOOP") else 2)
        if verb == "BARE" and bare is None:
            bare = Bare()
            bare.ask()
        status, answer = 200, {}
        begun = time.perf_counter_ns()
        if verb == "ALONE":
            answered, status, answer = alone(daemon, *words)
            second = time.perf_counter_ns() - begun
        elif verb == "LOOP":
            second = loop(daemon, *words)
            answered = time.perf_counter_ns()
        else:
            if verb == "BARE":
                bare.ask()
            else:
                status, answer = daemon.ask(verb, *words)
            answered = time.perf_counter_ns()
            second = answered - begun
            require(status, answer, " ".join([verb, *words[:1]]))
        used = time.monotonic()
        print(answered - begun, second, status, json.dumps(answer), flush=True)
    if bare:
        bare.process.kill()
        bare.process.wait()


main()
