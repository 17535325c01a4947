"""Runs the commands of docs/operations.md that need no systemd, on a private stack. If a chapter is about a particular
situation, the test stages that situation before it runs the chapter's commands."""
import re
import subprocess
from pathlib import Path

import pytest

from fakes import host
from fakes.receiver import Behaviour, Receiver
from support import manual
from support.actors import Entity, fresh_id
from support.place import SETTINGS, Place
from support.sql import SqlError, SqlSession
from support.stack import Stack, setting
from support.wait import wait_until

BLOCKS = manual.blocks()
TEXT = manual.MANUAL.read_text()
FAILS, WORKS = Behaviour(status=500), Behaviour()


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    stack = Stack(SETTINGS)
    try:
        stack.up()
        with Receiver(stack.env["RECEIVER_CERT"], stack.env["RECEIVER_KEY"]) as receiver:
            yield Place(stack, receiver, tmp_path_factory.mktemp("manual"))
    finally:
        stack.down()


# Each function below stages the situation of a chapter: it yields the variables of the chapter's commands, and may check
# their effects afterwards.

def new_entity(place):
    case = {"ENTITY": fresh_id()}
    yield case
    assert len(place.stack.admin("token", "list", "--entity", case["ENTITY"])) == 1
    assert (place.folder / "token.txt").read_text().startswith("apie_")


def healthy(place):
    yield place.case()


def reached(place):
    case, alone = place.case(), Entity(place.stack, place.receiver, "Ayuntamiento de Ejemplo")
    place.stack.wait_delivery(case["DELIVERY"], "entregada")
    place.stack.wait_notification(alone.notify(), "procesada")
    yield {}


def failing(place):
    yield place.case(FAILS)


def cancelled(place):
    case = place.case(FAILS)
    others = [place.case(FAILS) for _ in range(2)]
    yield case
    for other in (case, *others):
        assert place.stack.notification(other["NOTIFICATION"])["estado"] == "cancelada"


def outage(place):
    case = place.case(Behaviour(status=503))
    place.set_state(case["DELIVERY"], "fallida")
    place.receiver.behave(case["PATH_OF"], WORKS)
    yield case
    place.arrived(case, 2)


BACKED_UP = {}


def backed_up(place):
    """A webhook's first delivery has arrived, and its replay has been asked for. The second delivery has failed and waits for
    its retry; the replay waits for that. The evaluation system has written two rows that are rejected. On MariaDB its session
    had switched off the CHECKs and allowed invalid dates."""
    case = place.case()
    place.arrived(case)
    wrong, date = "{}", ...
    if "MariaDB" in place.stack.value("SELECT VERSION()"):
        place.stack.evaluation("SET check_constraint_checks = 0, sql_mode = 'ALLOW_INVALID_DATES'")
        wrong, date = "{", "2026-02-31"
    case["REJECTED"] = [place.stack.notify(case["ENTITY"], "evaluacion.abierta", wrong, clave="sin CHECK"),
                        place.stack.notify(case["ENTITY"], "evaluacion.abierta", "{}", ocurrida_en=date)]
    place.stack.connect_evaluation()
    for row in case["REJECTED"]:
        place.stack.wait_notification(row, "rechazada")
    place.receiver.behave(case["PATH_OF"], FAILS)
    case["NOTIFICATION"] = place.stack.notify(case["ENTITY"], "evaluacion.abierta", '{"evaluacionId": 1, "titulo": "t"}')
    case["DELIVERY"] = place.stack.delivery_id(case["NOTIFICATION"], case["WEBHOOK"])
    wait_until(lambda: place.stack.value(f"SELECT paso FROM entregas WHERE id = {case['DELIVERY']}") == "1")
    place.stack.sql(f"""INSERT INTO reenvios (entidad_id, webhook_id, desde, hasta, entregadas, candidatas, tope)
        VALUES ({case['ENTITY']}, {case['WEBHOOK']}, '2026-01-01', UTC_TIMESTAMP(3), TRUE, 1, 1)""")
    BACKED_UP.update(case)
    yield BACKED_UP


def restored(place):
    """In the dump, a delivery and a replay wait. Since the dump both have been sent, and a new delivery has arrived."""
    case, lost = BACKED_UP, place.case()
    place.receiver.behave(case["PATH_OF"], WORKS)
    place.stack.admin("delivery", "retry", case["DELIVERY"])
    place.stack.wait_delivery(case["DELIVERY"], "entregada")
    place.arrived(case, 4)
    yield case
    place.stack.connect_evaluation()
    assert place.stack.delivery(case["DELIVERY"])["estado"] == "cancelada"
    assert place.stack.try_admin("notification", "show", lost["NOTIFICATION"]).returncode == 1
    for row in case["REJECTED"]:
        assert place.stack.notification(row)["estado"] == "rechazada"
    with pytest.raises(SqlError, match="lo pone el servidor"):
        place.stack.evaluation("INSERT INTO notificaciones_pendientes (id, entidad_id, evento, datos)"
                               f" VALUES (99, {case['ENTITY']}, 'evaluacion.abierta', '{{}}')")
    assert place.stack.evaluation("SELECT COUNT(*) FROM notificaciones_resultado") != [["0"]]
    assert place.stack.admin("queue", "status")["pausada"] is False
    place.arrived(place.case())
    assert place.stack.value(f"SELECT estado FROM reenvios WHERE webhook_id = {case['WEBHOOK']}") == "cancelado"
    assert len(place.receiver.requests(case["PATH_OF"])) == 4  # nothing old went out again


def moved(place):
    """The old server is the new one, too; test_other_database.py has two."""
    yield place.case()
    assert place.run("mariadb -e 'DROP DATABASE apientidades_nueva'; systemctl start apientidades.target").returncode == 0
    place.stack.connect_evaluation()


def rotated(place):
    key_file = Path(place.stack.env["SECRETS_DIR"], "secrets.keys")
    before, case = key_file.read_text(), place.case(FAILS)
    token = place.stack.admin("token", "list", "--entity", case["ENTITY"])[0]["id"]
    yield {**case, "TOKEN_ID": token}
    assert before not in key_file.read_text() and len(key_file.read_text().splitlines()) == 1
    place.receiver.behave(case["PATH_OF"], WORKS)
    place.stack.admin("delivery", "retry", case["DELIVERY"])
    assert place.receiver.wait(case["PATH_OF"], 2)[-1].headers["webhook-signature"]


def black_hole(place):
    yield place.case(Behaviour(fault="silent"))


def own_outage(place):
    """Writes the rows that a dispatcher writes in an outage: a real outage needs a separate network, as in
    tests/dispatch/test_outages.py."""
    case = place.case(FAILS)
    place.stack.sql(f"""UPDATE entregas SET ultimo_error = 'El servicio no tiene conexión a Internet en este momento: …' WHERE id = {case['DELIVERY']};
        INSERT INTO cortes_envio (despachador, tipo, desde, visto_en, entregas)
        VALUES ('app1:4711', 'red', UTC_TIMESTAMP(3), UTC_TIMESTAMP(3) + INTERVAL 1 HOUR, 312)""")
    yield case
    place.stack.sql("DELETE FROM cortes_envio")


def locked_notification(place):
    """Another session has locked a notification that was written two minutes ago."""
    case = place.case(attempted=False)
    place.stack.admin("queue", "pause")
    late = place.stack.notify(case["ENTITY"], "evaluacion.abierta", '{"evaluacionId": 1, "titulo": "t"}')
    place.stack.sql(f"UPDATE notificaciones_pendientes SET ocurrida_en = ocurrida_en - INTERVAL 2 MINUTE WHERE id = {late}")
    holder = SqlSession(place.stack.env["DB_SOCKET"], place.stack.env["DB_NAME"], "root", "")
    holder("START TRANSACTION")
    holder(f"SELECT id FROM notificaciones_pendientes WHERE id = {late} FOR UPDATE")
    place.stack.admin("queue", "resume")
    try:
        yield case
    finally:
        holder.close()
    place.stack.wait_notification(late, "procesada")


def out_of_numbers(place):
    """The evaluation system's session takes the last ids. Two triggers, which would refuse such ids, are dropped."""
    case = place.case()
    for trigger in ("numero_lo_pone_el_servidor", "numero_no_es_cero"):
        place.stack.sql(f"DROP TRIGGER {trigger}")
    place.stack.evaluation("SET insert_id = 9223372036854775806")
    place.arrived(case)
    last = [place.stack.notify(case["ENTITY"], "evaluacion.abierta", '{"evaluacionId": 1, "titulo": "t"}') for _ in range(2)]
    assert min(last) > 10**18
    with pytest.raises(SqlError):
        place.stack.notify(case["ENTITY"], "evaluacion.abierta", '{"evaluacionId": 1, "titulo": "t"}')
    place.arrived(case, 3)
    place.stack.sql(f"INSERT INTO pruebas_por_borrar (notificacion_id) VALUES ({last[0]})")  # as if it were a test event
    yield case
    place.stack.notify(case["ENTITY"], "evaluacion.abierta", '{"evaluacionId": 1, "titulo": "t"}')
    place.arrived(case, 4)
    assert place.stack.value("SELECT COUNT(*) FROM notificaciones_pendientes WHERE id > 1e15") == "0"
    assert place.stack.value("SELECT COUNT(*) FROM entregas WHERE notificacion_id > 1e15") == "0"
    listed = ("SELECT COUNT(*) FROM pruebas_por_borrar p JOIN notificaciones_pendientes n ON n.id = p.notificacion_id"
              f" WHERE n.entidad_id = {case['ENTITY']}")
    assert place.stack.value(listed) == "1"


def clock_jumped(place):
    """Writes what a dispatcher writes when the database's clock has jumped 100 days ahead."""
    place.stack.sql("UPDATE reloj_visto SET salto_ms = 8640000000")
    yield {}
    assert place.stack.value("SELECT salto_ms FROM reloj_visto") == "0"


def rejected(place):
    unknown, other = fresh_id(), fresh_id()
    rows = [place.stack.notify(id, "evaluacion.abierta", '{"evaluacionId": 1, "titulo": "t"}') for id in (unknown, unknown, other)]
    for row in rows:
        place.stack.wait_notification(row, "rechazada")
    yield dict(ENTITY=unknown, NOTIFICATION=rows[0])
    for row, state in zip(rows, ("procesada", "procesada", "cancelada")):
        place.stack.wait_notification(row, state)


def held(place):
    case = place.case(FAILS)
    place.stack.admin("webhook", "disable", case["WEBHOOK"])
    place.stack.wait_delivery(case["DELIVERY"], "retenida")
    yield case


def about_to_be_deactivated(place):
    """The state after twelve failures within almost five days. Only the last of these attempts is really made."""
    case = place.case(FAILS)
    place.stack.sql(f"""UPDATE webhook_ejecuciones SET fallos = 12, fallos_desde = UTC_TIMESTAMP(3) - INTERVAL 118 HOUR
        WHERE webhook_id = {case['WEBHOOK']}""")
    yield case
    assert place.stack.value(f"SELECT fallos FROM webhook_ejecuciones WHERE webhook_id = {case['WEBHOOK']}") == "0"


def deactivated(place):
    case = place.case(Behaviour(status=410))
    place.stack.wait_delivery(case["DELIVERY"], "retenida")
    place.receiver.behave(case["PATH_OF"], WORKS)
    yield case
    place.arrived(case, 2)


def not_sent(place):
    with place.stack.dispatcher_with(**setting(delivery_sandbox="none")):
        case = place.case()
        place.stack.wait_delivery(case["DELIVERY"], "entregada")
    sent = place.case()
    place.arrived(sent)
    yield {}
    place.arrived(case)
    place.stack.wait_delivery(sent["DELIVERY"], "entregada")
    assert (place.folder / "unsent").read_text() == f"{case['DELIVERY']}\n"


def tried(place):
    """Without a secret no check of a signature can go wrong: this receiver accepts everything."""
    entity = Entity(place.stack, place.receiver, "Universidad de Ejemplo")
    yield {"WEBHOOK": entity.register(["evaluacion.abierta"], secret=None).id}


STAGED = {
    "Entities and tokens": new_entity, "Who was reached": reached, "Pause in an emergency": healthy, "Cancel a wrong notification": cancelled,
    "Replay after a receiver's outage": outage, "Send what a sandbox has not sent": not_sent, "Back up": backed_up, "Restore": restored,
    "From MariaDB to MySQL, or back": moved, "Rotate": rotated,
    "An entity says it got nothing": failing, "Try a receiver": tried, "A receiver is a black hole": black_hole, "Our own outage": own_outage,
    "The database's clock has jumped": clock_jumped, "Notifications are locked": locked_notification,
    "Notifications cannot be inserted": out_of_numbers, "A row is rechazada": rejected,
    "Deliveries are retenida": held, "A webhook is about to be deactivated": about_to_be_deactivated, "Many webhooks have changed": healthy,
    "A webhook was deactivated": deactivated}
CHAPTERS = list(dict.fromkeys(block.chapter for block in BLOCKS if block.kind == "sh"))


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_the_commands_of_a_chapter_work_and_print_what_it_shows(place, chapter):
    stage = STAGED[chapter](place) if chapter in STAGED else iter([{}])
    variables = next(stage)
    variables = {name: value for name, value in variables.items() if name != "PATH_OF"}
    for block in BLOCKS:
        if block.chapter != chapter or block.kind != "sh":
            continue
        result = place.run(block.commands, **variables)
        where = f"docs/operations.md:{block.line}"
        assert result.returncode == 0, f"{where} ended {result.returncode}:\n{result.stdout}"
        assert manual.not_printed(block.shown, result.stdout) == [], f"{where} printed:\n{result.stdout}"
    next(stage, None)


def test_a_restore_that_meets_tables_of_an_earlier_restore_says_so_and_destroys_nothing(place):
    exchange, = (block.commands for block in BLOCKS if block.commands.startswith("! mariadb"))
    place.stack.sql("CREATE DATABASE apientidades_antes; CREATE TABLE apientidades_antes.entidades LIKE entidades;"
                    "CREATE DATABASE apientidades_nueva; CREATE TABLE apientidades_nueva.tokens (id INT PRIMARY KEY)")
    kept = ("SELECT table_schema, table_name, table_type FROM information_schema.tables WHERE table_schema LIKE 'apientidades%' UNION ALL"
            " SELECT trigger_schema, trigger_name, action_timing FROM information_schema.triggers ORDER BY 1, 2, 3")
    assert place.run("apientidades-setup-database").returncode == 0  # makes the triggers, which another chapter's test drops
    before = place.stack.sql(kept)
    assert ["apientidades", "notificaciones_resultado", "VIEW"] in before
    assert ["apientidades", "numero_no_es_cero", "AFTER"] in before
    printed = place.run(exchange).stdout
    assert "apientidades_antes.entidades is of an earlier restore" in printed
    assert place.stack.sql(kept) == before
    assert place.stack.admin("queue", "status")["pausada"] is False
    place.stack.sql("DROP DATABASE apientidades_antes; DROP DATABASE apientidades_nueva")


def test_the_database_settings_are_known_to_the_server(place):
    block, = (block.commands for block in BLOCKS if "60-apientidades.cnf" in block.commands)
    file = place.folder / "60-apientidades.cnf"
    file.write_text(re.search("<<'CONF'\n(.*)^CONF$", block, re.S | re.M).group(1))
    server = host.server_program(Path(place.stack.folder), "sbin/mariadbd")
    shown = subprocess.run([*server, f"--defaults-file={file}", "--user=root", "--verbose", "--help"], capture_output=True, text=True)
    values = dict(line.split(maxsplit=1) for line in shown.stdout.splitlines() if line.startswith("innodb-") and " " in line)
    log = values.get("innodb-redo-log-capacity") or values["innodb-log-file-size"]
    assert (values["innodb-buffer-pool-size"], log) == ("1073741824", "1073741824"), shown.stderr


def test_a_list_that_is_searched_is_whole():
    piped = re.findall(r"apientidades-admin (\w+ list\b[^|\n]*)\|", "\n".join(block.commands for block in BLOCKS))
    assert piped and [command for command in piped if "--limit" not in command] == []


def test_what_needs_systemd_is_at_least_a_shell_s():
    for block in BLOCKS:
        if block.kind == "sh system":
            subprocess.run(["bash", "-n", "-c", block.commands], check=True)


def test_every_chapter_that_is_staged_exists():
    assert set(STAGED) <= set(CHAPTERS)


def test_it_names_every_command_of_the_operator_and_no_other(place):
    known = set(re.findall(r"^  ([a-z]+ [a-z]+)(?: [a-z]+)?  ", place.stack.dev("admin", "--help").stdout, re.M))
    groups = "|".join({command.split()[0] for command in known})
    named = set(re.findall(r"apientidades-admin ([a-z]+ [a-z]+)", TEXT))
    named |= set(re.findall(rf"`((?:{groups}) [a-z]+)", TEXT))
    assert named - known == set()
    assert known - named == set()


def test_a_shown_output_is_compared_by_its_words_and_not_by_its_numbers():
    printed = "id  estado\n17  pendiente  2026-11-20T10:00:00.123Z\n"
    assert manual.not_printed("id   estado\n 8  pendiente 2025-01-01T00:00:00.000Z", printed) == []
    assert manual.not_printed("id  estado\n8  …", printed) == []
    assert manual.not_printed("id\n8  fallida  …", printed) == ["id", "8  fallida  …"]


@pytest.mark.parametrize("first, restored", [("", True), ("CREATE DATABASE `apientidades`;\n", False), ("USE `apientidades`;\n", False)])
def test_a_dump_that_names_its_database_is_not_restored(tmp_path, first, restored):
    block, = (block for block in BLOCKS if "check_constraint_checks" in block.commands)
    dump = tmp_path / "dump.sql"
    dump.write_text(f"-- Host: localhost\n{first}CREATE TABLE t (id INT);\n-- Dump completed\n")
    commands = block.commands.replace("/var/backups/apientidades.sql", str(dump))
    stubs = 'systemctl() { :; }; mariadb() { echo "$1"; }'
    done = subprocess.run(["bash", "-c", f"{stubs}\n{commands}"], capture_output=True, text=True)
    assert ("--init-command" in done.stdout) == restored and ("Dump completed" in done.stdout) == restored
