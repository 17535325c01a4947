"""Where a body begins and ends: lengths, chunks, both at once, pipelines. Ambiguous framing is how requests are smuggled."""
import contextlib
import json
import os
import re
from pathlib import Path

import pytest

from support.actors import BASE
from support.stack import ROOT
from support.wait import wait_until

GOOD = json.dumps({"url": "https://example.com/", "eventos": ["evaluacion.abierta"]}).encode()


@pytest.fixture
def head(entity):
    """Returns a function that makes the head of a request with `headers`; by default a POST /webhooks that leaves the connection
    open."""
    def make(*headers: str, close: bool = False, method: str = "POST", path: str = BASE) -> bytes:
        lines = [f"{method} {path} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {entity.token}",
                 "Content-Type: application/json", *headers, *(["Connection: close"] if close else []), "", ""]
        return "\r\n".join(lines).encode()
    return make


def chunks(*parts: bytes, end: bytes = b"0\r\n\r\n") -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + end


def statuses(stack, data: bytes) -> list[int]:
    """Returns the status of every answer until the server closes the connection; each error must have a message."""
    with stack.api.wire(data) as wire:
        responses = wire.responses()
    assert all(r.message for r in responses if r.status >= 400)
    return [r.status for r in responses]


def registered(entity) -> int:
    return len(entity.api("GET", BASE).json())


# Lengths.

@pytest.mark.parametrize("length", [
    "", "x", "-1", "+5", "5 5", "5,5", "0x5", "5.0", "1e1", "５", "99999999999999999999999", "18446744073709551617",
])
def test_an_invalid_content_length_is_400(entity, stack, head, length):
    data = head(close=True).replace(b"Content-Type", b"Content-Length: %s\r\nContent-Type" % length.encode())
    assert statuses(stack, data + GOOD) == [400]
    assert registered(entity) == 0


@pytest.mark.parametrize("length", [65537, 10**9, 2**63 - 1])
@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
def test_lengths_over_the_limit_are_answered_before_the_body(stack, head, method, length):
    with stack.api.wire(head(f"Content-Length: {length}", method=method)) as wire:
        response = wire.response()
    assert response.status == 413 and response.message


def test_a_post_without_a_length_has_no_body(entity, stack, head):
    assert statuses(stack, head(close=True)) == [400]
    assert statuses(stack, head("Content-Length: 0", close=True)) == [400]
    assert registered(entity) == 0


def test_a_body_where_none_is_expected_is_read_and_ignored(stack, head):
    """Such a body is not taken for another request."""
    smuggled = head(method="GET", path=BASE + "/eventos")
    for method, path, status in (("GET", BASE, 200), ("DELETE", BASE + "/9", 404), ("PUT", BASE, 405)):
        first = head(f"Content-Length: {len(smuggled)}", method=method, path=path)
        assert statuses(stack, first + smuggled + head(method="GET", path="/x", close=True)) == [status, 404]


# Chunks.

def test_a_body_larger_than_its_buffer_for_its_chunks_waits_where_the_site_says(stack, head):
    """nginx's buffer also holds the frame of each chunk, so a body of many small chunks goes to a file. The body may have a
    secret, so the file must be below /run, which is in memory."""
    site = (ROOT / "nginx/snippets/apientidades-site.conf").read_text()
    folder, = re.findall(r"^client_body_temp_path +(\S+);$", site, re.M)
    assert folder.startswith("/run/"), "not on a disk"
    body = chunks(*(b" " for _ in range(14000)), end=b"")
    with stack.api.wire(head("Transfer-Encoding: chunked") + body) as wire:
        wait_until(lambda: any("/nginx/temp/body/" in file for file in open_files(stack.pids("nginx"))), what="the file")
        wire.send(chunks(GOOD))
        assert wire.response().status == 201


def open_files(pids):
    for file in (file for pid in pids for file in Path(f"/proc/{pid}/fd").iterdir()):
        with contextlib.suppress(OSError):  # closed since it was listed
            yield os.readlink(file)


@pytest.mark.parametrize("body", [
    chunks(GOOD), chunks(GOOD[:10], GOOD[10:]), chunks(*(GOOD[i:i + 1] for i in range(len(GOOD)))),
    chunks(GOOD, end=b"0\r\nTrailer: x\r\nContent-Length: 5\r\n\r\n"),
    b"%X;name=value\r\n%s\r\n0;last\r\n\r\n" % (len(GOOD), GOOD), b"0000%x\r\n%s\r\n000\r\n\r\n" % (len(GOOD), GOOD),
])
def test_chunks(entity, stack, head, body):
    following = head(method="GET", path=BASE + "/eventos", close=True)
    assert statuses(stack, head("Transfer-Encoding: chunked") + body + following) == [201, 200]
    assert registered(entity) == 1


@pytest.mark.parametrize("body", [
    b"zz\r\n", b"-1\r\n", b"\r\n\r\n", b"FFFFFFFFFFFFFFFFF\r\n", b"0x2\r\n{}\r\n0\r\n\r\n", b" 2\r\n{}\r\n0\r\n\r\n",
    b"2\r\n{}x\r\n0\r\n\r\n", b"1\r\n{}\r\n0\r\n\r\n", b"2\n{}\n0\n\nx",
])
def test_an_invalid_chunk_is_400(entity, stack, head, body):
    # nginx accepts the bare line feeds of the last body as line ends. Then the program refuses the content, {}, which has no url.
    assert statuses(stack, head("Transfer-Encoding: chunked", close=True) + body) in ([400], [400, 400])
    assert registered(entity) == 0


def test_chunks_over_the_limit(entity, stack, head):
    """A chunk that is announced too large is refused before its data arrive."""
    for first, status in ((b"10001\r\n{", 413), (b"8000\r\n" + b" " * 32768 + b"\r\n8001\r\n{", 413), (b"7FFFFFFFFFFFFFFF\r\n{", 400)):
        with stack.api.wire(head("Transfer-Encoding: chunked") + first) as wire:
            response = wire.response()
        assert response.status == status and response.message
    assert registered(entity) == 0


def test_chunks_of_a_byte_do_not_cost_more_than_their_body(entity, stack, head):
    """Chunks of one byte make a body six times as long."""
    body = GOOD.ljust(20_000)
    data = head("Transfer-Encoding: chunked", close=True) + chunks(*(body[i:i + 1] for i in range(len(body))))
    assert statuses(stack, data) == [201]


@pytest.mark.parametrize("extension", [b"2;" + b"x" * 70_000, b"0" * 70_000 + b"2"])
def test_a_chunk_line_without_end_is_not_kept(stack, head, extension):
    with stack.api.wire(head("Transfer-Encoding: chunked", close=True) + extension + b"\r\n{}\r\n0\r\n\r\n") as wire:
        assert wire.response().status in (400, 413)


# Two framings at once, and encodings that are not chunked.

TWO = ["Content-Length: {n}\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: {n}",
       "Content-Length: {n}\r\nContent-Length: {n}", "Content-Length: 0\r\nContent-Length: {n}",
       "Content-Length: {n}\r\nContent-Length: 0", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
       "Transfer-Encoding: identity", "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: chunked, identity",
       "Transfer-Encoding: xchunked", "Transfer-Encoding: chunked;q=1", "Transfer-Encoding:\x0bchunked",
       "Transfer-Encoding: \"chunked\"", "Transfer-Encoding: chunked\0", "Transfer-Encoding:", "Transfer-Encoding: ,chunked"]


@pytest.mark.parametrize("framing", TWO)
def test_conflicting_framing_ends_the_connection_and_runs_nothing(entity, stack, head, framing):
    inner = head(method="GET", path=BASE + "/eventos")
    body = chunks(GOOD) + inner
    answers = statuses(stack, head(framing.format(n=len(body))) + body + inner)
    assert answers in ([400], [501]), answers
    assert registered(entity) == 0


@pytest.mark.parametrize("framing", ["Transfer_Encoding: chunked", "Transfer-Encoding : chunked", "TransferEncoding: chunked",
                                     "X: y\nTransfer-Encoding: chunked"])
def test_headers_that_only_look_like_framing(entity, stack, head, framing):
    """Such a header is refused, or has no effect: the body is never read in two ways."""
    answers = statuses(stack, head(f"Content-Length: {len(GOOD)}", framing, close=True) + GOOD)
    assert answers in ([201], [400]), answers
    assert registered(entity) == answers.count(201)


# Pipelines.

def test_a_pipeline_is_answered_in_order(entity, stack, head):
    with stack.api.wire(head(f"Content-Length: {len(GOOD)}") + GOOD +
                        head(method="GET") + head(method="GET", path="/x") +
                        head("Transfer-Encoding: chunked") + chunks(GOOD) +
                        head(method="GET", close=True) + head(method="GET")) as wire:
        first, second, third, fourth, fifth, *more = wire.responses()
    assert [r.status for r in (first, second, third, fourth, fifth)] == [201, 200, 404, 201, 200]
    assert [w["id"] for w in second.json()] == [first.json()["id"]]
    assert [w["id"] for w in fifth.json()] == [first.json()["id"], fourth.json()["id"]]
    assert more == [], "nothing is served after Connection: close"


def test_a_long_pipeline(stack, head):
    data = head(method="GET", path=BASE + "/eventos") * 200 + head(method="GET", close=True)
    assert statuses(stack, data) == [200] * 201


def test_an_error_in_a_pipeline_ends_it(stack, head):
    data = head(method="GET") + b"GARBAGE\r\n\r\n" + head(method="GET")
    assert statuses(stack, data) == [200, 400]


def test_each_request_of_a_connection_has_its_own_token(entity, new_entity, stack, head):
    """No part of a request counts for the next one."""
    other = new_entity()
    hook = other.register()
    without = f"GET {BASE} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    theirs = head(method="GET", close=True).replace(entity.token.encode(), other.token.encode())
    with stack.api.wire(head(method="GET") + without + theirs) as wire:
        mine, anonymous, others = wire.responses()
    assert (mine.json(), anonymous.status) == ([], 401)
    assert [w["id"] for w in others.json()] == [hook.id]
