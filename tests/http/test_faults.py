"""The database away, the pool stopped: what clients see, and that all is well afterwards without help."""
import contextlib
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from support.actors import BASE
from support.locks import in_background, locked, wait_blocked
from support.sql import SqlError
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
    assert stack.api("GET", BASE).status == 401  # no credentials: nothing to ask the database

    stack.start("db")
    wait_until(lambda: entity.api("GET", BASE).status == 200, 10, "the API to answer again")
    assert entity.api("GET", BASE).text == "[]"
    with ThreadPoolExecutor(32) as pool:  # every thread's session, not only the first
        assert {r.status for r in pool.map(lambda _: entity.api("GET", BASE), range(64))} == {200}

    stack.connect_evaluation()
    hook = entity.register()
    entity.notify()
    receiver.wait(hook.path, timeout=15)  # the dispatcher found it again too


def test_a_connection_lost_in_the_middle_of_a_request(entity, stack):
    """Every session of the API is killed while it waits: 503, or a success that was really stored."""
    with locked(stack) as release:
        answer = in_background(entity.api, "POST", BASE, json_body=GOOD)
        wait_blocked(stack)
        sessions = stack.sql("SELECT id FROM information_schema.processlist WHERE user LIKE '%api'")
        stack.sql("".join(f"KILL {row[0]};" for row in sessions))
        release()
    response = answer.result(20)
    says_nothing_of_the_inside(response)
    stored = entity.api("GET", BASE).json()
    assert (response.status, len(stored)) in ((503, 0), (201, 1)), response


def test_connections_lost_between_requests_cost_no_request(entity, stack):
    """As after a restart of the database: a read is done again, once, on a new connection."""
    hook = entity.register()
    paths = [BASE, f"{BASE}/{hook.id}", f"{BASE}/{hook.id}/entregas"]
    for _ in range(3):
        with ThreadPoolExecutor(16) as pool:
            assert {r.status for r in pool.map(lambda n: entity.api("GET", paths[n % 3]), range(48))} == {200}
        for (session,) in stack.sql("SELECT id FROM information_schema.processlist WHERE user LIKE '%api'"):
            with contextlib.suppress(SqlError):  # it has ended by itself
                stack.sql(f"KILL {session}")


def test_an_error_that_nobody_expected_is_a_500_without_details(entity, stack):
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
        answers = [in_background(entity.api, "POST", BASE, json_body=GOOD) for _ in range(3)]
        wait_blocked(stack, 3)
        stopping = in_background(stack.stop, "fcgi")
        holds_for(0.5, lambda: not stopping.done() and not any(a.done() for a in answers), "waiting for the requests")
        release()
    assert [a.result(10).status for a in answers] == [201] * 3
    stopping.result(20)
    response = entity.api("GET", BASE)
    assert response.status == 502 and response.message
    stack.start("fcgi")
    assert len(entity.api("GET", BASE).json()) == 3
