"""Without the database, or without the API's processes: what clients see, and that everything recovers by itself."""
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from fakes.receiver import Behaviour
from support.actors import BASE
from support.locks import in_background, kill_sessions, locked, wait_blocked, wait_row_lock
from support.wait import holds_for, wait_until

INSIDE = ("mysql", "mariadb", "sql", "socket", "/tmp", "/run", "select", "errno", "exception", "connector", "std::",
          "2002", "2013", "apientidades_", "lock", "timeout", "webhooks_away")
GOOD = {"url": "https://example.com/", "eventos": ["evaluacion.abierta"], "secreto": "unmistakable"}


def says_nothing_of_the_inside(response):
    text = response.text.lower()
    assert [word for word in INSIDE + ("unmistakable",) if word in text] == []


@pytest.fixture
def database_killed(stack):
    stack.stop("db", "-9")
    yield
    if not stack.pids("db"):
        stack.start("db")
    stack.connect_evaluation()


def test_database_killed_503_and_recovery_without_help(entity, stack, receiver, database_killed):
    started = time.monotonic()
    with ThreadPoolExecutor(32) as pool:
        responses = list(pool.map(lambda _: entity.api("POST", BASE, json_body=GOOD), range(32)))
    assert time.monotonic() - started < 10
    for response in responses:
        assert response.status == 503 and response.message
        assert int(response.headers["retry-after"]) >= 1
        says_nothing_of_the_inside(response)
    for method, path in (("GET", BASE), ("DELETE", BASE + "/1"), ("GET", BASE + "/nada")):
        assert entity.api(method, path).status == 503
    assert stack.api("GET", BASE).status == 401  # a request without credentials does not reach the database

    stack.start("db")
    wait_until(lambda: entity.api("GET", BASE).status == 200, what="the API to answer again")
    assert entity.api("GET", BASE).text == "[]"
    with ThreadPoolExecutor(32) as pool:  # many threads, each with its own session, must connect again
        assert {r.status for r in pool.map(lambda _: entity.api("GET", BASE), range(64))} == {200}

    stack.connect_evaluation()
    hook = entity.register()
    entity.notify()
    receiver.wait(hook.path)  # the dispatcher has found the database again, too


def test_a_connection_lost_in_the_middle_of_a_request(entity, stack):
    """Every session of the API is killed while the request waits. The answer is 503 and nothing is stored, or
    201 and the webhook is stored."""
    with locked(stack) as release:
        answer = in_background(entity.api, "POST", BASE, json_body=GOOD)
        wait_blocked(stack)
        kill_sessions(stack, "api")
        release()
    response = answer.result(20)
    says_nothing_of_the_inside(response)
    stored = entity.api("GET", BASE).json()
    assert (response.status, len(stored)) in ((503, 0), (201, 1)), response


@pytest.mark.parametrize("method, below, body, changed", [
    ("PATCH", "", {"url": "https://otra.example.com/"}, "url = 'https://otra.example.com/'"),
    ("PUT", "/secreto", {"secreto": "unmistakable", "graciaSegundos": 0}, "fecha_modificacion IS NOT NULL")])
def test_a_connection_lost_in_the_middle_of_a_change(entity, stack, root, method, below, body, changed):
    """The row is locked, so the change waits within its transaction when its session is killed."""
    hook = entity.register()
    root(f"START TRANSACTION; SELECT 1 FROM webhooks WHERE id = {hook.id} FOR UPDATE")
    answer = in_background(entity.api, method, f"{BASE}/{hook.id}{below}", json_body=body)
    wait_row_lock(stack, "api")
    kill_sessions(stack, "api")
    root("ROLLBACK")
    response = answer.result(20)
    says_nothing_of_the_inside(response)
    done = stack.value(f"SELECT {changed} FROM webhooks WHERE id = {hook.id}") == "1"
    audited = int(stack.value(f"SELECT COUNT(*) FROM auditoria WHERE webhook_id = {hook.id} AND accion <> 'alta'"))
    assert (response.status, done, audited) in ((503, False, 0), (200, True, 1)), response
    assert entity.api(method, f"{BASE}/{hook.id}{below}", json_body=body).status == 200


def test_what_cannot_be_put_on_record_is_not_done(entity, receiver, stack):
    """A change and its row of the audit are one transaction."""
    hook, spare = entity.register(), entity.register()
    receiver.behave(hook.path, Behaviour(status=500))
    delivery = stack.delivery_id(entity.notify(), hook.id)
    stack.wait_delivery(delivery, "fallida")
    state = ("SELECT id, plaza, url, eventos, activo, secreto_huella, secreto_anterior_hasta, fecha_modificacion FROM webhooks"
             f" WHERE entidad_id = {entity.id}; SELECT id, estado FROM entregas WHERE webhook_id = {hook.id};"
             f"SELECT id FROM reenvios WHERE webhook_id = {hook.id}; SELECT webhook_id FROM cambios_webhook WHERE webhook_id = {hook.id}")
    assert entity.api("PUT", f"{BASE}/{spare.id}/secreto", json_body={"secreto": "dos"}).status == 200
    before = [stack.sql(part) for part in state.split(";")]
    right = "INSERT (entidad_id, token_id, accion, webhook_id, detalle) ON auditoria"
    stack.sql(f"REVOKE {right} FROM 'apientidades_api'@'localhost'")
    try:
        for method, path, body in (
                ("POST", "", GOOD), ("PATCH", f"/{hook.id}", {"url": "https://otra.example.com/"}), ("PATCH", f"/{hook.id}", {"activo": True}),
                ("PUT", f"/{hook.id}/secreto", {"secreto": "unmistakable"}), ("DELETE", f"/{spare.id}/secreto/anterior", ...),
                ("PUT", f"/{spare.id}/secreto", {"secreto": "dos", "graciaSegundos": 0}), ("DELETE", f"/{hook.id}", ...),
                ("POST", f"/{hook.id}/entregas/{delivery}/reenvio", ...), ("POST", f"/{hook.id}/reenvios", {"desde": "2026-01-01T00:00:00Z"})):
            response = entity.api(method, BASE + path, json_body=body)
            assert response.status in (500, 503) and response.message, (method, path, response)
            says_nothing_of_the_inside(response)
            assert [stack.sql(part) for part in state.split(";")] == before, (method, path)
    finally:
        stack.sql(f"GRANT {right} TO 'apientidades_api'@'localhost'")
    assert entity.api("PATCH", f"{BASE}/{hook.id}", json_body={"activo": True}).status == 200


def test_connections_lost_between_requests_cost_no_request(entity, stack):
    """A read that finds its connection lost, as after a restart of the database, is repeated once on a new connection."""
    hook = entity.register()
    paths = [BASE, f"{BASE}/{hook.id}", f"{BASE}/{hook.id}/entregas"]
    for _ in range(3):
        with ThreadPoolExecutor(16) as pool:
            assert {r.status for r in pool.map(lambda n: entity.api("GET", paths[n % 3]), range(48))} == {200}
        kill_sessions(stack, "api")


def test_an_unexpected_error_is_a_500_without_details(entity, stack):
    stack.sql("RENAME TABLE webhooks TO webhooks_away")
    try:
        response = entity.api("GET", BASE)
    finally:
        stack.sql("RENAME TABLE webhooks_away TO webhooks")
    assert response.status == 500 and response.message
    says_nothing_of_the_inside(response)
    assert entity.api("GET", BASE).status == 200


def test_sigterm_lets_requests_in_flight_finish(entity, stack):
    with locked(stack) as release:
        answers = [in_background(entity.api, "POST", BASE, json_body=GOOD) for _ in range(2)]  # as many as one process takes
        wait_blocked(stack, 2)
        stopping = in_background(stack.stop, "fcgi")
        holds_for(0.5, lambda: not stopping.done() and not any(a.done() for a in answers), "the wait for the requests")
        release()
    assert [a.result(10).status for a in answers] == [201] * 2
    stopping.result(20)
    response = entity.api("GET", BASE)
    assert response.status == 502 and response.message
    stack.start("fcgi")
    assert len(entity.api("GET", BASE).json()) == 2
