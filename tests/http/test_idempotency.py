"""Idempotency-Key on POST /webhooks: a client that repeats a request after a lost answer registers only one webhook."""
import json
import secrets
from concurrent.futures import ThreadPoolExecutor

import pytest

from support.actors import BASE
from support.keys import Keys, new_key
from support.locks import in_background, kill_sessions, locked, wait_blocked
from support.stack import setting
from support.wait import wait_until

MALFORMED = "Idempotency-Key: debe enviarse una sola vez y tener de 1 a 64 caracteres ASCII visibles, sin espacios"
FIVE = "Máximo 5 webhooks"
DELETED = "El webhook que se registró con esta Idempotency-Key se ha eliminado: use otra para registrar uno nuevo"


def body(**fields) -> bytes:
    return json.dumps({"url": "https://hooks.example.com/apie", "eventos": ["evaluacion.abierta"], "secreto": "s"} | fields).encode()


def register(entity, key, sent=None):
    return entity.api("POST", BASE, body=sent or body(), headers={} if key is None else {"Idempotency-Key": key})


def registered(entity) -> int:
    return int(entity.stack.value(f"SELECT COUNT(*) FROM webhooks WHERE entidad_id = {entity.id}"))


def remembered(entity) -> int:
    return int(entity.stack.value(f"SELECT COUNT(*) FROM claves_idempotencia WHERE entidad_id = {entity.id}"))


def test_the_same_body_again_gets_the_same_bytes(entity, stack):
    first = register(entity, "alta-1")
    assert first.status == 201 and list(first.json()) == ["id", "url", "eventos", "activo", "fechaAlta"]
    for _ in range(3):
        again = register(entity, "alta-1")
        assert (again.status, again.text, again.headers["content-type"]) == (201, first.text, first.headers["content-type"])
    assert registered(entity) == 1
    hook = first.json()["id"]
    changed = entity.api("PATCH", f"{BASE}/{hook}", json_body={"url": "https://otra.example.com/", "activo": False})
    assert changed.status == 200
    assert register(entity, "alta-1").text == first.text, "the answer as it was then"
    assert [e["accion"] for e in stack.admin("audit", "list", "--webhook", hook)] == ["alta", "cambio"]
    token = entity.issue_token()
    assert stack.api("POST", BASE, token, body=body(), headers={"Idempotency-Key": "alta-1"}).text == first.text, "a key belongs to the entity, not to the token"


def test_two_requests_without_a_key_register_two_webhooks(entity):
    answers = [register(entity, None) for _ in range(2)]
    assert [answer.status for answer in answers] == [201, 201]
    assert registered(entity) == 2 and remembered(entity) == 0


def test_a_key_with_another_body_is_422(entity):
    assert register(entity, "k").status == 201
    for other in (body(secreto="t"), body() + b" ", body(eventos=["evaluacion.cerrada"])):
        response = register(entity, "k", other)
        assert (response.status, response.message) == (422, "Esta Idempotency-Key ya se ha usado con otro cuerpo: use otra para otro registro")
    assert registered(entity) == 1
    assert register(entity, "k", body(url="")).status == 400, "the body is judged first"


def test_two_entities_may_use_the_same_key(entity, new_entity):
    other = new_entity()
    first, second = register(entity, "k"), register(other, "k", body(secreto="t"))
    assert (first.status, second.status) == (201, 201) and first.json()["id"] != second.json()["id"]


@pytest.mark.parametrize("key", ["x", "x" * 64, "!~\"'\\,;=%{}", "0", "8e03978e-40d5-43dd-bc93-6894a57f9324"])
def test_keys_that_are_good(entity, key):
    first = register(entity, key)
    assert first.status == 201 and register(entity, key).text == first.text


@pytest.mark.parametrize("key", ["", " ", "x" * 65, "a b", "a\tb", "ñ".encode().decode("latin-1"), "a\x7f"])
def test_keys_that_are_malformed(entity, key):
    response = register(entity, key)
    assert (response.status, response.message) == (400, MALFORMED)
    assert registered(entity) == 0


@pytest.mark.parametrize("keys", [["a", "b"], ["a", "a"], ["", "a"], ["a", ""], ["", ""]])
def test_a_key_that_is_repeated(entity, stack, keys):
    lines = "".join(f"Idempotency-Key: {key}\r\n" for key in keys)
    sent = body()
    head = (f"POST {BASE} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {entity.token}\r\nConnection: close\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(sent)}\r\n{lines}\r\n")
    with stack.api.wire(head.encode() + sent) as wire:
        response = wire.response()
    assert (response.status, response.message) == (400, MALFORMED)
    assert registered(entity) == 0


def test_a_good_key_does_not_make_another_path_of_an_ambiguous_one(entity):
    for path in ("/apientidades/v1//webhooks", "/apientidades/v1/./webhooks", "/apientidades/v1/x/../webhooks"):
        assert entity.api("POST", path, body=body(), headers={"Idempotency-Key": "k"}).status == 400
    assert entity.api("POST", "/apientidades/v1/%77ebhooks", body=body(), headers={"Idempotency-Key": "k"}).status == 404


@pytest.mark.parametrize("count", [2, 8])
def test_concurrent_repetitions_get_the_same_201(entity, stack, count):
    with locked(stack) as release:
        answers = [in_background(register, entity, "k") for _ in range(count)]
        wait_blocked(stack)
        release()
    answers = [answer.result(20) for answer in answers]
    assert {answer.status for answer in answers} == {201}
    assert len({answer.text for answer in answers}) == 1 and registered(entity) == 1


def test_different_bodies_at_once_are_one_201_and_otherwise_422(entity):
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda n: register(entity, "k", body(secreto=str(n))), range(8)))
    assert sorted(answer.status for answer in answers) == [201] + [422] * 7
    assert registered(entity) == 1


def test_the_key_of_a_deleted_webhook_is_409(entity):
    hook = register(entity, "k").json()["id"]
    assert entity.api("DELETE", f"{BASE}/{hook}").status == 200
    for sent in (body(), body(secreto="t")):
        response = register(entity, "k", sent)
        assert (response.status, response.message) == (409, DELETED)
    assert entity.api("GET", BASE).json() == []


def test_what_was_refused_may_be_sent_again_with_the_same_key(entity):
    hooks = [register(entity, None).json()["id"] for _ in range(5)]
    for _ in range(2):
        response = register(entity, "k")
        assert (response.status, response.message) == (400, FIVE)
    assert remembered(entity) == 0
    entity.api("DELETE", f"{BASE}/{hooks[0]}")
    first = register(entity, "k")
    assert first.status == 201 and register(entity, "k").text == first.text, "although there are five again"


def test_a_lost_session_stores_webhook_and_key_or_neither(entity, stack):
    """If the database session is killed during a registration, the webhook and its key are both stored, or neither is. After
    the next try there is one webhook and one key."""
    with locked(stack) as release:
        answer = in_background(register, entity, "k")
        wait_blocked(stack)
        kill_sessions(stack, "api")
        release()
    assert answer.result(20).status in (201, 503)
    assert registered(entity) == remembered(entity)
    assert register(entity, "k").status == 201
    assert registered(entity) == remembered(entity) == 1


def test_a_key_is_free_and_removed_after_24_hours(entity, stack):
    def make_old(key):
        stack.sql("UPDATE claves_idempotencia SET creada_en = UTC_TIMESTAMP(3) - INTERVAL 86400 SECOND"
                  f" WHERE entidad_id = {entity.id} AND clave = '{key}'")

    first = register(entity, "k")
    make_old("k")
    second = register(entity, "k", body(secreto="t"))
    assert second.status == 201 and second.json()["id"] != first.json()["id"]
    make_old("k")
    stack.stop("dispatcher")
    stack.start("dispatcher")  # the dispatcher looks for old keys as soon as it starts
    wait_until(lambda: remembered(entity) == 0, 30, "the old key to be removed")


def test_repetitions_do_not_count_in_the_limit_of_registrations(stack, entity):
    with stack.part_with("fcgi", **setting(limits_registrations="2")):
        first = register(entity, "k")
        assert {register(entity, "k").status for _ in range(5)} == {201}
        assert register(entity, "l").status == 201
        assert register(entity, "m").status == 429
        assert register(entity, "k").text == first.text
        assert register(entity, "m").status == 429 and remembered(entity) == 2, "what was refused is not remembered"


def test_a_repetition_is_409_once_the_sealing_key_is_gone(stack, entity):
    secret = secrets.token_hex(16)
    keys, sent = Keys(stack), body(secreto=secret)
    before = keys.lines
    first = register(entity, "k", sent)
    kept = stack.sql(f"SELECT * FROM claves_idempotencia WHERE entidad_id = {entity.id}")
    assert secret not in json.dumps(kept)
    try:
        keys.write(new_key("otra"), *before)
        keys.reload("fcgi")
        assert register(entity, "k", sent).text == first.text
        assert register(entity, "k").status == 422
        keys.write(keys.lines[0])
        keys.reload("fcgi")
        for again in (sent, body()):
            response = register(entity, "k", again)
            assert response.status == 409 and response.message.startswith("Ya no puede comprobarse si el cuerpo")
    finally:
        keys.write(*before)
        keys.reload("fcgi")
    assert register(entity, "k", sent).text == first.text
    assert registered(entity) == 1


def test_a_token_that_only_reads_gets_403(entity, stack):
    token = entity.issue_token("--read-only")
    assert stack.api("POST", BASE, token, body=body(), headers={"Idempotency-Key": "k"}).status == 403
