"""examples/evaluacion/postgresql: the relay carries each row of the outbox once, wherever it is killed."""
import glob
import os
import signal
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from support.actors import fresh_id
from support.example_receivers import SOURCES, as_nobody
from support.wait import wait_until

if "EXAMPLES" not in os.environ:
    pytest.skip("./dev test --examples runs these", allow_module_level=True)

FOLDER = SOURCES / "evaluacion/postgresql"
RELAY = ["/usr/bin/python3", str(FOLDER / "relevo.py"), "--vaciar"]
DATA = '{"incidenciaId": 7, "titulo":  "ñ 👩‍🎓 7.50"}'
# For each number N from 1: inserts two rows, unless some are left, and runs the program in a child that kills itself before its line
# N, counted as they are run. Ends with the first child that is not killed. Prints that N, and the N of each insert.
KILLER = """
import os, signal, sys, psycopg2, pymysql
_, program, insert = sys.argv
code, line, status, inserted = compile(open(program).read(), program, "exec"), 0, signal.SIGKILL, []
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
        cursor.execute("SELECT COUNT(*) FROM avisos_salida")
        if cursor.fetchone()[0] == 0:
            cursor.execute(insert.replace("KEY", f"{line:03}-1") + ";" + insert.replace("KEY", f"{line:03}-2"))
            inserted.append(line)
    child = os.fork()
    if child == 0:
        sys.argv, left = [program, "--vaciar"], line
        sys.settrace(trace)
        exec(code, {"__name__": "__main__"})
        os._exit(0)
    status = os.waitpid(child, 0)[1]
print(line, *inserted)
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
    def run(*command, check=True, **more):
        environment = variables | {"RELEVO_POSTGRESQL": postgresql.place + " options='-c lock_timeout=5s'"} | more
        done = subprocess.run([*map(str, command or RELAY)], env=environment, capture_output=True, encoding="utf-8", timeout=60, cwd="/", **as_nobody())
        assert not check or done.returncode == 0, done.stderr
        return done
    yield run
    postgresql("DELETE FROM avisos_salida")  # what a test that failed has left


def insert(entity: int, key: str, event: str = "incidencia.cerrada", data: str = DATA) -> str:
    return f"INSERT INTO avisos_salida (entidad_id, evento, datos, clave) VALUES ({entity}, '{event}', '{data}', '{key}')"


def written(stack, entity) -> list[str]:
    return [key for key, in stack.sql(f"SELECT clave FROM notificaciones_pendientes WHERE entidad_id = {entity} ORDER BY clave")]


def test_killed_at_any_line_it_loses_none_and_doubles_none(postgresql, relay, stack, entity):
    entity.register(["incidencia.cerrada"])  # what reaches no webhook frees its clave
    last, *inserted = map(int, relay("/usr/bin/python3", "-c", KILLER, RELAY[1], insert(entity.id, "KEY")).stdout.split())
    assert last > 80 and len(inserted) > 1
    keys = [f"{number:03}-{which}" for number in inserted for which in (1, 2)]
    assert written(stack, entity.id) == keys
    assert postgresql("SELECT COUNT(*) FROM avisos_salida") == "0\n"


def test_what_it_carries_arrives_as_it_was_written(postgresql, relay, stack, receiver, entity):
    hook = entity.register(["incidencia.cerrada"])
    postgresql(insert(entity.id, "una").replace("clave)", "clave, ocurrida_en)").replace("'una')", "'una', '2026-07-15 12:00:00.123+02')"))
    relay()
    assert receiver.wait(hook.path)[0].body.decode() == (
        '{"evento":"incidencia.cerrada","timestamp":"2026-07-15T10:00:00.123Z","data":{"incidenciaId": 7, "titulo":  "ñ 👩‍🎓 7.50"}}')


def test_a_deadline_is_passed_on(postgresql, relay, stack, entity):
    for column in ("ocurrida_en", "caduca_en"):
        postgresql(insert(entity.id, "never").replace("clave)", f"clave, {column})").replace("'never')", "'never', 'infinity')"), check=False)
    postgresql(insert(entity.id, "soon").replace("clave)", "clave, caduca_en)").replace("'soon')", "'soon', '2046-07-15 12:00:00.123+02')"))
    relay()
    assert stack.sql(f"SELECT clave, caduca_en FROM notificaciones_pendientes WHERE entidad_id = {entity.id}") == [["soon", "2046-07-15 10:00:00.123"]]


def test_an_entity_gets_its_rows_in_their_order(postgresql, relay, stack, entity):
    keys = ["z", "a", "m"]
    postgresql(*(insert(entity.id, key) for key in keys))
    relay()
    assert [key for key, in stack.sql(f"SELECT clave FROM notificaciones_pendientes WHERE entidad_id = {entity.id} ORDER BY id")] == keys


def test_large_rows_full_of_quotes_fit_a_statement(postgresql, relay, stack, entity):
    """JSON and SQL escape each quote: 64 KiB become 256. So a batch can exceed max_allowed_packet, if that is not very large."""
    postgresql("INSERT INTO avisos_salida (entidad_id, evento, datos, clave)"
               f""" SELECT {entity.id}, 'incidencia.cerrada', ('{DATA[:-1]}, "x": [' || repeat('"",', 21800) || '""]}}')::json, n FROM generate_series(1, 8) n""")
    (limit,), = stack.sql("SELECT @@GLOBAL.max_allowed_packet")
    stack.sql("SET GLOBAL max_allowed_packet = 1048576")
    try:
        relay()
    finally:
        stack.sql(f"SET GLOBAL max_allowed_packet = {limit}")
    assert len(written(stack, entity.id)) == 8


def test_a_row_that_fails_stops_no_other(postgresql, relay, stack, entity):
    writer = stack.writer()
    try:
        writer("BEGIN")
        writer(f"INSERT INTO notificaciones_pendientes (entidad_id, evento, datos, clave) VALUES ({entity.id}, 'incidencia.cerrada', '{{}}', 'held')")
        postgresql(insert(entity.id, "before"), insert(entity.id, "held"), insert(entity.id, "after"))
        done = relay(check=False)
        assert done.returncode == 1
        assert "aplazado: (1205" in done.stderr and "1 avisos no se han podido llevar" in done.stderr
        assert written(stack, entity.id) == ["after", "before"]
        assert postgresql("SELECT clave, rechazo FROM avisos_salida") == "held|\n"
        writer("ROLLBACK")
    finally:
        writer.close()
    relay()
    assert written(stack, entity.id) == ["after", "before", "held"]


def test_what_another_relay_carries_is_passed_over(postgresql, relay, stack, entity):
    postgresql(insert(entity.id, "taken"), insert(entity.id, "free"))
    with subprocess.Popen(["psql", "-qAtX", postgresql.place], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/", **as_nobody()) as other:
        other.stdin.write("BEGIN; SELECT clave FROM avisos_salida ORDER BY id LIMIT 1 FOR UPDATE;\n")
        other.stdin.flush()
        assert other.stdout.readline() == "taken\n"
        relay()
        assert written(stack, entity.id) == ["free"]
        other.stdin.close()
    relay()
    assert written(stack, entity.id) == ["free", "taken"]


def test_two_relays_at_once_carry_each_row_once(postgresql, relay, stack, entity):
    entity.register(["incidencia.cerrada"])  # what reaches no webhook frees its clave
    twice = "SELECT COUNT(*), COUNT(DISTINCT clave) FROM notificaciones_pendientes WHERE entidad_id = " + str(entity.id)
    for half in (1, 2):  # each key is in two rows, in opposite orders
        postgresql(f"INSERT INTO avisos_salida (entidad_id, evento, datos, clave) SELECT {entity.id}, 'incidencia.cerrada', '{DATA}', n"
                   f" FROM generate_series(1, 500) n ORDER BY n {'DESC' if half == 2 else ''}")
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: relay(), range(2)))
    assert stack.sql(twice) == [["500", "500"]]
    assert postgresql("SELECT COUNT(*) FROM avisos_salida") == "0\n"


@pytest.mark.parametrize("away", [{"EVALUACION_SOCKET": "/nowhere"}, {"RELEVO_POSTGRESQL": "host=/nowhere"}], ids=["service", "postgresql"])
def test_while_a_database_is_away_the_rows_wait(postgresql, relay, stack, entity, away):
    postgresql(insert(entity.id, "waits"))
    assert relay(check=False, **away).returncode == 1
    assert written(stack, entity.id) == []
    relay()
    assert written(stack, entity.id) == ["waits"]


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
    entity.register(["incidencia.cerrada"])  # what reaches no webhook frees its clave
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
