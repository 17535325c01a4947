"""One entity has at most an eighth of a process's threads, so its slow requests delay no other entity. Its further requests
wait without a thread."""
import contextlib
import time
from concurrent.futures import ThreadPoolExecutor

from pathlib import Path

import pytest

from support.actors import BASE
from support.frozen import frozen
from support.locks import in_background
from support.wait import wait_until

REQUESTS = 60  # more than the two processes of the FastCGI pool have threads


@pytest.fixture
def share(stack) -> int:
    """How many requests of one entity may be in progress, in all processes together."""
    threads = next(int(one["valor"]) for one in stack.admin("config", "show") if one["clave"] == "api.threads")
    return threads // 8 * len(stack.pids("fcgi"))


@pytest.fixture
def one_process(stack):
    """Freezes all processes of the pool but one, which then accepts every request."""
    _, *others = stack.pids("fcgi")
    with frozen(*others):
        yield


@contextlib.contextmanager
def slow_requests(entity, root, count=REQUESTS):
    """Sends `count` requests that need one row, which is locked until the block ends. Yields the futures of the answers."""
    hook = entity.register()
    root(f"START TRANSACTION; SELECT id FROM webhooks WHERE id = {hook.id} FOR UPDATE")
    try:
        yield [in_background(entity.api, "PATCH", f"{BASE}/{hook.id}", json_body={"activo": False}) for _ in range(count)]
    finally:
        root("ROLLBACK")


def in_course(stack) -> int:
    return int(stack.value(
        "SELECT COUNT(*) FROM information_schema.innodb_trx t JOIN information_schema.processlist p"
        " ON p.id = t.trx_mysql_thread_id WHERE t.trx_state = 'LOCK WAIT' AND p.user LIKE '%api'"))


def wait_in_course(stack, share):
    """Waits until at least N requests wait for the row. N is how many requests of an entity one process runs, because one process
    may have accepted all requests. The database server caches innodb_trx for 0.1 s."""
    wait_until(lambda: in_course(stack) >= share // len(stack.pids("fcgi")), 4, "requests to wait for the row", every=0.2)


def test_slow_requests_of_one_entity_delay_no_other(entity, new_entity, stack, root, share):
    other = new_entity()
    with slow_requests(entity, root) as answers:
        wait_in_course(stack, share)
        begun, served = time.monotonic(), 0
        while served < 2 * REQUESTS and time.monotonic() - begun < 2:  # the others wait for the row for 5 s at most
            started = time.monotonic()
            assert other.api("GET", BASE).status == 200
            assert time.monotonic() - started < 2
            served += 1
        assert served > 5
        assert 0 < in_course(stack) <= share
    assert {answer.result(20).status for answer in answers} == {200}, "some have waited for others; none is refused"


def test_what_has_waited_for_too_long_is_refused(entity, stack, root, share):
    with slow_requests(entity, root) as answers:
        results = [answer.result(40) for answer in answers]
    refused = [one for one in results if one.status == 429]
    assert len(refused) >= REQUESTS - 4 * share and {one.status for one in results} == {429, 503}
    for one in refused:
        assert one.headers["retry-after"] == "5" and "demasiadas peticiones en curso" in one.message
    assert entity.api("GET", BASE).status == 200


def test_many_at_once_that_are_quick_are_all_answered(entity):
    entity.register()
    with ThreadPoolExecutor(REQUESTS) as pool:
        answers = list(pool.map(lambda _: entity.api("GET", BASE), range(5 * REQUESTS)))
    assert {(one.status, one.text) for one in answers} == {(200, answers[0].text)}


def test_the_pool_stops_when_all_that_waits_is_answered(entity, new_entity, stack, root, share):
    other = new_entity()
    count = share + 10
    with slow_requests(entity, root, count) as answers:
        wait_in_course(stack, share)
        wait_until(lambda: connections_to_the_pool(stack) >= count, what="all requests to have come")
        assert other.api("GET", BASE).status == 200, "its answer shows that the pool has accepted all earlier requests"
        stopping = in_background(stack.stop, "fcgi")
    assert [answer.result(20).status for answer in answers] == [200] * count
    stopping.result(20)
    stack.start("fcgi")


def test_a_waiting_request_of_a_gone_client_does_not_run(entity, stack, root, share, one_process):
    wanted = entity.register()
    with slow_requests(entity, root, share) as answers:
        wait_in_course(stack, share)
        wait_until(lambda: connections_to_the_pool(stack) >= share, what="the slow requests to have come")
        request = f"DELETE {BASE}/{wanted.id} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {entity.token}\r\n\r\n"
        wires = [stack.api.wire(request.encode()) for _ in range(3)]
        wait_until(lambda: connections_to_the_pool(stack) >= share + len(wires), what="the three DELETEs to have come")
        gone = requests_given_up(stack)
        for wire in wires:
            wire.socket.close()
        wait_until(lambda: requests_given_up(stack) == gone + len(wires), what="nginx to notice")
        last = in_background(entity.api, "GET", f"{BASE}/{wanted.id}")
        wait_until(lambda: connections_to_the_pool(stack) >= share + len(wires) + 1, what="one more request to have come")
    assert [answer.result(20).status for answer in [*answers, last]] == [200] * (share + 1)


def requests_given_up(stack) -> int:
    """Returns how many requests nginx has given up because the client had gone."""
    return Path(stack.folder, "log/nginx-access.log").read_text().count('"status":499')


def connections_to_the_pool(stack) -> int:
    """Counts the unix sockets that have the listener's path and are connected (state SS_CONNECTED, 03)."""
    with open("/proc/net/unix") as sockets:
        fields = [line.split() for line in sockets]
    return sum(len(one) == 8 and one[5] == "03" and one[7] == f"{stack.folder}/run/fcgi.sock" for one in fields)
