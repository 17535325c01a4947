"""GET /apientidades/salud: for load balancers."""
import threading

import pytest

from support.frozen import frozen
from support.wait import holds_for, wait_until

HEALTH = "/apientidades/salud"


def status(stack):
    return stack.api("GET", HEALTH).status


def test_the_health_check_needs_no_token_and_reveals_nothing(stack):
    answer = stack.api("GET", HEALTH)
    assert answer.status == 200 and answer.text == '{"message":"El servicio está disponible"}'
    assert answer.headers["content-type"] == "application/json; charset=utf-8"
    assert answer.headers["x-request-id"] and answer.headers["cache-control"] == "no-store"
    head = stack.api("HEAD", HEALTH)
    assert head.status == 200 and head.text == ""


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_other_methods(stack, method):
    answer = stack.api(method, HEALTH)
    assert answer.status == 405 and answer.message and answer.headers["allow"] == "GET, HEAD"


@pytest.mark.parametrize("path", [HEALTH + "/", HEALTH + "x", "/apientidades/v1/salud", "/metrics"])
def test_no_other_path_answers_without_a_token(stack, path):
    assert stack.api("GET", path).status in (401, 404)


def test_the_database_down_and_back(stack):
    wait_until(lambda: status(stack) == 200)
    stack.stop("db", "-9")
    try:
        # Each handler process may repeat its last answer for a second.
        wait_until(lambda: all(status(stack) == 503 for _ in range(20)), what="503")
        answer = stack.api("GET", HEALTH)
        assert answer.headers["retry-after"] == "5" and "disponible" in answer.message
        holds_for(1, lambda: status(stack) == 503)
    finally:
        stack.start("db")
        stack.connect_evaluation()
    wait_until(lambda: status(stack) == 200, what="200")


def test_the_database_hangs(stack):
    wait_until(lambda: status(stack) == 200)
    with frozen(stack.pids("db")[0]):
        # In each handler process one health check may hang with the database. Once the process's last answer is 3 s old, it
        # answers its other health checks with 503.
        results, threads = [], []

        def ask():
            threads.append(threading.Thread(target=lambda: results.append(status(stack)), daemon=True))
            threads[-1].start()
            threads[-1].join(0.2)
            return 503 in results

        wait_until(ask, 8, "a 503", every=0.2)
    for thread in threads:
        thread.join()
    wait_until(lambda: status(stack) == 200, what="200")


def test_the_pool_down(stack):
    stack.stop("fcgi")
    try:
        answer = stack.api("GET", HEALTH)
        assert answer.status == 503 and answer.message
    finally:
        stack.start("fcgi")
    wait_until(lambda: status(stack) == 200, what="200")


def test_health_checks_rarely_query_the_database(stack):
    asked = lambda: int(stack.sql("SHOW GLOBAL STATUS LIKE 'Com_stmt_execute'")[0][1])
    stack.stop("dispatcher")
    try:
        before = asked()
        threads = [threading.Thread(target=lambda: [status(stack) for _ in range(25)]) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        # The 200 requests take some seconds. Each of the two handler processes checks the database at most once a second.
        assert asked() - before < 60
    finally:
        stack.start("dispatcher")
