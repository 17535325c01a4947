"""The only table that the evaluation system writes: what its database user may do, and which rows fail at the INSERT or are
rejected later."""
import contextlib
import json
import re

import pytest

from fakes.receiver import Behaviour
from support.actors import BASE, DATA, fresh_id
from support.sql import SqlError, SqlSession, insert
from support.stack import ROOT

TABLE = "notificaciones_pendientes"
CHECK = (4025, 3819)  # the error of a failed CHECK, on MariaDB and on MySQL


def without(event, field):
    return {k: v for k, v in DATA[event].items() if k != field}


def wrong_values(field):
    integers = {"evaluacionId", "declaracionId", "diasRestantes", "incidenciaId", "documentoId", "tipo"}
    if field in integers:
        return ['"1"', "1.0", "1e3", "null", "true", "9223372036854775808", "[1]"]
    if field == "notaFinal":
        return ['"7.5"', "null", "false"]
    if field in ("fechaInicio", "fechaFin", "fechaCierre"):
        return ['"2026-02-30"', '"20261120"', "20261120", '"2026-11-20T25:00:00Z"', '"2026-11-20T10:00:00"', "null",
                '""', '"2026-11-20 10:00:00Z"', '"2026-11-20T10:00:00+01:00"', '" 2026-11-20"']
    return ["5", "null", '["x"]', "{}"]


def with_literal(event, field, literal):
    return json.dumps({**DATA[event], field: "@@"}, ensure_ascii=False).replace('"@@"', literal)


def wrong_rows():
    """Yields (event, field, data). In the first rows the value of the field is wrong; in the last rows the field is missing."""
    for event, data in DATA.items():
        for field in data:
            for literal in wrong_values(field):
                yield event, field, with_literal(event, field, literal)
    for event, field, literal in (("evaluacion.cierre_proximo", "fechaCierre", '"2026-12-04"'),
                                  ("evaluacion.prorroga", "fechaFin", '"2026-12-04T00:00:00Z"')):
        yield event, field, with_literal(event, field, literal)
    for event, data in DATA.items():
        for field in data:
            yield event, field, json.dumps(without(event, field))


WRONG = list(wrong_rows())


def test_data_that_does_not_match_its_event_is_rejected_naming_the_field(entity, stack, receiver):
    """All rows are written before the test waits: to wait for each in turn would be slow."""
    hook = entity.register()
    written = [(entity.notify(event, text), event, field, text) for event, field, text in WRONG]
    last = stack.wait_notification(written[-1][0], "rechazada", 30)
    assert "falta" in last["error"]
    stack.wait_notification(entity.notify(), "procesada")
    rows = {int(id): (estado, error) for id, estado, error in
            stack.sql(f"SELECT id, estado, error FROM {TABLE} WHERE entidad_id = {entity.id}")}
    wrong = [(event, field, text, *rows[id]) for id, event, field, text in written
             if rows[id][0] != "rechazada" or field not in rows[id][1]]
    assert wrong == []
    assert [r.json()["data"] for r in receiver.wait(hook.path)] == [DATA["evaluacion.abierta"]]


@pytest.mark.parametrize("data", [
    "[]", "null", '"x"', "5", '{"evaluacionId":1,"evaluacionId":2,"titulo":"x"}', "[" * 33 + "]" * 33,
    '{"evaluacionId":1,"titulo":"\\udc00"}', '{"evaluacionId":1,"titulo":"x","n":' + "[" * 32 + "]" * 32 + "}",
    '{"evaluacionId":1,"titulo":"x","n":{"a":1,"a":2}}', '{"evaluacionId":1,"titulo":"x","n":1e400}',
], ids=lambda value: value[:40])
def test_json_that_only_our_parser_refuses_is_rejected(entity, stack, data):
    try:
        id = entity.notify(data=data)
    except SqlError as error:  # the server itself may refuse the text
        assert error.code in CHECK
        return
    shown = stack.wait_notification(id, "rechazada")
    assert shown["error"]


def test_an_unknown_entity_is_rejected_and_sent_when_it_exists(stack, receiver, new_entity):
    id = fresh_id()
    notification = stack.notify(id, "evaluacion.abierta", json.dumps(DATA["evaluacion.abierta"]))
    shown = stack.wait_notification(notification, "rechazada")
    assert "entidad" in shown["error"].lower() and shown["entidad_id"] == id
    hook = new_entity(id=id).register()
    stack.admin("notification", "retry", notification)
    assert stack.wait_notification(notification, "procesada")["error"] is None
    assert receiver.wait(hook.path)[0].json()["data"] == DATA["evaluacion.abierta"]


def test_a_disabled_entity_is_rejected(entity, stack):
    stack.admin("entity", "disable", entity.id)
    stack.wait_notification(entity.notify(), "rechazada")


def test_a_rejected_row_can_be_discarded(entity, stack):
    id = entity.notify(data="{}")
    stack.wait_notification(id, "rechazada")
    stack.admin("notification", "discard", id)
    assert stack.notification(id)["estado"] == "cancelada"
    assert stack.try_admin("notification", "retry", id).returncode == 1


def test_a_row_still_wrong_is_rejected_again(entity, stack):
    id = entity.notify(data="{}")
    stack.wait_notification(id, "rechazada")
    stack.admin("notification", "retry", id)
    stack.wait_notification(id, "rechazada")


# Errors at the INSERT, which a programmer finds at once.

def refused(write, *codes):
    with pytest.raises(SqlError) as caught:
        write()
    assert caught.value.code in codes, caught.value
    return str(caught.value)


@pytest.mark.parametrize("event", [
    "nada", "", "Evaluacion.abierta", "evaluacion.abierta ", " evaluacion.abierta", "evaluacion.abierta\t"])
def test_an_event_that_is_not_one_of_the_11(entity, event):
    assert "evento_no_es_uno_de_los_11" in refused(lambda: entity.notify(event, "{}"), *CHECK)


def test_an_event_too_long_even_for_its_column(entity):
    refused(lambda: entity.notify("x" * 60, "{}"), 1406)
    refused(lambda: entity.notify("evaluacion.abierta" + " " * 60, "{}"), *CHECK)


@pytest.mark.parametrize("data", ["", "{", "{'a': 1}", "nada", '{"a":1}x', "{,}"])
def test_text_that_is_not_json(entity, data):
    assert "datos_no_es_json" in refused(lambda: entity.notify(data=data), *CHECK)


def test_64_kib_and_a_byte_more(entity, stack):
    def sized(bytes):
        text = json.dumps({"evaluacionId": 1, "titulo": ""})
        return text.replace('""', '"' + "x" * (bytes - len(text)) + '"')
    stack.wait_notification(entity.notify(data=sized(65536)), "procesada")
    assert "64_KiB" in refused(lambda: entity.notify(data=sized(65537)), *CHECK)


def test_null_columns(entity, stack):
    refused(lambda: stack.notify(None, "evaluacion.abierta", "{}"), 1048)
    refused(lambda: stack.notify(entity.id, None, "{}"), 1048)
    refused(lambda: stack.notify(entity.id, "evaluacion.abierta", None), 1048)


# `clave`.

def test_a_repeated_key_is_refused_for_its_entity_only(entity, new_entity):
    entity.register()  # what reaches no webhook frees its clave
    entity.notify(clave="cierre-42")
    refused(lambda: entity.notify("evaluacion.cerrada", clave="cierre-42"), 1062)
    new_entity().notify(clave="cierre-42")


@pytest.mark.parametrize("one, other", [
    ("a", "a "), ("a", "A"), ("a", "á"), ("n", "ñ"), ("a", " a"), ("x" * 64, "x" * 63)])
def test_keys_are_compared_exactly(entity, one, other):
    entity.register()  # what reaches no webhook frees its clave
    entity.notify(clave=one)
    entity.notify(clave=other)
    refused(lambda: entity.notify(clave=other), 1062)


def test_a_key_has_1_to_64_characters(entity):
    entity.notify(clave="ñ" * 64)
    entity.notify(clave=None)
    entity.notify(clave=None)
    refused(lambda: entity.notify(clave="x" * 65), *CHECK)
    refused(lambda: entity.notify(clave=""), *CHECK)


def test_a_key_is_free_again_once_its_row_is_rejected(entity, stack):
    entity.register()  # what reaches no webhook frees its clave
    wrong = entity.notify(data="{}", clave="k")
    stack.wait_notification(wrong, "rechazada")
    entity.notify(clave="k")
    refused(lambda: entity.notify(clave="k"), 1062)
    result = stack.try_admin("notification", "retry", wrong)
    assert result.returncode == 1 and len(result.stderr.strip().splitlines()) == 1, result


# Rights.

@pytest.mark.parametrize("statement", [
    f"UPDATE {TABLE} SET datos = '{{}}'", f"DELETE FROM {TABLE}", f"TRUNCATE {TABLE}", f"DROP TABLE {TABLE}",
    "SELECT * FROM webhooks", "SELECT * FROM tokens_acceso", "SELECT * FROM entidades", "SELECT * FROM entregas",
    "INSERT INTO entidades (id, nombre) VALUES (1, 'x')", "CREATE TABLE mia (a INT)", "SELECT * FROM mysql.user",
    f"INSERT INTO {TABLE} (entidad_id, evento, datos, estado) VALUES (1, 'evaluacion.abierta', '{{}}', 'procesada')",
    f"INSERT INTO {TABLE} (entidad_id, evento, datos, origen) VALUES (1, 'evaluacion.abierta', '{{}}', 'prueba')",
    f"REPLACE INTO {TABLE} (entidad_id, evento, datos) VALUES (1, 'evaluacion.abierta', '{{}}')",
    "SET GLOBAL max_connections = 1",
])
def test_the_evaluation_user_may_do_nothing_else(stack, statement):
    with pytest.raises(SqlError) as caught:
        stack.evaluation(statement)
    assert caught.value.code in (1044, 1142, 1143, 1227), caught.value


def test_the_evaluation_user_may_look_at_its_rows(entity, stack):
    id = entity.notify()
    assert stack.evaluation(f"SELECT entidad_id, evento FROM {TABLE} WHERE id = {id}") == [
        [str(entity.id), "evaluacion.abierta"]]


# The INSERTs of object-relational mappers: (columns, values, clause). Only MariaDB has RETURNING.
FORMS = {
    "Django, Hibernate": ("entidad_id, evento, datos", "({entity}, 'evaluacion.abierta', '{data}')", "RETURNING id"),
    "Django, qualified": ("entidad_id, evento, datos", "({entity}, 'evaluacion.abierta', '{data}')", "RETURNING `{table}`.`id`"),
    "TypeORM": ("id, entidad_id, evento, datos, ocurrida_en, clave",
                "(DEFAULT, {entity}, 'evaluacion.abierta', '{data}', DEFAULT, DEFAULT)", "RETURNING id, ocurrida_en"),
    "Hibernate, default": ("clave, datos, entidad_id, evento, id", "(NULL, '{data}', {entity}, 'evaluacion.abierta', default)",
                           "RETURNING id"),
    "Django, SQLAlchemy, Hibernate, all columns": (
        "entidad_id, evento, datos, ocurrida_en, clave, caduca_en, no_antes_de, urgente",
        "({entity}, 'evaluacion.abierta', '{data}', NULL, NULL, NULL, NULL, NULL),"
        " ({entity}, 'evaluacion.abierta', '{data}', NULL, 'k', '2030-01-01', NULL, TRUE)", ""),
    "JPA, NULL": ("id, entidad_id, evento, datos", "(NULL, {entity}, 'evaluacion.abierta', '{data}')", ""),
    "several rows": ("id, entidad_id, evento, datos", "(NULL, {entity}, 'evaluacion.abierta', '{data}'),"
                     " (DEFAULT, {entity}, 'evaluacion.abierta', '{data}')", ""),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=list(FORMS))
def test_the_insert_of_a_mapper_writes_a_row(entity, stack, form):
    columns, values, clause = form
    values = values.format(entity=entity.id, data=json.dumps(DATA["evaluacion.abierta"]))
    if "MariaDB" not in stack.value("SELECT VERSION()"):
        clause = ""
    returned = stack.evaluation(f"INSERT INTO {TABLE} ({columns}) VALUES {values} {clause.format(table=TABLE)}")
    written = stack.evaluation(f"SELECT id FROM {TABLE} WHERE entidad_id = {entity.id} ORDER BY id")
    assert len(written) == values.count(f"{entity.id}, 'eva") > 0
    assert not clause or returned[0][0] == written[0][0]
    assert stack.value(f"SELECT MIN(ocurrida_en > UTC_TIMESTAMP() - INTERVAL 1 MINUTE) FROM {TABLE} WHERE entidad_id = {entity.id}") == "1"
    stack.wait_notification(int(written[-1][0]), "procesada")


@pytest.mark.parametrize("id", ["-5", "1", "99999999", "9223372036854775806", "'7'"])
def test_an_id_of_the_writers_choice_is_refused(entity, stack, id):
    """Even in the second row, and past errors that are ignored."""
    before = entity.notify()
    rest = f"{entity.id}, 'evaluacion.abierta', '{{}}'"
    for statement in (f"INSERT INTO {TABLE} (id, entidad_id, evento, datos) VALUES ({id}, {rest})",
                      f"INSERT INTO {TABLE} (id, entidad_id, evento, datos) VALUES (NULL, {rest}), ({id}, {rest})",
                      f"INSERT IGNORE INTO {TABLE} (id, entidad_id, evento, datos) VALUES ({id}, {rest})"):
        assert "DEFAULT o NULL" in refused(lambda: stack.evaluation(statement), 1644)
    assert before < entity.notify() < before + 1000


def test_an_id_of_0_is_generated_or_refused(entity, stack):
    before = entity.notify()
    statement = f"INSERT INTO {TABLE} (id, entidad_id, evento, datos) VALUES (0, {entity.id}, 'evaluacion.abierta', '{{}}')"
    stack.evaluation(statement)
    stack.evaluation("SET sql_mode = 'STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO'")
    try:
        refused(lambda: stack.evaluation(statement), 1644)
    finally:
        stack.connect_evaluation()
    assert before < entity.notify() < before + 1000


def test_the_guard_of_the_ids_holds_whatever_the_name_of_the_writer(entity, stack):
    """Only the operator's own users may choose an id: they restore backups."""
    stack.sql("CREATE USER otro@localhost; GRANT INSERT ON notificaciones_pendientes TO otro@localhost")
    row = f"INSERT INTO {TABLE} (id, entidad_id, evento, datos) VALUES (77, {entity.id}, 'evaluacion.abierta', '{{}}')"
    try:
        with contextlib.closing(SqlSession(stack.env["DB_SOCKET"], stack.env["DB_NAME"], "otro", "")) as other:
            refused(lambda: other(row), 1644)
            refused(lambda: other(f"SET insert_id = 77; {row.replace('(id, ', '(').replace('(77, ', '(')}"), 1644)
    finally:
        stack.sql("DROP USER otro@localhost")
    free = entity.notify() + 1
    stack.sql(f"START TRANSACTION; {row.replace('77', str(free))}; ROLLBACK")


@pytest.mark.parametrize("number", [9223372036854775806, 5, 0])
def test_the_number_of_a_row_is_the_servers_whatever_the_writers_session_says(entity, receiver, stack, number):
    """Any session may set insert_id; a value near the end of BIGINT would stop all INSERTs for good."""
    hook = entity.register(events=["evaluacion.abierta"])
    before = entity.notify()
    stack.evaluation(f"SET insert_id = {number}")
    try:
        if number > 0:
            refused(entity.notify, 1644)
        else:  # 0, which MariaDB ignores
            with contextlib.suppress(SqlError):
                entity.notify()
    finally:
        stack.connect_evaluation()
    after = entity.notify()
    assert before < after < before + 1000
    assert entity.api("POST", f"{BASE}/test", json_body={"evento": "evaluacion.abierta"}).status == 200
    receiver.wait(hook.path, 3)
    assert stack.value(f"SELECT COUNT(*) FROM {TABLE} WHERE id < 1 OR id > 1e15") == "0"


def test_json_that_only_our_parser_refuses_leaves_the_writer_unharmed(entity, stack):
    data = '{"evaluacionId": 1, "titulo": "t", "titulo": "u"}'
    entity.register()
    row = stack.wait_notification(entity.notify("evaluacion.abierta", data), "rechazada")
    assert row["error"]
    assert entity.notify() > row["id"]


def test_a_time_ahead_of_the_clock_is_refused(entity, stack):
    """Most often it is a local time."""
    row = f"INSERT INTO {TABLE} (entidad_id, evento, datos, ocurrida_en) VALUES ({entity.id}, 'evaluacion.abierta', '{{}}', "
    stack.evaluation(row + "UTC_TIMESTAMP(3) + INTERVAL 4 MINUTE)")
    with pytest.raises(SqlError) as caught:
        stack.evaluation(row + "UTC_TIMESTAMP(3) + INTERVAL 6 MINUTE)")
    assert caught.value.code == 1644 and "ocurrida_en: va por delante" in str(caught.value)


@pytest.mark.parametrize("urgent", [2, -1, 127])
def test_urgent_is_0_or_1(entity, stack, urgent):
    """A program with priorities of its own would make everything urgent."""
    for table in (TABLE, "notificaciones_comprobadas"):
        row = f"INSERT INTO {table} (entidad_id, evento, datos, urgente) VALUES ({entity.id}, 'incidencia.cerrada', '{json.dumps(DATA['incidencia.cerrada'])}', "
        stack.evaluation(row + "1)")
        assert "urgente: debe ser 0 o 1" in refused(lambda: stack.evaluation(f"{row}{urgent})"), 1644)


def manual_session() -> list[str]:
    """The statements with which a session begins, as docs/table.md asks."""
    block = re.search(r"## The session\n.*?```sql\n(.*?)```", (ROOT / "docs/table.md").read_text(), re.S).group(1)
    return [statement for statement in re.sub("--.*", "", block).split(";") if statement.strip()]


def test_the_session_that_the_manual_asks_of_writers_keeps_texts_and_refuses_what_does_not_fit(entity, stack):
    """Without the manual's session settings the server garbles ñ🎓, and stores the number 7 for '7a'."""
    text = insert("notificaciones_pendientes", entidad_id=entity.id, evento="incidencia.cerrada", datos='{"incidenciaId": 1, "titulo": "ñ🎓"}')
    misspelt = text.replace(f"({entity.id},", f"('{entity.id}a',")
    assert misspelt != text
    stored = "; SELECT datos FROM notificaciones_pendientes WHERE id = LAST_INSERT_ID()"
    careless = stack.writer()
    with contextlib.closing(careless):
        careless("SET NAMES latin1")
        careless("SET SESSION sql_mode = ''")
        careless(misspelt)
        assert "ñ" not in stack.value(f"SELECT datos FROM notificaciones_pendientes WHERE entidad_id = {entity.id} ORDER BY id DESC LIMIT 1")
        for statement in manual_session():
            careless(statement)
        assert careless(text + stored) == [['{"incidenciaId": 1, "titulo": "ñ🎓"}']]
        with pytest.raises(SqlError) as refused:
            careless(misspelt)
        assert refused.value.code in (1265, 1366)


def test_the_session_that_the_manual_asks_of_writers_delays_no_other_entity(new_entity, receiver, stack):
    """At the servers' default isolation level the transaction below locks the gap behind the newest delivery; on MySQL also the
    one behind the newest notification."""
    ours, other = new_entity(), new_entity()
    hook = other.register()
    receiver.behave(ours.register().path, Behaviour(status=500))  # what reaches no webhook frees its clave
    sent = ours.notify(clave="k")
    stack.wait_notification(sent, "procesada")
    with contextlib.closing(stack.writer()) as writer:
        for statement in manual_session():
            writer(statement)
        writer("START TRANSACTION")
        refused(lambda: writer(insert(TABLE, entidad_id=ours.id, evento="evaluacion.abierta", datos="{}", clave="k")), 1062)
        writer(f"INSERT INTO {TABLE} (entidad_id, evento, datos) SELECT entidad_id, evento, '{{}}' FROM notificaciones_resultado"
               f" WHERE notificacion_id = {sent} AND entregadas = 0")
        other.notify()
        receiver.wait(hook.path, 1)
        writer("ROLLBACK")
