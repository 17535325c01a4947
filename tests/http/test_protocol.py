"""HTTP itself: methods, media types, sizes, paths, errors of nginx, headers."""
import json
import re
import socket
import ssl

import pytest

from support.actors import BASE

GOOD = {"url": "https://example.com/", "eventos": ["evaluacion.abierta"]}
LIMIT = 64 * 1024
LONG = 9000  # bytes: nginx refuses so long a header, but it fits in one TLS record, so nginx reads it whole before it answers


def padded(size: int) -> bytes:
    return json.dumps(GOOD).encode().ljust(size)


# Methods and paths.

@pytest.mark.parametrize("method, path, allow", [
    ("PUT", "", "GET POST"), ("PATCH", "", "GET POST"), ("DELETE", "", "GET POST"), ("OPTIONS", "", "GET POST"),
    ("POST", "/eventos", "GET"), ("DELETE", "/eventos", "GET"), ("GET", "/test", "POST"), ("DELETE", "/test", "POST"),
    ("POST", "/1", "GET PATCH DELETE"), ("PUT", "/1", "GET PATCH DELETE"), ("DELETE", "/1/entregas", "GET"), ("PUT", "/1/entregas/2", "GET"), ("BREW", "", "GET POST"),
    ("get", "", "GET POST"),
])
def test_method_not_allowed(entity, method, path, allow):
    response = entity.api(method, BASE + path)
    assert response.status in ((405,) if method != "get" else (400, 405)), response
    assert response.message
    if response.status == 405:
        assert set(response.headers["allow"].replace(",", " ").split()) == set(allow.replace("GET", "GET HEAD").split())


def test_head_has_the_headers_of_get_and_no_body(entity):
    """RFC 9110 section 9.3.2."""
    webhook = entity.register().id
    for path in ("", "/eventos", f"/{webhook}", f"/{webhook}/entregas", f"/{webhook}/entregas?limite=1",
                 f"/{webhook}/estadisticas", f"/{webhook}/diagnostico", "/999999999", "/nada/nada"):
        head, get = entity.api("HEAD", BASE + path), entity.api("GET", BASE + path)
        assert (head.status, head.text) == (get.status, ""), path
        changing = {"date", "x-request-id"}
        assert {k: v for k, v in head.headers.items() if k not in changing} == \
               {k: v for k, v in get.headers.items() if k not in changing}, path
    assert entity.api("HEAD", BASE + "/test").status == 405


@pytest.mark.parametrize("path", [
    "/", "/apientidades/v1", "/apientidades/v1/", "/apientidades/v2/webhooks",
    "/apientidades/v1x", "/apientidades/v1/nada", "/apientidades/v1/webhooks/", "/apientidades/v1/webhooks/eventos/",
    "/apientidades/v1/webhooks/1/x", "/apientidades/v1/WEBHOOKS", "/APIENTIDADES/v1/webhooks",
    "/apientidades/v1/webhooks;x", "/apientidades/v1/webhooks%00", "/apientidades/v1/%77ebhooks",
    "/apientidades/v1/webhooks%3Fx", "/__error", "/apientidades/v1/webhooks%20", "/apientidades/v1/webhooks/test/1",
])
def test_unknown_paths(entity, path):
    response = entity.api("GET", path)
    assert response.status in (400, 404), response
    assert response.message


@pytest.mark.parametrize("path", [
    "/apientidades/v1/webhooks%2Feventos", "/apientidades/v1%2fwebhooks", "/apientidades/v1//webhooks",
    "//apientidades/v1/webhooks", "/apientidades/v1/./webhooks", "/apientidades/v1/x/../webhooks",
    "/apientidades/v1/%2e/webhooks", "/apientidades/v1/webhooks/.", "/apientidades/v1/x/%2e%2E/webhooks",
    "/apientidades/v1/webhooks/..", "/x/../apientidades/v1/webhooks", "/apientidades/v1/x/.%2e/webhooks",
    "/../apientidades/v1/webhooks",
])
def test_ambiguous_paths_are_refused(entity, path):
    response = entity.api("GET", path)
    assert response.status == 400, response
    assert response.message


# The order of the checks.

def test_401_before_404_405_415_and_400(stack):
    for method, path, body in (("GET", "/nada", None), ("PUT", "", b""), ("POST", "", b"{"), ("DELETE", "/1", None)):
        assert stack.api(method, BASE + path, body=body, headers={"Content-Type": "text/plain"}).status == 401


def test_404_of_the_path_before_405_and_415(entity):
    assert entity.api("POST", BASE + "/a/b", body=b"{", headers={"Content-Type": "text/plain"}).status == 404


def test_405_before_415(entity):
    assert entity.api("PUT", BASE, body=b"{", headers={"Content-Type": "text/plain"}).status == 405


def test_415_before_400(entity):
    assert entity.api("POST", BASE, body=b"{", headers={"Content-Type": "text/plain"}).status == 415


def test_413_before_401(stack):
    response = stack.api("POST", BASE, body=padded(LIMIT + 1))
    assert response.status == 413 and response.message


def test_400_before_404_of_the_resource(entity):
    assert entity.api("POST", BASE + "/test", json_body={"evento": "nada"}).status == 400


# Bodies.

@pytest.mark.parametrize("media_type", [
    "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonx",
    "application", "text/json", "application/json, text/plain", "", None,
])
@pytest.mark.parametrize("path", ["", "/test"])
def test_media_types_that_are_not_json(entity, path, media_type):
    response = entity.api("POST", BASE + path, json_body=GOOD, headers={"Content-Type": media_type})
    assert response.status == 415, response
    assert response.message


@pytest.mark.parametrize("media_type", [
    "application/json", "application/json; charset=utf-8", "application/json;charset=UTF-8", "Application/JSON",
])
def test_media_types_that_are_json(entity, media_type):
    assert entity.api("POST", BASE, json_body=GOOD, headers={"Content-Type": media_type}).status == 201


@pytest.mark.parametrize("method, path", [("POST", "/webhooks"), ("POST", "/webhooks/test"), ("PATCH", "/webhooks/1"), ("PUT", "/webhooks/1/secreto"),
                                          ("POST", "/webhooks/1/reenvios")])
def test_a_body_in_a_coding(entity, method, path):
    def status(coding):
        return entity.api(method, BASE.removesuffix("/webhooks") + path, json_body={}, headers={"Content-Encoding": coding})

    for coding in ("gzip", "br", "identity, gzip"):
        refused = status(coding)
        assert (refused.status, refused.message) == (415, "El cuerpo debe enviarse sin comprimir: sin Content-Encoding, o con identity")
        assert refused.headers["accept-encoding"] == "identity"
    assert status("identity").status in (400, 404)


def test_body_of_64_kib_and_of_a_byte_more(entity):
    assert entity.api("POST", BASE, body=padded(LIMIT)).status == 201
    response = entity.api("POST", BASE, body=padded(LIMIT + 1))
    assert response.status == 413 and response.message
    assert len(entity.api("GET", BASE).json()) == 1


def test_chunked_body(entity):
    """An iterator makes http.client send chunks."""
    chunks = iter([b'{"url": "https://example.com/', b'", "eventos": ["evaluacion', b'.abierta"]}'])
    assert entity.api("POST", BASE, body=chunks).status == 201


def test_chunked_body_that_is_too_large(entity):
    chunks = (b" " * 8192 for _ in range(9))
    try:
        response = entity.api("POST", BASE, body=chunks)
    except OSError:
        return  # nginx answered and closed while we were still writing
    assert response.status == 413 and response.message


def test_expect_100_continue(entity, stack):
    body = json.dumps(GOOD).encode()
    head = (f"POST {BASE} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {entity.token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nExpect: 100-continue\r\n\r\n")
    with stack.api.wire(head.encode()) as wire:
        assert wire.response().status == 100
        wire.send(body)
        assert wire.response().status == 201


# nginx's own errors have the form of the API's errors.

@pytest.mark.parametrize("data, statuses", [
    (b"GARBAGE\r\n\r\n", (400,)),
    (b"GET\r\n\r\n", (400,)),
    (b"GET " + BASE.encode() + b" HTTP/1.1\r\n\r\n", (400,)),  # no Host
    (b"GET " + BASE.encode() + b" HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", (400,)),
    (b"GET " + BASE.encode() + b" HTTP/1.1\r\nHost: a\r\nX: \x00\r\n\r\n", (400,)),
    (b"GET " + BASE.encode() + b" HTTP/9.9\r\nHost: a\r\n\r\n", (400, 505)),
    (b"GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n", (400,)),
    (b"GET /" + b"a" * LONG + b" HTTP/1.1\r\nHost: a\r\n\r\n", (414,)),
    (b"GET " + BASE.encode() + b" HTTP/1.1\r\nHost: a\r\nX: " + b"a" * LONG + b"\r\n\r\n", (400, 431, 494)),
    (b"TRACE " + BASE.encode() + b" HTTP/1.1\r\nHost: a\r\n\r\n", (405,)),
    (b"TRACE / HTTP/1.1\r\nHost: a\r\n\r\n", (405,)),
    (b"CONNECT example.com:443 HTTP/1.1\r\nHost: a\r\n\r\n", (400, 405)),
    (b"POST " + BASE.encode() + b" HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n", (400,)),
    (b"POST " + BASE.encode() + b" HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", (400,)),
    (b"POST " + BASE.encode() + b" HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999\r\n\r\n", (413,)),
    (b"POST " + BASE.encode() + b" HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", (400, 501)),
], ids=lambda value: repr(value[:40]) if isinstance(value, bytes) else str(value))
def test_malformed_requests(stack, data, statuses):
    with stack.api.wire(data) as wire:
        response = wire.response()
    assert response.status in statuses, response
    assert response.message


def test_trace_returns_nothing_of_the_request(stack, entity):
    trace = f"TRACE {BASE} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {entity.token}\r\n\r\n"
    with stack.api.wire(trace.encode()) as wire:
        assert entity.token not in wire.response().text


def test_plain_http_on_the_tls_port(stack):
    with socket.create_connection((stack.api.host, stack.api.port), timeout=10) as plain:
        plain.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        answer = plain.makefile("rb").read().decode()
    assert answer.startswith("HTTP/1.1 400 ")
    assert list(json.loads(answer.partition("\r\n\r\n")[2])) == ["message"]


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion:DeprecationWarning")
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1])
def test_old_tls_is_refused(stack, version):
    context = ssl.create_default_context(cafile=stack.env["CA_CERT"])
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = context.maximum_version = version
    with socket.create_connection((stack.api.host, stack.api.port), timeout=10) as plain, pytest.raises(OSError):
        context.wrap_socket(plain, server_hostname=stack.api.host)


# Headers of every answer.

@pytest.mark.parametrize("method, path, status", [
    ("GET", BASE, 200), ("POST", BASE, 415), ("GET", BASE + "/a/b", 404), ("PUT", BASE, 405), ("GET", "/", 404),
    ("GET", "/a//b", 400),
])
def test_security_headers(entity, method, path, status):
    response = entity.api(method, path)
    assert response.status == status, response
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["strict-transport-security"].startswith("max-age=")
    assert response.headers["cache-control"] == "no-store"
    assert not re.search(r"\d", response.headers.get("server", "")), "the server's version"
    assert "x-powered-by" not in response.headers
    assert [n for n in response.headers if n in ("access-control-allow-origin", "set-cookie")] == []
