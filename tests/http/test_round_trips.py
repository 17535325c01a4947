"""How many statements a request costs, counted in the database server's general log."""
import os
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor

import pytest

from support.actors import BASE
from support.wait import wait_until

READS = 100  # more than the API has threads, so that some threads serve several reads


@pytest.fixture
def statements(stack):
    """Returns a function that calls `run` and returns, for each session of the API's user, the commands that arrived during the
    call, in order: (command, text)."""
    def of(run) -> list[list[tuple[str, str]]]:
        stack.sql("SET GLOBAL log_output = 'TABLE'; TRUNCATE mysql.general_log; SET GLOBAL general_log = ON")
        try:
            run()
        finally:
            stack.sql("SET GLOBAL general_log = OFF, GLOBAL log_output = 'FILE'")
        sessions = defaultdict(list)
        for thread, command, text in stack.sql(
                "SELECT thread_id, command_type, LEFT(CONVERT(argument USING utf8mb4), 40) FROM mysql.general_log"
                " WHERE user_host LIKE 'apientidades_api[%' OR user_host LIKE '%[apientidades_api]%'"
                " ORDER BY event_time, thread_id"):
            sessions[thread].append((command, text))
        return list(sessions.values())
    return of


def test_a_read_is_one_round_trip_and_its_statement_is_prepared_once(entity, stack, statements):
    for _ in range(5):
        entity.register()

    def read():
        for _ in range(READS):
            assert len(entity.api("GET", BASE).json()) == 5

    sessions = statements(read)
    commands = [command for session in sessions for command, _ in session]
    assert commands.count("Execute") == READS
    for session in sessions:
        asked = [command for command, _ in session if command != "Connect"]
        first = asked.index("Execute") if "Execute" in asked else len(asked)
        assert set(asked[first:]) <= {"Execute"}, session
        assert asked.count("Prepare") <= 1, session


@pytest.mark.parametrize("path, webhooks", [("/webhooks/{id}/entregas", 1), ("/entregas", 1), ("/entregas", 5)])
def test_a_page_of_deliveries_costs_two_statements(entity, stack, statements, path, webhooks):
    """Some sessions look up callers, others read pages, so that each session repeats a single prepared statement."""
    hooks = [entity.register() for _ in range(webhooks)]
    path = BASE.removesuffix("/webhooks") + path.format(id=hooks[0].id)

    def read():
        for _ in range(READS):
            assert entity.api("GET", path).json()["entregas"] == []

    executed = [[text for command, text in session if command == "Execute"] for session in statements(read)]
    assert sum(map(len, executed)) == 2 * READS
    for texts in executed:
        assert len(set(texts)) <= 1, set(texts)


def test_a_registration_pays_for_its_idempotency_key_alone(entity, statements):
    """Without a key, five statements: the caller, the entity's room for a webhook, the INSERT, the row as written, the audit.
    A key costs three more: its lock, the look for a stored answer, and storing the answer."""
    def executed(key) -> int:
        body = {"url": "https://hooks.example.com/", "eventos": ["evaluacion.abierta"]}
        sessions = statements(lambda: entity.api("POST", BASE, json_body=body, headers={"Idempotency-Key": key} if key else {}))
        return [command for session in sessions for command, _ in session].count("Execute")

    assert executed(None) == 5
    assert executed("k") == 5 + 3
    assert executed("k") == 1 + 2, "a repetition"


@pytest.mark.parametrize("token, executed", [(None, 0), ("apie_" + "x" * 43, 1), ("nothing like a token", 0)])
def test_who_is_refused_costs_one_round_trip_at_most(stack, statements, token, executed):
    sessions = statements(lambda: stack.api("GET", BASE, token))
    commands = [command for session in sessions for command, _ in session]
    assert commands.count("Execute") == executed


@pytest.mark.skipif(not os.environ.get("TEST_LONG"), reason="takes half a minute; --long")
def test_a_pool_at_rest_keeps_no_sessions_but_one(entity, stack):
    """Each process keeps one session, for the reads that its threads share."""
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda _: entity.api("DELETE", f"{BASE}/1"), range(READS)))

    def sessions() -> int:
        return int(stack.sql("SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'apientidades_api'")[0][0])

    processes = len(stack.pids("fcgi"))
    assert sessions() > processes
    wait_until(lambda: sessions() <= processes, 60, "the sessions to be given back", every=0.5)
    assert entity.api("DELETE", f"{BASE}/1").status == 404, "a new session is made"
