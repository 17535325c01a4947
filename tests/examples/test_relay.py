"""examples/evaluacion/postgresql: the relay carries each row of the outbox once, wherever it is killed."""
import glob
import os
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest

from support.actors import fresh_id
from support.example_receivers import SOURCES, as_nobody
from support.wait import wait_until

if "EXAMPLES" not in os.environ:
    pytest.skip("./dev test --examples runs these", allow_module_level=True)

FOLDER = SOURCES / "evaluacion/postgresql"
RELAY = ["/usr/bin/python3", str(FOLDER / "relevo.py"), "--vaciar"]
# For each number N from 1: inserts two rows, and runs the program in a child that kills itself before its line N, counted as
# they are run. Ends with the first child that is not killed, and prints N.
KILLER = """
import os, signal, sys, psycopg2, pymysql
_, program, insert = sys.argv
code, line, status = compile(open(program).read(), program, "exec"), 0, signal.SIGKILL
source = psycopg2.connect(os.environ["RELEVO_POSTGRESQL"])
def trace(frame, event, _):
    global left
    if frame.f_code.co_filename != program:
        return None
    left -= event == "line"
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return trace
while status == signal.SIGKILL:
    line += 1
    with source, source.cursor() as cursor:
        cursor.execute(insert.replace("KEY", f"{line:03}-1") + ";" + insert.replace("KEY", f"{line:03}-2"))
    child = os.fork()
    if child == 0:
        sys.argv, left = [program, "--vaciar"], line
        sys.settrace(trace)
        exec(code, {"__name__": "__main__"})
        os._exit(0)
    status = os.waitpid(child, 0)[1]
print(line)
sys.exit(status != 0)
"""


@pytest.fixture(scope="module")
def postgresql():
    """Yields a function that runs psql on a private server with the outbox; its attribute `place` is where the server is."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
    if not found:
        (pytest.fail if os.environ.get("EXAMPLES_REQUIRED") else pytest.skip)("postgresql is not installed")
    programs, who = Path(found[-1]), as_nobody()
    with tempfile.TemporaryDirectory(prefix="apie-pg-", dir="/tmp") as name:
        folder = Path(name)
        if who:
            os.chown(folder, *(int(subprocess.check_output(["id", flag, "nobody"])) for flag in ("-u", "-g")))
        run = {"cwd": "/", "env": {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}, **who}
        subprocess.run([programs / "initdb", "-D", folder / "data", "-U", "evaluacion", "-A", "trust", "-N"], check=True, capture_output=True, **run)
        with (folder / "log").open("wb") as log:
            server = subprocess.Popen([programs / "postgres", "-D", folder / "data", "-k", folder, "-h", "", "-F"], stdout=log, stderr=log, **run)
        place = f"host={folder} user=evaluacion dbname=postgres"

        def psql(*statements, check=True, file=None):
            words = [word for text in statements for word in ("-c", text)] + (["-f", str(file)] if file else [])
            return subprocess.run(["psql", "-qAtX", "-v", "ON_ERROR_STOP=1", place, *words], check=check, capture_output=True, text=True, **run).stdout
        psql.place = place
        try:
            wait_until(lambda: subprocess.run(["psql", "-qAtX", place, "-c", "SELECT 1"], capture_output=True, **run).returncode == 0, 30,
                       "PostgreSQL to answer")
            psql(file=FOLDER / "tabla.sql")
            yield psql
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(30)


@pytest.fixture
def relay(postgresql, variables):
    """Returns a function that runs a command line with the relay's environment."""
    def run(*command, check=True):
        done = subprocess.run([*map(str, command or RELAY)], env=variables | {"RELEVO_POSTGRESQL": postgresql.place}, capture_output=True,
                              encoding="utf-8", timeout=60, cwd="/", **as_nobody())
        assert not check or done.returncode == 0, done.stderr
        return done
    return run


def insert(entity: int, key: str, event: str = "incidencia.cerrada", data: str = '{"incidenciaId": 7, "titulo":  "ñ 👩‍🎓 7.50"}') -> str:
    return f"INSERT INTO avisos_salida (entidad_id, evento, datos, clave) VALUES ({entity}, '{event}', '{data}', '{key}')"


def written(stack, entity) -> list[str]:
    return [key for key, in stack.sql(f"SELECT clave FROM notificaciones_pendientes WHERE entidad_id = {entity} ORDER BY clave")]


def test_killed_at_any_line_it_loses_none_and_doubles_none(postgresql, relay, stack, entity):
    line = int(relay("/usr/bin/python3", "-c", KILLER, RELAY[1], insert(entity.id, "KEY")).stdout)
    assert line > 50
    keys = [f"{number:03}-{which}" for number in range(1, line + 1) for which in (1, 2)]
    assert written(stack, entity.id) == keys
    assert postgresql("SELECT COUNT(*) FROM avisos_salida") == "0\n"


def test_what_it_carries_arrives_as_it_was_written(postgresql, relay, stack, receiver, entity):
    hook = entity.register(["incidencia.cerrada"])
    postgresql(insert(entity.id, "una").replace("clave)", "clave, ocurrida_en)").replace("'una')", "'una', '2026-07-15 12:00:00.123+02')"))
    relay()
    assert receiver.wait(hook.path)[0].body.decode() == (
        '{"evento":"incidencia.cerrada","timestamp":"2026-07-15T10:00:00.123Z","data":{"incidenciaId": 7, "titulo":  "ñ 👩‍🎓 7.50"}}')


def test_a_transaction_that_commits_late_is_carried_too(postgresql, relay, stack, entity):
    with subprocess.Popen(["psql", "-qAtX", postgresql.place], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/", **as_nobody()) as late:
        late.stdin.write(f"BEGIN; {insert(entity.id, 'late')} RETURNING id;\n")
        late.stdin.flush()
        first = int(late.stdout.readline())
        assert first < int(postgresql(insert(entity.id, "early") + " RETURNING id"))
        relay()
        assert written(stack, entity.id) == ["early"]
        late.stdin.write("COMMIT;\n")
        late.stdin.close()
    relay()
    assert written(stack, entity.id) == ["early", "late"]


def test_a_row_that_is_refused_stops_no_other(postgresql, relay, stack, entity):
    nowhere = fresh_id()
    postgresql(insert(entity.id, "wrong", event="nada"), insert(nowhere, "later"), insert(entity.id, "right"), insert(entity.id, "right"))
    said = relay().stderr
    assert written(stack, entity.id) == ["right"]
    assert postgresql("SELECT clave, rechazo FROM avisos_salida ORDER BY id").splitlines() == [
        "wrong|evento: no es uno de los 11 eventos", f"later|entidad_id: la entidad {nowhere} no existe"]
    assert "rechazado: evento: no es uno" in said
    stack.admin("entity", "add", "--id", nowhere, "--name", "Nueva")
    postgresql("UPDATE avisos_salida SET rechazo = NULL WHERE clave = 'later'", "DELETE FROM avisos_salida WHERE clave = 'wrong'")
    relay()
    assert written(stack, nowhere) == ["later"]
    assert postgresql("SELECT COUNT(*) FROM avisos_salida") == "0\n"
