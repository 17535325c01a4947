"""Tests fakes/verify.py with published vectors, so that other tests can rely on it."""
import pytest

from fakes import verify

STANDARD = {
    "content-type": "application/json",
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
}
BODY = b'{"test": 2432232314}'
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def test_hub_signature_of_rfc_4231_and_of_githubs_documentation():
    assert verify.hub_signature("Jefe", b"what do ya want for nothing?") == (
        "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
    assert verify.hub_signature("It's a Secret to Everybody", b"Hello, World!") == (
        "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17")


def test_standard_webhooks_signature_of_its_reference_libraries():
    signature = verify.standard_signature(SECRET, STANDARD["webhook-id"], STANDARD["webhook-timestamp"], BODY)
    assert signature == STANDARD["webhook-signature"]


@pytest.mark.parametrize("secret, key", [
    ("whsec_aGVsbG8=", b"hello"), ("whsec_aGVsbG8", b"hello"), ("v1,whsec_aGVsbG8=", b"hello"), ("hello", b"hello"), ("whsec_not base64!", b"whsec_not base64!"),
    ("whsec_", b"whsec_"), ("ñandú", "ñandú".encode()),
])
def test_key_of_a_secret(secret, key):
    assert verify.standard_key(secret) == key


def test_a_good_notification_has_no_problems_and_a_touched_one_does():
    headers = {**STANDARD, "x-webhook-signature": verify.hub_signature(SECRET, BODY)}
    now = 1614265330
    assert verify.problems(headers, BODY, SECRET, now) == []
    assert len(verify.problems(headers, BODY + b" ", SECRET, now)) == 2
    assert len(verify.problems(headers, BODY, "another", now)) == 2
    assert verify.problems(headers, BODY, SECRET, now + 301) == ["webhook-timestamp 1614265330 is not of now"]
    assert len(verify.problems(headers, BODY, None, now)) == 2
    headers["webhook-id"] = "another"
    assert verify.problems(headers, BODY, SECRET, now) == ["webhook-signature does not match"]
