"""A TLS receiver that sends, byte for byte, what a script or the test says, even while no request is outstanding. Each
connection has a thread. There are no timers: the test decides when something is sent."""
from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import threading

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


def answer(status: int, *fields: str) -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status} Scripted", "Content-Length: 0", *fields, "", ""]).encode("latin-1")


class Connection:
    """One connection, as the script and the test see it."""

    def __init__(self, number: int, tls: ssl.SSLSocket):
        self.number, self.requests, self._tls, self._input = number, [], tls, b""

    def read_head(self) -> dict | None:
        """Returns the next request's fields, names in lower case, and its path as `:path`; None if the other side has closed."""
        while b"\r\n\r\n" not in self._input:
            if not (data := self._tls.recv(65536)):
                return None
            self._input += data
        head, _, self._input = self._input.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        return fields | {":path": first.split(" ")[1]}

    def read_body(self, fields: dict) -> bytes:
        size = int(fields["content-length"])
        while len(self._input) < size:
            if not (data := self._tls.recv(65536)):
                raise ConnectionError("the request is cut short")
            self._input += data
        body, self._input = self._input[:size], self._input[size:]
        return body

    def send(self, *pieces: bytes) -> None:
        """Sends each piece in its own TLS record. The pieces arrive together, and on loopback before this returns."""
        self._tls.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
        for piece in pieces:
            self._tls.sendall(piece)
        self._tls.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 0)

    def close_politely(self) -> None:
        """Sends close_notify and ends the stream."""
        with contextlib.suppress(OSError, ValueError):
            self._tls.settimeout(0)
            self._tls.unwrap()
        self.close()

    def close(self) -> None:
        """Ends the stream, with a reset if a part of the request is unread."""
        with contextlib.suppress(OSError):
            self._tls.shutdown(socket.SHUT_RDWR)
        self._tls.close()

    def reset(self) -> None:
        with contextlib.suppress(OSError):
            self._tls.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._tls.close()


class ScriptedReceiver:
    """Calls `script(connection, number, fields)` after reading the head of each request; `number` counts the requests of the
    connection from 1. If the script returns False, the connection is closed. Serves until close()."""

    def __init__(self, certificate: tuple[str, str], script, version: ssl.TLSVersion | None = None):
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(*certificate)
        if version:
            self._context.minimum_version = self._context.maximum_version = version
        self.script, self.connections, self._changed = script, [], threading.Condition()
        self._server = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self._server.getsockname()[1]
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def requests(self, path: str) -> list[dict]:
        with self._changed:
            return [fields for connection in self.connections for fields in connection.requests if fields[":path"] == path]

    def connections_of(self, path: str) -> list[Connection]:
        """Returns the connections with a request of that path, in the order in which their TLS handshakes ended."""
        with self._changed:
            return [c for c in self.connections if any(fields[":path"] == path for fields in c.requests)]

    def wait(self, path: str, count: int, timeout: float = 30) -> None:
        """Waits until `count` requests of that path have come."""
        enough = lambda: sum(f[":path"] == path for c in self.connections for f in c.requests) >= count
        with self._changed:
            assert self._changed.wait_for(enough, timeout), f"{count} requests at {path} did not come"

    def close(self) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self._thread.join()
        for connection in self.connections:
            connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                plain, _ = self._server.accept()
                threading.Thread(target=self._serve, args=(plain,), daemon=True).start()

    def _serve(self, plain):
        with contextlib.suppress(OSError, ValueError):
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            tls = self._context.wrap_socket(plain, server_side=True)
            with self._changed:
                connection = Connection(len(self.connections) + 1, tls)
                self.connections.append(connection)
            while (fields := connection.read_head()) is not None:
                with self._changed:
                    connection.requests.append(fields)
                    self._changed.notify_all()
                if self.script(connection, len(connection.requests), fields) is False:
                    connection.close()
                    return


def answer_all(answers: bytes = OK):
    """The script of a receiver that reads each request and answers it."""
    def script(connection, _number, fields):
        connection.read_body(fields)
        connection.send(answers)
    return script
