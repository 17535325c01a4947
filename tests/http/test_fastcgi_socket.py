"""Speaks to the FastCGI pool's socket directly, because the pool must also withstand what nginx's configuration does not let
through. The last tests check what nginx sends to the socket."""
import contextlib
import os
import select
import signal
import socket
import struct
import threading
import time

import pytest

from support.actors import BASE
from support.fastcgi import BEGIN, END, KEEP_CONNECTION, PARAMS, STDIN, STDOUT, parameters, record, request_head
from support.wait import wait_until

AUTHORIZATION = "Bearer apie_" + "x" * 43  # nginx passes no body without a well-formed token
FORGED = f"Authorization: {AUTHORIZATION}"


def exchange(stack, sent: bytes) -> bytes:
    """Returns all that comes back until the pool closes the connection. Raises TimeoutError after 10 s of silence."""
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


def test_the_answer_to_head_has_no_body(entity, stack):
    head, get = (exchange(stack, request_head(entity.token, method, "/apientidades/v1/webhooks", 0) + record(STDIN, b""))
                 for method in ("HEAD", "GET"))
    assert b"Content-Length: 2\r\n" in head and b"Content-Length: 2\r\n" in get
    assert b"[]" in get and b"[]" not in head


def test_the_pool_closes_without_waiting_for_its_peer(entity, stack):
    """libfcgi would hold the thread until the peer closes too, at most 2 s."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(10)
        connection.connect(f"{stack.folder}/run/fcgi.sock")
        connection.sendall(request_head(entity.token, "GET", "/apientidades/v1/webhooks", 0) + record(STDIN, b""))
        while connection.recv(65536):
            pass
        closed = select.poll()
        closed.register(connection, 0)  # waits only for POLLHUP, which comes once both directions are closed
        assert closed.poll(1500), "the connection is only half closed"


@pytest.mark.parametrize("path, body, status", [
    ("/apientidades/v1/webhooks/test", b'{"evento": ""}' + b" " * 60000, b"400"),
    ("/apientidades/v1/nada", b"x" * 65536, b"404"),
    ("/apientidades/v1/webhooks", b"x" * 65537, b"413")])
def test_the_answer_to_a_large_body_arrives_whole(entity, stack, path, body, status):
    """If a unix socket is closed while it has unread data, its peer gets a connection reset. So the pool must not close while
    a part of the body is unread."""
    chunks = b"".join(record(STDIN, body[at:at + 32768]) for at in range(0, len(body), 32768))
    for _ in range(20):
        answer = exchange(stack, request_head(entity.token, "POST", path, len(body)) + chunks + record(STDIN, b""))
        assert b"Status: " + status in answer and b'"message"' in answer, answer


def test_the_order_of_libfcgi_to_accept_nothing_more_is_ignored(entity, stack):
    """With libfcgi's own handler of SIGUSR1, the process would accept no more requests, although it runs on."""
    for pid in stack.pids("fcgi"):
        os.kill(pid, signal.SIGUSR1)
    for _ in range(50):
        assert entity.api("GET", "/apientidades/v1/webhooks").status == 200


def test_half_a_request_costs_the_others_nothing(entity, stack):
    with socket.socket(socket.AF_UNIX) as silent:
        silent.connect(f"{stack.folder}/run/fcgi.sock")
        silent.sendall(request_head(entity.token, "GET", "/apientidades/v1/webhooks", 0)[:20])
        wait_until(lambda: entity.api("GET", "/apientidades/v1/webhooks").status == 200, what="an answer")


def test_peers_that_do_not_go_on_lose_their_threads(entity, stack):
    """There are more silent peers than threads. A request through nginx is answered once a silent peer has lost its thread."""
    head = request_head(entity.token, "POST", "/apientidades/v1/webhooks", 100)
    with contextlib.ExitStack() as peers:
        for said in (b"", head[:20], head + record(STDIN, b"{")) * 16:
            silent = peers.enter_context(socket.socket(socket.AF_UNIX))
            silent.connect(f"{stack.folder}/run/fcgi.sock")
            silent.sendall(said)
        wait_until(lambda: entity.api("GET", "/apientidades/v1/webhooks").status == 200, 30, "an answer")


# What nginx sends, seen by a false pool.

class FalsePool:
    """Answers every request. Unlike the real pool, it keeps the connection if the request asks for that."""

    def __init__(self, path: str):
        self.begun = []  # for each request, the flags of its FCGI_BEGIN_REQUEST
        self.parameters = []  # for each request, a dict: name -> value
        self.stays = False  # True: no connection is closed after its answer
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen()
        threading.Thread(target=self._run, daemon=True).start()

    def close(self):
        self._listener.close()

    def _run(self):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self._serve, args=(self._listener.accept()[0],), daemon=True).start()

    def _serve(self, connection):
        text = b""
        with connection, connection.makefile("rb") as stream:
            while header := stream.read(8):
                _, kind, _, length, padding = struct.unpack("!BBHHBx", header)
                content = stream.read(length + padding)[:length]
                if kind == BEGIN:
                    self.begun.append(content[2])
                elif kind == PARAMS and content:
                    text += content
                elif kind == PARAMS:
                    self.parameters.append(dict(name_values(text)))
                    text = b""
                elif kind == STDIN and not content:
                    body = record(STDOUT, b"Content-Type: text/plain\r\n\r\nok") + record(STDOUT, b"")
                    connection.sendall(body + record(END, struct.pack("!IB3x", 0, 0)))
                    if not self.stays and not self.begun[-1] & KEEP_CONNECTION:
                        return


def name_values(text: bytes):
    def length(at):
        return (text[at], at + 1) if text[at] < 128 else (struct.unpack_from("!I", text, at)[0] & 0x7FFFFFFF, at + 4)
    at = 0
    while at < len(text):
        name, at = length(at)
        value, at = length(at)
        yield text[at:at + name].decode(), text[at + name:at + name + value].decode("latin-1")
        at += name + value


@pytest.fixture
def false_pool(stack):
    stack.stop("fcgi")
    path = f"{stack.folder}/run/fcgi.sock"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    pool = FalsePool(path)
    yield pool
    pool.close()
    os.unlink(path)
    stack.start("fcgi")


def test_nginx_asks_for_no_kept_connection_and_makes_one_for_each_request(stack, false_pool):
    """With fastcgi_keep_conn, an unread body could be taken for the next request."""
    hidden = request_head("x", "DELETE", BASE + "/1", 0) + record(STDIN, b"")
    with stack.api.wire() as wire:
        for _ in range(4):
            wire.send(f"POST {BASE} HTTP/1.1\r\nHost: a\r\n{FORGED}\r\nContent-Length: {len(hidden)}\r\n\r\n".encode() + hidden)
            assert wire.response().text == "ok"
    assert false_pool.begun == [0, 0, 0, 0]
    assert [p["REQUEST_METHOD"] for p in false_pool.parameters] == ["POST"] * 4


@pytest.mark.parametrize("path", [BASE + "/test", BASE])
def test_nginx_sends_its_own_parameters_and_the_clients_headers_under_other_names(stack, false_pool, path):
    forged = {"Remote-Addr": "10.0.0.1", "Request-Method": "DELETE", "Proxy": "http://127.0.0.1:1", "X-Anything": "1",
              "Content_Length": "9", "Script-Filename": "/etc/passwd", "Authorization": AUTHORIZATION}
    stack.api("POST", path + "?a=%2F&b", body=b"{}", headers=forged)
    parameters, = false_pool.parameters
    assert len(parameters.pop("REQUEST_ID")) == 32
    assert parameters.pop("REMOTE_ADDR") in ("127.0.0.1", "::1")
    # nginx passes every valid header but Proxy, so that the program sees If-Match. nginx puts HTTP_ before the name of a
    # header, so a header Remote-Addr cannot replace the parameter REMOTE_ADDR.
    others = {name for name in parameters if name.startswith("HTTP_")} - {"HTTP_AUTHORIZATION"}
    assert "HTTP_X_ANYTHING" in others and "HTTP_PROXY" not in others
    parameters = {name: value for name, value in parameters.items() if name not in others}
    assert parameters == {"REQUEST_METHOD": "POST", "REQUEST_URI": path + "?a=%2F&b", "CONTENT_TYPE": "application/json",
                          "CONTENT_LENGTH": "2", "HTTP_AUTHORIZATION": AUTHORIZATION}


def test_nothing_reaches_the_pool_before_all_of_it_has_arrived(stack, false_pool):
    with stack.api.wire(f"POST {BASE} HTTP/1.1\r\nHost: a\r\n{FORGED}\r\nContent-Length: 2\r\n\r\n{{".encode()) as wire:
        assert stack.api("GET", BASE).text == "ok"
        assert [p["REQUEST_METHOD"] for p in false_pool.parameters] == ["GET"]
        wire.send(b"}")
        assert wire.response().text == "ok"
    with stack.api.wire(f"POST {BASE} HTTP/1.1\r\nHost: a\r\n{FORGED}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()) as wire:
        wire.send(b"1\r\n{\r\n1\r\n}\r\n0\r\n\r\n")
        assert wire.response().text == "ok"
    assert false_pool.parameters[-1]["CONTENT_LENGTH"] == "2"


def test_an_answer_that_has_ended_is_passed_on_though_its_connection_never_ends(stack, false_pool):
    """The false pool keeps the connection open, as if its host had vanished after the answer. With fastcgi_buffering,
    nginx would wait for fastcgi_read_timeout, and then send only the headers."""
    false_pool.stays = True
    taken = time.monotonic()
    assert stack.api("GET", BASE).text == "ok"
    assert time.monotonic() - taken < 10
