"""A server on a loopback address of the host, for boxes that are led there; prints its port and ends with its stdin.

Arguments: ADDRESS [NAME]
"""

import socket
import socketserver
import sys
import threading

NAME = sys.argv[2] if len(sys.argv) > 2 else "origin"
LOG = []
LIVING = set()


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        LIVING.add(self)
        try:
            self.serve(self.rfile.readline())
        except OSError:
            pass
        finally:
            LIVING.discard(self)

    def serve(self, first):
        if first == b"ECHO\n":
            self.wfile.write(b"ECHO " + NAME.encode() + b"\n")
            while data := self.rfile.read1(65536):
                self.request.sendall(data)
            return
        head = [first]
        while head[-1] not in (b"\r\n", b""):
            head.append(self.rfile.readline())
        path = first.split(b" ")[1].decode()
        if path == "/log":
            self.answer("200 OK", b"".join(LOG))
            return
        if path == "/living":
            self.answer("200 OK", str(len(LIVING) - 1).encode())
            return
        length = next((int(h.split(b":")[1]) for h in head if h.lower().startswith(b"content-length:")), 0)
        body = self.rfile.read(length)
        LOG.append(b"".join(head) + body + b"--\n")
        if path.startswith("/redirect?"):
            self.answer("302 Found", b"", "Location: " + path.split("?", 1)[1] + "\r\n")
        elif path.startswith("/big?"):
            self.big(int(path.split("?")[1]))
        elif path == "/hang":
            self.request.recv(1)
        else:
            self.answer("200 OK", b"hello from " + NAME.encode() + b" " + body)

    def answer(self, status, body, more=""):
        self.wfile.write(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{more}Connection: close\r\n\r\n".encode() + body)

    def big(self, size):
        self.wfile.write(f"HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n".encode())
        block = bytes(range(256)) * 256
        while size > 0:
            self.wfile.write(block[:size])
            size -= len(block)


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 1024


def main():
    with Server((sys.argv[1], 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print(server.server_address[1], flush=True)
        sys.stdin.read()


main()
