"""Request lines and headers that few libraries send."""
import json
from pathlib import Path

import pytest

from support.actors import BASE
from support.wait import wait_until

EVENTS = BASE + "/eventos"


def raw(line: str, *headers: str, host: str | None = "localhost", end="\r\n") -> bytes:
    lines = [line, *([f"Host: {host}"] if host is not None else []), *headers, "Connection: close", "", ""]
    return end.join(lines).encode("latin-1")


def answer(stack, data: bytes):
    """Returns the only answer, after a check of the headers that every answer has."""
    with stack.api.wire(data) as wire:
        response = wire.response()
        assert wire.response() is None, "one request, one answer"
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["strict-transport-security"] == "max-age=63072000"
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["server"] == "nginx"
    if response.status >= 400:
        assert response.message
    return response


@pytest.fixture
def bearer(entity) -> str:
    return f"Authorization: Bearer {entity.token}"


# HTTP versions.

@pytest.mark.parametrize("line", ["GET /", f"GET {EVENTS}", f"POST {BASE}", f"DELETE {BASE}/1"])
def test_http_0_9_is_answered_as_what_has_no_token(stack, line):
    """An HTTP/0.9 request has no headers and thus no token. The answer has neither a status line nor headers."""
    with stack.api.wire(f"{line}\r\n".encode()) as wire:
        body = wire._rest()
    assert body == b"" or list(json.loads(body)) == ["message"], body


@pytest.mark.parametrize("host", [None, "localhost"])
def test_http_1_0(stack, bearer, host):
    response = answer(stack, raw(f"GET {EVENTS} HTTP/1.0", bearer, host=host))
    assert response.status == 200 and len(response.json()["eventos"]) == 11


def test_http_1_0_has_no_chunks(stack, bearer):
    head = raw(f"POST {BASE} HTTP/1.0", bearer, "Content-Type: application/json", "Transfer-Encoding: chunked")
    assert answer(stack, head + b"2\r\n{}\r\n0\r\n\r\n").status == 400


@pytest.mark.parametrize("version, status", [
    ("HTTP/2.0", 505), ("HTTP/3.0", 505), ("HTTP/1", 400), ("HTTP/1.x", 400), ("http/1.1", 400), ("HTTP/-1.1", 400),
    ("HTTP/99999999999.1", 505), ("HTTPS/1.1", 400), ("RTSP/1.0", 400),
])
def test_an_invalid_http_version_is_refused(stack, bearer, version, status):
    assert answer(stack, raw(f"GET {EVENTS} {version}", bearer)).status == status


def test_the_preface_of_http_2(stack):
    with stack.api.wire(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") as wire:
        assert wire.response().status == 400


# Targets.

@pytest.mark.parametrize("target, status", [
    ("https://localhost" + EVENTS, 200), ("http://elsewhere.example" + EVENTS, 200),  # RFC 9112 section 3.2.2
    ("https://localhost", 404), ("https://localhost/", 404), ("https://localhost?x", 404),
    ("https://user@localhost" + EVENTS, 400), ("https://localhost/" + EVENTS, 400),
    ("https://localhost/x/.." + EVENTS, 400), ("https://localhost" + BASE + "%2Feventos", 400), ("https://", 400),
    ("*", 400), ("localhost:443", 400), ("apientidades/v1/webhooks", 400), ("?", 400),
    (EVENTS + "#x", 400), (EVENTS + "?x#x", 400), (BASE + "#/eventos", 400),
    (EVENTS + "?", 200), (EVENTS + "?a=//%2f/../%00", 200),
    (EVENTS + "\0", 400), (EVENTS + "%00", 400), (EVENTS + "%0", 400), (EVENTS + "%", 400), (EVENTS + "%zz", 400),
    (EVENTS + "%0d%0aX:%20y", 404), (EVENTS + "%20", 404), (EVENTS + "\\", 404), (BASE + "\\eventos", 404),
    (BASE + "%2feventos", 400), (BASE + "/%2e%2e/webhooks", 400), (BASE + "//", 400), (BASE + "/./1", 400),
    (BASE + "/eventos;/../..", 400), (BASE + "/..%2f", 400), (BASE + "/%252e%252e/x", 404),
    (BASE + "\t", 400), (BASE + "/even\ttos", 400),
])
def test_targets(stack, bearer, target, status):
    response = answer(stack, raw(f"GET {target} HTTP/1.1", bearer))
    assert response.status == status, response


def test_asterisk_is_for_options_only_and_not_served(stack, bearer):
    assert answer(stack, raw("OPTIONS * HTTP/1.1", bearer)).status in (400, 405)


@pytest.mark.parametrize("size, status", [(8000, 404), (9000, 414), (60000, 414)])
def test_long_targets(stack, bearer, size, status):
    with stack.api.wire() as wire:
        try:
            wire.send(raw(f"GET {BASE}/{'a' * size}/x HTTP/1.1", bearer))
        except OSError:
            pass  # nginx answered and closed while we were still writing
        response = wire.response()
    assert response is None or (response.status == status and response.message)


# Methods.

@pytest.mark.parametrize("method, status", [
    ("TRACE", 405), ("CONNECT", 405), ("TRACK", 405), ("PROPFIND", 405), ("M-SEARCH", 405), ("A" * 200, 405),
    ("get", 400), ("G T", 400), ("G\0T", 400), ("", 400), ("G:", 400), ("\x80", 400),
])
def test_methods(stack, bearer, method, status):
    response = answer(stack, raw(f"{method} {BASE} HTTP/1.1", bearer))
    assert response.status == status, response
    if status == 405:
        assert {"GET", "POST"} <= set(response.headers["allow"].replace(",", " ").split())


def test_the_log_names_the_method_and_the_path_also_of_errors_and_nothing_else(stack, bearer):
    """One in ten of nginx's own errors is logged."""
    line = f"PATCH {BASE}/x/y?secreto=canario HTTP/1.1"
    log = Path(stack.folder, "log/nginx-access.log")

    def refused() -> str:
        with stack.api.wire(raw(line, bearer, "Content-Length: 70000")) as wire:
            return wire.response().headers["x-request-id"]
    ids = {refused() for _ in range(200)}
    entry = wait_until(lambda: [e for e in map(json.loads, log.read_text().rpartition("\n")[0].splitlines()) if e["request_id"] in ids])[0]
    assert (entry["method"], entry["path"], entry["status"], entry["requests"]) == ("PATCH", BASE + "/x/y", 413, 10)
    assert "canario" not in log.read_text()


# Headers.

@pytest.mark.parametrize("headers", [
    ["X: a\rb"], ["X: a\0b"], ["X: a\r\n b"], ["Content-Length : 0"], ["X y: 1"], [": x"], ["\0X: y"],
    ["Authorization: Bearer x"], ["Host: again"],
])
def test_headers_that_two_readers_could_read_differently(stack, bearer, headers):
    assert answer(stack, raw(f"GET {EVENTS} HTTP/1.1", bearer, *headers)).status == 400


@pytest.mark.parametrize("host", ["", "a/b", "a b", "a\0b", "..", "[::1", "a\\b"])
def test_an_invalid_host_is_answered_200_or_400(stack, bearer, host):
    assert answer(stack, raw(f"GET {EVENTS} HTTP/1.1", bearer, host=host)).status in (200, 400)


@pytest.mark.parametrize("count, status", [(200, 200), (3000, 431)])
def test_many_headers(stack, bearer, count, status):
    headers = [f"X-{n}: y" for n in range(count)]
    assert answer(stack, raw(f"GET {EVENTS} HTTP/1.1", bearer, *headers)).status == status


@pytest.mark.parametrize("header, status", [
    ("X: " + "a" * 8000, 200), ("X: " + "a" * 8200, 431), ("a" * 8200 + ": x", 431), ("Cookie: " + "a=b; " * 2000, 431),
    ("Authorization: Bearer " + "a" * 8000, 401), ("Authorization: Bearer " + "a" * 8200, 431),
])
def test_long_headers(stack, bearer, header, status):
    own = [] if header.startswith("Authorization") else [bearer]
    assert answer(stack, raw(f"GET {EVENTS} HTTP/1.1", *own, header)).status == status


@pytest.mark.parametrize("header", [
    "Upgrade: h2c", "Range: bytes=0-1", "If-None-Match: *", "If-Match: \"x\"", "Accept-Encoding: gzip", "Accept: text/html",
    "X-HTTP-Method-Override: DELETE", "X-Original-URL: /", "X-Rewrite-URL: /", "X-Accel-Redirect: /", "Expect: nothing",
    "If-Modified-Since: Sat, 29 Oct 2050 19:43:31 GMT", "Proxy: http://127.0.0.1:1", "Authorization_: Bearer x",
])
def test_headers_that_change_nothing(stack, bearer, header):
    response = answer(stack, raw(f"GET {EVENTS} HTTP/1.1", bearer, header))
    assert response.status == 200 and len(response.json()["eventos"]) == 11
    assert "content-encoding" not in response.headers
