"""Calls everything that ebb.py has: every_call.py SOCKET | URL KEY [CA]."""

import io
import sys
import tarfile
import threading

import ebb


def connect():
    if len(sys.argv) == 2:
        return ebb.Client(socket=sys.argv[1])
    return ebb.Client(sys.argv[1], key=sys.argv[2], ca=sys.argv[3] if len(sys.argv) > 3 else None)


def expect(found, wanted):
    if found != wanted:
        raise AssertionError(f"{found!r} is not {wanted!r}")


def refused(kind, code, call):
    try:
        call()
    except kind as e:
        expect(e.code, code)
        return e
    raise AssertionError(f"was not refused: {code}")


def boxes_of_their_own(client):
    result = client.run(["sh", "-c", "cat; echo err >&2; exit 3"], input="héllo", timeout=30)
    expect((result.status, result.exit_code, result.text), ("exited", 3, "héllo"))
    expect((result.stderr, result.ok, result.truncated), (b"err\n", False, False))
    release = client.certificate(result.box)
    expect((release["released"], release["certificate"]["clean"]), ("done", True))
    expect(client.run("echo $A", env={"A": "b"}, box={"limits": {"pids": 50}}).text, "b\n")
    expect(client.run(["head", "-c", "3", "/dev/urandom"]).stdout.__len__(), 3)
    expect(client.run(["printf", r"\377\000"]).stdout, b"\xff\x00")
    expect(client.run(["sleep", "9"], timeout=0.1, grace=0).status, "timed-out")
    # The daemon keeps the connection alive while the command says nothing.
    slow = ebb.Client(socket=sys.argv[1], patience=2) if len(sys.argv) == 2 else client
    expect(slow.run("sleep 3; echo late").text, "late\n")
    with client.follow_run("echo one; echo two >&2") as events:
        seen = list(events)
    expect((seen[0].name, seen[-1].name, seen[-1].data["status"]), ("start", "end", "exited"))
    expect(b"".join(e.bytes for e in seen if e.name == "stdout"), b"one\n")
    expect(b"".join(e.bytes for e in seen if e.name == "stderr"), b"two\n")


def code(client):
    expect("python" in [each["name"] for each in client.languages()], True)
    ran = client.code(
        "python",
        "import sys\nprint(input(), sys.argv[1])\nopen('out.bin', 'wb').write(open('in', 'rb').read())",
        files={"in": b"\x00\xff"},
        outputs=["*.bin"],
        stdin="hi",
        args=["one"],
    )
    expect((ran.outcome, ran.text, ran.file("out.bin")), ("ok", "hi one\n", b"\x00\xff"))
    expect(client.code("python", "1/0").outcome, "failed")
    refused(ebb.Problem, "bad-request", lambda: client.code("klingon", "x"))


def boxes(client):
    with client.create(name="py", labels={"a": "b"}, ttl=600, files={"f.txt": "x"}) as box:
        expect([each["name"] for each in client.boxes(label="a=b")], ["py"])
        expect(box.info()["state"], "running")
        refused(ebb.Conflict, "conflict", lambda: client.create(name="py"))
        expect(client.box("py").run(["cat", "f.txt"]).text, "x")
        commands(box)
        files(box)
        contexts(box)
        expect(box.stop(grace=0)["state"], "gone")
        refused(ebb.Conflict, "wrong-state", lambda: box.run("true"))
    refused(ebb.NotFound, "not-found", lambda: client.box("py").info())
    one = client.create(idempotency_key="k1")
    expect(client.create(idempotency_key="k1").id, one.id)
    expect(one.remove()["clean"], True)


def commands(box):
    cat = box.start(["cat"], stdin=True)
    cat.write("some")
    cat.write(b" input", close=True)
    expect(cat.wait(20)["state"], "ended")
    expect((cat.output(), cat.output(offset=5), cat.output("stderr")), (b"some input", b"input", b""))
    sleeper = box.start("echo up; sleep 100")
    with sleeper.follow() as events:
        first = next(iter(events))
    expect((first.name, first.bytes), ("stdout", b"up\n"))
    expect(sleeper.kill(grace=0)["status"], "killed")
    rest = list(sleeper.follow(last_event=first.id))
    expect([each.name for each in rest], ["end"])
    box.start("sleep 100")
    expect(len(box.kill_all(grace=0)), 1)
    expect(len(box.execs()) >= 3, True)


def files(box):
    box.files.write("/workspace/d/a.bin", b"\x00\xff", mode="600")
    expect(box.files.read("/workspace/d/a.bin"), b"\x00\xff")
    expect(box.files.stat("/workspace/d/a.bin")["mode"], "600")
    large = bytes(range(256)) * 20_000
    box.files.write("/workspace/large", io.BytesIO(large))
    expect(box.files.read("/workspace/large") == large, True)
    box.files.mkdir("/workspace/e")
    box.files.move("/workspace/d/a.bin", "/workspace/e/ü &?#.bin")
    expect([each["name"] for each in box.files.list("/workspace/e")], ["ü &?#.bin"])
    tar = io.BytesIO()
    box.files.pack("/workspace/e", tar)
    tar.seek(0)
    expect(any("ü" in name for name in tarfile.open(fileobj=tar).getnames()), True)
    box.files.mkdir("/workspace/f")
    box.files.unpack("/workspace/f", tar.getvalue())
    box.files.remove("/workspace/f", recursive=True)
    refused(ebb.NotFound, "not-found", lambda: box.files.read("/workspace/f"))


def contexts(box):
    context = box.context("python", name="c")
    expect(context.run("x = 20").ok, True)
    cell = context.run("print('hi')\nx + 1")
    expect((cell.text, cell.value), ("hi\n", "21"))
    thrown = context.run("1/0")
    expect((thrown.outcome, thrown.error["name"]), ("error", "ZeroDivisionError"))
    names = [event.name for event in context.follow("print(1)")]
    expect((names[0], names[-1], "stdout" in names), ("start", "end", True))
    expect(context.interrupt()["interrupted"], False)
    context.restart()
    expect(context.run("x").error["name"], "NameError")
    expect(len(box.contexts()), 1)
    context.remove()
    expect(box.contexts(), [])


def events(client):
    with client.events(after=0) as stream:
        box = client.create()
        threading.Thread(target=box.remove, name="remover").start()
        for event in stream:
            if event.name == "box" and event.data["box"] == box.id and event.data["state"] == "gone":
                return


def errors(client):
    try:
        ebb.Client(socket="/nowhere/ebb.sock").version()
        raise AssertionError("there is no such daemon")
    except ebb.NoDaemon as e:
        expect("/nowhere/ebb.sock" in str(e), True)
    problem = refused(ebb.NotFound, "not-found", lambda: client.box("nobody").info())
    expect((problem.status, problem.retryable, "nobody" in problem.detail), (404, False, True))
    if len(sys.argv) > 2:
        ca = sys.argv[3] if len(sys.argv) > 3 else None
        stranger = ebb.Client(sys.argv[1], key="wrong", ca=ca)
        refused(ebb.Unauthorized, "unauthorized", stranger.version)
        if ca:
            try:
                ebb.Client(sys.argv[1], key=sys.argv[2]).version()
                raise AssertionError("an unknown authority is trusted")
            except ebb.NoDaemon as e:
                expect("CERTIFICATE_VERIFY_FAILED" in str(e), True)


client = connect()
expect(bool(client.version()), True)
for part in [boxes_of_their_own, code, boxes, events, errors]:
    part(client)
    print(part.__name__, "done", flush=True)
