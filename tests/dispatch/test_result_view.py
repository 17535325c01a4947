"""Where to see whom notifications reach: the views that the evaluation system reads, and the operator's command `report`."""
import csv
import io
import json
import re

import pytest

from fakes.receiver import Behaviour
from support.actors import BASE
from support.sql import SqlError
from support.stack import ROOT
from support.wait import wait_until

VIEW = "notificaciones_resultado"
MANUAL = ROOT / "docs/table.md"


def result(stack, id):
    """Reads the view with the rights of the evaluation system."""
    columns = ("estado", "webhooks", "entregadas", "pendientes", "fallidas", "retenidas", "canceladas", "ultimo_error")
    row, = stack.evaluation(f"SELECT {', '.join(columns)} FROM {VIEW} WHERE notificacion_id = {id}")
    return {name: int(text) if text.isdigit() else text for name, text in zip(columns, row)}


def report(stack, *options, check=True):
    return stack.dev("admin", "report", "--event", "documento.disponible", *options, check=check)


def test_the_evaluation_system_sees_what_became_of_a_row(new_entity, receiver, stack):
    entity = new_entity()
    good, bad = entity.register(["evaluacion.abierta"]), entity.register(["evaluacion.abierta"])
    receiver.behave(bad.path, Behaviour(status=500))
    id = entity.notify(clave="abierta-42")
    seen = wait_until(lambda: (r := result(stack, id))["fallidas"] == 1 and r, 20, "the failure")
    assert (seen["estado"], seen["webhooks"], seen["entregadas"], seen["pendientes"]) == ("procesada", 2, 1, 0)
    assert "500" in seen["ultimo_error"] and good.url not in str(seen)
    by_key = stack.evaluation(f"SELECT notificacion_id, primera_entrega <= ultima_entrega FROM {VIEW}"
                              f" WHERE entidad_id = {entity.id} AND clave = 'abierta-42'")
    assert by_key == [[str(id), "1"]]
    rejected = entity.notify(data='{"evaluacionId": "x"}')
    stack.wait_notification(rejected, "rechazada")
    assert "datos.evaluacionId" in result(stack, rejected)["ultimo_error"]
    alone = new_entity().notify()
    stack.wait_notification(alone, "procesada")
    assert result(stack, alone)["webhooks"] == 0


def addressee(stack, entity, columns="nombre, activa, eventos, eventos_que_fallan, falla_desde"):
    row, = stack.evaluation(f"SELECT {columns} FROM destinatarios WHERE entidad_id = {entity.id}")
    return row


def test_the_evaluation_system_sees_what_an_entity_would_get(new_entity, receiver, stack):
    entity = new_entity(name="Ayuntamiento de Ñ")
    assert addressee(stack, entity) == ["Ayuntamiento de Ñ", "1", "", "", "NULL"]
    good = entity.register(["documento.disponible", "evaluacion.abierta"])
    bad = entity.register(["incidencia.cerrada", "evaluacion.abierta"])
    receiver.behave(bad.path, Behaviour(status=500))
    entity.notify("incidencia.cerrada")
    since = "falla_desde BETWEEN UTC_TIMESTAMP() - INTERVAL 1 MINUTE AND UTC_TIMESTAMP() + INTERVAL 1 SECOND"
    wait_until(lambda: addressee(stack, entity, since) == ["1"], 20, "the failure")
    assert addressee(stack, entity)[2:4] == ["evaluacion.abierta,documento.disponible", "incidencia.cerrada"]
    stack.admin("webhook", "disable", good.id)
    assert addressee(stack, entity)[2:4] == ["", "evaluacion.abierta,incidencia.cerrada"]
    for active in (False, True):  # which ends the streak, also before a dispatcher has forgotten it
        assert entity.api("PATCH", f"{BASE}/{bad.id}", json_body={"activo": active}).status == 200
    assert addressee(stack, entity)[2:] == ["evaluacion.abierta,incidencia.cerrada", "", "NULL"]
    assert entity.api("DELETE", f"{BASE}/{bad.id}").status == 200
    stack.admin("entity", "disable", entity.id)
    assert addressee(stack, entity)[1:] == ["0", "", "", "NULL"]


def test_the_manual_finds_who_has_not_got_a_notification_and_why(new_entity, receiver, stack):
    query = re.search(r"^SELECT d\.entidad_id.*?;$", MANUAL.read_text(), re.DOTALL | re.MULTILINE)[0]
    reached, failed, alone, stopped, unwritten, disabled, rejected, subscribed, corrected = entities = [new_entity() for _ in range(9)]
    hooks = {one: one.register(["evaluacion.abierta"]) for one in (reached, failed, stopped)}
    receiver.behave(hooks[failed].path, Behaviour(status=404))
    stack.admin("webhook", "disable", hooks[stopped].id)
    stack.admin("entity", "disable", disabled.id)
    rows = {one: one.notify(clave="abierta-42", data="{}" if one in (rejected, corrected) else None) for one in set(entities) - {unwritten}}
    for one in (alone, subscribed, corrected):  # whose `clave` is free again
        wait_until(lambda: result(stack, rows[one])["estado"] != "pendiente", 20, "the end of the first row")
        if one is not alone:
            one.register(["evaluacion.abierta"])
        one.notify(clave="abierta-42")
    ids = ", ".join(str(one.id) for one in entities)

    def reasons():
        found = stack.evaluation(query.replace(";", f" AND d.entidad_id IN ({ids});"))
        assert len(found) == len({id for id, *_ in found}), "an entity is listed once"
        return {int(id): reason for id, _, _, reason in found}
    expected = {failed: "El receptor respondió 404", alone: "sin webhook", stopped: "webhook desactivado",
                unwritten: "sin escribir", disabled: "desactivada", rejected: "datos.evaluacionId: falta"}
    wait_until(lambda: (found := reasons()).keys() == {one.id for one in expected}
               and all(found[one.id].startswith(text) for one, text in expected.items()), 20, "the reasons")


@pytest.mark.parametrize("statement", ["UPDATE destinatarios SET nombre = 'x'", "SELECT url FROM webhooks", "SELECT * FROM entidades",
                                       f"UPDATE {VIEW} SET clave = 'x'", f"DELETE FROM {VIEW}", "SELECT * FROM entregas",
                                       f"SHOW CREATE VIEW {VIEW}", f"DROP VIEW {VIEW}"])
def test_the_evaluation_system_may_only_read_the_view(stack, statement):
    with pytest.raises(SqlError):
        stack.evaluation(statement)


REPORTED = ["entidad_id", "nombre", "webhooks", "notificaciones", "entregadas", "pendientes", "fallidas", "retenidas",
            "rechazadas", "canceladas", "ultimo_error", "caducadas"]


def test_the_report_says_who_was_reached_and_who_was_not_and_why(new_entity, receiver, stack):
    names = ("Alcanzada, \"S.A.\"", "=Fallida", "Sin webhook", "Parada", "Rechazada", "A medias")
    entities = reached, failed, alone, stopped, rejected, halfway = [new_entity(name=name) for name in names]
    hooks = {one: one.register(["documento.disponible"]) for one in (reached, failed, stopped, halfway)}
    receiver.behave(hooks[failed].path, Behaviour(status=404))
    receiver.behave(halfway.register(["documento.disponible"]).path, Behaviour(status=404))
    stack.admin("webhook", "disable", hooks[stopped].id)
    ids = {one: one.notify("documento.disponible", data="{}" if one is rejected else None) for one in entities}
    reached.notify("documento.disponible")
    wait_until(lambda: result(stack, ids[failed])["fallidas"] == result(stack, ids[reached])["entregadas"] == 1
               and result(stack, ids[stopped])["retenidas"] == result(stack, ids[halfway])["fallidas"] == 1
               and result(stack, ids[halfway])["entregadas"] == 1, 20, "all to be done")
    stack.wait_notification(ids[rejected], "rechazada")
    stack.wait_notification(ids[alone], "procesada")
    waiting = new_entity(name="Espera")
    waiting.register(["documento.disponible"])
    stack.admin("queue", "pause")
    try:
        waiting.notify("documento.disponible")
        told = report(stack, "--since", "1h", "--json")
    finally:
        stack.admin("queue", "resume")
    counts = {one.id: (one, counted) for one, counted in (
        (reached, (1, 2, 2, 0, 0, 0, 0, 0)), (failed, (1, 1, 0, 0, 1, 0, 0, 0)), (alone, (0, 1, 0, 0, 0, 0, 0, 0)),
        (stopped, (1, 1, 0, 0, 0, 1, 0, 0)), (rejected, (0, 1, 0, 0, 0, 0, 1, 0)), (halfway, (2, 1, 1, 0, 1, 0, 0, 0)))}
    rows = {row["entidad_id"]: row for row in json.loads(told.stdout)}
    assert all(list(row) == REPORTED for row in rows.values())
    for id, (entity, counted) in counts.items():
        assert tuple(rows[id][name] for name in REPORTED[2:10]) == counted, rows[id]
    assert [rows[waiting.id][name] for name in ("notificaciones", "entregadas", "pendientes")] == [1, 0, 1]
    reasons = {one: rows[one.id]["ultimo_error"] for one in entities}
    assert reasons[reached] == "" and "404" in reasons[failed] and "404" in reasons[halfway]
    assert "ningún webhook" in reasons[alone] and "desactivado" in reasons[stopped] and "datos" in reasons[rejected]


def test_the_report_for_a_spreadsheet_has_the_same_columns(new_entity, stack):
    entity = new_entity(name="=Fórmula, \"S.A.\"")
    id = entity.notify("documento.disponible")
    stack.wait_notification(id, "procesada")
    told = report(stack, "--since", "1h", "--csv")
    table = csv.DictReader(io.StringIO(told.stdout, newline=""))
    row, = [row for row in table if row["entidad_id"] == str(entity.id)]
    assert table.fieldnames == REPORTED
    assert (row["nombre"], row["notificaciones"], row["webhooks"]) == ("'=Fórmula, \"S.A.\"", "1", "0")
    assert "entities received all of theirs" in told.stderr
    assert json.loads(report(stack, "--since", "1h", "--until", "1h", "--json").stdout) == []
    assert report(stack, "--since", "1h", "--until", "1h", "--csv").stdout.strip() == ",".join(REPORTED)


def test_times_that_are_whole_hours_off_are_named(entity, stack):
    """Without the rows of other tests: the report's period has this one alone, and no other test has such rows in three minutes."""
    id = entity.notify("documento.disponible", ocurrida_en=stack.value("SELECT UTC_TIMESTAMP(3) - INTERVAL 2 HOUR"))
    stack.wait_notification(id, "procesada")
    told = report(stack, "--since", "130m", "--until", "110m", "--csv")
    assert "1 have an ocurrida_en of 2 h before their commit, to the minute: their writer may" in told.stderr
    before = stack.try_admin("config", "check")
    assert before.returncode == 0 and "before their commit" not in before.stdout + before.stderr
    for minutes in range(3):
        stack.sql("INSERT INTO notificaciones_pendientes (entidad_id, evento, datos, estado, terminada_en, ocurrida_en) VALUES"
                  f" ({entity.id}, 'documento.disponible', '{{}}', 'procesada', UTC_TIMESTAMP(3) - INTERVAL {minutes} MINUTE,"
                  f" UTC_TIMESTAMP(3) - INTERVAL {60 + minutes} MINUTE)")
    checked = stack.try_admin("config", "check")
    assert checked.returncode == 0
    assert "of documento.disponible, 3 have an ocurrida_en of 1 h before their commit" in checked.stdout + checked.stderr


def test_a_report_that_would_be_wrong_is_refused(stack):
    refused = report(stack, "--since", "31d", check=False)
    assert refused.returncode == 2 and "retention.delivered" in refused.stderr
    for shorter in ("failed", "rejected"):
        refused = report(stack, "--since", "8d", f"--retention.{shorter}=7d", check=False)
        assert refused.returncode == 2 and f"retention.{shorter}" in refused.stderr
        assert report(stack, "--since", "6d", f"--retention.{shorter}=7d", check=False).returncode == 0
    assert report(stack, "--since", "ayer", check=False).returncode == 2
    unknown = stack.dev("admin", "report", "--event", "nada", "--since", "1h", check=False)
    assert unknown.returncode == 2 and "--event" in unknown.stderr
