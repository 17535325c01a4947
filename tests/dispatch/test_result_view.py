"""What the evaluation system, and the commissioner, see of what became of their rows."""
import csv
import io
import json

import pytest

from fakes.receiver import Behaviour
from support.sql import SqlError
from support.wait import wait_until

VIEW = "notificaciones_resultado"


def result(stack, id):
    """As the evaluation system reads it."""
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


@pytest.mark.parametrize("statement", [f"UPDATE {VIEW} SET clave = 'x'", f"DELETE FROM {VIEW}", "SELECT * FROM entregas",
                                       f"SHOW CREATE VIEW {VIEW}", f"DROP VIEW {VIEW}"])
def test_it_may_read_the_view_and_no_more(stack, statement):
    with pytest.raises(SqlError):
        stack.evaluation(statement)


def test_the_report_says_who_was_reached_and_who_was_not_and_why(new_entity, receiver, stack):
    entities = [new_entity(name=name) for name in ("Alcanzada, \"S.A.\"", "=Fallida", "Sin webhook", "Parada")]
    hooks = [entity.register(["documento.disponible"]) for entity in (*entities[:2], entities[3])]
    receiver.behave(hooks[1].path, Behaviour(status=404))
    stack.admin("webhook", "disable", hooks[2].id)
    ids = [entity.notify("documento.disponible") for entity in entities]
    wait_until(lambda: result(stack, ids[1])["fallidas"] == 1 and result(stack, ids[0])["entregadas"] == 1
               and result(stack, ids[3])["retenidas"] == 1, 20, "all to be done")
    wanted = {entity.id: outcome for entity, outcome in zip(entities, ("alcanzada", "no_alcanzada", "sin_webhook", "no_alcanzada"))}
    rows = [row for row in json.loads(report(stack, "--since", "1h", "--json").stdout) if row["entidad_id"] in wanted]
    assert {row["entidad_id"]: row["resultado"] for row in rows} == wanted
    reasons = {row["entidad_id"]: row["motivo"] for row in rows}
    assert reasons[entities[0].id] == "" and "404" in reasons[entities[1].id]
    assert "ningún webhook" in reasons[entities[2].id] and "desactivado" in reasons[entities[3].id]
    told = report(stack, "--since", "1h", "--csv")
    table = [row for row in csv.DictReader(io.StringIO(told.stdout)) if row["entidad_id"] == str(entities[0].id)]
    assert [(row["nombre"], row["entregadas"]) for row in table] == [("Alcanzada, \"S.A.\"", "1")]
    assert "'=Fallida" in told.stdout, "no formula for a spreadsheet"
    assert "notifications: " in told.stderr
    assert json.loads(report(stack, "--since", "1h", "--until", "1h", "--json").stdout) == []


def test_a_report_that_would_be_wrong_is_refused(stack):
    refused = report(stack, "--since", "31d", check=False)
    assert refused.returncode == 2 and "retention.delivered" in refused.stderr
    assert report(stack, "--since", "ayer", check=False).returncode == 2
    unknown = stack.dev("admin", "report", "--event", "nada", "--since", "1h", check=False)
    assert unknown.returncode == 2 and "--event" in unknown.stderr
