"""What happens around a running diagnosis: its webhook changes, the queue is paused, a dispatcher stops, the database goes away."""
import json
import os
import signal
import time

import pytest

from fakes import tcp
from fakes.receiver import Behaviour, Receiver
from support.actors import BASE
from support.diagnosis import SENT, ask, diagnose, shown, wait_ended
from support.metrics import observed_dispatcher
from support.stack import free_port, setting
from support.wait import holds_for, wait_until

HOUR = 3600


@pytest.fixture
def held(entity, receiver, patient):
    """The webhook of a diagnosis that waits for the answer to its first (genuine) request. Each later answer takes 0.5 s."""
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(hold=True), Behaviour(delay=0.5))
    assert ask(entity, hook).status == 202
    receiver.wait(hook.path)
    assert shown(entity, hook) | {"iniciado": 0} == {"estado": "en_curso", "iniciado": 0, "pruebas": []}
    return hook


def test_the_url_changes(entity, receiver, held):
    other = entity.register()
    assert entity.api("PATCH", f"{BASE}/{held.id}", json_body={"url": other.url + "/otra"}).status == 200
    receiver.release(held.path)
    found = wait_ended(entity, held, "fallido")
    assert "URL" in found["sin_firma"]["detalle"] and found["sin_firma"]["remedio"]
    assert len(receiver.requests(held.path)) == 1 and not receiver.requests(other.path + "/otra")


def test_the_webhook_is_deleted(entity, receiver, held, stack):
    assert entity.api("DELETE", f"{BASE}/{held.id}").status == 200
    receiver.release(held.path)
    wait_until(lambda: stack.value(f"SELECT estado FROM diagnosticos WHERE webhook_id = {held.id}") == "fallido", what="the diagnosis to end")
    assert entity.api("GET", f"{BASE}/{held.id}/diagnostico").status == 404
    assert len(receiver.requests(held.path)) == 1


@pytest.mark.parametrize("part", [[], ["--webhook"]])
def test_the_queue_is_paused(entity, receiver, held, stack, part):
    what = [*part, held.id] if part else []
    stack.admin("queue", "pause", *what)
    try:
        receiver.release(held.path)
        found = wait_ended(entity, held, "fallido")
        assert "detenido" in found["repetida"]["detalle"] and len(receiver.requests(held.path)) <= 2, "at most one request follows the pause"
        assert ask(entity, held).status == 202
        holds_for(1.5, lambda: shown(entity, held)["estado"] == "pendiente", "the wait of the diagnosis")
    finally:
        stack.admin("queue", "resume", *what)
    wait_ended(entity, held)


@pytest.mark.parametrize("part", [[], ["--webhook"]])
def test_a_diagnosis_that_waits_an_hour_fails_during_a_pause(entity, receiver, stack, part):
    hook = entity.register()
    what = [*part, hook.id] if part else []
    stack.admin("queue", "pause", *what)
    try:
        assert ask(entity, hook).status == 202
        holds_for(1.5, lambda: shown(entity, hook)["estado"] == "pendiente", "the wait of the diagnosis")
        stack.sql(f"UPDATE diagnosticos SET pedido_en = pedido_en - INTERVAL 1 HOUR WHERE webhook_id = {hook.id}")
        found = wait_ended(entity, hook, "fallido")
    finally:
        stack.admin("queue", "resume", *what)
    assert {one["resultado"] for one in found.values()} == {"no_hecha"} and "a tiempo" in found["nombre"]["detalle"]
    assert receiver.requests(hook.path) == []


def test_a_paused_diagnosis_adds_few_rounds(entity, stack):
    """After a while, the dispatcher's loop runs hardly more often than without the diagnosis."""
    hook = entity.register()
    stack.admin("queue", "pause", "--webhook", hook.id)
    try:
        with observed_dispatcher(stack) as scrape:
            def rounds_in_a_second():
                before = scrape().value("apientidades_rounds_total")
                time.sleep(1)
                return scrape().value("apientidades_rounds_total") - before
            at_rest = min(rounds_in_a_second() for _ in range(8))
            assert ask(entity, hook).status == 202
            holds_for(1.5, lambda: shown(entity, hook)["estado"] == "pendiente", "the wait of the diagnosis")
            wait_until(lambda: rounds_in_a_second() < 1.4 * at_rest, what="the loop to rest")
    finally:
        stack.admin("queue", "resume", "--webhook", hook.id)


def test_the_dispatcher_is_stopped_and_what_is_in_flight_ends(entity, receiver, held, stack):
    pid, = stack.pids("dispatcher")
    os.kill(pid, signal.SIGTERM)
    receiver.release(held.path)
    wait_until(lambda: not stack.pids("dispatcher"), 20, "the dispatcher to end")
    found = wait_ended(entity, held, "fallido")
    assert found["autentica"]["resultado"] == "bien" and found["sin_firma"]["resultado"] == "no_hecha"
    stack.start("dispatcher")
    holds_for(1, lambda: len(receiver.requests(held.path)) == 1, "sent once")


def test_the_dispatcher_is_stopped_before_anything_was_sent(entity, stack):
    """The diagnosis waits for the next dispatcher."""
    with tcp.black_hole() as hole:
        hook = entity.register(port=hole)
        with stack.dispatcher_with(**setting(delivery_connect_timeout="10s", delivery_timeout="12s", delivery_lease="30s")):
            ask(entity, hook)
            wait_until(lambda: shown(entity, hook)["estado"] == "en_curso", what="the diagnosis to begin")
            stack.stop("dispatcher")
            assert shown(entity, hook) == {"estado": "pendiente", "iniciado": None, "pruebas": []}
        assert wait_ended(entity, hook)["conexion"]["resultado"] == "mal"


def test_a_stop_waits_for_a_locked_row_of_a_diagnosis_that_has_sent_nothing(entity, root, stack):
    with tcp.black_hole() as hole:
        hook = entity.register(port=hole)
        with stack.dispatcher_with(**setting(delivery_connect_timeout="10s", delivery_timeout="12s", delivery_lease="30s")):
            ask(entity, hook)
            wait_until(lambda: shown(entity, hook)["estado"] == "en_curso", what="the diagnosis to begin")
            root(f"START TRANSACTION; SELECT 1 FROM diagnosticos WHERE webhook_id = {hook.id} FOR UPDATE")
            [pid] = stack.pids("dispatcher")
            os.kill(pid, signal.SIGTERM)
            holds_for(0.5, lambda: stack.pids("dispatcher") == [pid], "the wait of the dispatcher")
            root("ROLLBACK")
            wait_until(lambda: not stack.pids("dispatcher"), 20, "the dispatcher to end")
            assert shown(entity, hook) == {"estado": "pendiente", "iniciado": None, "pruebas": []}
        assert wait_ended(entity, hook)["conexion"]["resultado"] == "mal"


def test_a_stop_releases_a_diagnosis_that_waits_for_its_host(new_entity, receiver, stack):
    """Its genuine request waits for that of another diagnosis, and is not sent: another dispatcher may begin the diagnosis anew."""
    settings = setting(delivery_timeout="30s", delivery_lease="60s", delivery_max_in_flight_per_host="1")
    with stack.dispatcher_with(**settings):
        first, second = ((one, one.register()) for one in (new_entity(), new_entity()))
        entity, hook = second
        at_the_same_host = {"url": first[1].url.removesuffix(first[1].path) + hook.path}
        assert entity.api("PATCH", f"{BASE}/{hook.id}", json_body=at_the_same_host).status == 200
        receiver.behave(first[1].path, Behaviour(hold=True), Behaviour())
        ask(*first)
        receiver.wait(first[1].path)
        ask(*second)
        wait_until(lambda: shown(*second)["estado"] == "en_curso", what="the diagnosis to begin")
        holds_for(1.5, lambda: not receiver.requests(second[1].path), "the wait of the diagnosis")
        pid, = stack.pids("dispatcher")
        os.kill(pid, signal.SIGTERM)
        wait_until(lambda: shown(*second) == {"estado": "pendiente", "iniciado": None, "pruebas": []}, 20, "the diagnosis to be handed back")
        receiver.release(first[1].path)
        wait_until(lambda: not stack.pids("dispatcher"), 20, "the dispatcher to end")
    wait_ended(*second)
    assert len(receiver.requests(second[1].path)) == SENT


def test_the_dispatcher_is_killed_and_nothing_hangs_for_ever(entity, receiver, held, stack):
    """The diagnosis is `fallido` once its lease expires; the entity may then ask for another."""
    stack.stop("dispatcher", "-9")
    assert shown(entity, held)["estado"] == "en_curso"
    assert ask(entity, held).json()["diagnostico"] == {"estado": "en_curso"}
    stack.sql(f"UPDATE diagnosticos SET arriendo_hasta = UTC_TIMESTAMP(3) - INTERVAL 1 SECOND WHERE webhook_id = {held.id}")
    found = wait_ended(entity, held, "fallido")
    assert {one["resultado"] for one in found.values()} == {"no_hecha"} and all(one["remedio"] for one in found.values())
    receiver.behave(held.path, Behaviour())
    assert ask(entity, held).json()["diagnostico"] == {"estado": "pendiente"}
    stack.start("dispatcher")
    wait_ended(entity, held)


def test_a_secret_that_cannot_be_read_sends_nothing(entity, receiver, stack):
    hook = entity.register()
    key = stack.value(f"SELECT secreto_clave FROM webhooks WHERE id = {hook.id}")
    stack.sql(f"UPDATE webhooks SET secreto_clave = 'perdida' WHERE id = {hook.id}")
    try:
        ask(entity, hook)
        found = wait_ended(entity, hook, "fallido")
    finally:  # later tests decrypt every secret
        stack.sql(f"UPDATE webhooks SET secreto_clave = '{key}' WHERE id = {hook.id}")
    assert "secreto" in found["autentica"]["detalle"] and receiver.requests(hook.path) == []


def test_two_dispatchers_send_each_once(new_entity, stack):
    """The second dispatcher dials 127.0.0.2, so that the receiver can tell the two apart."""
    certificate = stack.env["RECEIVER_CERT"], stack.env["RECEIVER_KEY"]
    with Receiver(*certificate, free_port(), ("127.0.0.1", "127.0.0.2")) as receiver:
        entity, rounds = new_entity(), 0
        hooks = [entity.register(port=receiver.port) for _ in range(5)]
        lease = setting(delivery_lease="60s")  # longer than a busy machine delays a dispatcher
        with (stack.dispatcher_with(**lease),
              stack.second_dispatcher(**lease, **setting(delivery_host_overrides="*.receptor.test=127.0.0.2"))):
            while rounds < 3 or len({one.local_address for one in receiver.requests()}) < 2:
                rounds += 1
                assert rounds <= 40, "one of the two takes all"
                for hook in hooks:
                    assert ask(entity, hook).status == 202
                for hook in hooks:
                    wait_ended(entity, hook)
        for hook in hooks:
            sent = receiver.requests(hook.path)
            assert len(sent) == rounds * SENT
            senders = {}
            for one in sent:
                senders.setdefault(one.headers["webhook-id"].rsplit("_", 1)[0], set()).add(one.local_address)
            assert len(senders) == rounds and all(len(one) == 1 for one in senders.values())


@pytest.mark.parametrize("answered", [0, SENT - 1], ids=["renewal", "end"])
def test_a_row_that_another_session_locks_only_delays(new_entity, receiver, stack, root, answered):
    """Such a lock is usual: another dispatcher that tries to claim the diagnosis locks its row for a moment."""
    entity, other = new_entity(), new_entity()
    hook, hook_of_other = entity.register(), other.register()
    receiver.behave(hook.path, *[Behaviour()] * answered, Behaviour(hold=True), Behaviour())
    with stack.dispatcher_with(**setting(delivery_lease="60s")):
        assert ask(entity, hook).status == 202
        receiver.wait(hook.path, answered + 1)
        root(f"START TRANSACTION; SELECT 1 FROM diagnosticos WHERE webhook_id = {hook.id} FOR UPDATE")
        receiver.release(hook.path)
        for count in range(1, 4):  # rounds of the dispatcher
            other.notify()
            receiver.wait(hook_of_other.path, count)
        root("ROLLBACK")
        wait_ended(entity, hook)
    assert len(receiver.requests(hook.path)) == SENT


def test_the_database_goes_away(entity, receiver, stack):
    """Answers that came while the database was away are not lost, and the diagnosis goes on."""
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(hold=True), Behaviour())
    with stack.dispatcher_with(**setting(delivery_timeout="60s", delivery_lease="90s")):
        assert ask(entity, hook).status == 202
        receiver.wait(hook.path)
        stack.stop("db", "-9")
        receiver.release(hook.path)
        stack.start("db")
        stack.connect_evaluation()
        wait_until(lambda: entity.api("GET", BASE).status == 200, 30, "the API")
        wait_ended(entity, hook, timeout=40)
    sent = receiver.requests(hook.path)
    assert len(sent) == SENT and len({one.headers["webhook-id"] for one in sent}) == SENT - 1


def test_a_webhook_with_a_backlog_is_diagnosed_all_the_same(entity, receiver, stack):
    """The diagnosis has a slot of its own, beside those of the deliveries."""
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(delay=0.15))
    backlog = 400
    for _ in range(backlog):
        entity.notify()
    receiver.wait(hook.path, 20)
    found = diagnose(entity, hook)
    asked = [number for number, one in enumerate(receiver.requests(hook.path)) if one.id.startswith("msg_diagnostico_")]
    assert found["autentica"]["resultado"] == "bien" and asked[0] < backlog
    assert receiver.peak_in_flight(hook.path) <= 10 + 1
    wait_until(lambda: stack.count_deliveries(hook.id, "entregada") == backlog, 60, "the backlog")


def test_diagnoses_of_black_holes_cost_others_no_turn(new_entity, receiver, stack):
    """Diagnoses take no slot of a delivery."""
    with tcp.black_hole() as hole, stack.dispatcher_with(**setting(delivery_max_in_flight="8")):
        greedy, other = new_entity(), new_entity()
        holes = [greedy.register(port=hole) for _ in range(5)]
        silent = [new_entity() for _ in range(2)]
        hooks = [(one, one.register()) for one in silent for _ in range(5)]
        for _, hook in hooks:
            receiver.behave(hook.path, Behaviour(fault="silent"))
        quick = other.register()
        for hook in holes:
            ask(greedy, hook)
        for one, hook in hooks:
            ask(one, hook)
        for _ in range(10):
            delivery = stack.delivery_id(other.notify(), quick.id)
            stack.wait_delivery(delivery, "entregada", 6)
        assert all(receiver.peak_in_flight(hook.path) <= 1 for _, hook in hooks)
        for one, hook in [*hooks, *((greedy, hook) for hook in holes)]:
            wait_ended(one, hook, timeout=60)


def test_an_entity_has_two_diagnoses_at_a_time(new_entity, stack):
    """So one entity's slow receivers do not make the diagnoses of others wait."""
    patient = setting(delivery_connect_timeout="60s", delivery_timeout="60s", delivery_lease="90s")
    with tcp.black_hole() as hole, stack.dispatcher_with(**patient):
        greedy, other = new_entity(), new_entity()
        holes = [greedy.register(port=hole) for _ in range(5)]
        quick = other.register()
        for hook in holes:
            ask(greedy, hook)

        def states():
            return sorted(shown(greedy, hook)["estado"] for hook in holes)
        two = ["en_curso"] * 2 + ["pendiente"] * 3
        wait_until(lambda: states() == two, what="two diagnoses to begin")
        ask(other, quick)
        wait_ended(other, quick, timeout=20)
        assert states() == two
        for hook in holes:
            assert greedy.api("DELETE", f"{BASE}/{hook.id}").status == 200


def test_a_diagnosis_does_not_wait_for_deliveries(entity, receiver, stack):
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(hold=True))
    with stack.dispatcher_with(**setting(delivery_timeout="30s", delivery_lease="60s")):
        for _ in range(20):
            entity.notify()
        receiver.wait(hook.path)
        ask(entity, hook)
        wait_until(lambda: any(one.id.startswith("msg_diagnostico_") for one in receiver.requests(hook.path)), 10, "the genuine request")
        receiver.release(hook.path)
        wait_ended(entity, hook)
