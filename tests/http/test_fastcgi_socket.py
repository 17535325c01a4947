"""The pool's own socket, spoken to directly: what nginx's configuration keeps away, the program withstands too."""
import os
import signal
import socket
import struct

import pytest

from support.wait import wait_until

BEGIN, END, PARAMS, STDIN, STDOUT = 1, 3, 4, 5, 6
KEEP_CONNECTION = 1


def record(kind: int, content: bytes, request: int = 1) -> bytes:
    return struct.pack("!BBHHBx", 1, kind, request, len(content), 0) + content


def parameters(**values: str) -> bytes:
    text = b""
    for name, value in values.items():
        text += struct.pack("!BI", len(name), len(value) | 1 << 31) + name.encode() + value.encode()
    return text


def request_head(token: str, method: str, path: str, length: int, keep: bool = True) -> bytes:
    begin = record(BEGIN, struct.pack("!HB5x", 1, KEEP_CONNECTION if keep else 0))
    names = parameters(REQUEST_METHOD=method, REQUEST_URI=path, CONTENT_LENGTH=str(length), REQUEST_ID="prueba",
                       HTTP_AUTHORIZATION=f"Bearer {token}", CONTENT_TYPE="application/json")
    return begin + record(PARAMS, names) + record(PARAMS, b"")


def exchange(stack, sent: bytes) -> bytes:
    """All that comes back until the pool closes the connection; a time-out if it never does."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(10)
        connection.connect(f"{stack.folder}/run/fcgi.sock")
        connection.sendall(sent)
        received = b""
        while more := connection.recv(65536):
            received += more
        return received


@pytest.mark.parametrize("length", [0, 5, 70000])
def test_a_request_hidden_in_an_unread_body_of_a_kept_connection_does_not_run(entity, stack, length):
    hidden = request_head(entity.token, "GET", "/apientidades/v1/webhooks/eventos", 0) + record(STDIN, b"")
    sent = request_head(entity.token, "GET", "/apientidades/v1/webhooks", length) + record(STDIN, b"x" * 5) + hidden
    answer = exchange(stack, sent)
    assert answer.count(b"Status: ") == 1, answer
    assert b"evaluacion.abierta" not in answer


def test_a_kept_connection_is_closed_all_the_same(entity, stack):
    answer = exchange(stack, request_head(entity.token, "GET", "/apientidades/v1/webhooks", 0) + record(STDIN, b""))
    assert b"Status: 200" in answer


def test_the_order_of_libfcgi_to_accept_nothing_more_is_ignored(entity, stack):
    """Its handler of SIGUSR1 leaves a process that runs and answers nobody."""
    for pid in stack.pids("fcgi"):
        os.kill(pid, signal.SIGUSR1)
    for _ in range(50):
        assert entity.api("GET", "/apientidades/v1/webhooks").status == 200


def test_half_a_request_costs_the_others_nothing(entity, stack):
    with socket.socket(socket.AF_UNIX) as silent:
        silent.connect(f"{stack.folder}/run/fcgi.sock")
        silent.sendall(request_head(entity.token, "GET", "/apientidades/v1/webhooks", 0)[:20])
        wait_until(lambda: entity.api("GET", "/apientidades/v1/webhooks").status == 200, 5, "an answer")
