"""What the worst client can write to the disk, and hold of nginx as Debian ships it, with the default limits."""
import contextlib
import itertools
import json
import re
import time
from collections import Counter
from pathlib import Path

import pytest

from support.actors import BASE
from support.nginx import as_debian_ships_it, own_nginx, site_of
from support.stack import setting
from support.wait import wait_until
from support.wire import Client

DAY = 86400
ALLOWED = 30  # requests a second of an address: the default of limits.requests_per_address
REFUSED = 10_000  # requests a second that the limit refuses
FORGED = "Authorization: Bearer apie_" + "x" * 43


def raw(line: str, *headers: str) -> bytes:
    return "\r\n".join([line, "Host: localhost", *headers, "", ""]).encode("latin-1")


EVERY_BYTE = "".join(map(chr, [*range(0x21, 0x23), *range(0x24, 0x100)]))
REQUESTS = {
    "quotes": raw('GET /' + '"' * 8000 + " HTTP/1.1"),
    "every byte": raw(f"GET /{EVERY_BYTE}?{EVERY_BYTE} HTTP/1.1"),
    "overlong UTF-8, a surrogate": raw("GET /apientidades/v1/\xc0\xaf\xed\xa0\x80\xe2\x80\xae HTTP/1.1"),
    "a long path": raw(f"GET {BASE}/{'a' * 8000}?canary HTTP/1.1", FORGED),
    "a long method": raw(f"{'A' * 7900} {BASE}?canary HTTP/1.1", FORGED),
    "a method in bytes": raw("\x80\xff / HTTP/1.1"),
    "no request": b"canary\r\n\r\n",
    "HTTP/0.9": b"GET /canary\r\n",
    "a long line": raw(f"GET /?{'canary' * 2000} HTTP/1.1"),
    "long headers": raw(f"GET {BASE}?canary HTTP/1.1", "X: " + "a" * 9000),
    "a long body": raw(f"POST {BASE}?canary HTTP/1.1", FORGED, "Content-Length: 99999"),
    "a body without a token": raw(f"POST {BASE}?canary HTTP/1.1", "Content-Length: 2") + b"{}",
    "no token": raw(f"GET {BASE}?canary HTTP/1.1"),
    "a host": raw("GET /canary HTTP/1.1").replace(b"localhost", b"\xff" * 4000),
    "an agent": raw("GET / HTTP/1.1", "User-Agent: " + '\xff"' * 3000, "Referer: " + '\xff"' * 3000),
    "docs": raw("GET /apientidades/docs HTTP/1.1"),
    "a dot segment": raw("GET /apientidades/../x HTTP/1.1"),
}


@pytest.fixture
def front(stack, tmp_path):
    """Returns a function that starts nginx as Debian ships it, with these limits; it yields a client. Its logs are in tmp_path."""
    @contextlib.contextmanager
    def start(connections=768, sampled=True, **limits):
        own = {"requests_per_address": 1800, "concurrent_requests_per_address": 100, "requests_per_token": 600} | limits
        stack.dev("admin", "nginx", "limits", "--folder", tmp_path, **setting(**{f"limits_{k}": str(v) for k, v in own.items()}))
        site = site_of(stack)
        for name in ("limits", "limit-zones"):
            site = re.sub(rf"include \S+/(apientidades-{name}.conf);", rf"include {tmp_path}/\1;", site)
        site = re.sub(r"_log +(\S+/log)/nginx(-access)?.log", lambda m: f"_log {tmp_path}/{'access' if m[2] else 'error'}.log", site)
        assert site.count(str(tmp_path)) == 4
        if not sampled:
            site = site.replace(" if=$apientidades_is_logged", "")
        with own_nginx(site, as_debian_ships_it(connections)) as port:
            yield Client(f"https://localhost:{port}", stack.env["CA_CERT"], timeout=5)
    return start


def lines_of(log: Path) -> list[bytes]:
    return log.read_bytes().splitlines() if log.exists() else []


def bytes_a_day(every_tenth: int, every_thousandth: int) -> float:
    """Of these longest lines. A limit lets the first kind through, and refuses the second."""
    return DAY * (ALLOWED / 10 * every_tenth + REFUSED / 1000 * every_thousandth)


def test_every_line_of_the_log_is_short_json_in_utf_8(front, tmp_path):
    """Without sampling. Nothing of a client reaches the error log, not even a query."""
    log = tmp_path / "access.log"
    with front(sampled=False) as client:
        for count, (name, data) in enumerate(REQUESTS.items(), 1):
            with client.wire(data) as wire, contextlib.suppress(OSError):
                assert wire.socket.recv(1), name
            line = wait_until(lambda: len(lines_of(log)) == count and lines_of(log)[-1], what=name)
            entry = json.loads(line.decode())
            assert len(line) < 700 and "canary?" not in line.decode() and entry["requests"] == 10, line
    longest = max(map(len, lines_of(log)))
    assert bytes_a_day(longest, longest) < 0.7e9
    assert (tmp_path / "error.log").read_bytes() == b""


def test_refusals_are_sampled_whatever_the_path_and_the_form(front, tmp_path):
    """A limit refuses all but the first. One line in 1000 stands for all of these, and of a path keeps 64 characters."""
    statuses, started = Counter(), time.monotonic()
    with front(requests_per_address=1) as client:
        for name in ("quotes", "a long path", "every byte", "docs", "no token", "a body without a token"):
            for _ in range(10):
                with client.wire(REQUESTS[name] * 50) as wire, contextlib.suppress(EOFError):
                    statuses.update(response.status for response in itertools.islice(iter(wire.response, None), 50))
        for name in ("no request", "a long line", "long headers", "a long body", "a dot segment"):
            with client.wire(REQUESTS[name]) as wire:
                assert wire.response().status == 429, name
    refused = [line for line in lines_of(tmp_path / "access.log") if b'"requests":1000' in line]
    assert statuses[429] > 1500 and sum(statuses.values()) - statuses[429] <= 2 + (time.monotonic() - started) / 60
    assert len(refused) < 15, "some three are expected"
    assert all(len(line) < 450 for line in refused)


def test_the_pool_logs_no_client_without_a_token_and_no_long_method(entity, stack):
    logged = len(stack.dev("logs", "fcgi").stdout)
    for token in ("x", "apie_" + "x" * 43, None):
        assert stack.api("GET", BASE, token).status == 401
    with stack.api.wire(raw(f"{'A' * 7900} {BASE} HTTP/1.1", f"Authorization: Bearer {entity.token}")) as wire:
        refused = wire.response()
    assert refused.status == 405
    lines = wait_until(lambda: (new := stack.dev("logs", "fcgi").stdout[logged:]) and refused.headers["x-request-id"] in new and new)
    assert "status=401" not in lines and "A" * 33 not in lines
    assert all(len(line) < 500 for line in lines.splitlines())


# Slow bodies.

def test_a_body_is_refused_before_it_is_read(entity, front):
    """Without a well-formed token, and where none is expected, chunked or not."""
    length, chunked = "Content-Length: 100", "Transfer-Encoding: chunked"
    with front() as client:
        for framing in (length, chunked):
            for line, headers, status in ((f"POST {BASE} HTTP/1.1", [], 401),
                                          (f"PATCH {BASE}/1 HTTP/1.1", ["Authorization: Bearer x"], 401),
                                          ("POST /apientidades/openapi.json HTTP/1.1", [], 400),
                                          ("GET /apientidades/docs HTTP/1.1", [FORGED], 400),
                                          ("GET /apientidades/portal/ HTTP/1.1", [FORGED], 400),
                                          ("GET /apientidades/salud HTTP/1.1", [FORGED], 400),
                                          ("POST / HTTP/1.1", [FORGED], 400)):
                with client.wire(raw(line, *headers, framing)) as wire:
                    refused = wire.response()
                    assert (refused.status, bool(refused.message)) == (status, True), (line, framing)
                    assert ("www-authenticate" in refused.headers) == (status == 401)
        with client.wire(raw("POST / HTTP/1.1", chunked)) as wire:
            assert wire.response() and ends(wire), "nginx reads on for three seconds at most"
        assert client("POST", BASE, entity.token, {}).status == 400


def ends(wire) -> bool:
    """Sends chunks until the server has enough; False: it takes them for more than half a minute."""
    chunk, until = b"400\r\n" + b" " * 1024 + b"\r\n", time.monotonic() + 30
    with contextlib.suppress(OSError):
        while time.monotonic() < until:
            wire.send(chunk)
        return False
    return True



def test_bodies_that_do_not_come_leave_room_for_others(entity, front):
    """A tenth of Debian's connections, and of the addresses that held them all."""
    with front(connections=80) as client, contextlib.ExitStack() as held:
        for number, headers, _ in itertools.product(range(2, 5), ([], [FORGED]), range(30)):
            with contextlib.suppress(OSError):
                data = raw(f"POST {BASE} HTTP/1.1", "Content-Length: 100", *headers)
                held.enter_context(client.sending_from(f"127.0.0.{number}").wire(data))
        works = lambda: client("GET", BASE, entity.token).status == 200
        wait_until(lambda: all(tried(works) for _ in range(10)), 10, "the answered ones to be closed, and ten requests in a row")


def tried(request) -> bool:
    with contextlib.suppress(OSError):
        return request()
    return False
