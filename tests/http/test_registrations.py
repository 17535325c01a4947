"""limits.registrations stops a client that registers and deletes in a loop. The count is in the database, so that both
processes of the pool share it."""
from concurrent.futures import ThreadPoolExecutor

import pytest

from support.actors import BASE
from support.metrics import scrape
from support.stack import setting

LIMIT = 12
BODY = {"url": "https://hooks.example.com/apie", "eventos": ["evaluacion.abierta"]}


@pytest.fixture(scope="module")
def limited(stack):
    with stack.part_with("fcgi", **setting(limits_registrations=str(LIMIT))):
        yield


def register(entity, **fields):
    return entity.api("POST", BASE, json_body={**BODY, **fields})


def register_and_delete(entity):
    response = register(entity)
    if response.status == 201:
        assert entity.api("DELETE", f"{BASE}/{response.json()['id']}").status == 200
    return response


def is_429(response):
    assert response.status == 429, response
    assert f"el máximo es {LIMIT} por hora" in response.message
    assert 1 <= int(response.headers["retry-after"]) <= 3600 / LIMIT
    assert response.headers["cache-control"] == "no-store" and "strict-transport-security" in response.headers


def registered(entity) -> int:
    return int(entity.stack.value(f"SELECT COUNT(*) FROM webhooks WHERE entidad_id = {entity.id}"))


def test_without_a_limit_nothing_is_counted(entity, stack):
    assert {register_and_delete(entity).status for _ in range(2 * LIMIT)} == {201}
    assert stack.value(f"SELECT COUNT(*) FROM altas_webhook WHERE entidad_id = {entity.id}") == "0"


def test_deleted_webhooks_still_count_in_the_limit(limited, entity, new_entity):
    assert [register_and_delete(entity).status for _ in range(LIMIT)] == [201] * LIMIT
    is_429(register(entity))
    assert registered(entity) == LIMIT
    assert entity.api("GET", BASE).json() == []
    assert register(new_entity()).status == 201, "another entity has its own limit"


def test_only_what_was_registered_counts(limited, entity):
    for _ in range(LIMIT):
        assert register(entity, eventos=[]).status == 400
    assert [register(entity).status for _ in range(5)] == [201] * 5
    for _ in range(LIMIT):
        response = register(entity)
        assert (response.status, response.message) == (400, "Máximo 5 webhooks")
    for hook in entity.api("GET", BASE).json():
        assert entity.api("DELETE", f"{BASE}/{hook['id']}").status == 200
    assert [register_and_delete(entity).status for _ in range(LIMIT - 5)] == [201] * (LIMIT - 5)
    is_429(register_and_delete(entity))


def test_the_body_is_judged_before_the_limit(limited, entity):
    """The limit is checked last, as web/docs/usar-la-api.md says."""
    kept = [register(entity) for _ in range(4)]
    assert [one.status for one in kept] == [201] * 4
    for _ in range(LIMIT - 4):
        assert register_and_delete(entity).status == 201
    is_429(register(entity))
    assert register(entity, url="http://hooks.example.com/").status == 400
    assert entity.api("DELETE", f"{BASE}/{kept[0].json()['id']}").status == 200
    is_429(register(entity))


def test_parallel_requests_never_exceed_the_limit(limited, entity, stack):
    refused = lambda: scrape(stack.env["METRICS_URL"]).value(
        "apientidades_api_requests_total", route="POST /webhooks", status="429")
    before = refused()
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda _: register_and_delete(entity), range(60)))
    accepted = [answer for answer in answers if answer.status == 201]
    five = [answer for answer in answers if answer.status == 400]  # the entity had five webhooks at that moment
    assert len(accepted) + len(five) < 60
    assert registered(entity) == len(accepted) == LIMIT
    too_many = [answer for answer in answers if answer not in accepted and answer not in five]
    for answer in too_many:
        is_429(answer)
    assert refused() - before == len(too_many), "the metrics count the refusals by their status"


def test_the_limit_holds_for_an_entity_without_earlier_counts(stack, limited, entity):
    stack.sql(f"DELETE FROM altas_webhook WHERE entidad_id = {entity.id}")
    assert register_and_delete(entity).status == 201
    stack.sql(f"UPDATE altas_webhook SET saldadas_hasta = UTC_TIMESTAMP(6) + INTERVAL 1 HOUR WHERE entidad_id = {entity.id}")
    is_429(register(entity))
    stack.sql(f"UPDATE altas_webhook SET saldadas_hasta = UTC_TIMESTAMP(6) WHERE entidad_id = {entity.id}")
    assert register(entity).status == 201
