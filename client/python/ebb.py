"""Client of an Ebb daemon: this file, the standard library, and Python 3.9 or newer.

    import ebb

    client = ebb.Client()                      # EBB_URL, EBB_KEY, EBB_CA; or the socket of this host
    print(client.run(["echo", "hello"]).text)  # a box of its own, gone when this returns

    with client.create(name="web") as box:     # removed at the end of the block
        box.files.write("/workspace/a.txt", b"hello")
        print(box.run(["cat", "a.txt"]).text)

Times are seconds, sizes are bytes. The other arguments have the names and the form of docs/api.md.
Each call has a connection of its own, so a client may be used by several threads.
"""

import base64
import http.client
import io
import json
import os
import socket as sockets
import ssl
import urllib.parse
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Dict, Iterator, List, Mapping, Optional, Sequence, Union

__all__ = [
    "Box", "BrokenAnswer", "Cell", "Client", "CodeResult", "Conflict", "Context", "EbbError",
    "Event", "Exec", "Files", "Forbidden", "NoDaemon", "NotFound", "Problem", "Quota", "Result",
    "Silent", "Stream", "TooFewResources", "Unauthorized",
]  # fmt: skip

Document = Dict[str, Any]
Bytes = Union[bytes, str]

#: How long the daemon may be silent, in seconds. It sends something each second while a command runs.
PATIENCE = 60.0

_CHUNK = 64 * 1024


# --- errors ---


class EbbError(Exception):
    """Anything that went wrong."""


class NoDaemon(EbbError):
    """No daemon can be reached."""


class Silent(EbbError):
    """The daemon sent nothing for too long."""


class BrokenAnswer(EbbError):
    """The connection broke, or the answer is not what the API promises."""


class Problem(EbbError):
    """The daemon refused a request: ``code`` is one of those in docs/api.md."""

    def __init__(self, document: Document):
        self.document = document
        self.status = int(document.get("status", 0))
        self.code = str(document.get("code", "unknown"))
        self.detail = str(document.get("detail", ""))
        self.hint = document.get("hint")
        self.retryable = bool(document.get("retryable", False))
        millis = document.get("retryAfterMillis")
        #: When it may be tried again, in seconds; None if the daemon does not say.
        self.retry_after = None if millis is None else millis / 1000
        hint = f" ({self.hint})" if self.hint else ""
        super().__init__(f"{self.code}: {self.detail}{hint}")


class Unauthorized(Problem):
    """There is no key, or it is not known."""


class Forbidden(Problem):
    """The key, or the server, does not allow it."""


class NotFound(Problem):
    """There is no such box, command, context or file."""


class Conflict(Problem):
    """The name is taken, or the box or command is in another state."""


class Quota(Problem):
    """The tenant has all that it may have."""


class TooFewResources(Problem):
    """Too little is left on the host; try again after ``retry_after``."""


_PROBLEMS = {
    "unauthorized": Unauthorized,
    "forbidden": Forbidden,
    "not-found": NotFound,
    "conflict": Conflict,
    "wrong-state": Conflict,
    "quota": Quota,
    "pressure": TooFewResources,
}


def _problem(document: Document) -> Problem:
    return _PROBLEMS.get(str(document.get("code")), Problem)(document)


# --- values ---


def _bytes(value: Bytes) -> bytes:
    return value.encode("utf-8") if isinstance(value, str) else bytes(value)


def _output(value: Bytes) -> Document:
    """Returns bytes in the form of the API."""
    data = _bytes(value)
    try:
        return {"text": data.decode("utf-8")}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode("ascii")}


def _data(output: Optional[Mapping[str, Any]]) -> bytes:
    """Returns the bytes of an output of the API."""
    if output is None:
        return b""
    if "text" in output:
        return output["text"].encode("utf-8")
    return base64.b64decode(output["base64"])


def _millis(seconds: Optional[float]) -> Optional[int]:
    return None if seconds is None else round(seconds * 1000)


def _some(**members: Any) -> Document:
    """Returns the members that have a value."""
    return {name: value for name, value in members.items() if value is not None}


def _files(files: Optional[Mapping[str, Bytes]]) -> Optional[List[Document]]:
    if files is None:
        return None
    return [{"path": path, "content": _output(content)} for path, content in files.items()]


def _box(
    name: Optional[str] = None,
    labels: Optional[Mapping[str, str]] = None,
    ttl: Optional[float] = None,
    idle_timeout: Optional[float] = None,
    detached: Optional[bool] = None,
    limits: Optional[Mapping[str, Any]] = None,
    network: Union[None, str, Sequence[str]] = None,
    mounts: Optional[Sequence[Mapping[str, Any]]] = None,
    packages: Optional[Sequence[str]] = None,
    backend: Optional[str] = None,
    files: Optional[Mapping[str, Bytes]] = None,
) -> Document:
    """Returns the order of a box: the arguments are those of Client.create."""
    return _some(
        name=name,
        labels=labels,
        ttlMillis=_millis(ttl),
        idleTimeoutMillis=_millis(idle_timeout),
        detached=detached,
        limits=limits,
        network={"allow": list(network)} if isinstance(network, (list, tuple)) else network,
        mounts=mounts,
        packages=packages,
        backend=backend,
        files=_files(files),
    )


def _command(
    command: Union[str, Sequence[str]],
    env: Optional[Mapping[str, str]] = None,
    workdir: Optional[str] = None,
    timeout: Optional[float] = None,
    grace: Optional[float] = None,
    input: Optional[Bytes] = None,
    stdin: Optional[bool] = None,
    keep: Optional[bool] = None,
    output_limit: Optional[int] = None,
) -> Document:
    """Returns the order of a command; a string is a line for bash."""
    words = ["bash", "-c", command] if isinstance(command, str) else list(command)
    return _some(
        command=words,
        environment=env,
        workdir=workdir,
        timeoutMillis=_millis(timeout),
        graceMillis=_millis(grace),
        input=None if input is None else _output(input),
        stdin=stdin,
        keep=keep,
        outputLimitBytes=output_limit,
    )


def _cell_order(
    code: str,
    timeout: Optional[float] = None,
    grace: Optional[float] = None,
    env: Optional[Mapping[str, str]] = None,
) -> Document:
    return _some(
        code=code, timeoutMillis=_millis(timeout), graceMillis=_millis(grace), environment=env
    )


@dataclass(frozen=True)
class Result:
    """A command that has ended. ``document`` is the whole answer."""

    status: str
    exit_code: Optional[int]
    stdout: bytes
    stderr: bytes
    truncated: bool
    document: Document = field(repr=False)

    @property
    def text(self) -> str:
        """Stdout as text; what is not UTF-8 is replaced."""
        return self.stdout.decode("utf-8", "replace")

    @property
    def ok(self) -> bool:
        return self.status == "exited" and self.exit_code == 0

    @property
    def box(self) -> Optional[str]:
        """The id of its box, for Client.certificate."""
        return self.document.get("box")


@dataclass(frozen=True)
class CodeResult(Result):
    """Code that has run: ``outcome`` is ok, failed, compile-error, timed-out, …"""

    outcome: str = ""
    files: List[Document] = field(default_factory=list)

    def file(self, path: str) -> bytes:
        """Returns the content of a file that was asked for by ``outputs``."""
        for entry in self.files:
            if entry["path"] == path and "content" in entry:
                return _data(entry["content"])
        raise EbbError(f"the answer has no content of {path}")


@dataclass(frozen=True)
class Cell:
    """Code that has run in a context. ``result`` and ``displays`` are by media type."""

    outcome: str
    stdout: bytes
    stderr: bytes
    result: Optional[Dict[str, bytes]]
    displays: List[Dict[str, bytes]]
    error: Optional[Document]
    document: Document = field(repr=False)

    @property
    def text(self) -> str:
        return self.stdout.decode("utf-8", "replace")

    @property
    def ok(self) -> bool:
        return self.outcome == "ok"

    @property
    def value(self) -> Optional[str]:
        """The value of the last expression, as plain text."""
        return self.result["text/plain"].decode("utf-8") if self.result else None


@dataclass(frozen=True)
class Event:
    """An event of a stream."""

    name: str
    id: str
    data: Document

    @property
    def bytes(self) -> bytes:
        """The output that an event stdout or stderr carries."""
        return _data(self.data)


def _result(document: Document) -> Result:
    return Result(**_of_result(document))


def _of_result(document: Document) -> Document:
    return {
        "status": document.get("status", "unknown"),
        "exit_code": document.get("exitCode"),
        "stdout": _data(document.get("stdout")),
        "stderr": _data(document.get("stderr")),
        "truncated": bool(document.get("truncated", False)),
        "document": document,
    }


def _forms(forms: Mapping[str, Any]) -> Dict[str, bytes]:
    return {kind: _data(output) for kind, output in forms.items()}


def _cell(document: Document) -> Cell:
    return Cell(
        outcome=document["outcome"],
        stdout=_data(document.get("stdout")),
        stderr=_data(document.get("stderr")),
        result=_forms(document["result"]) if "result" in document else None,
        displays=[_forms(each) for each in document.get("displays", [])],
        error=document.get("error"),
        document=document,
    )


# --- the wire ---


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: Optional[float]):
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM)
        try:
            self.sock.settimeout(self.timeout)
            self.sock.connect(self._path)
        except BaseException:
            self.sock.close()
            raise


class _Answer:
    """An open answer, which closes its connection."""

    def __init__(self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse):
        self.status = response.status
        self._connection = connection
        self._response = response

    def read(self, size: Optional[int] = None) -> bytes:
        return _guarded(lambda: self._response.read(size))

    def line(self) -> bytes:
        return _guarded(self._response.readline)

    def is_complete(self) -> bool:
        return self._response.isclosed()

    def close(self) -> None:
        self._response.close()
        self._connection.close()

    def __enter__(self) -> "_Answer":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def _guarded(call: Any) -> Any:
    try:
        return call()
    except sockets.timeout as e:
        raise Silent("the daemon sent nothing in time") from e
    except (OSError, http.client.HTTPException) as e:
        raise BrokenAnswer(f"the connection broke: {e!r}") from e


class Stream:
    """Events as they come. Closing it, or leaving its block, ends the connection.

    What runs for a stream ends with it: a command of ``follow_run`` is killed when the stream is
    closed before its end.
    """

    def __init__(self, answer: _Answer, is_endless: bool = False):
        self._answer = answer
        self._is_endless = is_endless

    def __iter__(self) -> Iterator[Event]:
        name, ident, data, has_ended = "message", "", [], False
        with self._answer:
            while True:
                line = self._answer.line()
                if not line:
                    break
                text = line.decode("utf-8").rstrip("\r\n")
                if not text:
                    if data:
                        document = json.loads("\n".join(data))
                        if "problem" in document and name == "end":
                            raise _problem(document["problem"])
                        has_ended = name == "end"
                        yield Event(name, ident, document)
                    name, data = "message", []
                elif not text.startswith(":"):
                    key, _, value = text.partition(":")
                    value = value[1:] if value.startswith(" ") else value
                    if key == "event":
                        name = value
                    elif key == "id":
                        ident = value
                    elif key == "data":
                        data.append(value)
        if not (has_ended or self._is_endless):
            raise BrokenAnswer("the stream broke before its end")

    def close(self) -> None:
        self._answer.close()

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def default_socket() -> str:
    """Returns where the daemon of this user listens."""
    home = os.environ.get("EBB_HOME")
    if not home and os.geteuid() == 0:
        home = "/var/lib/ebb"
    if not home:
        state = os.environ.get("XDG_STATE_HOME", "")
        if not os.path.isabs(state):
            state = os.path.join(os.path.expanduser("~"), ".local", "state")
        home = os.path.join(state, "ebb")
    return os.path.join(home, "ebb.sock")


class Client:
    """A client of one daemon.

    url      http://host:port or https://host:port; without it EBB_URL, or the unix socket
    key      of the daemon, over TCP; without it EBB_KEY
    ca       a PEM file of the authority that signed the daemon's certificate, or of that
             certificate; without it EBB_CA, or the authorities of the system
    socket   the path of a unix socket, in place of a URL
    patience how long the daemon may be silent, in seconds
    """

    def __init__(
        self,
        url: Optional[str] = None,
        key: Optional[str] = None,
        ca: Optional[str] = None,
        socket: Optional[str] = None,
        patience: float = PATIENCE,
    ):
        if url and socket:
            raise ValueError("give a url or a socket, not both")
        if not url and not socket:
            url = os.environ.get("EBB_URL")
        self._socket = socket or default_socket()
        self._key = key or os.environ.get("EBB_KEY")
        self._patience = patience
        self._url = urllib.parse.urlsplit(url) if url else None
        self._tls: Optional[ssl.SSLContext] = None
        if self._url is None:
            return
        if self._url.scheme not in ("http", "https") or not self._url.hostname:
            raise ValueError(f"not http://host:port or https://host:port: {url}")
        if self._url.scheme == "https":
            self._tls = ssl.create_default_context(cafile=ca or os.environ.get("EBB_CA"))
            self._tls.minimum_version = ssl.TLSVersion.TLSv1_2

    # --- requests ---

    def _connection(self) -> http.client.HTTPConnection:
        if self._url is None:
            return _UnixConnection(self._socket, self._patience)
        host, port = str(self._url.hostname), self._url.port
        if self._tls is not None:
            return http.client.HTTPSConnection(
                host, port, timeout=self._patience, context=self._tls
            )
        return http.client.HTTPConnection(host, port, timeout=self._patience)

    def _place(self) -> str:
        return self._socket if self._url is None else self._url.geturl()

    def _connect(self) -> http.client.HTTPConnection:
        connection = self._connection()
        try:
            connection.connect()
        except OSError as e:
            connection.close()
            raise NoDaemon(f"no daemon answers at {self._place()}: {e}") from e
        return connection

    def _open(
        self,
        method: str,
        path: str,
        query: Optional[Mapping[str, Any]] = None,
        body: Any = None,
        accept: str = "application/json",
        headers: Optional[Mapping[str, str]] = None,
    ) -> _Answer:
        words = [(name, _word(value)) for name, value in (query or {}).items() if value is not None]
        target = path + ("?" + urllib.parse.urlencode(words) if words else "")
        all_headers = {"Accept": accept, "Connection": "close", **(headers or {})}
        if self._key and self._url is not None:
            all_headers["Authorization"] = "Bearer " + self._key
        if isinstance(body, dict):
            body = json.dumps(body).encode("utf-8")
            all_headers["Content-Type"] = "application/json"
        connection = self._connect()
        try:
            answer = _guarded(lambda: _exchange(connection, method, target, body, all_headers))
        except BaseException:
            connection.close()
            raise
        if answer.status >= 400:
            with answer:
                raise _refusal(answer)
        return answer

    def _ask(self, method: str, path: str, **more: Any) -> Document:
        with self._open(method, path, **more) as answer:
            text = answer.read()
        if not text.strip():
            return {}
        try:
            document = json.loads(text)
        except ValueError as e:
            raise BrokenAnswer("the answer is not JSON") from e
        if isinstance(document, dict) and set(document) == {"problem"}:
            raise _problem(document["problem"])
        return document

    def _stream(self, method: str, path: str, is_endless: bool = False, **more: Any) -> Stream:
        answer = self._open(method, path, accept="text/event-stream", **more)
        return Stream(answer, is_endless)

    # --- boxes of their own ---

    def run(
        self,
        command: Union[str, Sequence[str]],
        box: Optional[Mapping[str, Any]] = None,
        **options: Any,
    ) -> Result:
        """Runs a command in a box of its own; returns when all its processes are gone.

        command  words, or a line for bash
        box      the arguments of create, as a dict
        options  env, workdir, timeout, grace, input, output_limit
        """
        return _result(self._ask("POST", "/v1/run", body=_run(command, box, options)))

    def certificate(self, box: str, timeout: float = 60) -> Document:
        """Waits until a box is released: released is done or stuck, or pending after the timeout.

        The member certificate proves what the box held and what is gone.
        """
        query = {"timeoutMillis": _millis(timeout)}
        return self._ask("GET", "/v1/certificates/" + _quoted(box), query=query)

    def follow_run(
        self,
        command: Union[str, Sequence[str]],
        box: Optional[Mapping[str, Any]] = None,
        **options: Any,
    ) -> Stream:
        """Runs a command as run does; returns its events: start, stdout, stderr, end."""
        return self._stream("POST", "/v1/run", body=_run(command, box, options))

    def code(
        self,
        language: str,
        code: str,
        files: Optional[Mapping[str, Bytes]] = None,
        outputs: Optional[Sequence[str]] = None,
        stdin: Optional[Bytes] = None,
        args: Optional[Sequence[str]] = None,
        env: Optional[Mapping[str, str]] = None,
        timeout: Optional[float] = None,
        box: Optional[Mapping[str, Any]] = None,
    ) -> CodeResult:
        """Runs code in a box of its own. ``outputs`` are globs of files whose content is wanted."""
        document = self._ask(
            "POST",
            "/v1/code",
            body=_some(
                language=language,
                code=code,
                files=_files(files),
                outputs=outputs,
                stdin=None if stdin is None else _output(stdin),
                args=args,
                environment=env,
                timeoutMillis=_millis(timeout),
                box=None if box is None else _box(**box),
            ),
        )
        return CodeResult(
            **_of_result(document), outcome=document["outcome"], files=document.get("files", [])
        )

    def languages(self) -> List[Document]:
        return self._ask("GET", "/v1/languages")["languages"]

    # --- boxes ---

    def create(self, idempotency_key: Optional[str] = None, **box: Any) -> "Box":
        """Makes a box, which stays until it is removed.

        box  name, labels, ttl, idle_timeout, detached, limits ({"memoryBytes", "pids", "cpus",
             "diskBytes"}), network ("none", "host", or a list of names), mounts, packages,
             backend, files
        """
        headers = _some(**{"Idempotency-Key": idempotency_key})
        document = self._ask("POST", "/v1/boxes", body=_box(**box), headers=headers)
        return Box(self, document["id"])

    def box(self, name: str) -> "Box":
        """Returns a box by its id or name, without asking for it."""
        return Box(self, name)

    def boxes(
        self, state: Optional[str] = None, label: Optional[str] = None, name: Optional[str] = None
    ) -> Iterator[Document]:
        """Lists the boxes, oldest first."""
        after = None
        while True:
            query = {"state": state, "label": label, "name": name, "after": after}
            page = self._ask("GET", "/v1/boxes", query=query)
            yield from page["boxes"]
            after = page.get("next")
            if after is None:
                return

    def events(self, after: Optional[int] = None) -> Stream:
        """Follows what happens to the boxes; ``after`` 0 begins with the oldest event."""
        return self._stream("GET", "/v1/events", is_endless=True, query={"after": after})

    def version(self) -> str:
        return self._ask("GET", "/v1/version")["version"]


def _exchange(
    connection: http.client.HTTPConnection,
    method: str,
    target: str,
    body: Any,
    headers: Mapping[str, str],
) -> _Answer:
    try:
        connection.request(method, target, body=body, headers=dict(headers))
    except (BrokenPipeError, ConnectionResetError):
        # The daemon may have refused the request without reading all of it: see its answer.
        pass
    return _Answer(connection, connection.getresponse())


def _refusal(answer: _Answer) -> EbbError:
    text = answer.read()
    try:
        document = json.loads(text)
    except ValueError:
        document = None
    if not isinstance(document, dict) or "code" not in document:
        return BrokenAnswer(f"status {answer.status} without a problem document")
    return _problem(document)


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _run(
    command: Union[str, Sequence[str]],
    box: Optional[Mapping[str, Any]],
    options: Mapping[str, Any],
) -> Document:
    return _some(box=None if box is None else _box(**box), exec=_command(command, **options))


def _quoted(part: Union[str, int]) -> str:
    return urllib.parse.quote(str(part), safe="")


class Box:
    """A box of the daemon. As a context manager it is removed at the end of the block."""

    def __init__(self, client: Client, name: str):
        self.id = name
        self._client = client
        self._path = "/v1/boxes/" + _quoted(name)
        self.files = Files(client, self._path + "/files")

    def __repr__(self) -> str:
        return f"Box({self.id!r})"

    def __enter__(self) -> "Box":
        return self

    def __exit__(self, *_: Any) -> None:
        self.remove()

    def info(self) -> Document:
        """Describes the box, with all that it holds."""
        return self._client._ask("GET", self._path)

    def pause(self) -> Document:
        return self._client._ask("POST", self._path + "/pause")

    def resume(self) -> Document:
        return self._client._ask("POST", self._path + "/resume")

    def allow(self, names: Optional[Sequence[str]]) -> Document:
        """Allows these names of the network from now on; None or an empty list: no network."""
        network: Any = {"allow": list(names)} if names else "none"
        return self._client._ask("PUT", self._path + "/network", body={"network": network})

    def stop(self, grace: Optional[float] = None) -> Document:
        """Ends its commands, then the box; its output stays until it is removed."""
        query = {"graceMillis": _millis(grace)}
        return self._client._ask("POST", self._path + "/stop", query=query)

    def remove(self) -> Document:
        """Ends and forgets the box; returns the certificate of what is gone."""
        return self._client._ask("DELETE", self._path, query={"force": True}).get("certificate", {})

    # --- commands ---

    def run(self, command: Union[str, Sequence[str]], **options: Any) -> Result:
        """Runs a command to its end; the options are those of Client.run, and keep."""
        body = _command(command, **options)
        query = {"wait": True}
        return _result(self._client._ask("POST", self._path + "/execs", query=query, body=body))

    def start(self, command: Union[str, Sequence[str]], **options: Any) -> "Exec":
        """Starts a command in the background; with stdin=True it reads what is written to it."""
        body = _command(command, **options)
        document = self._client._ask("POST", self._path + "/execs", body=body)
        return self.exec(document["number"])

    def exec(self, number: int) -> "Exec":
        """Returns a command by its number, without asking for it."""
        return Exec(self._client, self._path, number)

    def execs(self) -> List[Document]:
        return self._client._ask("GET", self._path + "/execs")["execs"]

    def kill_all(self, grace: Optional[float] = None) -> List[Document]:
        query = {"graceMillis": _millis(grace)}
        return self._client._ask("POST", self._path + "/kill-all", query=query)["execs"]

    # --- contexts ---

    def context(
        self,
        language: str,
        name: Optional[str] = None,
        env: Optional[Mapping[str, str]] = None,
        workdir: Optional[str] = None,
    ) -> "Context":
        """Starts an interpreter that keeps its state: python, javascript or bash."""
        body = _some(language=language, name=name, environment=env, workdir=workdir)
        document = self._client._ask("POST", self._path + "/contexts", body=body)
        return Context(self._client, self._path, document["id"])

    def contexts(self) -> List[Document]:
        return self._client._ask("GET", self._path + "/contexts")["contexts"]


class Exec:
    """A command in a box."""

    def __init__(self, client: Client, box: str, number: int):
        self.number = number
        self._client = client
        self._path = f"{box}/execs/{number}"

    def info(self) -> Document:
        return self._client._ask("GET", self._path)

    def wait(self, timeout: Optional[float] = None) -> Document:
        """Waits for its end; returns its description, which may still be running."""
        query = {"timeoutMillis": _millis(timeout)}
        return self._client._ask("GET", self._path + "/wait", query=query)

    def kill(self, grace: Optional[float] = None, signal: Optional[str] = None) -> Document:
        """Ends it with all that it started: SIGTERM, the grace, SIGKILL; or sends a signal."""
        query = {"graceMillis": _millis(grace), "signal": signal}
        return self._client._ask("POST", self._path + "/kill", query=query)

    def write(self, data: Bytes, close: bool = False) -> None:
        """Writes to its stdin; returns when it took all."""
        query = {"close": close}
        self._client._ask("POST", self._path + "/stdin", query=query, body=_bytes(data))

    def output(self, stream: str = "stdout", offset: int = 0) -> bytes:
        """Returns what it has written by now."""
        query = {"stream": stream, "offset": offset}
        accept = "application/octet-stream"
        with self._client._open("GET", self._path + "/output", query=query, accept=accept) as answer:
            return answer.read()

    def follow(self, last_event: Optional[str] = None) -> Stream:
        """Follows its output: events stdout, stderr and end. ``last_event`` is where to resume."""
        headers = _some(**{"Last-Event-ID": last_event})
        return self._client._stream("GET", self._path + "/output", headers=headers)


class Files:
    """The files of a box, from its root or /workspace."""

    def __init__(self, client: Client, path: str):
        self._client = client
        self._path = path

    def read(self, path: str) -> bytes:
        out = io.BytesIO()
        self.download(path, out)
        return out.getvalue()

    def download(self, path: str, out: BinaryIO) -> None:
        """Copies a file of any size."""
        self._copy("", path, out)

    def write(self, path: str, content: Union[Bytes, BinaryIO], mode: str = "644") -> None:
        """Writes a file, whole or not at all, with its parent directories."""
        body = _bytes(content) if isinstance(content, (bytes, str)) else content
        self._client._ask("PUT", self._path, query={"path": path, "mode": mode}, body=body)

    def stat(self, path: str) -> Document:
        return self._client._ask("GET", self._path + "/stat", query={"path": path})

    def list(self, path: str = "/workspace") -> List[Document]:
        return self._client._ask("GET", self._path + "/list", query={"path": path})["entries"]

    def mkdir(self, path: str) -> None:
        self._client._ask("POST", self._path + "/mkdir", query={"path": path})

    def move(self, source: str, target: str) -> None:
        self._client._ask("POST", self._path + "/move", query={"from": source, "to": target})

    def remove(self, path: str, recursive: bool = False) -> None:
        query = {"path": path, "recursive": recursive}
        self._client._ask("DELETE", self._path, query=query)

    def pack(self, path: str, out: BinaryIO) -> None:
        """Copies a directory or a file as a tar."""
        self._copy("/tar", path, out)

    def unpack(self, path: str, tar: Union[bytes, BinaryIO]) -> None:
        """Unpacks a tar into a directory."""
        self._client._ask("PUT", self._path + "/tar", query={"path": path}, body=tar)

    def _copy(self, what: str, path: str, out: BinaryIO) -> None:
        query = {"path": path}
        with self._client._open("GET", self._path + what, query=query, accept="*/*") as answer:
            for chunk in iter(lambda: answer.read(_CHUNK), b""):
                out.write(chunk)


class Context:
    """An interpreter in a box that keeps its state from one cell to the next."""

    def __init__(self, client: Client, box: str, name: str):
        self.id = name
        self._client = client
        self._path = f"{box}/contexts/{_quoted(name)}"

    def info(self) -> Document:
        return self._client._ask("GET", self._path)

    def run(self, code: str, **options: Any) -> Cell:
        """Runs code; returns what it wrote and showed. The options are timeout, grace and env."""
        body = _cell_order(code, **options)
        return _cell(self._client._ask("POST", self._path + "/cells", body=body))

    def follow(self, code: str, **options: Any) -> Stream:
        """Runs code; returns its events: start, stdout, stderr, display, result, end."""
        body = _cell_order(code, **options)
        return self._client._stream("POST", self._path + "/cells", body=body)

    def interrupt(self) -> Document:
        """Interrupts the code that runs; the state stays."""
        return self._client._ask("POST", self._path + "/interrupt")

    def restart(self) -> Document:
        """Starts another interpreter; the state is gone."""
        return self._client._ask("POST", self._path + "/restart")

    def remove(self) -> Document:
        return self._client._ask("DELETE", self._path)
