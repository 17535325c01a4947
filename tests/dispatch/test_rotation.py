"""The keys that seal secrets and test events are rotated: under load, in the wrong order, with bad files, interrupted."""
import os
import random
import secrets
import signal
import subprocess
import threading
import time

import pytest

from fakes import verify
from fakes.receiver import Receiver
from support.actors import BASE, DATA, Entity
from support.keys import REFUSED, Keys, new_key, packaged_key
from support.locks import in_background, wait_row_lock
from support.sql import SqlSession
from support.stack import ROOT, Stack, setting
from support.wait import holds_for, wait_until

STANDING, PASSING = "evaluacion.abierta", "evaluacion.cerrada"
TEST = BASE + "/test"
HELD = "SELECT COUNT(*) FROM entregas WHERE estado = 'retenida'"


@pytest.fixture(scope="module")
def stack():
    """A stack of this file's own: the tests change its keys, and other tests need the keys of the common stack."""
    running = Stack(setting(delivery_retry_schedule="300ms,600ms,900ms", delivery_retry_jitter="0",
                            delivery_allowed_networks="127.0.0.0/8")).up()
    yield running
    running.down()


@pytest.fixture(scope="module")
def receiver(stack):
    with Receiver(stack.env["RECEIVER_CERT"], stack.env["RECEIVER_KEY"]) as running:
        yield running


@pytest.fixture
def keys(stack):
    """After each test everything is sealed with one key, which all programs have."""
    keys = Keys(stack)
    yield keys
    assert stack.admin("secrets", "reencrypt")["ilegibles"] == 0
    keys.write(keys.lines[0])
    keys.reload("dispatcher", "fcgi")
    assert stack.value(HELD) == "0"


class Customer:
    """A busy entity. It keeps one webhook, and registers others that receive and are then deleted. Each webhook has its own
    secret."""

    def __init__(self, stack, receiver):
        self.entity, self.receiver = Entity(stack, receiver), receiver
        self.session = SqlSession(stack.env["DB_SOCKET"], stack.env["DB_NAME"], "root", "")
        self.standing, self.written, self.hooks = self.register(STANDING), 0, []
        self._stop = threading.Event()
        self._work = in_background(self._run)

    def register(self, event):
        return self.entity.register([event], secrets.token_hex(8))

    def notify(self, event):
        self.session("INSERT INTO notificaciones_pendientes (entidad_id, evento, datos) VALUES"
                     f" ({self.entity.id}, '{event}', '{{\"evaluacionId\": 1, \"titulo\": \"t\"}}')")

    def _run(self):
        while not self._stop.is_set():
            hook = self.register(PASSING)
            self.hooks.append(hook)
            for _ in range(3):
                self.notify(PASSING)
                self.notify(STANDING)
                self.written += 1
            test = self.entity.api("POST", TEST, json_body={"evento": PASSING, "datosExtra": {"n": 7.5}})
            assert test.status == 200, test
            self.receiver.wait(hook.path, 4, 30)
            wait_until(lambda: self.receiver.in_flight(hook.path) == 0)
            assert self.entity.api("DELETE", f"{BASE}/{hook.id}").status == 200

    def finish(self):
        self._stop.set()
        self._work.result(60)
        self.session.close()

    def judge(self):
        arrived = {r.id for r in self.receiver.wait(self.standing.path, self.written, 30)}
        assert len(arrived) == self.written
        for hook in [self.standing, *self.hooks]:
            requests = self.receiver.requests(hook.path)
            assert len({r.id for r in requests}) == (self.written if hook is self.standing else 4)
            for request in requests:
                assert verify.problems(request.headers, request.body, hook.secret, request.wall_ns / 1e9) == []


def test_a_rotation_under_load_loses_nothing_holds_nothing_and_signs_everything(stack, receiver, keys):
    old = keys.lines[0]
    old_id = old.split(":")[0]
    crowd = [Customer(stack, receiver) for _ in range(3)]

    def goes_on():
        """Waits until every customer has made progress with the present keys."""
        seen = [len(customer.hooks) for customer in crowd]
        assert not [c._work.result(0) for c in crowd if c._work.done()]
        wait_until(lambda: all(len(c.hooks) > n + 1 for c, n in zip(crowd, seen)), 60, "the crowd to go on")

    goes_on()
    keys.write(new_key("nueva"), old)
    keys.reload("dispatcher", "fcgi")
    assert keys.sealed_by(old_id) > 0, "there is something to do"
    goes_on()
    assert stack.admin("secrets", "reencrypt")["ilegibles"] == 0
    assert keys.sealed_by(old_id) == 0
    advice = stack.dev("admin", "secrets", "status")
    assert f"key {old_id} seals nothing" in advice.stdout + advice.stderr
    keys.write(keys.lines[0])
    keys.reload("dispatcher", "fcgi")
    goes_on()
    for customer in crowd:
        customer.finish()
    for customer in crowd:
        customer.judge()
    left = "SELECT COUNT(*) FROM entregas WHERE estado IN ('pendiente', 'en_curso')"
    wait_until(lambda: stack.value(left) == "0", what="nothing to be left")
    assert stack.value("SELECT GROUP_CONCAT(DISTINCT estado) FROM entregas") == "entregada"
    assert "cannot be decrypted" not in keys.log("dispatcher"), "nothing was held, not even for a while"
    assert keys.status().keys() == {"nueva"}


def look_again(stack):
    """Ends every webhook's rest: a webhook with an unreadable secret rests for a minute."""
    stack.sql("UPDATE webhook_ejecuciones SET descansa_hasta = NULL")


def test_a_dispatcher_without_the_new_key_holds_and_sends_once_it_has_it(stack, receiver, keys):
    entity = Entity(stack, receiver)
    signed, unsigned = entity.register([STANDING], "s3creto-de-prueba"), entity.register([PASSING], None)
    keys.write(new_key("primera"), *keys.lines)
    keys.reload("fcgi")  # the wrong order: the dispatcher should be first
    late = entity.register(["incidencia.cerrada"], "tarde")
    entity.notify(STANDING)
    entity.notify("incidencia.cerrada", DATA["incidencia.cerrada"])
    assert entity.api("POST", TEST, json_body={"evento": PASSING, "datosExtra": {"a": 1}}).status == 200
    receiver.wait(signed.path)  # the old key still opens this webhook's secret
    wait_until(lambda: stack.value(HELD) == "2", what="the deliveries that need the new key to be held")
    assert "cannot be decrypted" in keys.log("dispatcher")
    holds_for(1, lambda: not receiver.requests(late.path) + receiver.requests(unsigned.path), "nothing is sent")
    keys.reload("dispatcher")
    look_again(stack)
    request = receiver.wait(late.path, 1, 20)[0]
    assert verify.problems(request.headers, request.body, "tarde") == []
    assert receiver.wait(unsigned.path, 1, 20)[0].json()["data"]["datos"] == {"a": 1}
    wait_until(lambda: stack.value(HELD) == "0")


def test_an_old_key_removed_too_early_and_put_back(stack, receiver, keys):
    entity = Entity(stack, receiver)
    hook = entity.register([STANDING], "s3creto-de-prueba")
    old = keys.lines
    keys.write(new_key("segunda"), new_key("sobra"))
    keys.reload("dispatcher", "fcgi")
    note = stack.dev("admin", "secrets", "status").stderr
    assert f"key {old[0].split(':')[0]} is not in secrets.key_file: the deliveries that need it are held; key sobra" in note \
        or f"can be removed; key {old[0].split(':')[0]} is not in secrets.key_file" in note
    refused = stack.try_admin("secrets", "reencrypt")
    assert refused.returncode == 1 and "could not be opened" in refused.stderr
    entity.notify(STANDING)
    wait_until(lambda: stack.value(HELD) == "1", what="the delivery to be held")
    assert receiver.requests(hook.path) == []
    keys.write(*keys.lines, *old)
    keys.reload("dispatcher", "fcgi")
    look_again(stack)
    request = receiver.wait(hook.path, 1, 20)[0]
    assert verify.problems(request.headers, request.body, hook.secret) == []
    wait_until(lambda: stack.value(HELD) == "0")


def test_a_secret_set_after_a_key_was_lost_signs_at_once(stack, receiver, keys):
    """While the former secret cannot be decrypted, the new one signs alone, even before the end of the grace."""
    entity = Entity(stack, receiver)
    hook = entity.register([STANDING], "perdido")
    old = keys.lines
    keys.write(new_key("otra"))
    keys.reload("dispatcher", "fcgi")
    changed = entity.api("PUT", f"{BASE}/{hook.id}/secreto", json_body={"secreto": "nuevo"})
    assert changed.json()["secretoAnteriorHasta"], "a grace runs"
    entity.notify(STANDING)
    request = receiver.wait(hook.path, 1, 20)[0]
    assert verify.problems(request.headers, request.body, "nuevo") == []
    keys.write(*keys.lines, *old)
    keys.reload("dispatcher", "fcgi")
    entity.notify(STANDING)
    request = receiver.wait(hook.path, 2, 20)[1]
    assert request.headers["x-webhook-signature"] == verify.hub_signature("perdido", request.body)


def test_the_key_of_before_a_reinstallation_and_the_new_one_open_what_each_has_sealed(stack, receiver, keys):
    """Keys of several installations can be in one file: the package gives each key its own id. The id k1,
    which release 0.1.0 gave every key, is read, too."""
    entity, hooks, kept = Entity(stack, receiver), [], []
    for made in (new_key("k1"), packaged_key(), packaged_key()):
        kept = [made, *kept]
        keys.write(*kept, *keys.lines[-1:])
        keys.reload("dispatcher", "fcgi")
        hooks.append(entity.register([STANDING], secrets.token_hex(8)))
    assert [keys.sealed_by(line.split(":")[0]) for line in kept] == [1, 1, 1], "three ids"
    entity.notify(STANDING)
    for hook in hooks:
        request = receiver.wait(hook.path)[0]
        assert verify.problems(request.headers, request.body, hook.secret) == []


def test_a_bad_file_changes_nothing_and_is_one_line_of_the_log(stack, receiver, keys):
    entity, good = Entity(stack, receiver), keys.lines
    first = entity.register([STANDING])
    pids = [stack.pids(part) for part in ("dispatcher", "fcgi")]
    for bad in ([good[0], "not a key"], [good[0], good[0]], []):
        keys.write(*bad)
        keys.reload("dispatcher", "fcgi", says=REFUSED)
    keys.path.unlink()
    keys.reload("dispatcher", "fcgi", says=REFUSED)
    for part in ("dispatcher", "fcgi"):
        lines = [line for line in keys.log(part).splitlines() if REFUSED in line]
        assert all(" error " in line and str(keys.path) in line for line in lines), lines
        assert any("line 2" in line for line in lines)
        assert good[0].split(":")[1] not in keys.log(part)
    second = entity.register([STANDING])
    entity.notify(STANDING)
    for hook in (first, second):
        request = receiver.wait(hook.path)[0]
        assert verify.problems(request.headers, request.body, hook.secret) == []
    assert [stack.pids(part) for part in ("dispatcher", "fcgi")] == pids
    keys.write(*good)


def test_a_storm_of_reloads_under_load(stack, receiver, keys):
    crowd = [Customer(stack, receiver) for _ in range(2)]
    pids = stack.pids("fcgi") + stack.pids("dispatcher")
    both = [*keys.lines, new_key("tormenta")]
    versions = [both, both[::-1], [*both, "mal"]]
    keys.write(*both)
    keys.reload("dispatcher", "fcgi")  # from here on all programs have both keys
    dice = random.Random(1)
    end = time.monotonic() + 3
    while time.monotonic() < end:
        keys.write(*dice.choice(versions))
        for pid in dice.sample(pids, 2):
            os.kill(pid, signal.SIGHUP)
        time.sleep(0.005)
    keys.write(*both)
    for customer in crowd:
        customer.finish()
    for customer in crowd:
        customer.judge()
    assert stack.pids("fcgi") + stack.pids("dispatcher") == pids


def test_reencrypt_killed_in_the_middle_is_run_again(stack, receiver, keys):
    old = keys.lines[0].split(":")[0]
    entities = [Entity(stack, receiver) for _ in range(2)]
    hooks = [entity.register([STANDING]) for entity in entities for _ in range(5)]
    for entity in entities:
        entity.api("POST", TEST, json_body={"evento": STANDING, "datosExtra": {"a": 1}})
    keys.write(new_key("tercera"), *keys.lines)
    keys.reload("dispatcher", "fcgi")
    session = SqlSession(stack.env["DB_SOCKET"], stack.env["DB_NAME"], "root", "")
    session("START TRANSACTION")
    session(f"SELECT 1 FROM webhooks WHERE id = {hooks[6].id} FOR UPDATE")
    running = subprocess.Popen([ROOT / "dev", "admin", "secrets", "reencrypt"], start_new_session=True,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               env={**stack.environment, **stack.settings})
    wait_row_lock(stack, "admin")
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    session.close()
    status = keys.status()
    assert 0 < status[old]["webhooks"] and 0 < status["tercera"]["webhooks"], "killed in the middle"
    assert entities[1].api("DELETE", f"{BASE}/{hooks[9].id}").status == 200
    for entity in entities:
        entity.notify(STANDING)
    for hook in hooks[:9]:
        for request in receiver.wait(hook.path, 2):
            assert verify.problems(request.headers, request.body, hook.secret) == []
    assert stack.admin("secrets", "reencrypt")["ilegibles"] == 0
    assert keys.sealed_by(old) == 0


def test_the_data_of_a_test_event_moved_to_another_entity_is_not_sent(stack, receiver, keys):
    """Sealed data are bound to their entity: a writer to the database cannot have one entity's data sent to another."""
    entities = [Entity(stack, receiver) for _ in range(2)]
    hooks = [entity.register([STANDING], None) for entity in entities]
    stack.admin("queue", "pause")
    for entity in entities:
        entity.api("POST", TEST, json_body={"evento": STANDING, "datosExtra": {"de": entity.id}})

    def swap():
        rows = "SELECT id, datos FROM notificaciones_pendientes WHERE origen = 'prueba' AND entidad_id IN ({})"
        (one, ones), (other, others) = stack.sql(rows.format(", ".join(str(e.id) for e in entities)) + " ORDER BY id")
        stack.sql(f"UPDATE notificaciones_pendientes SET datos = '{others}' WHERE id = {one};"
                  f"UPDATE notificaciones_pendientes SET datos = '{ones}' WHERE id = {other}")

    swap()
    stack.admin("queue", "resume")
    wait_until(lambda: stack.value(HELD) == "2", what="both to be held")
    assert [receiver.requests(hook.path) for hook in hooks] == [[], []]
    swap()
    look_again(stack)
    for entity, hook in zip(entities, hooks):
        assert receiver.wait(hook.path, 1, 20)[0].json()["data"]["datos"] == {"de": entity.id}
    wait_until(lambda: stack.value(HELD) == "0")
