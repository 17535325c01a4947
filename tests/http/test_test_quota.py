"""limits.pending_test_deliveries and limits.test_bytes: POST /webhooks/test must flood neither a receiver nor the database. The
counts are in the database, so that both processes of the pool share them."""
import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from support.actors import BASE
from support.metrics import scrape
from support.stack import setting
from support.wait import wait_until

TEST = BASE + "/test"
BODY = {"evento": "evaluacion.abierta"}
LIMIT = 7


@pytest.fixture(scope="module")
def limited(stack):
    with stack.part_with("fcgi", **setting(limits_pending_test_deliveries=str(LIMIT))):
        yield


@pytest.fixture
def nothing_is_sent(stack):
    stack.stop("dispatcher")
    yield
    stack.start("dispatcher")


def pending(entity) -> int:
    return int(entity.stack.value(
        "SELECT COUNT(*) FROM entregas e JOIN notificaciones_pendientes n ON n.id = e.notificacion_id"
        f" WHERE n.entidad_id = {entity.id} AND n.origen = 'prueba' AND e.terminada_en IS NULL"))


def send(entity, **how):
    return entity.api("POST", TEST, json_body=BODY, **how)


def is_429(response):
    assert response.status == 429, response
    assert str(LIMIT) in response.message and "elimine los webhooks" in response.message
    assert response.headers["retry-after"] == "30"
    assert response.headers["cache-control"] == "no-store" and "strict-transport-security" in response.headers


def test_without_a_limit_nothing_is_counted(entity, stack, nothing_is_sent):
    entity.register(["evaluacion.abierta"])
    assert [send(entity).status for _ in range(3 * LIMIT)] == [200] * 3 * LIMIT
    assert stack.value(f"SELECT COUNT(*) FROM pruebas_pendientes WHERE entidad_id = {entity.id}") == "0"


def test_tests_of_one_webhook_count_too(limited, nothing_is_sent, entity):
    hook = entity.register(["evaluacion.abierta"])
    one = lambda: entity.api("POST", f"{BASE}/{hook.id}/prueba", json_body={"evento": "evaluacion.cerrada"})  # noqa: E731
    assert [one().status for _ in range(LIMIT - 1)] == [202] * (LIMIT - 1)
    assert send(entity).status == 200
    is_429(one())
    is_429(send(entity))
    assert pending(entity) == LIMIT


def test_parallel_requests_never_exceed_the_limit(limited, nothing_is_sent, stack, entity, new_entity):
    """With two webhooks, an event makes two deliveries. If there is room for only one of them, neither is made."""
    for _ in range(2):
        entity.register(["evaluacion.abierta"])
    other = new_entity()
    other.register(["evaluacion.abierta"])
    refused = lambda: scrape(stack.env["METRICS_URL"]).value(
        "apientidades_api_requests_total", route="POST /webhooks/test", status="429")
    before = refused()
    with ThreadPoolExecutor(30) as pool:
        answers = list(pool.map(lambda _: send(entity), range(60)))
    accepted = [answer for answer in answers if answer.status == 200]
    assert len(accepted) == LIMIT // 2 and pending(entity) == LIMIT - 1
    for answer in answers:
        if answer not in accepted:
            is_429(answer)
    assert refused() - before == len(answers) - len(accepted), "the metrics count the refusals by their status"
    assert send(other).status == 200
    assert entity.stack.admin("notification", "list", "--entity", entity.id)[-1]["estado"] == "procesada"
    assert len(entity.stack.admin("notification", "list", "--entity", entity.id)) == LIMIT // 2


def test_ended_test_deliveries_no_longer_count(limited, entity, receiver, stack):
    hook = entity.register(["evaluacion.abierta"])
    stack.stop("dispatcher")
    try:
        assert [send(entity).status for _ in range(LIMIT + 1)] == [200] * LIMIT + [429]
    finally:
        stack.start("dispatcher")
    wait_until(lambda: send(entity).status == 200, what="a test event to be accepted again")
    wait_until(lambda: pending(entity) == 0, what="all of them to be delivered")
    assert [send(entity).status for _ in range(3)] == [200] * 3
    assert {json.loads(r.body)["evento"] for r in receiver.requests(hook.path)} == {"evaluacion.abierta"}


def test_deleting_the_webhook_that_does_not_answer_makes_room(limited, nothing_is_sent, entity, stack):
    silent = entity.register(["evaluacion.abierta"])
    entity.register(["evaluacion.cerrada"])
    assert [send(entity).status for _ in range(LIMIT + 1)] == [200] * LIMIT + [429]
    is_429(entity.api("POST", TEST, json_body={"evento": "evaluacion.cerrada"}))
    assert entity.api("DELETE", f"{BASE}/{silent.id}").status == 200
    stack.start("dispatcher")
    again = {"evento": "evaluacion.cerrada"}
    wait_until(lambda: entity.api("POST", TEST, json_body=again).status == 200, what="the cancelled deliveries to stop counting")
    stack.stop("dispatcher")


def test_the_limit_is_never_exceeded_while_tests_are_delivered(limited, entity):
    entity.register(["evaluacion.abierta"])
    with ThreadPoolExecutor(6) as pool:
        answers = [pool.submit(send, entity) for _ in range(150)]
        seen = []
        while not all(answer.done() for answer in answers):
            seen.append(pending(entity))
        assert max(seen) <= LIMIT, seen
    statuses = {answer.result().status for answer in answers}
    assert 200 in statuses and statuses <= {200, 429}
    rows = int(entity.stack.value(f"SELECT COUNT(*) FROM pruebas_pendientes WHERE entidad_id = {entity.id}"))
    assert rows <= LIMIT


def test_the_bytes_of_tests_in_a_day_are_limited_per_entity_not_per_token(stack, entity, new_entity):
    entity.register(["evaluacion.abierta"])
    other = new_entity()
    other.register(["evaluacion.abierta"])
    tokens = [entity.token, entity.issue_token()]
    # The database stores these data encrypted and in base64: 80 kB. With 1 KiB for its delivery, each test event counts 81 kB.
    body = {"evento": "evaluacion.abierta", "datosExtra": {"texto": "x" * 60_000}}
    with stack.part_with("fcgi", **setting(limits_test_bytes="256KiB")):
        answers = [stack.api("POST", TEST, tokens[n % 2], json_body=body) for n in range(5)]
        assert [answer.status for answer in answers] == [200, 200, 200, 429, 429]
        refused = answers[-1]
        assert "el máximo es 262144 bytes al día, sea cual sea el token" in refused.message
        assert 1 < int(refused.headers["retry-after"]) < 86400
        assert entity.api("POST", TEST, json_body={"evento": "evaluacion.abierta"}).status == 200, "a small one still fits"
        assert other.api("POST", TEST, json_body=body).status == 200
    assert entity.api("POST", TEST, json_body=body).status == 200, "without a limit"
