"""The way out of a box: a socket on its loopback that its engine accepts on."""

import errno
import os
import socket

from case import *

PORT = 3128
SAY = "import socket; s = socket.create_connection(('127.0.0.1', 3128)); s.sendall(b'out'); print(s.recv(10).decode())"


class EgressTest(Case):
    def serve(self, listener):
        """Answers a client in the box, from here."""
        self.assertEqual((socket.AF_INET, socket.SOCK_STREAM), (listener.family, listener.type))
        self.assertEqual(("127.0.0.1", PORT), listener.getsockname())
        wait_until(lambda: self.is_answered(listener), what="a connection")

    @staticmethod
    def is_answered(listener):
        try:
            connection, _ = listener.accept()
        except BlockingIOError:
            return False
        with connection:
            connection.settimeout(10 * PATIENCE)
            assert connection.recv(10) == b"out"
            connection.sendall(b"in")
        return True

    def test_who_connects_inside_is_accepted_outside(self):
        with self.a_box() as box, box.listen(PORT) as listener:
            exec_ = box.start(PYTHON, "-c", SAY)
            self.serve(listener)
            self.assertEqual(0, exec_.wait()["status"])
            self.assertEqual(b"in\n", exec_.output())

    def test_nothing_listens_before(self):
        with self.a_box() as box:
            self.assertIn(b"ConnectionRefusedError", box.run(PYTHON, "-c", SAY).output(1))

    def test_it_is_the_same_socket_when_it_is_asked_for_again(self):
        with self.a_box() as box, box.listen(PORT) as one, box.listen(PORT) as other:
            self.assertEqual(os.fstat(one.fileno()).st_ino, os.fstat(other.fileno()).st_ino)

    def test_a_taken_port_is_reported_and_does_no_harm(self):
        take = "import socket, time; s = socket.create_server(('127.0.0.1', 3128)); print('up', flush=True); time.sleep(100)"
        with self.a_box() as box:
            exec_ = box.start(PYTHON, "-c", take)
            box.pump(lambda: exec_.output(), what="a server")
            self.assertEqual(errno.EADDRINUSE, box.listen(PORT))
            exec_.kill()
            exec_.wait()
            with box.listen(PORT) as listener:
                exec_ = box.start(PYTHON, "-c", SAY)
                self.serve(listener)
                self.assertEqual(0, exec_.wait()["status"])

    def test_it_waits_for_the_next_engine(self):
        box = self.box()
        box.detach()
        box.listen(PORT).close()
        exec_ = box.start(PYTHON, "-c", SAY)
        exec_.wait_started()
        box.reconnect()
        with box.listen(PORT) as listener:
            self.serve(listener)
        self.assertEqual(0, exec_.wait()["status"])
        box.destroy()
