"""A notification with `no_antes_de` is not sent before that time, and then to the webhooks of that time."""
import pytest

from support.sql import SqlError
from support.wait import wait_until

ROW = "INSERT INTO {table} (entidad_id, evento, datos, {columns}) VALUES ({entity}, 'evaluacion.cerrada'," \
      " '{{\"evaluacionId\": 1, \"titulo\": \"t\"}}', {values})"
MANY = "INSERT INTO notificaciones_pendientes (entidad_id, evento, datos, no_antes_de, aplazada_hasta) SELECT {entity}, 'evaluacion.cerrada'," \
       " '{{\"evaluacionId\": 1, \"titulo\": \"t\"}}', UTC_TIMESTAMP(3) + INTERVAL 7 DAY, {deferred}" \
       " FROM JSON_TABLE(CONCAT('[0', REPEAT(',0', {count} - 1), ']'), '$[*]' COLUMNS (n FOR ORDINALITY)) j"


def utc(stack, seconds: float) -> str:
    """The database's time in some seconds, as a writer gives it."""
    return stack.value(f"SELECT UTC_TIMESTAMP(3) + INTERVAL {int(seconds * 1000)} * 1000 MICROSECOND")


def state(stack, id: int) -> str:
    return stack.value(f"SELECT estado FROM notificaciones_resultado WHERE notificacion_id = {id}")


def test_it_waits_for_its_time_and_reaches_who_has_registered_since(entity, receiver, stack):
    id = entity.notify(no_antes_de=utc(stack, 8))
    stack.wait_deferred(id)
    assert state(stack, id) == "pendiente"
    assert stack.notification(id)["no_antes_de"].startswith("20")
    hook = entity.register()
    now = entity.notify()
    wait_until(lambda: len(receiver.requests(hook.path)) == 2, 30, "both to arrive")
    started = f"SELECT i.inicio >= n.no_antes_de FROM intentos_entrega i JOIN entregas e ON e.id = i.entrega_id" \
        f" JOIN notificaciones_pendientes n ON n.id = e.notificacion_id WHERE n.id = {id}"
    assert wait_until(lambda: stack.sql(started), 20, "the evidence") == [["1"]]
    assert state(stack, now) == "procesada"


def test_what_is_wrong_is_told_at_once_and_what_is_cancelled_never_goes(entity, receiver, stack):
    hook = entity.register()
    wrong = entity.notify(data="{}", no_antes_de=utc(stack, 3600))
    assert stack.wait_notification(wrong, "rechazada")["error"] == "datos.evaluacionId: falta"
    id = entity.notify(no_antes_de=utc(stack, 3600))
    stack.wait_deferred(id)
    listed = {row["id"]: row["no_antes_de"] for row in stack.admin("notification", "list", "--state", "pendiente")}
    assert listed[id].startswith("20")
    assert stack.admin("queue", "status")["aplazadas"] >= 1
    report, = (row for row in stack.admin("report", "--event", "evaluacion.abierta", "--since", "1h") if row["entidad_id"] == entity.id)
    assert (report["pendientes"], report["rechazadas"]) == (1, 1)
    assert stack.admin("notification", "cancel", id)["estado"] == "cancelada"
    assert receiver.requests(hook.path) == []


def test_a_row_that_would_expire_first_is_refused(entity, stack):
    for table in ("notificaciones_pendientes", "notificaciones_comprobadas"):
        for later in ("'2030-01-01'", "'2030-01-02'"):
            with pytest.raises(SqlError, match="no_antes_de: debe ser anterior a caduca_en"):
                stack.evaluation(ROW.format(table=table, columns="caduca_en, no_antes_de", entity=entity.id, values=f"'2030-01-01', {later}"))
    stack.evaluation(ROW.format(table="notificaciones_comprobadas", columns="caduca_en, no_antes_de", entity=entity.id,
                                values="'9000-01-01', UTC_TIMESTAMP(3) + INTERVAL 364 DAY"))


def test_a_row_for_later_than_a_year_ahead_is_refused(entity, stack):
    for table in ("notificaciones_pendientes", "notificaciones_comprobadas"):
        with pytest.raises(SqlError, match="no_antes_de: no puede pasar de un año"):
            stack.evaluation(ROW.format(table=table, columns="no_antes_de", entity=entity.id,
                                        values="UTC_TIMESTAMP(3) + INTERVAL 367 DAY"))


@pytest.mark.parametrize("date", ["0000-00-00", "2026-00-15", "2026-02-31"])
def test_a_date_that_the_calendar_lacks_is_refused(entity, stack, date):
    for mode in ("", "ALLOW_INVALID_DATES"):
        for column in ("no_antes_de", "caduca_en"):
            with pytest.raises(SqlError, match="(no es una fecha|Incorrect)"):
                stack.writer()(f"SET sql_mode = '{mode}'; " + ROW.format(table="notificaciones_pendientes", columns=column,
                                                                       entity=entity.id, values=f"'{date}'"))


def test_a_crowd_that_waits_for_next_week_delays_no_other(new_entity, receiver, stack):
    crowd, other = new_entity(), new_entity()
    crowd.register()
    hook = other.register()
    of_crowd = f"FROM notificaciones_pendientes WHERE entidad_id = {crowd.id}"
    try:
        stack.sql(MANY.format(entity=crowd.id, deferred="UTC_TIMESTAMP(3) + INTERVAL 7 DAY", count=100_000))
        stack.sql(MANY.format(entity=crowd.id, deferred="NULL", count=3000))
        other.notify()
        receiver.wait(hook.path)
        assert int(stack.value(f"SELECT COUNT(*) {of_crowd} AND aplazada_hasta IS NULL")) > 0, "the crowd was not through first"
        wait_until(lambda: stack.value(f"SELECT COUNT(*) {of_crowd} AND aplazada_hasta IS NULL") == "0", 60, "the crowd to wait")
        other.notify()
        wait_until(lambda: len(receiver.requests(hook.path)) == 2, 20, "the other entity's next delivery")
        assert stack.value(f"SELECT COUNT(*) {of_crowd} AND estado = 'pendiente'") == "103000"
    finally:
        stack.sql(f"DELETE {of_crowd}")
