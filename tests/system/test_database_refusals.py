"""A database server that answers but does not work: clients are told to come again, the health check answers 503, and the
operator learns what to do."""
import subprocess
import threading
import time
from pathlib import Path

import pytest

from fakes.receiver import Receiver
from support.actors import BASE, Entity
from support.sql import SqlError, SqlSession
from support.stack import Stack, setting
from support.wait import wait_until

USER = "apientidades_api@localhost"
GOOD = {"url": "https://example.com/", "eventos": ["evaluacion.abierta"]}


@pytest.fixture(scope="module")
def stack():
    running = Stack({**setting(delivery_allowed_networks="127.0.0.0/8"), "DEV_DB_OPTIONS": "--log-bin --binlog-format=ROW"}).up()
    yield running
    running.down()


@pytest.fixture(scope="module")
def entity(stack):
    with Receiver(stack.env["RECEIVER_CERT"], stack.env["RECEIVER_KEY"]) as receiver:
        yield Entity(stack, receiver)


def disconnect(stack, user="apientidades_api"):
    for (id,) in stack.sql(f"SELECT id FROM information_schema.processlist WHERE user = '{user}'"):
        try:
            stack.sql(f"KILL {id}")
        except SqlError as error:
            assert error.code == 1094, error  # the connection has ended by itself


def password(stack):
    return Path(stack.env["SECRETS_DIR"], "api.password").read_text().strip()


# For each state, the statement that causes it and the statement that ends it. "password" stands for a statement that gives
# USER its password back.
REFUSALS = {
    "read-only": ("SET GLOBAL read_only = 1", "SET GLOBAL read_only = 0"),
    "statements in the binary log": ("SET GLOBAL binlog_format = 'STATEMENT'", "SET GLOBAL binlog_format = 'ROW'"),
    "an account that is locked": (f"ALTER USER {USER} ACCOUNT LOCK", f"ALTER USER {USER} ACCOUNT UNLOCK"),
    "a password that has expired": (f"ALTER USER {USER} PASSWORD EXPIRE", "password"),
    "another password": (f"ALTER USER {USER} IDENTIFIED BY 'another'", "password"),
    "too many connections": (f"ALTER USER {USER} WITH MAX_CONNECTIONS_PER_HOUR 1", f"ALTER USER {USER} WITH MAX_CONNECTIONS_PER_HOUR 0"),
    "a global read lock": ("FLUSH TABLES WITH READ LOCK", "UNLOCK TABLES"),
}


@pytest.fixture(params=REFUSALS)
def refused(request, stack, entity):
    """Puts the server into a state of REFUSALS and yields the state's name. Ends the API's connections, because a connection
    that was made before the state began might still work."""
    works(stack, entity)
    do, undo = REFUSALS[request.param]
    session = SqlSession(stack.env["DB_SOCKET"], stack.env["DB_NAME"], "root", "")
    session(do)
    disconnect(stack)
    entity.api("GET", BASE)  # uses the one connection that "too many connections" leaves
    disconnect(stack)
    yield request.param
    session(f"ALTER USER {USER} IDENTIFIED BY '{password(stack)}'" if undo == "password" else undo)
    session("FLUSH USER_RESOURCES")
    session.close()
    works(stack, entity)


def works(stack, entity):
    wait_until(lambda: stack.api("GET", "/apientidades/salud").status == 200, what="health")
    wait_until(lambda: entity.api("GET", BASE).status == 200, what="reads")
    hook = entity.register(["evaluacion.cerrada"])
    notification = stack.notify(entity.id, "evaluacion.cerrada", '{"evaluacionId": 1, "titulo": "t"}')
    stack.wait_delivery(stack.delivery_id(notification, hook.id), "entregada")
    assert entity.api("DELETE", f"{BASE}/{hook.id}").status == 200


def test_clients_are_told_to_come_again_and_the_health_check_agrees(stack, entity, refused):
    def post():
        started = time.monotonic()
        answer = entity.api("POST", BASE, json_body=GOOD)
        assert time.monotonic() - started < 15
        assert answer.status in (201, 503), answer
        if answer.status == 503:
            assert int(answer.headers["retry-after"]) >= 1
        return answer.status

    wait_until(lambda: post() == 503, what="a refusal")
    assert {post() for _ in range(3)} == {503}

    def agrees():
        """Returns whether the health check answers only 503 for 1.5 s. A shorter time would not do: a connection that
        disconnect() ended causes a 503 as well, and a process may repeat that answer for 1 s."""
        disconnect(stack)  # also ends a connection that was being made while the others were ended
        until = time.monotonic() + 1.5
        while stack.api("GET", "/apientidades/salud").status == 503:
            if time.monotonic() > until:
                return True
            time.sleep(0.02)
        return False

    wait_until(agrees, what="the health check to agree")
    assert entity.api("GET", BASE).status in (200, 503)


def test_a_statement_that_is_killed_may_be_asked_for_again(stack, entity):
    works(stack, entity)
    session = SqlSession(stack.env["DB_SOCKET"], stack.env["DB_NAME"], "root", "")
    session("LOCK TABLES webhooks WRITE")
    answers = []
    thread = threading.Thread(target=lambda: answers.append(entity.api("POST", BASE, json_body=GOOD)))
    waiting = ("SELECT id FROM information_schema.processlist WHERE user = 'apientidades_api' AND state LIKE 'Waiting for%metadata%'")
    try:
        thread.start()
        (id,), *_ = wait_until(lambda: session(waiting), what="a request that waits")
        session(f"KILL QUERY {id}")
        thread.join()
    finally:
        session("UNLOCK TABLES")
        session.close()
    assert answers[0].status == 503 and int(answers[0].headers["retry-after"]) >= 1


REQUIRED = {"read_only": ("1", "0", "read-only"), "binlog_format": ("'STATEMENT'", "'ROW'", "binlog_format is STATEMENT"),
            "max_allowed_packet": ("65536", "16777216", "max_allowed_packet is 65536")}


@pytest.mark.parametrize("name", REQUIRED)
def test_the_check_of_the_configuration_and_the_start_tell_what_is_missing(stack, entity, name):
    bad, good, text = REQUIRED[name]
    assert "as it must be" in stack.dev("admin", "config", "check").stdout
    stack.stop("dispatcher")
    stack.sql(f"SET GLOBAL {name} = {bad}")
    try:
        result = stack.dev("admin", "config", "check", check=False)
        assert (result.returncode, result.stdout) == (1, "") and text in result.stderr and "SET GLOBAL" in result.stderr
        logged = len(stack.dev("logs", "dispatcher").stdout)
        stack.start("dispatcher")
        wait_until(lambda: text in stack.dev("logs", "dispatcher").stdout[logged:], what="the start to tell")
    finally:
        stack.sql(f"SET GLOBAL {name} = {good}")
    disconnect(stack)
    works(stack, entity)


def test_a_clock_apart_is_told_and_stops_nothing(stack):
    program, environment = stack.command_of("dispatcher")

    own = setting(database_user="apientidades_admin", database_password_file=f"{stack.env['SECRETS_DIR']}/admin.password")
    result = subprocess.run(["faketime", "-f", "+5s", program[0].replace("dispatcher", "admin"), *program[1:], "config", "check"],
                            env={**environment, **own}, capture_output=True, text=True, timeout=20)
    assert result.returncode == 0 and "behind this system's" in result.stderr, result
