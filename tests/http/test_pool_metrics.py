"""The pool's metrics: they are those of all processes together, whichever process answers."""
import os
import signal
import threading
import urllib.error
from http.client import HTTPConnection

import pytest

from support.actors import BASE
from support.metrics import scrape as read
from support.wait import wait_until

REQUESTS = "apientidades_api_requests_total"


@pytest.fixture(scope="module")
def scrape(stack):
    return lambda: read(stack.env["METRICS_URL"])


def test_requests_by_route_and_status(scrape, stack, entity):
    before = scrape()
    entity.api("GET", BASE)
    entity.api("POST", BASE, json_body={})
    entity.api("DELETE", BASE + "/999999999")
    stack.api("GET", BASE + "/eventos")
    entity.api("PATCH", BASE)
    after = scrape()
    expected = {("GET /webhooks", "200"): 1, ("POST /webhooks", "400"): 1, ("DELETE /webhooks/{id}", "404"): 1,
                ("GET /webhooks/eventos", "401"): 1, ("other", "405"): 1}
    for (route, status), count in expected.items():
        labels = dict(route=route, status=status)
        assert after.value(REQUESTS, **labels) - before.value(REQUESTS, **labels) == count, labels
    name = "apientidades_api_request_duration_seconds_count"
    assert after.value(name) - before.value(name) == 5


def test_what_clients_send_adds_no_series(scrape, entity):
    before = scrape()
    for i in range(20):
        entity.api("GET", f"/apientidades/v1/unbekannt{i}?token=unmistakable")
        entity.api(f"METHOD{i}", BASE)
    after = scrape()
    assert len(after.samples) == len(before.samples)
    assert "unbekannt" not in after.text and "unmistakable" not in after.text
    unknown = dict(route="other", status="404")
    assert after.value(REQUESTS, **unknown) - before.value(REQUESTS, **unknown) == 20


def test_the_link_of_a_mail_is_one_route(scrape, stack):
    labels = dict(route="mail link", status="404")
    before = scrape().value(REQUESTS, **labels)
    for end in ("", "?codigo=1", "?x=unmistakable"):
        stack.api("GET", "/apientidades/avisos/baja" + end)
    after = scrape()
    assert after.value(REQUESTS, **labels) - before == 3 and "unmistakable" not in after.text


def test_health_and_scrapes_are_not_counted(scrape, stack):
    before = scrape().value(REQUESTS)
    stack.api("GET", "/apientidades/salud")
    assert scrape().value(REQUESTS) == before


def test_all_processes_count_together_and_a_killed_one_takes_nothing_with_it(scrape, stack, entity):
    assert len(stack.pids("fcgi")) >= 2
    start = scrape().value(REQUESTS)
    done = threading.Event()
    answered = [0, 0, 0]

    def ask(i):
        while not done.is_set():
            if entity.api("GET", BASE).status == 200:
                answered[i] += 1

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(len(answered))]
    for thread in threads:
        thread.start()
    try:
        last, seen = start, 0
        while seen < 60:
            now = scrape().value(REQUESTS)
            assert now >= last
            last, seen = now, seen + 1
            if seen == 20:
                os.kill(stack.pids("fcgi")[0], signal.SIGKILL)
    finally:
        done.set()
        for thread in threads:
            thread.join()
        total = scrape().value(REQUESTS)
        stack.stop("fcgi")
        stack.start("fcgi")
    # Every answer was counted, and perhaps requests that the killed process did not answer.
    assert sum(answered) <= total - start <= sum(answered) + len(answered)
    assert scrape().value(REQUESTS) >= total, "counting goes on after a restart of the pool"


def test_only_this_machine_is_let_in(stack):
    port = int(stack.env["METRICS_URL"].rsplit(":", 1)[1].split("/")[0])
    connection = HTTPConnection("127.0.0.1", port, timeout=10, source_address=("127.0.0.2", 0))
    connection.request("GET", "/metrics")
    answer = connection.getresponse()
    assert answer.status == 403 and b"apientidades_" not in answer.read()
    connection.close()
    with pytest.raises(OSError):
        HTTPConnection("127.0.0.2", port, timeout=2).connect()


def test_nothing_but_metrics_is_there(stack):
    base = stack.env["METRICS_URL"].removesuffix("/metrics")
    for path in ("/", "/metrics/", "/metricsx", "/apientidades/v1/webhooks", "/apientidades/salud"):
        with pytest.raises(urllib.error.HTTPError) as error:
            read(base + path)
        assert error.value.code == 404


def test_a_client_cannot_ask_for_metrics_by_a_header(stack):
    answer = stack.api("GET", BASE, headers={"APIENTIDADES_PURPOSE": "metrics", "Apientidades-Purpose": "metrics"})
    assert answer.status == 401


def test_database_errors_are_counted(scrape, stack, entity):
    before = scrape()
    stack.stop("db", "-9")
    try:
        assert entity.api("GET", BASE).status == 503
    finally:
        stack.start("db")
        stack.connect_evaluation()
    name = "apientidades_api_database_errors_total"
    wait_until(lambda: scrape().value(name, kind="unavailable") > before.value(name, kind="unavailable"))
    assert scrape().value(REQUESTS, status="503") > before.value(REQUESTS, status="503")
