"""What the evaluation system may use besides INSERT: the check of a row before its commit, and writing once without an error."""
import contextlib
import json
import threading

import pytest

from support.actors import DATA, fresh_id
from support.sql import SqlError, literal
from support.wait import join, wait_until

TABLE, CHECKED = "notificaciones_pendientes", "notificaciones_comprobadas"
EVENT = "evaluacion.abierta"
GOOD = json.dumps(DATA[EVENT], ensure_ascii=False)
WRONG = '{"evaluacionId": "42"}'
AHEAD = "ocurrida_en: va por delante del reloj UTC del servidor (se admiten 5 minutos)"


def insertion(entity, data=GOOD, table=TABLE, occurred="UTC_TIMESTAMP(3)", event=EVENT):
    return (f"INSERT INTO {table} (entidad_id, evento, datos, ocurrida_en)"
            f" VALUES ({entity}, '{event}', {literal(data)}, {occurred})")


def reason(session, entity, data=GOOD, occurred="NULL", event=EVENT):
    return session(f"SELECT motivo_de_rechazo({entity}, '{event}', {literal(data)}, {occurred})")[0][0]


def refusal(session, statement):
    with pytest.raises(SqlError) as caught:
        session(statement)
    assert caught.value.code == 1644, caught.value
    return str(caught.value)


def avisar(session, entity, clave, data=GOOD):
    """Returns (id, whether the clave was known)."""
    [[id, known]] = session(f"CALL avisar({entity}, '{EVENT}', {literal(data)}, {literal(clave)})")
    return int(id), known == "1"


def avisar_lote(session, rows):
    session(f"SET @avisos = {literal(json.dumps(rows, ensure_ascii=False))}")
    return json.loads(session("CALL avisar_lote(@avisos)")[0][0])


@pytest.fixture(autouse=True)
def subscribed(entity):
    """The `clave` of what reaches no webhook is free again."""
    entity.register()


@pytest.fixture
def writer(stack):
    with contextlib.closing(stack.writer()) as session:
        yield session


def test_the_function_says_what_the_dispatcher_writes(stack, entity, new_entity):
    disabled = new_entity()
    stack.admin("entity", "disable", disabled.id)
    for id, data, event in [(fresh_id(), GOOD, EVENT), (disabled.id, GOOD, EVENT), (entity.id, "[]", EVENT), (entity.id, WRONG, EVENT),
                            (entity.id, '{"incidenciaId": 1}', "incidencia.cerrada"),
                            (entity.id, '{"evaluacionId": 1, "titulo": "x", "x": {"ñ": 1, "\\u00f1": 2}}', EVENT)]:
        expected = reason(stack.evaluation, id, data, event=event)
        written = stack.notify(id, event, data)
        assert stack.wait_notification(written, "rechazada")["error"] == expected
    assert reason(stack.evaluation, entity.id) == "NULL"


def test_the_function_names_what_only_a_session_without_checks_writes(stack, entity):
    assert reason(stack.evaluation, entity.id, event="nada") == "evento: no es uno de los 11 eventos"
    assert reason(stack.evaluation, entity.id, event=EVENT + " ") == "evento: no es uno de los 11 eventos"
    assert reason(stack.evaluation, entity.id, occurred="'1969-12-31'") == "ocurrida_en: es anterior a 1970"
    assert reason(stack.evaluation, entity.id, data="x" * 65537) == "datos: tiene más de 65536 bytes"


def test_the_check_refuses_a_time_ahead_of_the_clock_as_the_table_does(stack, entity):
    ahead, near = "UTC_TIMESTAMP(3) + INTERVAL 6 MINUTE", "UTC_TIMESTAMP(3) + INTERVAL 4 MINUTE"
    assert AHEAD in refusal(stack.evaluation, insertion(entity.id, occurred=ahead))
    assert AHEAD in refusal(stack.evaluation, insertion(entity.id, table=CHECKED, occurred=ahead))
    stack.evaluation(insertion(entity.id, table=CHECKED, occurred=near))
    assert reason(stack.evaluation, entity.id, occurred=ahead) == AHEAD
    assert reason(stack.evaluation, entity.id, occurred=near) == "NULL"


def test_the_checked_view_refuses_what_would_be_rejected(stack, entity, receiver):
    hook = entity.register()
    assert "datos.evaluacionId: debe ser un entero" in refusal(stack.evaluation, insertion(entity.id, WRONG, CHECKED))
    assert "no existe" in refusal(stack.evaluation, insertion(fresh_id(), table=CHECKED))
    assert "id: lo pone el servidor" in refusal(
        stack.evaluation, f"INSERT INTO {CHECKED} (id, entidad_id, evento, datos) VALUES (9999, {entity.id}, '{EVENT}', {literal(GOOD)})")
    [[id]] = stack.evaluation(insertion(entity.id, table=CHECKED, occurred="NULL") + "; SELECT LAST_INSERT_ID()")
    receiver.wait(hook.path, 1)
    assert stack.wait_notification(stack.notify(entity.id, EVENT, WRONG), "rechazada")["error"]  # the table takes what it took
    assert stack.evaluation(f"SELECT datos FROM {CHECKED} WHERE id = {id}") == [[GOOD]]


def test_a_clave_is_written_once_without_an_error(stack, entity):
    first, known = avisar(stack.evaluation, entity.id, "k")
    assert not known
    assert avisar(stack.evaluation, entity.id, "k") == (first, True)
    assert avisar(stack.evaluation, entity.id, "k ") != (first, True)
    assert avisar(stack.evaluation, entity.id, None)[0] != avisar(stack.evaluation, entity.id, None)[0]
    assert stack.value(f"SELECT COUNT(*) FROM {TABLE} WHERE entidad_id = {entity.id}") == "4"


@pytest.mark.parametrize("text, stored", [
    ("2026-07-15T12:00:00+02:00", "2026-07-15 10:00:00.000"), ("2026-01-15T12:00+0100", "2026-01-15 11:00:00.000"),
    ("2026-07-15 10:00:00.1239Z", "2026-07-15 10:00:00.123"), ("2026-07-14T21:30:00-03:30", "2026-07-15 01:00:00.000")])
def test_a_time_with_its_zone_is_stored_in_utc(stack, entity, text, stored):
    for zone in ("+00:00", "+02:00"):
        stack.evaluation(f"SET time_zone = '{zone}'")
        [[id, known]] = stack.evaluation(f"CALL avisar_con_hora({entity.id}, '{EVENT}', {literal(GOOD)}, 'k{zone}', '{text}')")
        [in_batch] = avisar_lote(stack.evaluation, [{"entidad_id": entity.id, "evento": EVENT, "datos": GOOD, "ocurrida_en": text}])
        assert known == "0"
        assert stack.sql(f"SELECT DISTINCT ocurrida_en FROM {TABLE} WHERE id IN ({id}, {in_batch['id']})") == [[stored]]
    stack.evaluation("SET time_zone = DEFAULT")


def test_a_time_without_its_zone_is_refused(stack, entity):
    call = lambda text: f"CALL avisar_con_hora({entity.id}, '{EVENT}', {literal(GOOD)}, 'k', {literal(text)})"
    for text in ("2026-07-15T12:00:00", "2026-07-15 12:00:00", "2026-07-15", "2026-02-29T00:00:00Z", "2026-07-15T12:00:00+2:00",
                 "2026-07-15T12:00:00 Europe/Madrid", "1969-12-31T00:00:00Z", "ayer", ""):
        assert "ocurrida_en: debe ser una fecha y hora con su zona" in refusal(stack.evaluation, call(text))
        for column in ("ocurrida_en", "caduca_en", "no_antes_de"):
            [result] = avisar_lote(stack.evaluation, [{"entidad_id": entity.id, "evento": EVENT, "datos": GOOD, column: text}])
            assert result["motivo"].startswith(f"{column}: debe ser una fecha y hora con su zona"), (text, result)
    assert AHEAD in refusal(stack.evaluation, call("9999-12-31T23:59:00-01:00"))
    [[_, known]] = stack.evaluation(call(None))
    assert known == "0"
    assert stack.value(f"SELECT COUNT(*) FROM {TABLE} WHERE entidad_id = {entity.id} AND ocurrida_en > UTC_TIMESTAMP() - INTERVAL 1 MINUTE") == "1"


def test_a_rejected_row_frees_its_clave_for_avisar(stack, entity):
    rejected, _ = avisar(stack.evaluation, entity.id, "k", WRONG)
    stack.wait_notification(rejected, "rechazada")
    again, known = avisar(stack.evaluation, entity.id, "k")
    assert not known and again != rejected


def test_avisar_ends_no_transaction(stack, entity, writer):
    known, _ = avisar(stack.evaluation, entity.id, "known")
    writer("START TRANSACTION")
    writer(insertion(entity.id))
    avisar(writer, entity.id, "new")
    assert avisar(writer, entity.id, "known") == (known, True)
    avisar_lote(writer, [{"entidad_id": entity.id, "evento": EVENT, "datos": GOOD, "clave": clave} for clave in ("known", "other")])
    writer("ROLLBACK")
    assert stack.sql(f"SELECT id FROM {TABLE} WHERE entidad_id = {entity.id}") == [[str(known)]]


@pytest.mark.parametrize("level", ["READ COMMITTED", "REPEATABLE READ"])
@pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK"])
def test_two_sessions_with_one_clave_write_one_row(stack, entity, writer, level, end):
    """The second session has a snapshot from before the first one's commit."""
    with contextlib.closing(stack.writer()) as other:
        for session in (writer, other):
            session(f"SET SESSION TRANSACTION ISOLATION LEVEL {level}")
            session("START TRANSACTION")
            session(f"SELECT COUNT(*) FROM {TABLE} WHERE entidad_id = {entity.id}")
        first, _ = avisar(writer, entity.id, "k")
        results = []
        waiting = threading.Thread(target=lambda: results.append(avisar(other, entity.id, "k")))
        waiting.start()
        wait_until(lambda: stack.value("SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'") != "0",
                   what="the second session to wait", every=0.15)  # the server caches the view for 0.1 s
        writer(end)
        join(waiting, 30)
        other("COMMIT")
    [(id, known)] = results
    assert (known, id == first) == ((True, True) if end == "COMMIT" else (False, False))
    assert stack.sql(f"SELECT id FROM {TABLE} WHERE entidad_id = {entity.id}") == [[str(id)]]


def test_a_batch_says_of_each_row_what_became_of_it(stack, entity):
    earlier, _ = avisar(stack.evaluation, entity.id, "known")
    good = {"entidad_id": entity.id, "evento": EVENT, "datos": GOOD}
    exact = '{ "titulo":"ñ👩‍🎓 \\u00f1 \\"\\\\ \\/\\n",\n"evaluacionId" :42, "nota": 7.50}'
    results = avisar_lote(stack.evaluation, [
        good | {"datos": exact, "clave": "a", "ocurrida_en": "2026-11-20T10:00:00.1234567Z",
                "caduca_en": "2030-01-01T01:00:00+01:00", "no_antes_de": "2019-12-31T23:00Z"},
        good | {"clave": "known"}, good | {"clave": "a"}, good | {"clave": None, "ocurrida_en": None, "entidad_id": str(entity.id)},
        good | {"datos": WRONG}, good | {"datos": DATA[EVENT]}, good | {"clave": ""}, good | {"clave": "k" * 65}, good | {"clave": {}},
        good | {"clav": "x"}, good | {"entidad_id": f"{entity.id}a"}, good | {"entidad_id": None}, good | {"evento": "nada"},
        good | {"ocurrida_en": "2026-02-29T00:00:00Z"}, good | {"ocurrida_en": 5}, good | {"ocurrida_en": "9999-01-01 00:00:00Z"},
        good | {"caduca_en": "mañana"}, good | {"no_antes_de": "mañana"},
        good | {"caduca_en": "2030-01-01T00:00Z", "no_antes_de": "2030-01-01T01:00+01:00"},
        good | {"no_antes_de": "9000-01-01T00:00Z"}, 5, []])
    exact_id = results[0]["id"]
    assert results[1:3] == [{"id": earlier, "conocida": True}, {"id": exact_id, "conocida": True}]
    assert list(results[3]) == ["id"]
    beginnings = ["datos.evaluacionId: debe ser", "datos: debe ser una cadena", *["clave: debe tener"] * 3, "fila: solo puede tener",
                  "entidad_id: debe ser", "entidad_id: debe ser", "evento: no es", "ocurrida_en: debe ser", "ocurrida_en: debe ser", AHEAD, "caduca_en: debe ser",
                  "no_antes_de: debe ser una", "no_antes_de: debe ser anterior", "no_antes_de: no puede pasar",
                  "fila: debe ser", "fila: debe ser"]
    assert [(list(result), result["motivo"].startswith(beginning)) for result, beginning in zip(results[4:], beginnings, strict=True)
            ] == [(["motivo"], True)] * len(beginnings), results[4:]
    assert stack.sql(f"SELECT datos = {literal(exact)}, ocurrida_en, caduca_en, no_antes_de FROM {TABLE} WHERE id = {exact_id}") == [
        ["1", "2026-11-20 10:00:00.123", "2030-01-01 00:00:00.000", "2019-12-31 23:00:00.000"]]
    assert stack.value(f"SELECT COUNT(*) FROM {TABLE} WHERE entidad_id = {entity.id}") == "3"


def test_what_is_no_list_is_refused_whole(stack):
    for text in ("{}", "[1", "", "5"):
        assert "debe recibir una lista JSON" in refusal(stack.evaluation, f"CALL avisar_lote({literal(text)})")


def test_a_large_batch_is_written_in_its_order(stack, entity):
    rows = [{"entidad_id": entity.id, "evento": EVENT, "datos": GOOD, "clave": f"k{i}"} for i in range(1000)]
    ids = [result["id"] for result in avisar_lote(stack.evaluation, rows)]
    assert ids == sorted(set(ids)) and len(ids) == 1000
    assert stack.value(f"SELECT clave FROM {TABLE} WHERE id = {ids[123]}") == "k123"


@pytest.mark.parametrize("statement", [
    "SELECT motivo_de_los_datos('', '{}')", "SELECT comprobar(1, '', '', NULL)", "SELECT es_fecha('2026-01-01')",
    "SELECT sesion_con_bloqueos(0, 0)", "SELECT espera_de_las_inserciones()", f"CALL escribir_aviso(1, '{EVENT}', '{{}}', NULL, NULL, @a, @b)", "DROP PROCEDURE avisar",
    "CREATE FUNCTION mia() RETURNS INT DETERMINISTIC RETURN 1", f"UPDATE {CHECKED} SET datos = '{{}}'", f"DELETE FROM {CHECKED}"])
def test_the_evaluation_system_may_execute_nothing_else(stack, statement):
    with pytest.raises(SqlError) as caught:
        stack.evaluation(statement)
    assert caught.value.code in (1044, 1142, 1143, 1370, 1227), caught.value
