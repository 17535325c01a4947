"""A TLS receiver of notifications that misbehaves on demand, down to the byte.

As a library it runs in a thread of its own. As a command it prints every request but those to paths that begin with /_,
which control it (see Receiver._control). It is a small HTTP/1.1 server: no well-behaved library could hang up half-way.
"""
from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import ssl
import subprocess
import sys
import threading
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

FAULTS = {
    "hang_up_early": "resets the connection after the headers, without reading the body",
    "hang_up": "reads the whole request and closes without a word",
    "half_headers": "closes in the middle of the response's headers",
    "half_body": "closes in the middle of the response's body",
    "silent": "never answers",
    "drip": "sends a header one byte at a time, without end",
    "endless_headers": "sends headers without end",
    "endless_body": "sends a body without end",
    "garbage": "answers something that is not HTTP",
    "early": "answers before it has read the body, then reads it",
    "reset": "reads the whole request and resets the connection",
}


@dataclass(frozen=True)
class Behaviour:
    """How the receiver reacts to one request. The default is a plain 200."""

    status: int = 200
    headers: dict = field(default_factory=dict)
    body: str = ""
    delay: float = 0  # seconds before the status line
    delay_body: float = 0  # seconds between headers and body
    hold: bool = False  # waits for Receiver.release(path)
    close: bool = False  # ends the connection after the response
    fault: str = ""  # one of FAULTS
    raw: tuple = ()  # texts to send in place of a response, a byte for each character
    repeat: str = ""  # sent after `raw` again and again, until the other side closes
    pause: float = 0  # seconds after each `repeat`
    stay: bool = False  # leaves the connection open after `raw`; by default it is closed

    def __post_init__(self):
        if self.fault and self.fault not in FAULTS:
            raise ValueError(f"unknown fault {self.fault!r}; there are: {', '.join(FAULTS)}")


@dataclass(frozen=True)
class Request:
    """One request as it arrived. `headers` has lower-case names, and the last value of a repeated header."""

    number: int
    connection: int
    sni: str | None
    local_address: str
    peer_address: str
    method: str
    path: str
    headers: dict
    header_lines: tuple
    body: bytes | None  # None with the faults `early` and `hang_up_early`
    wall_ns: int  # time.time_ns() after the body was read; if `body` is None, after the headers
    monotonic_ns: int

    @property
    def id(self) -> str:
        return self.headers.get("webhook-id", "")

    def json(self):
        return json.loads(self.body)


class Receiver:
    """Serves until close(): at a free port if `port` is 0, in plain HTTP if `cert` is None. `default` is the behaviour at
    paths for which behave() was not called."""

    def __init__(self, cert=None, key=None, port=0, addresses=("127.0.0.1",), on_request=None, default=Behaviour()):
        self.on_request, self.default = on_request, default
        self._tls = _server_tls(cert, key) if cert else None
        self._lock = threading.Condition()
        self._requests: list[Request] = []
        self._behaviours: dict[str, list[Behaviour]] = {}
        self._gates: dict[str, asyncio.Event] = {}
        self._in_flight: dict[str, int] = {}
        self._peak: dict[str, int] = {}
        self._connections = itertools.count(1)
        self._numbers = itertools.count(1)
        self._tasks: set[asyncio.Task] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="receiver", daemon=True)
        self._thread.start()
        self.port = self._call(self._listen(addresses, port))

    # Tests may call these functions from any thread.

    def behave(self, path: str, *behaviours: Behaviour) -> None:
        """Sets one behaviour for each of the next requests of that path; later requests get the last behaviour. Requests
        that are held already are never answered: release() no longer reaches them."""
        with self._lock:
            self._behaviours[path] = list(behaviours) or [Behaviour()]
        self._loop.call_soon_threadsafe(self._gates.pop, path, None)

    def release(self, path: str) -> None:
        """Answers the requests of that path that are held since the last behave(). Holds no later request until behave() is
        called again."""
        self._loop.call_soon_threadsafe(lambda: self._gate(path).set())

    def requests(self, path: str | None = None) -> list[Request]:
        with self._lock:
            return [r for r in self._requests if path is None or r.path == path]

    def wait(self, path: str, count: int = 1, timeout: float = 30) -> list[Request]:
        """Returns the requests of that path, once there are `count` of them."""
        with self._lock:
            enough = lambda: sum(r.path == path for r in self._requests) >= count
            if not self._lock.wait_for(enough, timeout):
                got = [r.path for r in self._requests if r.path == path]
                raise AssertionError(f"{len(got)} of {count} requests at {path} after {timeout} s")
        return self.requests(path)

    def in_flight(self, *paths: str) -> int:
        """Returns how many requests of those paths together are in flight at one moment."""
        with self._lock:
            return sum(self._in_flight.get(path, 0) for path in paths)

    def peak_in_flight(self, path: str) -> int:
        with self._lock:
            return self._peak.get(path, 0)

    def close(self) -> None:
        self._call(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # The server. Its coroutines run in the loop's thread.

    def _call(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(10)

    async def _listen(self, addresses, port):
        self._servers = []
        for address in addresses:
            server = await asyncio.start_server(self._serve, address, port, ssl=self._tls, backlog=1024)
            port = server.sockets[0].getsockname()[1]
            self._servers.append(server)
        return port

    async def _stop(self):
        for server in self._servers:
            server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _gate(self, path) -> asyncio.Event:
        return self._gates.setdefault(path, asyncio.Event())

    async def _serve(self, reader, writer):
        task = asyncio.current_task()
        self._tasks.add(task)
        connection = next(self._connections)
        try:
            while await self._exchange(connection, reader, writer):
                pass
            writer.close()
        except (OSError, EOFError, asyncio.LimitOverrunError, asyncio.CancelledError):
            pass
        finally:
            writer.transport.abort()
            self._tasks.discard(task)

    async def _exchange(self, connection, reader, writer) -> bool:
        """Serves one request. Returns False to end the connection."""
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            return False
        method, path, headers, lines = _parse_head(head)
        if path.startswith("/_"):
            return await self._control(method, path, headers, reader, writer)
        behaviour = self._next_behaviour(path)
        self._enter(path)
        try:
            body = None
            if behaviour.fault not in ("hang_up_early", "early"):
                body = await reader.readexactly(int(headers.get("content-length", 0)))
            self._record(connection, writer, method, path, headers, lines, body)
            return await self._respond(behaviour, path, headers, reader, writer)
        finally:
            self._leave(path)

    async def _respond(self, behaviour, path, headers, reader, writer) -> bool:
        if behaviour.hold:
            await self._gate(path).wait()
        await asyncio.sleep(behaviour.delay)
        if behaviour.fault in ("hang_up_early", "reset"):
            raise ConnectionResetError
        if behaviour.fault == "hang_up":
            return False
        if behaviour.fault == "silent":
            await reader.read()  # until the other side closes
            return False
        if behaviour.raw or behaviour.repeat:
            return await self._respond_raw(behaviour, reader, writer)
        if behaviour.fault in ENDLESS:
            await _pour(writer, *ENDLESS[behaviour.fault])
            return False
        if behaviour.fault == "garbage":
            await _write(writer, b"\x16\x03\x01 this is not HTTP\r\n\r\n")
            return False
        head, body = _response(behaviour)
        if behaviour.fault == "half_headers":
            await _write(writer, head[: len(head) // 2])
            return False
        await _write(writer, head)
        await asyncio.sleep(behaviour.delay_body)
        if behaviour.fault == "half_body":
            await _write(writer, body[: len(body) // 2])
            return False
        await _write(writer, body)
        if behaviour.fault == "early":
            await reader.readexactly(int(headers.get("content-length", 0)))
        return not behaviour.close

    async def _respond_raw(self, behaviour, reader, writer) -> bool:
        for text in behaviour.raw:
            await _write(writer, text.encode("latin-1"))
        if behaviour.repeat:
            await _pour(writer, b"", behaviour.repeat.encode("latin-1"), behaviour.pause)
        if behaviour.stay:
            await reader.read()
        return False

    def _next_behaviour(self, path) -> Behaviour:
        with self._lock:
            plan = self._behaviours.get(path, [self.default])
            return plan.pop(0) if len(plan) > 1 else plan[0]

    def _record(self, connection, writer, method, path, headers, lines, body):
        tls = writer.get_extra_info("ssl_object")
        request = Request(
            number=next(self._numbers),
            connection=connection,
            sni=getattr(tls, "sni", None),
            local_address=writer.get_extra_info("sockname")[0],
            peer_address=writer.get_extra_info("peername")[0],
            method=method,
            path=path,
            headers=headers,
            header_lines=lines,
            body=body,
            wall_ns=time.time_ns(),
            monotonic_ns=time.monotonic_ns(),
        )
        with self._lock:
            self._requests.append(request)
            self._lock.notify_all()
        if self.on_request:
            self.on_request(request)

    def _enter(self, path):
        with self._lock:
            self._in_flight[path] = self._in_flight.get(path, 0) + 1
            self._peak[path] = max(self._peak.get(path, 0), self._in_flight[path])

    def _leave(self, path):
        with self._lock:
            self._in_flight[path] -= 1

    async def _control(self, method, path, headers, reader, writer) -> bool:
        """`PUT /_behaviour` {path, behaviours: [{…}]}, `POST /_release` {path}, `GET /_requests`."""
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        status, answer = 200, {}
        if (method, path) == ("PUT", "/_behaviour"):
            order = json.loads(body)
            self.behave(order["path"], *(Behaviour(**b) for b in order["behaviours"]))
        elif (method, path) == ("POST", "/_release"):
            self.release(json.loads(body)["path"])
        elif (method, path) == ("GET", "/_requests"):
            answer = [describe(r) for r in self.requests()]
        else:
            status = 404
        await _write(writer, b"".join(_response(Behaviour(status=status, body=json.dumps(answer)))))
        return True


ENDLESS = {  # fault -> what comes first, what is repeated, seconds after each repetition
    "drip": (b"HTTP/1.1 200 OK\r\nX-Drip: ", b"x", 0.05),
    "endless_headers": (b"HTTP/1.1 200 OK\r\n", b"X-Filler: " + b"x" * 1000 + b"\r\n", 0),
    "endless_body": (b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n", b"x" * 16384, 0),
}


async def _pour(writer, first, repeated, pause):
    await _write(writer, first)
    while True:
        await _write(writer, repeated)
        await asyncio.sleep(pause)


async def _write(writer, data: bytes):
    writer.write(data)
    await writer.drain()


def _response(behaviour: Behaviour):
    body = behaviour.body.encode()
    headers = {"Content-Length": len(body), "Content-Type": "text/plain", **behaviour.headers}
    if behaviour.close:
        headers["Connection"] = "close"
    lines = [f"HTTP/1.1 {behaviour.status} Receiver", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join(lines + ["", ""]).encode(), body


def _parse_head(head: bytes):
    request_line, *lines = head.decode("latin-1")[:-4].split("\r\n")
    method, path, _ = request_line.split(" ", 2)
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    return method, path, headers, tuple(lines)


def _server_tls(cert, key) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    context.set_alpn_protocols(["http/1.1"])

    def remember_name(connection, name, _context):
        connection.sni = name

    context.sni_callback = remember_name
    return context


def self_signed(folder, name: str) -> tuple[str, str]:
    """Makes a self-signed certificate for `name`; returns the paths of certificate and key."""
    cert, key = Path(folder) / f"{name}.crt", Path(folder) / f"{name}.key"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
         "-keyout", key, "-out", cert, "-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}"],
        check=True, capture_output=True)
    return str(cert), str(key)


def describe(request: Request) -> dict:
    text = None if request.body is None else request.body.decode("utf-8", "replace")
    return {**asdict(request), "body": text}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=9443)
    parser.add_argument("--address", action="append", help="an address to listen on; 127.0.0.1 if none is given")
    parser.add_argument("--close", action="store_true", help="ends each connection after its first response")
    parser.add_argument("--cert", required=True, help="./dev env prints the path of one for *.receptor.test")
    parser.add_argument("--key", required=True)
    arguments = parser.parse_args()
    show = lambda request: print(json.dumps(describe(request), ensure_ascii=False), flush=True)
    try:
        receiver = Receiver(arguments.cert, arguments.key, arguments.port, arguments.address or ["127.0.0.1"], show,
                            Behaviour(close=arguments.close))
    except OSError as error:
        sys.exit(f"receiver: {error}")
    print(f"receiver: listening on port {receiver.port}", file=sys.stderr, flush=True)
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        receiver.close()


if __name__ == "__main__":
    main()
