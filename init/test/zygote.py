"""Plays the engine against a real zygote: boxes whose first command is a copy of an interpreter."""

import os
import re
import tempfile

from forkserver import *

RUNTIME = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../runtime/src/main/")
RUNNER = RUNTIME + "resources/dev/ebb/pool/python.py"
(RUN_NEXT,) = re.findall(r'RUN_NEXT =\s+"(.*)";', read(RUNTIME + "java/dev/ebb/pool/Interpreter.java"))


class Zygote(Forkserver):
    def __init__(self, binary, *modules, before="", **options):
        self.words = tempfile.TemporaryFile()
        argv = [b"python3", b"-c", RUN_NEXT.encode(), (before + read(RUNNER)).encode(), b"forkserver", *(m.encode() for m in modules)]
        env = [f"{k}={v}".encode() for k, v in ENVIRONMENT.items()]
        self.words.write(b"".join(word + b"\0" for word in [*argv, b"", *env]))
        self.words.flush()
        super().__init__(binary, zygote=self.words.fileno(), **options)
        self.words.close()


class Forked:
    """The first command of a zygote's box: it waits for what to run."""

    def __init__(self, box, **options):
        reader, self.writer = os.pipe()
        self.exec = box.start("python3", stdin=reader, resumed=True, **options)
        os.close(reader)

    def wait_started(self):
        return self.exec.wait_started()

    def order(self, code, *arguments, env=None):
        words = ["", str(2 + len(arguments)), "-c", code, *arguments] + [f"{k}={v}" for k, v in (env or {}).items()]
        text = "\0".join(words).encode("utf-8", "surrogateescape")
        os.write(self.writer, len(text).to_bytes(4, "little") + text)
        os.close(self.writer)

    def run(self, code, *arguments, **options):
        self.order(code, *arguments, **options)
        self.exec.wait()
        return self.exec
