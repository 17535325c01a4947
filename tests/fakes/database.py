"""A false database server. The test sets how the server asks for the password, and what it answers."""
from __future__ import annotations

import contextlib
import re
import socket
import ssl

from fakes.tcp import tcp_server

CLIENT_SSL = 0x0800
# Capability flags: long passwords, connect with a database, protocol 4.1, transactions, secure connections, plugins.
OFFERED = 0x1 | 0x8 | 0x200 | 0x2000 | 0x8000 | 0x80000
SALT = b"abcdefghijklmnopqrst"
OK = b"\x00\x00\x00\x02\x00\x00\x00"


def text(value: str) -> bytes:
    """Encodes `value`, below 64 KiB, as a length-encoded string of MySQL's protocol."""
    data = value.encode()
    return (bytes([len(data)]) if len(data) < 251 else b"\xfc" + len(data).to_bytes(2, "little")) + data


class FakeDatabase:
    """`asks`: the plugin by which the server asks for the password. `answers`: pairs of a pattern and the one value that matching
    queries return (None: no row); other queries return 1. `certificate`: the files of a certificate and its key; with them the
    server speaks TLS. `wants_file`: the server answers every statement with a request for that file. `received` keeps what
    arrives, decrypted; `in_clear` keeps what arrives outside TLS. `dies`: the server ends each connection at the login, as one does
    that stops."""

    def __init__(self, asks="mysql_native_password", answers=(), certificate=None, wants_file=None, dies=False):
        self.dies = dies
        self.asks, self.answers, self.wants_file = asks, answers, wants_file
        self.received, self.in_clear, self.statements = bytearray(), bytearray(), []
        self._context = None
        if certificate:
            self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._context.load_cert_chain(*certificate)

    def listen(self, address="127.0.0.1"):
        return tcp_server(self._serve, address)

    def _serve(self, connection):
        with contextlib.suppress(ConnectionError, ssl.SSLError, EOFError):
            _Conversation(self, connection).run(self._context)


class _Conversation:
    def __init__(self, server, connection):
        self._server, self._connection, self._number = server, connection, 0

    def run(self, context):
        self._send(self._greeting(context))
        packet = self._receive()
        if context:
            if len(packet) > 32:
                return  # a login in clear: the packet that asks for TLS has 32 bytes
            self._connection = context.wrap_socket(self._connection, server_side=True)
            packet = self._receive()
        if self._server.dies:
            return
        if self._server.asks != "mysql_native_password":
            self._send(b"\xfe" + self._server.asks.encode() + b"\0" + SALT + b"\0")
            self._receive()
        self._send(OK)
        while True:
            self._number = 0
            command = self._receive()
            if command[:1] == b"\x01":
                return
            self._answer(command[1:].decode(errors="replace") if command[:1] == b"\x03" else "")

    def _greeting(self, context):
        flags = OFFERED | (CLIENT_SSL if context else 0)
        return (b"\x0a10.11.9-MariaDB\0" + (7).to_bytes(4, "little") + SALT[:8] + b"\0" + (flags & 0xffff).to_bytes(2, "little")
                + b"\x2d\x02\x00" + (flags >> 16).to_bytes(2, "little") + bytes([21]) + bytes(10) + SALT[8:] + b"\0"
                + b"mysql_native_password\0")

    def _answer(self, statement):
        self._server.statements.append(statement)
        if self._server.wants_file:
            self._send(b"\xfb" + self._server.wants_file.encode())
            self._receive()
            return self._send(OK)
        if not re.match(r"\s*(SELECT|SHOW)", statement, re.I):
            return self._send(OK)
        value = next((value for pattern, value in self._server.answers if re.search(pattern, statement)), "1")
        self._send(b"\x01")
        self._send(text("def") + text("") + text("") + text("") + text("c") + text("") + b"\x0c\x2d\x00\xff\xff\x00\x00\xfd\x00\x00\x00\x00\x00")
        self._send(b"\xfe\x00\x00\x02\x00")
        if value is not None:
            self._send(text(value))
        self._send(b"\xfe\x00\x00\x02\x00")

    def _send(self, payload):
        self._connection.sendall(len(payload).to_bytes(3, "little") + bytes([self._number % 256]) + payload)
        self._number += 1

    def _receive(self):
        header = self._read(4)
        self._number = header[3] + 1
        return self._read(int.from_bytes(header[:3], "little"))

    def _read(self, size):
        data = b""
        while len(data) < size:
            part = self._connection.recv(size - len(data))
            if not part:
                raise EOFError
            data += part
        self._server.received += data
        if not isinstance(self._connection, ssl.SSLSocket):
            self._server.in_clear += data
        return data
