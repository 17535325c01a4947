"""examples/evaluacion: the evaluation system writes notifications and reads their results, with only its own database rights."""
import getpass
import os
import subprocess
from pathlib import Path

import pytest

from fakes.receiver import Behaviour
from support.actors import fresh_id
from support.example_receivers import PREPARED, SOURCES, as_nobody, require
from support.wait import wait_until

if "EXAMPLES" not in os.environ:
    pytest.skip("./dev test --examples runs these", allow_module_level=True)

FOLDER = SOURCES / "evaluacion"
PROGRAMS = {
    "python": ["/usr/bin/python3", FOLDER / "python/evaluacion.py"],
    "php": ["php", FOLDER / "php/evaluacion.php"],
    "java": ["java", "-cp", f"{PREPARED}/java/lib/*", FOLDER / "java/Evaluacion.java"],
    "django": ["/usr/bin/python3", FOLDER / "python/django/evaluacion.py"],
    "laravel": ["php", FOLDER / "php/laravel/evaluacion.php"],
    "hibernate": ["java", "-cp", f"{PREPARED}/java/hibernate/lib/*", FOLDER / "java/hibernate/Evaluacion.java"],
    "spring": ["java", "-cp", f"{PREPARED}/java/evaluacion-spring/lib/*", FOLDER / "java/spring/Evaluacion.java"],
    "typeorm": ["env", f"NODE_PATH={PREPARED}/javascript/typeorm/node_modules", "node", FOLDER / "javascript/typeorm/evaluacion.js"],
}
LANGUAGES = {"hibernate": "java", "typeorm": "javascript"}  # the others are the names of `require`
TITLE = 'Convocatoria "ñ" 👩‍🎓 7.50 €'


@pytest.fixture(params=PROGRAMS)
def run(request, socket, variables):
    """Returns a function that runs the example and returns the ended process. `changes`: environment variables to set; None
    removes a variable."""
    require(LANGUAGES.get(request.param, request.param))

    def run(*arguments, check=True, **changes):
        environment = {name: value for name, value in (variables | changes).items() if value is not None}
        done = subprocess.run([*map(str, PROGRAMS[request.param]), *map(str, arguments)], env=environment, capture_output=True,
                              encoding="utf-8", timeout=60, cwd=Path(socket).parent, **as_nobody())
        assert not check or done.returncode == 0, done.stderr
        return done
    return run


@pytest.mark.parametrize("run", ["typeorm"], indirect=True)
@pytest.mark.parametrize("number", [2 ** 53 + 1, "7.5", "siete"])
def test_a_number_that_javascript_would_change_is_refused(run, stack, entity, number):
    done = run("abrir", number, TITLE, entity.id, check=False)
    assert done.returncode == 1
    assert f"y es {number}" in done.stderr
    assert stack.sql(f"SELECT id FROM notificaciones_pendientes WHERE entidad_id = {entity.id}") == []


def test_what_it_writes_is_delivered_and_it_sees_so(run, stack, receiver, new_entity):
    ours, theirs, nowhere, evaluation = new_entity(), new_entity(), fresh_id(), fresh_id()
    hook, failing = ours.register(["evaluacion.abierta"]), theirs.register(["evaluacion.abierta"])
    receiver.behave(failing.path, Behaviour(status=500))
    assert run("abrir", evaluation, TITLE, ours.id, theirs.id, nowhere).stdout == ""
    assert receiver.wait(hook.path)[0].json()["data"] == {"evaluacionId": evaluation, "titulo": TITLE}
    wait_until(lambda: stack.count_deliveries(hook.id, "entregada") == 1)
    wait_until(lambda: stack.count_deliveries(failing.id, "fallida") == 1)
    assert run("ver", evaluation).stdout.splitlines() == [
        f"entidad {ours.id}: procesada, 1 de 1 entregadas",
        f"entidad {theirs.id}: procesada, 0 de 1 entregadas; El receptor respondió 500: se espera un 2xx",
        f"entidad {nowhere}: rechazada, 0 de 0 entregadas; entidad_id: la entidad {nowhere} no existe"]


def test_a_second_run_notifies_once(run, receiver, new_entity):
    ours, late, evaluation = new_entity(), new_entity(), fresh_id()
    hooks = [entity.register(["evaluacion.abierta"]) for entity in (ours, late)]
    run("abrir", evaluation, TITLE, ours.id)
    assert run("abrir", evaluation, TITLE, ours.id, late.id).stdout == f"entidad {ours.id}: ya estaba avisada\n"
    for hook in hooks:
        receiver.wait(hook.path)
    assert [len(receiver.requests(hook.path)) for hook in hooks] == [1, 1]


@pytest.mark.parametrize("run", ["python", "php", "java"], indirect=True)
def test_a_batch_notifies_all_but_what_is_refused(run, receiver, new_entity):
    ours, theirs, nowhere, evaluation = new_entity(), new_entity(), fresh_id(), fresh_id()
    hooks = [entity.register(["evaluacion.abierta"]) for entity in (ours, theirs)]
    run("abrir", evaluation, TITLE, theirs.id)
    said = {ours.id: None, theirs.id: f"entidad {theirs.id}: ya estaba avisada",
            nowhere: f"entidad {nowhere}: no se la avisa; entidad_id: la entidad {nowhere} no existe"}
    assert run("abrir-lote", evaluation, TITLE, theirs.id, nowhere, ours.id).stdout.splitlines() == [
        line for _, line in sorted(said.items()) if line]
    for hook in hooks:
        assert receiver.wait(hook.path)[0].json()["data"] == {"evaluacionId": evaluation, "titulo": TITLE}


def test_what_fails_leaves_nothing(run, stack, new_entity):
    ours, evaluation = new_entity(), fresh_id()
    for beyond in ("9223372036854775808", "-9223372036854775809"):
        assert run("abrir", evaluation, TITLE, ours.id, beyond, check=False).returncode != 0
    assert stack.value(f"SELECT COUNT(*) FROM notificaciones_pendientes WHERE entidad_id = {ours.id}") == "0"
    assert run("ver", evaluation).stdout == ""


def test_without_a_password_it_says_so(run):
    done = run("ver", 1, check=False, EVALUACION_CONTRASENA=None)
    assert done.returncode == 1
    assert done.stdout == ""
    assert "falta EVALUACION_CONTRASENA: póngala como dicen las primeras líneas de " in done.stderr


@pytest.fixture
def user_of_the_socket(stack):
    """Yields the name of a database user without a password. The server asks the kernel which system user has
    connected to its socket."""
    if os.environ.get("DEV_DATABASE") == "mysql":
        pytest.skip("MySQL has a plugin for this, which the stack does not load")
    name = as_nobody().get("user") or getpass.getuser()
    stack.sql(f"CREATE USER '{name}'@'localhost' IDENTIFIED VIA unix_socket")
    for table, rights in (("notificaciones_pendientes", "INSERT, SELECT"), ("notificaciones_resultado", "SELECT")):
        stack.sql(f"GRANT {rights} ON {stack.env['DB_NAME']}.{table} TO '{name}'@'localhost'")
    stack.sql(f"GRANT EXECUTE ON PROCEDURE {stack.env['DB_NAME']}.avisar TO '{name}'@'localhost'")
    yield name
    stack.sql(f"DROP USER '{name}'@'localhost'")


@pytest.mark.parametrize("run", sorted(PROGRAMS.keys() - {"hibernate", "spring"}), indirect=True)  # these use the driver of `java`
def test_through_a_socket_it_needs_no_password(run, user_of_the_socket):
    entity, evaluation = fresh_id(), fresh_id()
    for order in (("abrir", evaluation, TITLE, entity), ("ver", evaluation)):
        done = run(*order, EVALUACION_USUARIO=user_of_the_socket, EVALUACION_CONTRASENA="")
    assert done.stdout.startswith(f"entidad {entity}: ")
