"""POST /apientidades/v1/webhooks (web/docs/webhooks.md#registrar-un-webhook)."""
import json
import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from support.actors import BASE, Entity
from support.stack import EVENTS

GOOD = {"url": "https://hooks.example.com/apie", "eventos": ["evaluacion.abierta"]}
MILLISECONDS_UTC = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


@pytest.fixture(scope="module")
def member(stack, receiver):
    return Entity(stack, receiver)


@pytest.fixture
def register(member):
    """Yields a function that registers a webhook. A field given as Ellipsis (`...`) is left out of the body. After the test,
    deletes the webhooks that were created, because `member` may have only five."""
    created = []

    def post(**fields):
        response = member.api("POST", BASE, json_body={k: v for k, v in {**GOOD, **fields}.items() if v is not ...})
        if response.status == 201:
            created.append(response.json()["id"])
        return response

    yield post
    for id in created:
        assert member.api("DELETE", f"{BASE}/{id}").status == 200


def refused(response) -> str:
    assert response.status == 400, response
    return response.message


def test_created_webhook(register):
    response = register(secreto="muy secreto")
    assert response.status == 201
    assert response.headers["content-type"] == "application/json; charset=utf-8"
    body = response.json()
    assert list(body) == ["id", "url", "eventos", "activo", "fechaAlta"]
    assert isinstance(body["id"], int) and body["activo"] is True
    assert (body["url"], body["eventos"]) == (GOOD["url"], GOOD["eventos"])
    assert MILLISECONDS_UTC.fullmatch(body["fechaAlta"])


def test_events_are_stored_without_repeats_in_catalogue_order(register):
    assert register(eventos=EVENTS[::-1] + EVENTS).json()["eventos"] == EVENTS
    assert register(eventos=["incidencia.cerrada", "evaluacion.cerrada", "incidencia.cerrada"]).json()["eventos"] == [
        "evaluacion.cerrada", "incidencia.cerrada"]


@pytest.mark.parametrize("url", [..., None, "", 5, True, [], {}, ["https://example.com"]])
def test_url_must_be_a_text_that_is_not_empty(register, url):
    assert "url" in refused(register(url=url)).lower()


@pytest.mark.parametrize("url", [
    "http://example.com/", "HTTPS://example.com/", "Https://example.com/", "ftp://example.com/", "//example.com/",
    "example.com", " https://example.com/", "https:/example.com/", "javascript:alert(1)", "file:///etc/passwd",
])
def test_url_begins_with_https_literally(register, url):
    assert "https://" in refused(register(url=url))


def test_url_of_2000_characters_and_of_2001(register):
    start = "https://example.com/"
    assert register(url=start + "a" * (2000 - len(start))).status == 201
    assert "2000" in refused(register(url=start + "a" * (2001 - len(start))))


@pytest.mark.parametrize("eventos", [
    ..., None, [], "evaluacion.abierta", {}, 5, [5], [None], [["evaluacion.abierta"]]])
def test_events_are_a_list_of_at_least_one_name(register, eventos):
    refused(register(eventos=eventos))


@pytest.mark.parametrize("eventos, named", [
    (["nada"], "nada"),
    (["evaluacion.abierta", "x.y", "incidencia.cerrada", "otro"], "x.y, otro"),
    (["Evaluacion.Abierta"], "Evaluacion.Abierta"),
    (["evaluacion.abierta "], "evaluacion.abierta "),
    (["ñandú\u2028"], "ñandú\u2028"),
    (["evaluacion.abierta,evaluacion.cerrada"], "evaluacion.abierta,evaluacion.cerrada"),
])
def test_unknown_events_are_named(register, eventos, named):
    assert refused(register(eventos=eventos)) == "Eventos no válidos: " + named


@pytest.mark.parametrize("character", ["a", "ñ", "€", "😀"])
def test_secret_of_512_characters_and_of_513(register, character):
    assert register(secreto=character * 512).status == 201
    assert "512" in refused(register(secreto=character * 513))


@pytest.mark.parametrize("secreto", [..., None, ""])
def test_no_secret(register, secreto):
    assert register(secreto=secreto).status == 201


@pytest.mark.parametrize("secreto", [5, True, [], {}])
def test_secret_must_be_a_text(register, secreto):
    assert "secreto" in refused(register(secreto=secreto)).lower()


@pytest.mark.parametrize("body", [
    b"", b" ", b"{", b"null", b"[]", b'"x"', b"5", b"{'url': 1}", b'{"url": "https://example.com", "eventos": [',
    b'{"url": "https://example.com/\xff", "eventos": ["evaluacion.abierta"]}', b'\xef\xbb\xbf{"url": "a"}',
    b'{"url": "https://a.example.com", "url": "https://b.example.com", "eventos": ["evaluacion.abierta"]}',
    b'{"url": "https://example.com/\\udc00", "eventos": ["evaluacion.abierta"]}', b"[" * 60000,
    b'{"a":' * 10000, b'{"n": 1e999999999, "url": 5}', b'{"n": 0.' + b"1" * 50000 + b"}", b'{"url": NaN}',
], ids=lambda body: repr(body[:24]))
def test_body_that_is_not_one_json_object(member, body):
    assert refused(member.api("POST", BASE, body=body))


def test_first_failing_rule_in_the_documented_order(register, member, new_entity):
    bad = dict(url="", eventos=[], secreto="x" * 513)
    assert "url" in refused(register(**bad)).lower()
    bad["url"] = "http://10.0.0.1/" + "a" * 2001
    assert "https://" in refused(register(**bad))
    bad["url"] = "https://10.0.0.1/" + "a" * 2001
    assert "2000" in refused(register(**bad))
    bad["url"] = "https://10.0.0.1/"
    private = refused(register(**bad))
    assert private == refused(register(url="https://10.0.0.1/"))
    bad["url"] = "https://example.com/"
    assert refused(register(**bad)) == refused(register(eventos=[]))
    bad["eventos"] = ["nada"]
    assert refused(register(**bad)) == "Eventos no válidos: nada"
    bad["eventos"] = EVENTS
    assert "512" in refused(register(**bad))


def test_five_webhooks_and_the_count_is_the_last_rule(entity):
    post = lambda **fields: entity.api("POST", BASE, json_body={**GOOD, **fields})
    ids = [post().json()["id"] for _ in range(5)]
    assert refused(post()) == "Máximo 5 webhooks"
    assert refused(post(eventos=["nada"])) == "Eventos no válidos: nada"
    assert "512" in refused(post(secreto="x" * 513))
    assert entity.api("DELETE", f"{BASE}/{ids[2]}").status == 200
    sixth = post()
    assert sixth.status == 201 and sixth.json()["id"] > ids[4]
    assert refused(post()) == "Máximo 5 webhooks"


def test_five_webhooks_under_twenty_requests_at_once(entity):
    with ThreadPoolExecutor(20) as pool:
        responses = list(pool.map(lambda _: entity.api("POST", BASE, json_body=GOOD), range(20)))
    created = [r.json()["id"] for r in responses if r.status == 201]
    rest = [r for r in responses if r.status != 201]
    assert len(created) == len(set(created)) == 5
    assert [refused(r) for r in rest] == ["Máximo 5 webhooks"] * 15
    assert [w["id"] for w in entity.api("GET", BASE).json()] == sorted(created)


def test_the_limit_is_of_each_entity(entity, new_entity):
    for _ in range(5):
        assert entity.api("POST", BASE, json_body=GOOD).status == 201
    assert new_entity().api("POST", BASE, json_body=GOOD).status == 201


def test_the_secret_is_in_no_answer_and_not_in_clear_in_the_database(entity, stack):
    secret = "unmistakable-ñ-secret"
    for response in (
        entity.api("POST", BASE, json_body={**GOOD, "secreto": secret}),
        entity.api("GET", BASE),
        entity.api("POST", BASE, json_body={**GOOD, "secreto": secret, "eventos": ["nada"]}),
        entity.api("POST", BASE, json_body={**GOOD, "secreto": secret + "x" * 512}),
        entity.api("POST", BASE, body=json.dumps({**GOOD, "secreto": secret})[:-1].encode()),
    ):
        assert "unmistakable" not in response.text and "secreto\":" not in response.text
    stored = stack.sql(f"SELECT secreto_clave, HEX(secreto_sellado) FROM webhooks WHERE entidad_id = {entity.id}")
    assert len(stored) == 1 and secret.encode().hex().upper() not in stored[0][1]
    assert "unmistakable" not in json.dumps(stack.admin("webhook", "list", "--entity", entity.id))
