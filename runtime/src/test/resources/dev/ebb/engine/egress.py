"""What code in a box does to get out of it: egress.py ATTEMPT ARGUMENT… prints what came of it."""

import errno
import os
import socket
import struct
import sys
import time

PROXY = ("127.0.0.1", 3128)


def proxy(timeout=20):
    return socket.create_connection(PROXY, timeout)


def read_all(connection):
    data = b""
    while True:
        try:
            more = connection.recv(65536)
        except ConnectionResetError:
            return data + b"<reset>"
        if not more:
            return data
        data += more


def send(text):
    """Raw bytes to the proxy, and all that comes back."""
    with proxy() as connection:
        connection.sendall(text.encode("latin-1"))
        return read_all(connection).decode("latin-1")


def raw(*parts):
    """The same, with the arguments unescaped."""
    return send("".join(parts).encode().decode("unicode_escape"))


def status(answer):
    return answer.split("\r\n")[0]


def get(url):
    host = url.split("/")[2]
    return send(f"GET {url} HTTP/1.1\r\nHost: {host}\r\n\r\n")


def tunnel(authority, timeout=20):
    connection = proxy(timeout)
    connection.sendall(f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode())
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        byte = connection.recv(1)
        if not byte:
            break
        head += byte
    return connection, head.decode()


def echo(authority):
    connection, head = tunnel(authority)
    with connection:
        if " 200 " not in head:
            return status(head)
        connection.sendall(b"ECHO\n")
        connection.sendall(b"x" * 1000)
        connection.shutdown(socket.SHUT_WR)
        answer = read_all(connection)
        first, rest = answer.split(b"\n", 1)
        return f"{first.decode()} {len(rest)}"


def statuses(*hosts):
    """One line for each: what CONNECT and GET say."""
    return "\n".join(f"{host} {status(tunnel(host + ':443')[1]).split(' ')[1]} {status(get('http://' + host + '/')).split(' ')[1]}"
                     for host in hosts)


def follow(url):
    """As a client does that follows redirects."""
    for _ in range(5):
        answer = get(url)
        location = [line for line in answer.split("\r\n") if line.startswith("Location: ")]
        if not location:
            return answer
        url = location[0][10:]
    return "too many"


def big(url, size):
    with proxy() as connection:
        host = url.split("/")[2]
        connection.sendall(f"GET {url} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        body = read_all(connection).split(b"\r\n\r\n", 1)[1]
        expected = bytes(range(256)) * (int(size) // 256)
        return "same" if body == expected else f"other: {len(body)}"


def many(authority, count):
    """That many at a time, as far as the proxy lets them; each says a word and hears it."""
    import selectors
    served, waiting = 0, []
    selector = selectors.DefaultSelector()
    request = f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\nECHO\nword".encode()
    for _ in range(int(count)):
        connection = socket.socket()
        connection.setblocking(False)
        connection.connect_ex(PROXY)
        selector.register(connection, selectors.EVENT_WRITE, [b""])
    end = time.monotonic() + 100
    while selector.get_map() and time.monotonic() < end:
        for key, _ in selector.select(1):
            connection, heard = key.fileobj, key.data
            try:
                if key.events == selectors.EVENT_WRITE:
                    error = connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
                    if error:
                        raise OSError(error, "")
                    connection.send(request)
                    selector.modify(connection, selectors.EVENT_READ, heard)
                    continue
                data = connection.recv(1000)
                heard[0] += data
                if heard[0].endswith(b"word") or not data:
                    served += heard[0].endswith(b"word")
                    selector.unregister(connection)
                    connection.close()
            except OSError as e:
                if e.errno in (errno.ECONNREFUSED, errno.ETIMEDOUT, errno.ECONNRESET):
                    selector.unregister(connection)
                    connection.close()
                else:
                    raise
    return served


def slow(seconds):
    """Loris: a byte now and then, never a whole request."""
    begin = time.monotonic()
    connections = [proxy(60) for _ in range(20)]
    answers = set()
    for connection in connections:
        connection.sendall(b"GET http://origin.test/ HT")
    while connections and time.monotonic() < begin + float(seconds):
        for connection in list(connections):
            try:
                connection.setblocking(False)
                data = connection.recv(1000)
                answers.add(status(data.decode()) if data else "end")
                connections.remove(connection)
            except BlockingIOError:
                connection.send(b"T")
            except OSError as e:
                answers.add(errno.errorcode[e.errno])
                connections.remove(connection)
        time.sleep(0.05)
    return f"{len(connections)} left, {sorted(answers)}"


def hold(authority):
    """A tunnel that says a word each line of stdin, and how it ends."""
    connection, head = tunnel(authority, 60)
    connection.sendall(b"ECHO\n")
    connection.recv(100)
    print("up", flush=True)
    for line in sys.stdin:
        try:
            connection.sendall(line.encode())
            data = connection.recv(1000)
            print(data.decode().strip() or "end", flush=True)
        except OSError as e:
            print(errno.errorcode[e.errno], flush=True)
    return "over"


def await_cut(authority):
    """How a tunnel ends that nobody uses."""
    connection, head = tunnel(authority, 60)
    try:
        connection.sendall(b"ECHO\n")
        connection.recv(100)
        print("up", flush=True)
        return connection.recv(10).decode() or "end"
    except OSError as e:
        return errno.errorcode[e.errno]


def attempt(action):
    try:
        return str(action())
    except OSError as e:
        return errno.errorcode.get(e.errno, str(e.errno))


def direct(host, port):
    """Without the proxy: by TCP, UDP, a raw socket and both versions."""
    def tcp():
        socket.create_connection((host, int(port)), 3).close()
        return "yes"

    def udp():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.settimeout(3)
            s.sendto(b"\0" * 12, (host, 53))
            return "sent"

    def raw_socket():
        socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
        return "yes"

    def six():
        with socket.socket(socket.AF_INET6) as s:
            s.settimeout(3)
            s.connect(("2001:4860:4860::8888", 443))
            return "yes"

    def ping():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP) as s:
            s.sendto(struct.pack("!BBHHH", 8, 0, 0xf7ff, 0, 0), (host, 0))
            return "sent"
    return " ".join(attempt(action) for action in (tcp, udp, raw_socket, six, ping))


def resolve(name):
    try:
        return socket.getaddrinfo(name, 80)[0][4][0]
    except socket.gaierror:
        return "no address"


def variables():
    return "\n".join(f"{name}={os.environ.get(name, '-')}" for name in
                     ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy"))


print(globals()[sys.argv[1]](*sys.argv[2:]))
