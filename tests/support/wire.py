"""HTTPS at two levels: whole requests, and raw bytes for what no library would send. The raw bytes may go over plain HTTP."""
from __future__ import annotations

import copy
import http.client
import json
import socket
import ssl
from dataclasses import dataclass
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Response:
    status: int
    headers: dict  # lower-case names
    text: str

    def json(self):
        return json.loads(self.text)

    @property
    def message(self) -> str:
        """The message of an error. Asserts that the response has the form of all errors."""
        assert self.headers["content-type"] == "application/json; charset=utf-8", self
        body = self.json()
        assert list(body) == ["message"] and isinstance(body["message"], str) and body["message"], self
        return body["message"]


def joined(lines: list[tuple[str, str]]) -> dict:
    """The lines of a repeated header become one (RFC 9110 section 5.3)."""
    headers = {}
    for name, value in lines:
        headers.setdefault(name.lower(), []).append(value)
    return {name: ", ".join(values) for name, values in headers.items()}


class Client:
    """Requests to one server, each on its own connection; `source` is the address that they come from."""

    def __init__(self, base_url: str, ca_cert: str, timeout: float = 20, source: str | None = None):
        parts = urlsplit(base_url)
        self.host, self.port, self.timeout = parts.hostname, parts.port, timeout
        self.source = (source, 0) if source else None
        self.secure = parts.scheme == "https"
        self.tls = ssl.create_default_context(cafile=ca_cert)

    def __call__(self, method, path, token=None, json_body=..., body=None, headers=None) -> Response:
        sent = dict(headers or {})
        if token is not None:
            sent.setdefault("Authorization", f"Bearer {token}")
        if json_body is not ...:
            body = json.dumps(json_body, ensure_ascii=False).encode()
        if body is not None:
            sent.setdefault("Content-Type", "application/json")
        connection = http.client.HTTPSConnection(self.host, self.port, context=self.tls, timeout=self.timeout,
                                                 source_address=self.source)
        try:
            connection.request(method, path, body, {k: v for k, v in sent.items() if v is not None})
            response = connection.getresponse()
            return Response(response.status, joined(response.getheaders()), response.read().decode())
        finally:
            connection.close()

    def wire(self, data: bytes = b"") -> "Wire":
        return Wire(self, data)

    def sending_from(self, source: str) -> "Client":
        other = copy.copy(self)
        other.source = (source, 0)
        return other


class Wire:
    """A connection, with TLS unless the client's address is http, on which any bytes can be sent."""

    def __init__(self, client: Client, data: bytes = b""):
        plain = socket.create_connection((client.host, client.port), client.timeout, client.source)
        self.socket = client.tls.wrap_socket(plain, server_hostname=client.host) if client.secure else plain
        self._buffer = b""
        self.send(data)

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def response(self) -> Response | None:
        """The next response; None when the server has closed the connection instead."""
        head = self._until(b"\r\n\r\n")
        if head is None:
            return None
        status_line, *lines = head.decode("latin-1").split("\r\n")
        headers = {n.strip().lower(): v.strip() for n, _, v in (line.partition(":") for line in lines if line)}
        status = int(status_line.split(" ")[1])
        if status < 200 or status in (204, 304):
            body = b""
        elif headers.get("transfer-encoding") == "chunked":
            body = self._chunks()
        elif "content-length" in headers:
            body = self._exactly(int(headers["content-length"]))
        else:
            body = self._rest()
        return Response(status, headers, body.decode())

    def responses(self) -> list[Response]:
        """Every response until the server closes the connection."""
        return list(iter(self.response, None))

    def close(self) -> None:
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _more(self) -> bool:
        try:
            data = self.socket.recv(65536)
        except (ConnectionResetError, ssl.SSLEOFError):
            data = b""
        self._buffer += data
        return bool(data)

    def _until(self, mark: bytes):
        while mark not in self._buffer:
            if not self._more():
                return None
        found, _, self._buffer = self._buffer.partition(mark)
        return found

    def _exactly(self, count: int) -> bytes:
        while len(self._buffer) < count:
            if not self._more():
                raise EOFError("the body is cut short")
        found, self._buffer = self._buffer[:count], self._buffer[count:]
        return found

    def _chunks(self) -> bytes:
        body = b""
        while size := int(self._until(b"\r\n"), 16):
            body += self._exactly(size)
            self._exactly(2)
        self._exactly(2)
        return body

    def _rest(self) -> bytes:
        while self._more():
            pass
        found, self._buffer = self._buffer, b""
        return found
