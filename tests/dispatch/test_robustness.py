"""Crashes, stops, two dispatchers, busy and slow receivers, addresses that must not be dialled."""
import contextlib
import os
import signal
import socket
import subprocess

import pytest

from fakes.receiver import Behaviour, Receiver
from support.arena import end
from support.stack import free_port, setting
from support.unread import read_all, unread
from support.wait import holds_for, wait_until


def started(entity, hook, **row):
    return entity.stack.delivery_id(entity.notify(**row), hook.id)


# Stops and crashes.

@pytest.mark.usefixtures("patient")
def test_sigterm_drains_and_a_restart_resumes(entity, receiver, stack):
    hook, other = entity.register(["evaluacion.abierta"]), entity.register(["evaluacion.cerrada"])
    receiver.behave(hook.path, Behaviour(delay=1))
    delivery = started(entity, hook)
    receiver.wait(hook.path)
    stack.stop("dispatcher")  # returns once the dispatcher has ended
    try:
        assert stack.delivery(delivery)["estado"] == "entregada", "the attempt in flight ended and was recorded"
        late = entity.notify("evaluacion.cerrada")
        holds_for(0.5, lambda: receiver.requests(other.path) == [], "nothing being sent")
        assert stack.notification(late)["estado"] == "pendiente"
    finally:
        stack.start("dispatcher")
    receiver.wait(other.path)
    assert len(receiver.requests(hook.path)) == 1


def test_a_clean_stop_releases_what_was_not_started(entity, receiver, stack):
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(delay=0.5))
    for _ in range(40):
        entity.notify()
    receiver.wait(hook.path, 10)
    stack.stop("dispatcher")
    try:
        assert stack.count_deliveries(hook.id, "en_curso") == 0
    finally:
        receiver.behave(hook.path, Behaviour())
        stack.start("dispatcher")
    wait_until(lambda: stack.count_deliveries(hook.id, "entregada") == 40, what="all 40 to be delivered")
    assert len({r.id for r in receiver.requests(hook.path)}) == len(receiver.requests(hook.path)) == 40


def test_sigkill_in_flight_repeats_with_the_same_id_and_does_not_advance_the_schedule(entity, receiver, stack):
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(fault="silent"), Behaviour(status=500, hold=True), Behaviour())
    pid, = stack.pids("dispatcher")
    delivery = started(entity, hook)
    killed = receiver.wait(hook.path)[0]
    end(pid, signal.SIGKILL)
    assert stack.delivery(delivery)["estado"] == "en_curso"
    stack.start("dispatcher")
    failed = receiver.wait(hook.path, 2, 60)[1]
    step = f"SELECT paso FROM entregas WHERE id = {delivery}"
    assert stack.value(step) == "0", "the crash took no step of the schedule"
    receiver.release(hook.path)
    stack.wait_delivery(delivery, "entregada", 30)
    first, failed, last = receiver.requests(hook.path)
    assert first.id == failed.id == last.id and first.body == last.body
    waited = (failed.monotonic_ns - killed.monotonic_ns) / 1e9
    assert 8 < waited < 40, f"the lease of 12 s, not {waited}"
    assert stack.delivery(delivery)["intentos"] == 2


def test_rows_written_while_everything_was_down(entity, receiver, stack):
    hook = entity.register()
    stack.stop("dispatcher", "-9")
    for _ in range(5):
        entity.notify()
    stack.start("dispatcher")
    assert len({r.id for r in receiver.wait(hook.path, 5)}) == 5


# Several dispatchers, many deliveries.

def test_two_dispatchers_share_the_work_without_repeats(entity, stack):
    """The second dispatcher dials 127.0.0.2, so that the receiver can tell the two apart."""
    certificate, addresses = (stack.env["RECEIVER_CERT"], stack.env["RECEIVER_KEY"]), ("127.0.0.1", "127.0.0.2")
    with Receiver(*certificate, free_port(), addresses) as receiver:
        hooks = [entity.register(port=receiver.port) for _ in range(4)]
        for hook in hooks:
            receiver.behave(hook.path, Behaviour(delay=0.05))
        with stack.second_dispatcher(**setting(delivery_host_overrides="*.receptor.test=127.0.0.2")):
            written, senders = 0, lambda: {request.local_address for request in receiver.requests()}
            while written < 100 or senders() != set(addresses):
                assert written < 2000, f"only {senders()} sends"
                entity.notify()
                written += 1
            for hook in hooks:
                wait_until(lambda: stack.count_deliveries(hook.id, "entregada") == written, 60, "all to be recorded")
        requests = receiver.requests()
        assert len(requests) == len({r.id for r in requests}) == 4 * written


def test_first_attempts_start_in_the_order_of_the_notifications(entity, receiver, stack):
    hook = entity.register()
    stack.admin("queue", "pause")
    written = [entity.notify() for _ in range(30)]
    stack.admin("queue", "resume")
    receiver.wait(hook.path, 30)
    query = (f"SELECT e.notificacion_id, i.inicio FROM intentos_entrega i JOIN entregas e ON e.id = i.entrega_id"
             f" WHERE e.webhook_id = {hook.id} AND i.numero = 1 ORDER BY e.notificacion_id")
    rows = wait_until(lambda: rows if len(rows := stack.sql(query)) == 30 else None, what="30 attempts")
    assert [int(row[0]) for row in rows] == written
    starts = [row[1] for row in rows]
    assert starts == sorted(starts)


@pytest.mark.usefixtures("patient")
def test_a_busy_webhook_has_ten_in_flight_and_delays_no_other(entity, new_entity, receiver):
    neighbour = new_entity()
    busy, quick = entity.register(), neighbour.register()
    receiver.behave(busy.path, Behaviour(hold=True))
    for _ in range(25):
        entity.notify()
    receiver.wait(busy.path, 10)
    neighbour.notify()
    receiver.wait(quick.path)
    assert receiver.in_flight(busy.path) == 10, "the busy one still waits"
    holds_for(0.3, lambda: receiver.in_flight(busy.path) <= 10, "ten in flight at most")
    receiver.release(busy.path)
    receiver.wait(busy.path, 25)
    assert receiver.peak_in_flight(busy.path) == 10


@pytest.mark.usefixtures("patient")
def test_a_failing_webhook_has_one_request_in_flight(entity, receiver, stack):
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(fault="hang_up"))
    first = started(entity, hook)
    wait_until(lambda: stack.delivery(first)["intentos"] >= 1, what="a failure")
    receiver.behave(hook.path, Behaviour(hold=True))
    for _ in range(5):
        entity.notify()
    wait_until(lambda: receiver.in_flight(hook.path) == 1, what="a probe")
    holds_for(1, lambda: receiver.in_flight(hook.path) == 1, "one in flight while it fails")
    receiver.release(hook.path)
    wait_until(lambda: stack.count_deliveries(hook.id, "entregada") == 6, what="all to arrive")


# Addresses.

def test_private_addresses_are_not_dialled_and_nothing_is_told_of_their_ports(entity, receiver, stack):
    opened, closed = entity.register(), entity.register(port=free_port())
    with stack.dispatcher_with(**setting(delivery_allowed_networks="")):
        connections = len(receiver.requests())
        deliveries = [stack.delivery_id(id, hook.id) for hook in (opened, closed) for id in [entity.notify()]]
        for delivery in deliveries:
            wait_until(lambda: stack.attempts(delivery), what="an attempt")
        wait_until(lambda: entity.listed(opened)["ultimoError"] and entity.listed(closed)["ultimoError"])
        told = [entity.listed(hook) for hook in (opened, closed)]
        assert told[0]["ultimoError"] == told[1]["ultimoError"] and "127." not in told[0]["ultimoError"]
        assert [t["ultimoEstado"] for t in told] == [None, None]
        evidence = [stack.attempts(delivery)[0] for delivery in deliveries]
        assert evidence[0]["error"] == evidence[1]["error"]
        assert len(receiver.requests()) == connections
        stack.admin("webhook", "disable", opened.id)
        stack.admin("webhook", "disable", closed.id)


def test_what_worked_is_refused_once_it_is_no_longer_allowed(entity, receiver, stack):
    hook = entity.register()
    stack.wait_delivery(started(entity, hook), "entregada")
    patient = ",".join(["1s"] * 30)  # so long that some retries are left when the address is allowed again
    with stack.dispatcher_with(**setting(delivery_allowed_networks="10.0.0.0/8", delivery_retry_schedule=patient)):
        refused = started(entity, hook)
        wait_until(lambda: stack.delivery(refused)["intentos"] >= 1, what="an attempt")
        assert stack.attempts(refused)[0]["error"] and len(receiver.requests(hook.path)) == 1
    stack.wait_delivery(refused, "entregada")
    assert len(receiver.requests(hook.path)) == 2


def test_proxies_of_the_environment_are_ignored(entity, receiver, stack):
    hook = entity.register()
    proxy = f"http://127.0.0.1:{free_port()}"
    names = ("http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
    with stack.dispatcher_with(**dict.fromkeys(names, proxy)):
        stack.wait_delivery(started(entity, hook), "entregada")


# A log, a service manager and readers of metrics that take nothing.

def test_what_nothing_reads_delays_nothing(entity, receiver, stack):
    hook, port = entity.register(), free_port()
    arguments, environment = stack.command_of("dispatcher")
    stack.stop("dispatcher")
    with contextlib.ExitStack() as closing:
        closing.callback(stack.start, "dispatcher")
        sink = closing.enter_context(unread())
        process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stderr=sink.log, env={
            **environment, "NOTIFY_SOCKET": sink.notify_socket,
            **setting(log_level="debug", metrics_listen=f"127.0.0.1:{port}", metrics_queue_interval="1s")})
        closing.callback(process.wait)
        closing.callback(process.kill)
        scrapers = [closing.enter_context(wait_until(lambda: connected(port), what="the metrics' port")) for _ in range(4)]
        for scraper in scrapers[2:]:
            scraper.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 100)
        for _ in range(40):
            entity.notify()
        receiver.wait(hook.path, 40)
        wait_until(lambda: stack.count_deliveries(hook.id, "entregada") == 40, what="all 40 to be recorded")
        log = [read_all(sink.reader)]
        entity.notify()

        def told():
            log.append(read_all(sink.reader))
            return b"messages were lost" in b"".join(log)
        wait_until(told, what="the log to say what was lost")
        process.terminate()
        assert process.wait(30) == 0


def connected(port):
    with contextlib.suppress(OSError):
        return socket.create_connection(("127.0.0.1", port))
    return None


# Killed database sessions, and SIGHUP.

def test_the_dispatchers_sessions_killed_at_work_lose_nothing(entity, receiver, stack):
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(delay=0.1))
    for round in range(6):
        for _ in range(10):
            entity.notify()
        sessions = stack.sql("SELECT id FROM information_schema.processlist WHERE user LIKE '%dispatcher'")
        for session in sessions:
            stack.dev("sql", f"KILL {session[0]}", check=False)  # the session may have ended by itself
    wait_until(lambda: stack.count_deliveries(hook.id, "entregada") == 60, 40, "all 60 to be delivered")
    assert len({r.id for r in receiver.requests(hook.path)}) == 60


def test_sighup_ends_no_program(entity, receiver, stack):
    """SIGHUP makes a program read its key file again, which tests/dispatch/test_rotation.py tests. Unhandled, SIGHUP would end
    the program without draining."""
    hook = entity.register()
    before = {part: stack.pids(part) for part in ("dispatcher", "fcgi")}
    for pid in sum(before.values(), []):
        os.kill(pid, signal.SIGHUP)
    stack.wait_delivery(started(entity, hook), "entregada")
    assert entity.listed(hook)["ultimoEstado"] == 200
    assert {part: stack.pids(part) for part in before} == before


# libcurl as Debian builds it.

def test_the_ca_file_is_not_read_again_for_every_connection(entity, receiver, stack):
    """With the default CAPATH of Debian's libcurl, each connection would read the CA file, which takes 8 to 29 ms of processor
    time. The dispatcher unsets CAPATH, so a webhook's second connection does not need the file."""
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(close=True), Behaviour())
    stack.wait_delivery(started(entity, hook), "entregada")
    ca, hidden = stack.env["CA_CERT"], stack.env["CA_CERT"] + ".hidden"
    os.rename(ca, hidden)
    try:
        delivery = started(entity, hook)
        stack.wait_delivery(delivery, "entregada")
    finally:
        os.rename(hidden, ca)
    assert len(stack.attempts(delivery)) == 1
    first, second = receiver.requests(hook.path)
    assert first.connection != second.connection
