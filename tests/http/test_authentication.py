"""The bearer token (web/docs/usar-la-api.md#el-token, RFC 6750)."""
import base64
import hashlib
import string
from concurrent.futures import ThreadPoolExecutor

import pytest

from support.actors import BASE
from support.wait import wait_until


def refused(response):
    assert response.status == 401, response
    assert response.message
    return response.headers["www-authenticate"]


@pytest.mark.parametrize("headers", [{}, {"Authorization": ""}], ids=["absent", "empty"])
def test_without_credentials_no_error_code(stack, headers):
    challenge = refused(stack.api("GET", BASE, headers=headers))
    assert challenge.startswith("Bearer") and "error" not in challenge


@pytest.mark.parametrize("value", [
    "Bearer", "Bearer x", "Bearer apie_", "Bearer apie_" + "A" * 43, "Bearer apie_" + "A" * 5000, "Basic dTpw",
    "apie_abc", "Bearer {token}x", "Bearer {token} x", "Bearer x {token}", "Bearer {token},Bearer {token}",
    "Bearer {cut}", "Bearer {swapped}", "{token}", "Token {token}", "Bearer\t{token}", "Bearer {token}'--",
    "Bearer=%22{token}%22", "BearerX {token}",
])
def test_what_is_not_a_valid_token(entity, stack, value):
    value = value.format(token=entity.token, cut=entity.token[:-1], swapped=entity.token.swapcase())
    assert 'error="invalid_token"' in refused(stack.api("GET", BASE, headers={"Authorization": value}))


def variations(token: str):
    """Texts close to a valid token: cut, longer, with another character, case, order or encoding."""
    alphabet = string.ascii_letters + string.digits + "-_"
    yield from (token[:n] for n in range(len(token)))
    yield from (token[n:] for n in range(1, len(token)))
    yield from (token + c for c in alphabet + "=.,;'\"%/+")
    for at, c in enumerate(token):
        yield token[:at] + token[at + 1:]
        yield token[:at] + (c.swapcase() if c.isalpha() else "A") + token[at + 1:]
        yield token[:at] + ("A" if c != "A" else "B") + token[at + 1:]
    # The last of the 43 characters carries only 4 bits, so four texts decode to the same bytes. Only one of the four is the token.
    yield from (token[:-1] + c for c in alphabet if c != token[-1])
    yield from (token.lower(), token.upper(), token.swapcase(), token[::-1], token + token, f'"{token}"', f"<{token}>",
                token.replace("apie_", "apie-"), token.replace("apie_", "apie_ "), token.replace("_", "%5F"),
                base64.b64encode(token.encode()).decode(), token.encode().hex(), hashlib.sha256(token.encode()).hexdigest(),
                token[:5] + hashlib.sha256(token.encode()).hexdigest()[:43])


def test_nothing_near_a_valid_token_is_one(entity, stack):
    wrong = [value for value in variations(entity.token) if value.strip() != entity.token]
    assert len(wrong) > 300
    with ThreadPoolExecutor(8) as pool:
        responses = list(pool.map(lambda value: stack.api("GET", BASE, value), wrong))
    assert [value for value, response in zip(wrong, responses) if response.status != 401] == []
    assert {response.text for response in responses} == {responses[0].text}, "none says how near it was"
    assert entity.api("GET", BASE).status == 200


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER", "bEaReR"])
def test_the_scheme_has_no_case(entity, stack, scheme):
    assert stack.api("GET", BASE, headers={"Authorization": f"{scheme} {entity.token}"}).status == 200


def test_a_token_outside_the_authorization_header_is_ignored(entity, stack):
    refused(stack.api("GET", f"{BASE}?access_token={entity.token}"))
    refused(stack.api("POST", BASE, body=f"access_token={entity.token}".encode(),
                      headers={"Content-Type": "application/x-www-form-urlencoded"}))
    refused(stack.api("GET", BASE, headers={"Cookie": f"access_token={entity.token}"}))


@pytest.mark.parametrize("method, path", [
    ("GET", ""), ("POST", ""), ("GET", "/eventos"), ("POST", "/test"), ("DELETE", "/1"), ("GET", "/unknown"),
    ("PATCH", ""), ("DELETE", "/abc"),
])
def test_every_endpoint_refuses_a_request_without_token(stack, method, path):
    body = b"{" if method == "POST" else None
    refused(stack.api(method, BASE + path, body=body, headers={"Content-Type": "text/plain"} if body else None))


def test_form_of_a_token(entity, stack):
    assert entity.token.startswith("apie_") and len(entity.token) == 48
    stored = stack.sql(f"SELECT HEX(hash) FROM tokens_acceso WHERE entidad_id = {entity.id}")
    assert len(stored) == 1 and len(stored[0][0]) == 64


def test_an_expired_token(entity, stack):
    token = entity.issue_token("--ttl", "1h", "--label", "breve")
    assert stack.api("GET", BASE, token).status == 200
    stack.sql(f"UPDATE tokens_acceso SET caduca = caduca - INTERVAL 1 HOUR WHERE entidad_id = {entity.id} AND etiqueta = 'breve'")
    wait_until(lambda: stack.api("GET", BASE, token).status == 401, what="the token to expire")
    assert 'error="invalid_token"' in refused(stack.api("GET", BASE, token))
    assert entity.api("GET", BASE).status == 200


def test_a_revoked_token_fails_at_the_next_request(entity, stack):
    other = entity.issue_token("--label", "la otra")
    assert stack.api("GET", BASE, other).status == 200
    listed = {t["etiqueta"]: t for t in stack.admin("token", "list", "--entity", entity.id)}
    assert listed["la otra"]["revocado"] is None
    stack.admin("token", "revoke", listed["la otra"]["id"])
    assert 'error="invalid_token"' in refused(stack.api("GET", BASE, other))
    assert entity.api("GET", BASE).status == 200


def test_tokens_of_one_entity_see_the_same_webhooks(entity, stack):
    hook = entity.register()
    assert [w["id"] for w in stack.api("GET", BASE, entity.issue_token()).json()] == [hook.id]


def test_a_disabled_entity(entity, stack):
    stack.admin("entity", "disable", entity.id)
    refused(entity.api("GET", BASE))
    stack.admin("entity", "add", "--id", entity.id, "--name", entity.name)


def test_callers_who_come_together_each_see_their_own(new_entity, stack):
    """One statement looks up several waiting callers; each caller must get its own result."""
    one, other = new_entity(), new_entity()
    first, second = one.register().id, other.register().id
    expected = {one.token: [first], one.issue_token(): [first], other.token: [second], other.token[:-1] + "~": 401}

    def ask(token):
        response = stack.api("GET", BASE, token)
        return token, [w["id"] for w in response.json()] if response.status == 200 else response.status

    with ThreadPoolExecutor(32) as pool:
        answers = list(pool.map(ask, list(expected) * 100))
    assert [(token, seen) for token, seen in answers if seen != expected[token]] == []


def test_a_token_goes_into_a_new_file_that_only_its_owner_reads(entity, stack, tmp_path):
    file = tmp_path / "token.txt"
    issue = lambda: stack.try_admin("token", "issue", "--entity", entity.id, "--output", file)
    before = len(stack.admin("token", "list", "--entity", entity.id))
    issued = issue()
    assert issued.returncode == 0 and "apie_" not in issued.stdout and file.stat().st_mode & 0o777 == 0o600
    assert stack.api("GET", BASE, file.read_text().strip()).status == 200
    refused = issue()
    assert refused.returncode == 1 and refused.stderr == f"apientidades-admin: --output: {file} exists\n"
    assert len(stack.admin("token", "list", "--entity", entity.id)) == before + 1
    lost = stack.try_admin("token", "issue", "--entity", entity.id, "--output", tmp_path / "none" / "token.txt")
    assert lost.returncode == 1 and "could not be written (No such file or directory): `token revoke " in lost.stderr
