"""Requests of a notification that a tunnel or a proxy has written anew, as bytes."""
from __future__ import annotations


def request(notification, body: bytes, headers: dict | None = None, twice: str = "") -> bytes:
    """Returns the request with `headers` besides the notification's, and the header `twice` twice. `body`: what follows the headers."""
    lines = [f"{name}: {value}" for name, value in (notification.cabeceras | (headers or {})).items() for _ in range(1 + (name == twice))]
    return "\r\n".join(["POST /avisos HTTP/1.1", "Host: localhost", *lines, "", ""]).encode() + body


def in_chunks(notification, size: int, extension: bytes = b"") -> bytes:
    body = notification.cuerpo.encode()
    chunks = [body[start:start + size] for start in range(0, len(body), size)] + [b""]
    coded = b"".join(b"%X%s\r\n%s\r\n" % (len(chunk), extension, chunk) for chunk in chunks)
    return request(notification, coded, {"Transfer-Encoding": "chunked"})


def with_length(notification, twice: str = "") -> bytes:
    body = notification.cuerpo.encode()
    return request(notification, body, {"Content-Length": str(len(body))}, twice)


# name -> the request of a genuine notification
GENUINE = {
    "in one chunk": lambda one: in_chunks(one, 100_000),
    "in chunks of 7 bytes": lambda one: in_chunks(one, 7),
    "in chunks with an extension": lambda one: in_chunks(one, 100, b";a=b"),
    "webhook-signature twice": lambda one: with_length(one, "webhook-signature"),
    "X-Webhook-Signature twice": lambda one: with_length(one, "X-Webhook-Signature"),
}


def without_a_length(notification) -> bytes:
    return request(notification, b"")
