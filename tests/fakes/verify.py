"""Verifies a notification as a receiver would, by the published rules alone: this code shares nothing with the service."""
from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import time


def hub_signature(secret: str, body: bytes) -> str:
    """Returns X-Webhook-Signature: the HMAC-SHA256 of the raw body, with the bytes of the secret as key."""
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def standard_signature(secret: str, message_id: str, timestamp: str, body: bytes) -> str:
    """Returns webhook-signature by the v1 (symmetric) scheme of Standard Webhooks 1.0."""
    signed = f"{message_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(standard_key(secret), signed, hashlib.sha256).digest()).decode()


def standard_key(secret: str) -> bytes:
    """Returns the key: the Base64 after whsec_ or v1,whsec_, decoded, if valid and not empty; otherwise the bytes of the secret.
    The padding may be missing."""
    encoded = secret.removeprefix("v1,")
    if encoded.startswith("whsec_"):
        encoded = encoded.removeprefix("whsec_")
        try:
            key = base64.b64decode(encoded if "=" in encoded else encoded + "=" * (-len(encoded) % 4), validate=True)
            if key:
                return key
        except binascii.Error:
            pass
    return secret.encode()


def problems(headers: dict, body: bytes, secret: str | None, now: float | None = None, tolerance=300) -> list[str]:
    """Returns what is wrong with a notification, given its headers (lower-case names); empty if it verifies."""
    found = []
    if headers.get("content-type") != "application/json":
        found.append(f"content-type is {headers.get('content-type')!r}")
    if not headers.get("webhook-id"):
        found.append("no webhook-id")
    timestamp = headers.get("webhook-timestamp", "")
    if not timestamp.isdigit():
        found.append(f"webhook-timestamp is {timestamp!r}")
    elif abs((time.time() if now is None else now) - int(timestamp)) > tolerance:
        found.append(f"webhook-timestamp {timestamp} is not of now")
    if secret is None:
        signatures = ("x-webhook-signature", "webhook-signature")
        found += [f"{name} without a secret" for name in signatures if name in headers]
        return found
    if not same(headers.get("x-webhook-signature", ""), hub_signature(secret, body)):
        found.append("x-webhook-signature does not match")
    expected = standard_signature(secret, headers.get("webhook-id", ""), timestamp, body)
    if not any(same(candidate, expected) for candidate in headers.get("webhook-signature", "").split(" ")):
        found.append("webhook-signature does not match")
    return found


def same(a: str, b: str) -> bool:
    return hmac.compare_digest(a.encode(), b.encode())
