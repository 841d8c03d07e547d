"""An index for pip and a registry for npm on the loopback of the host, with one package; prints its port and ends with its stdin.

Arguments: NAME, by which it is known
"""

import base64
import hashlib
import http.server
import io
import json
import sys
import tarfile
import threading
import zipfile

WHEEL = "tide-1.0-py3-none-any.whl"


def wheel():
    files = {"tide.py": "word = 'low'\n",
             "tide-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: tide\nVersion: 1.0\n",
             "tide-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    record = "".join(f"{name},,\n" for name in [*files, "tide-1.0.dist-info/RECORD"])
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, text in {**files, "tide-1.0.dist-info/RECORD": record}.items():
            archive.writestr(name, text)
    return data.getvalue()


def tarball():
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        for name, text in {"package.json": json.dumps({"name": "tide", "version": "1.0.0", "main": "index.js"}),
                           "index.js": "exports.word = 'high'\n"}.items():
            entry = tarfile.TarInfo("package/" + name)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return data.getvalue()


PACKED = tarball()  # once: it tells the time it was made at


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        place = f"http://{sys.argv[1]}:{self.server.server_address[1]}"
        packed = PACKED
        answers = {
            "/simple/tide/": ("text/html", f'<a href="/{WHEEL}">{WHEEL}</a>'.encode()),
            "/" + WHEEL: ("application/zip", wheel()),
            "/tide": ("application/json", json.dumps({
                "name": "tide", "dist-tags": {"latest": "1.0.0"},
                "versions": {"1.0.0": {"name": "tide", "version": "1.0.0", "dist": {
                    "tarball": place + "/tide.tgz",
                    "integrity": "sha512-" + base64.b64encode(hashlib.sha512(packed).digest()).decode()}}}}).encode()),
            "/tide.tgz": ("application/octet-stream", packed),
        }
        kind, body = answers.get(self.path, ("text/plain", b""))
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *ignored):
        pass


with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()
