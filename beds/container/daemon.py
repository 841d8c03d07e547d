"""A daemon of Ebb's as a client sees it over its unix socket, and a storm of runs against it."""

import collections
import concurrent.futures
import http.client
import json
import socket
import threading

TREE = "for i in 1 2 3 4; do (setsid sleep 1000 &); done; trap '' TERM; sleep 1000"
BOMB = "bomb() { bomb | bomb & }; bomb; sleep 1000"
SERVED = {"exited", "timed-out", "mess exited", "mess timed-out", "mess signalled"}
REFUSED = {"503 pressure", "429 quota"}
CONCURRENCY = 40


class Connection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=120)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Daemon:
    def __init__(self, path):
        self.path = path

    def ask(self, method, target, document=None):
        """The status of the answer, and what it says."""
        connection = Connection(self.path)
        try:
            connection.request(method, target, body=document and json.dumps(document))
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def run(self, *command):
        limits = {"memoryBytes": 64 << 20, "pids": 128}
        order = {"command": command, "timeoutMillis": 700, "graceMillis": 50}
        return self.ask("POST", "/v1/run?certificate=wait", {"box": {"limits": limits}, "exec": order})

    def level(self):
        return self.ask("GET", "/v1/pressure")[1]["level"]

    def gauge(self, resource):
        return next(each for each in self.ask("GET", "/v1/pressure")[1]["gauges"] if each["resource"] == resource)

    def listen(self):
        return Listener(self.path)


class Listener(threading.Thread):
    """Hears how near the limit of processes is, until it is closed."""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.levels = []
        self.connection = Connection(path)
        self.connection.timeout = None
        self.connection.request("GET", "/v1/events")
        self.answer = self.connection.getresponse()
        self.start()

    def run(self):
        kind = ""
        try:
            for line in self.answer:
                name, _, value = line.decode().rstrip("\n").partition(": ")
                kind = value if name == "event" else kind
                if name == "data" and kind == "pressure":
                    event = json.loads(value)
                    if event["level"] == "cleanup" or event["resource"] == "pids":
                        self.levels.append(event["level"])
        except (OSError, ValueError, http.client.HTTPException):
            pass  # it was closed

    def has_heard(self, *levels):
        """In this order, whatever came between."""
        heard = iter(self.levels)
        return all(level in heard for level in levels)

    def close(self):
        self.connection.sock.shutdown(socket.SHUT_RDWR)
        self.join()
        self.connection.close()


def outcome(daemon, number):
    """How a run ended: every tenth is a bomb, of the others every third a tree that has to be killed."""
    mess = BOMB if number % 10 == 0 else TREE if number % 3 == 0 else None
    status, answer = daemon.run("bash", "-c", mess or "echo hello")
    if status != 200:
        refusal = f"{status} {answer.get('code')}"
        return refusal if refusal in REFUSED else f"{refusal}: {answer.get('detail')}"
    if not answer["certificate"]["clean"]:
        return f"left: {answer['certificate']}"
    if mess is None and answer["stdout"] != {"text": "hello\n"} and answer["status"] == "exited":
        return f"said {answer['stdout']!r}"
    return ("mess " if mess else "") + answer["status"]


def storm(daemon, numbers):
    """So many runs at once, by their outcome."""
    with concurrent.futures.ThreadPoolExecutor(CONCURRENCY) as threads:
        return collections.Counter(threads.map(lambda number: outcome(daemon, number), numbers))
