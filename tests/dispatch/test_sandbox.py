"""delivery.sandbox: only the listed hosts are reached; a delivery to another ends as entregada, and says that it was not sent."""
import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from fakes.receiver import Behaviour
from support.actors import BASE, fresh_id
from support.diagnosis import CHECKS, ask, wait_ended
from support.metrics import observed_dispatcher
from support.stack import ROOT, setting
from support.wait import wait_until

TEXT = "Entorno de pruebas: no se ha enviado"
NOWHERE = "https://avisos.example.com/x"  # would need a name server


def listing(hook) -> dict:
    """The settings of a sandbox with this webhook's host alone."""
    return setting(delivery_sandbox=re.match("https://([^:/]+)", hook.url)[1])


def history(entity, hook, delivery) -> list[dict]:
    return entity.api("GET", f"{BASE}/{hook.id}/entregas/{delivery}").json()["historial"]


def test_only_listed_hosts_are_reached(entity, receiver, stack):
    listed, other = entity.register(), entity.register()
    answer = entity.api("POST", BASE, json_body={"url": NOWHERE, "eventos": ["evaluacion.abierta"]})
    assert answer.status == 201, answer
    stack.cancel_all_waiting()  # a retry of an earlier test would be counted, too
    with observed_dispatcher(stack, **listing(listed)) as scrape:
        notification = entity.notify()
        for id in (listed.id, other.id, answer.json()["id"]):
            stack.wait_delivery(stack.delivery_id(notification, id), "entregada")
        wait_until(lambda: scrape().value("apientidades_attempts_total", outcome="sandbox") == 2, what="the attempts to be counted")
        assert scrape().value("apientidades_sandbox") == 1
    assert len(receiver.requests(listed.path)) == 1
    assert receiver.requests(other.path) == []
    for hook, error, status in ((listed, "", 200), (other, TEXT, None)):
        delivery = stack.delivery_id(notification, hook.id)
        attempt, = history(entity, hook, delivery)
        assert (attempt["error"], attempt["estadoHttp"], attempt["direccion"], attempt["firmas"]) == (error, status, None, 1)
        assert [one["error"] for one in stack.admin("delivery", "show", delivery)["historial"]] == [error]
        assert entity.listed(hook)["ultimoError"] == ""
        assert entity.listed(hook)["ultimoEstado"] == status
    detail = entity.api("GET", f"{BASE}/{other.id}/entregas/{stack.delivery_id(notification, other.id)}").json()
    assert '"evento":"evaluacion.abierta"' in detail["cuerpo"]
    assert stack.evaluation("SELECT webhooks, entregadas, ultimo_error IS NULL FROM notificaciones_resultado"
                            f" WHERE notificacion_id = {notification}") == [["3", "3", "1"]]


def test_a_webhook_that_failed_does_not_fail_any_more(entity, receiver, stack):
    """The result is recorded with one of a failure, so that both are written as failures are."""
    hook, listed = entity.register(), entity.register()
    for one in (hook, listed):
        receiver.behave(one.path, *[Behaviour(status=500)] * 20)
    entity.notify()
    wait_until(lambda: entity.listed(hook)["ultimoEstado"] == 500, what="a failure")
    with stack.dispatcher_with(**listing(listed)):
        notification = entity.notify()
        stack.wait_delivery(stack.delivery_id(notification, hook.id), "entregada")
        wait_until(lambda: entity.listed(hook)["ultimoError"] == "", what="the end of the failures")
    assert entity.api("GET", f"{BASE}/{hook.id}").json()["fallaDesde"] is None


def test_a_diagnosis_sends_nothing(entity, receiver, stack):
    hook = entity.register()
    with stack.dispatcher_with(**setting(delivery_sandbox="none")):
        assert ask(entity, hook).status == 202
        checks = wait_ended(entity, hook, "fallido")
    assert {name: (one["resultado"], one["detalle"]) for name, one in checks.items()} == {name: ("no_hecha", TEXT) for name in CHECKS}
    assert receiver.requests(hook.path) == []


@pytest.mark.parametrize("what, status", [(["queue", "status"], 0), (["queue", "status", "--check"], 2), (["config", "check"], 0)],
                         ids=lambda value: str(value).strip("[]"))
def test_the_operator_is_told(stack, what, status):
    off, on = (stack.dev("admin", *what, check=False, **setting(delivery_sandbox=hosts)) for hosts in ("", "none"))
    assert "SANDBOX" not in off.stdout + off.stderr
    assert "SANDBOX" in on.stdout + on.stderr
    assert on.returncode == status


@pytest.fixture
def conf(stack):
    file = Path(stack.folder, "apientidades.conf.d", "sandbox.conf")
    file.parent.mkdir(exist_ok=True)
    yield file
    file.unlink(missing_ok=True)


def test_a_dispatcher_tells_it_until_it_is_reloaded(stack, conf, tmp_path):
    """Also when the file does not say it any more. What a process of the API has in force sends nothing."""
    def told():
        return json.loads(stack.dev("admin", "queue", "status", "--json", RUNTIME_DIRECTORY=str(tmp_path)).stdout)["entorno_de_pruebas"]
    conf.write_text("[delivery]\nsandbox = none\n")
    with stack.part_with("fcgi", RUNTIME_DIRECTORY=str(tmp_path)), stack.dispatcher_with(RUNTIME_DIRECTORY=str(tmp_path)):
        conf.unlink()
        assert told() is True
        pid, = stack.pids("dispatcher")
        os.kill(pid, signal.SIGHUP)
        wait_until(lambda: not told(), 20, "the dispatcher to be reloaded")
        notes = [note.read_text() for note in wait_until(lambda: len(list(tmp_path.glob("config.*"))) == 3 and tmp_path.glob("config.*"), 20, "three notes")]
        assert sum("delivery.sandbox\tnone" in note for note in notes) == 2, "those of the API"
        assert told() is False


def test_a_log_and_the_status_in_json_tell_it(stack):
    assert stack.admin("queue", "status")["entorno_de_pruebas"] is False
    with stack.dispatcher_with(**setting(delivery_sandbox="none, *.Example.org")):
        wait_until(lambda: "SANDBOX: only the hosts of delivery.sandbox" in stack.dev("logs", "dispatcher").stdout, what="the line in the log")


def test_the_entities_for_tests_are_made_once(stack):
    first, second = fresh_id(), fresh_id()
    environment = {**stack.environment, "ADMIN": "./dev admin", "API": stack.env["BASE_URL"], "CA_CERT": stack.env["CA_CERT"],
                   "RECEPTOR": "https://x.pruebas.example.org/%s"}
    for _ in range(2):
        done = subprocess.run(["bash", "examples/pruebas/entidades-de-prueba", "2", str(first)], env=environment, cwd=ROOT, capture_output=True,
                              text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        printed = dict(line.split(" ") for line in done.stdout.splitlines())
        assert list(printed) == [str(first), str(second)]
        for id, token in printed.items():
            hook, = stack.api("GET", BASE, token).json()
            assert (hook["url"], len(hook["eventos"])) == (f"https://x.pruebas.example.org/{id}", 11)


def test_without_an_api_the_script_says_how_it_is_called():
    done = subprocess.run(["bash", "examples/pruebas/entidades-de-prueba", "2"], env={"PATH": "/usr/bin:/bin"}, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2 and "API=https://pruebas.example.org" in done.stderr
