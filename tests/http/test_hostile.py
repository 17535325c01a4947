"""Hostile or slow clients: smuggled requests, incomplete requests, many connections."""
import json
import struct
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from support.actors import BASE
from support.locks import in_background, locked, wait_blocked
from support.wait import wait_until

BODY = json.dumps({"url": "https://example.com/", "eventos": ["evaluacion.abierta"]}).encode()


def request(method, path, token=None, body=None, length=None, close=True, **headers) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json"]
    if token:
        lines.append(f"Authorization: Bearer {token}")
    if body is not None:
        lines.append(f"Content-Length: {len(body) if length is None else length}")
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    lines += ["Connection: close"] if close else []
    return "\r\n".join(lines + ["", ""]).encode() + (body or b"")


def fastcgi_record(kind: int, content: bytes, id: int = 1) -> bytes:
    return struct.pack("!BBHHBx", 1, kind, id, len(content), 0) + content


def fastcgi_request(**parameters) -> bytes:
    """Returns a whole FastCGI request, which asks the pool to keep the connection."""
    lengths = lambda name, value: struct.pack("!BI", len(name), 0x80000000 | len(value))
    pairs = b"".join(lengths(n, v) + n.encode() + v.encode() for n, v in parameters.items())
    begin, end_of_parameters, end_of_body = struct.pack("!HB5x", 1, 1), b"", b""
    records = ((1, begin), (4, pairs), (4, end_of_parameters), (5, end_of_body))
    return b"".join(fastcgi_record(kind, content) for kind, content in records)


@pytest.mark.parametrize("how", ["no token", "unknown path", "wrong method", "wrong type", "bad json"])
def test_a_fastcgi_request_in_a_body_that_is_not_read_does_not_run(entity, stack, how):
    hook = entity.register()
    forged = fastcgi_request(REQUEST_METHOD="DELETE", REQUEST_URI=f"{BASE}/{hook.id}", CONTENT_LENGTH="",
                             CONTENT_TYPE="", HTTP_AUTHORIZATION=f"Bearer {entity.token}")
    body = forged * (60_000 // len(forged))
    post = request("PUT" if how == "wrong method" else "POST", BASE + ("/a/b" if how == "unknown path" else ""),
                   None if how == "no token" else entity.token, body, close=False)
    if how == "wrong type":
        post = post.replace(b"application/json", b"text/plain")
    with stack.api.wire() as wire:
        for _ in range(5):
            wire.send(post)
            assert wire.response().status in (400, 401, 404, 405, 415)
        wire.send(request("GET", BASE, entity.token))
        assert [w["id"] for w in wire.response().json()] == [hook.id]
        assert wire.responses() == []


@pytest.mark.parametrize("headers", [
    "Content-Length: 5\r\nContent-Length: 6", "Content-Length: 5\r\nTransfer-Encoding: chunked",
    "Transfer-Encoding: chunked\r\nContent-Length: 5", "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
    "Transfer-Encoding: xchunked", "Content-Length: 5, 5", "Content-Length: +5", "Content-Length: 0x5",
])
def test_ambiguous_lengths_end_the_connection(entity, stack, headers):
    smuggled = f"0\r\n\r\nGET {BASE}/eventos HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {entity.token}\r\n\r\n"
    head = f"POST {BASE} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {entity.token}\r\n{headers}\r\n\r\n"
    with stack.api.wire((head + smuggled).encode()) as wire:
        responses = wire.responses()
    assert [r.status for r in responses] in ([400], [501]), responses


def test_a_body_longer_than_its_length_is_not_read_as_body(entity, stack):
    exact, extra = request("POST", BASE, entity.token, BODY, close=False), request("GET", BASE + "/eventos")
    with stack.api.wire(exact + extra) as wire:
        assert [r.status for r in wire.responses()] == [201, 401]
    with stack.api.wire(request("POST", BASE, entity.token, BODY, length=len(BODY) - 1)) as wire:
        assert [r.status for r in wire.responses()][0] == 400
    assert len(entity.api("GET", BASE).json()) == 1


def test_a_body_shorter_than_its_length_does_nothing(entity, stack):
    with stack.api.wire(request("POST", BASE, entity.token, BODY, length=len(BODY) + 1)):
        pass
    with stack.api.wire(request("POST", BASE, entity.token, BODY, length=len(BODY) + 1, Transfer="x")) as wire:
        wire.socket.settimeout(0.5)
        with pytest.raises(TimeoutError):
            wire.response()
    assert entity.api("GET", BASE).json() == []


def test_a_client_cannot_forge_the_parameters_of_fastcgi(entity, stack):
    forged = {"HTTP_AUTHORIZATION": f"Bearer {entity.token}", "REMOTE-USER": "root", "Proxy": "http://127.0.0.1:1"}
    assert stack.api("GET", BASE, headers=forged).status == 401


def test_slow_clients_hold_no_thread_of_the_pool(entity, stack):
    halves = [stack.api.wire(request("POST", BASE, entity.token, BODY)[:-5]) for _ in range(60)]
    halves += [stack.api.wire(f"GET {BASE} HTTP/1.1\r\nHost: a\r\nX: ".encode()) for _ in range(60)]
    try:
        started = time.monotonic()
        assert entity.api("GET", BASE).text == "[]"
        assert time.monotonic() - started < 5
        halves[0].send(BODY[-5:])
        assert halves[0].response().status == 201
    finally:
        for half in halves:
            half.close()


def test_a_client_that_goes_away_before_its_answer(entity, stack):
    with locked(stack) as release:
        gone = [stack.api.wire(request("GET", BASE, entity.token)) for _ in range(20)]
        wait_blocked(stack)
        for wire in gone:
            wire.close()
        release()
    assert entity.api("GET", BASE).text == "[]"


def test_more_requests_than_threads_wait_their_turn(entity, stack):
    with locked(stack) as release, ThreadPoolExecutor(150) as pool:
        waiting = [pool.submit(entity.api, "GET", BASE) for _ in range(150)]
        wait_blocked(stack)
        release()
        assert [w.result().status for w in waiting] == [200] * 150


def test_a_delete_cut_by_a_crash_is_not_repeated(entity, stack):
    hook = entity.register()
    with locked(stack) as release:
        answer = in_background(entity.api, "DELETE", f"{BASE}/{hook.id}")
        wait_blocked(stack)
        stack.stop("fcgi", "-9")
        response = answer.result(10)
        assert response.status == 502 and response.message
        release()
    stack.start("fcgi")
    statuses = {wait_until(lambda: entity.api("GET", BASE), what="the API to be back").status}
    assert statuses == {200}
