"""GET /entregas: the deliveries of all webhooks of an entity in one list."""
import json

import pytest

from fakes.receiver import Behaviour
from support.actors import BASE, DATA
from support.wait import wait_until

PATH = "/apientidades/v1/entregas"
LISTED = ["id", "mensaje", "evento", "prueba", "estado", "intentos", "creada", "entregada", "terminada", "proximoIntento",
          "ultimoEstado", "ultimoError", "webhook"]
SUMMARIES = {
    "evaluacion.abierta": ("evaluacionId", "titulo"), "evaluacion.prorroga": ("evaluacionId", "fechaFin"),
    "evaluacion.cierre_proximo": ("evaluacionId", "fechaCierre"), "evaluacion.cerrada": ("evaluacionId", "titulo"),
    "resultados.provisionales": ("evaluacionId", "declaracionId"), "resultados.definitivos": ("evaluacionId", "declaracionId"),
    "alegaciones.periodo_abierto": ("evaluacionId", "declaracionId"), "alegaciones.periodo_cierre": ("evaluacionId", "declaracionId"),
    "incidencia.respuesta": ("incidenciaId", "titulo"), "incidencia.cerrada": ("incidenciaId", "titulo"),
    "documento.disponible": ("documentoId", "descripcion")}


def log(entity, query="", fields=None):
    response = entity.api("GET", PATH + query)
    assert response.status == 200, response
    assert list(response.json()) == ["entregas", "siguiente"]
    assert all(list(one) == (fields or LISTED) for one in response.json()["entregas"])
    return response.json()


def settled(entity, count, query="?estado=entregada&limite=100"):
    return wait_until(lambda: len(found := log(entity, query)["entregas"]) == count and found, 20, "the deliveries")


def test_all_webhooks_in_one_list(entity, new_entity):
    assert log(entity) == {"entregas": [], "siguiente": None}
    hooks = [entity.register(["evaluacion.abierta"]), entity.register(["evaluacion.abierta", "evaluacion.cerrada"]), entity.register()]
    for event in ("evaluacion.abierta", "evaluacion.cerrada", "evaluacion.abierta"):
        entity.notify(event)
    whole = settled(entity, 8)
    assert [one["id"] for one in whole] == sorted((one["id"] for one in whole), reverse=True)
    for hook in hooks:
        own = entity.api("GET", f"{BASE}/{hook.id}/entregas").json()["entregas"]
        assert [{**one, "webhook": hook.id} for one in own] == [one for one in whole if one["webhook"] == hook.id]
        assert log(entity, f"?webhook={hook.id}")["entregas"] == [one for one in whole if one["webhook"] == hook.id]
    assert len(log(entity, "?evento=evaluacion.cerrada")["entregas"]) == 2
    assert log(entity, "?estado=fallida") == {"entregas": [], "siguiente": None}
    assert log(entity, "?conFallos=true") == {"entregas": [], "siguiente": None}
    assert len(log(entity, f"?desde={whole[-1]['creada']}")["entregas"]) == 8
    assert log(entity, f"?hasta={whole[-1]['creada']}")["entregas"] == []
    stranger = new_entity()
    assert log(stranger)["entregas"] == []
    assert entity.api("DELETE", f"{BASE}/{hooks[0].id}").status == 200
    assert {one["webhook"] for one in log(entity)["entregas"]} == {hooks[1].id, hooks[2].id}, "as those of one webhook are not seen, either"


def test_deliveries_that_failed_before_they_arrived(entity, receiver):
    broken, whole = entity.register(), entity.register()
    receiver.behave(broken.path, Behaviour(status=500))
    ids = []
    for count in (1, 2):
        entity.notify()
        failed = settled(entity, count, "?estado=fallida")
        settled(entity, count)
        ids = [one["id"] for one in failed]
        assert {one["webhook"] for one in failed} == {broken.id} != {whole.id}
        assert [one["id"] for one in log(entity, "?conFallos=true")["entregas"]] == ids
    page = log(entity, "?conFallos=true&limite=1")
    assert [one["id"] for one in page["entregas"]] == ids[:1]
    assert [one["id"] for one in log(entity, f"?conFallos=true&cursor={page['siguiente']}")["entregas"]] == ids[1:]
    assert entity.api("GET", f"{PATH}?cursor={page['siguiente']}").status == 400


def test_pages_have_each_delivery_once(entity, new_entity):
    for _ in range(3):
        entity.register(["evaluacion.abierta"])
    for _ in range(4):
        entity.notify()
    settled(entity, 12)
    seen, query = [], "?limite=5"
    while query:
        page = log(entity, query)
        seen += [one["id"] for one in page["entregas"]]
        query = f"?limite=5&cursor={page['siguiente']}" if page["siguiente"] else None
        if len(seen) == 5:
            entity.notify()
    assert len(seen) == len(set(seen)) == 12 and seen == sorted(seen, reverse=True)
    cursor = log(entity, "?limite=5")["siguiente"]
    page = entity.api("GET", PATH + "?limite=2")
    assert page.headers["link"] == f"<?limite=2&cursor={page.json()['siguiente']}>; rel=\"next\""
    hook = entity.api("GET", BASE).json()[0]["id"]
    for refused in (f"?estado=entregada&cursor={cursor}", f"?webhook={hook}&cursor={cursor}"):
        assert entity.api("GET", PATH + refused).status == 400
    assert entity.api("GET", f"{BASE}/{hook}/entregas?cursor={cursor}").status == 400, "a cursor of another list"
    assert new_entity().api("GET", f"{PATH}?cursor={cursor}").status == 400
    assert log(entity, f"?datos=resumen&cursor={cursor}", [*LISTED, "datos"])["entregas"], "a cursor is not bound to what is shown"


def test_a_delivery_is_found_by_its_webhook_id(entity, new_entity, receiver):
    hooks = [entity.register(), entity.register()]
    entity.notify()
    settled(entity, 2)
    for hook in hooks:
        message = receiver.requests(hook.path)[0].headers["webhook-id"]
        found, = log(entity, f"?mensaje={message}")["entregas"]
        assert (found["mensaje"], found["webhook"]) == (message, hook.id)
        assert len(log(entity, f"?mensaje={message}&webhook={hook.id}&estado=entregada")["entregas"]) == 1
        assert log(entity, f"?mensaje={message}&estado=fallida")["entregas"] == []
        prefix, created, number = message.split("_")
        for other in (f"{prefix}_{int(created) + 1}_{number}", f"{prefix}_{created}_9{number}", f"{prefix}_0{created}_{number}"):
            assert log(entity, f"?mensaje={other}") == {"entregas": [], "siguiente": None}, other
        assert log(new_entity(), f"?mensaje={message}")["entregas"] == []
    assert log(entity, f"?mensaje={message}&webhook={hooks[0].id}")["entregas"] == []


def test_the_two_fields_that_people_know_an_event_by(entity):
    entity.register()
    for event in DATA:
        entity.notify(event)
    title = "ñ" * 20_000
    entity.notify("evaluacion.cerrada", {"evaluacionId": 9007199254740993, "titulo": title})
    entity.api("POST", BASE + "/test", json_body={"evento": "evaluacion.abierta", "datosExtra": {"titulo": "mío"}})
    fields = [*LISTED, "datos"]
    found = settled(entity, 13, "?estado=entregada&limite=100") and log(entity, "?datos=resumen", fields)["entregas"]
    tests = [one["datos"] for one in found if one["prueba"]]
    assert tests == [None], "the entity's own data stay sealed"
    long, = [one["datos"] for one in found if one["evento"] == "evaluacion.cerrada" and not one["prueba"]
             and one["datos"]["evaluacionId"] != 42]
    assert long == {"evaluacionId": 9007199254740993, "titulo": title}, "whole"
    shown = {one["evento"]: one["datos"] for one in found if not one["prueba"] and one["datos"] != long}
    assert shown == {event: {name: DATA[event][name] for name in names} for event, names in SUMMARIES.items()}


def test_an_answer_with_large_data_is_short_and_goes_on(entity, stack):
    hooks = [entity.register(["evaluacion.cerrada"]) for _ in range(2)]
    text = json.dumps({"evaluacionId": 1, "titulo": "x" * 60_000})
    for _ in range(25):
        entity.notify("evaluacion.cerrada", text)
    settled(entity, 50)
    seen, query, sizes = [], "?datos=resumen", []
    while query:
        response = entity.api("GET", PATH + query)
        sizes.append(len(response.text))
        seen += [one["id"] for one in response.json()["entregas"]]
        assert all(len(one["datos"]["titulo"]) == 60_000 for one in response.json()["entregas"])
        query = f"?datos=resumen&cursor={response.json()['siguiente']}" if response.json()["siguiente"] else None
    assert len(seen) == len(set(seen)) == 50 and len(hooks) == 2
    assert len(sizes) > 2 and max(sizes) < 300_000, sizes  # all in the socket's send buffer


@pytest.mark.parametrize("query, field", [
    ("limite=0", "limite"), ("limite=101", "limite"), ("estado=perdida", "estado"), ("evento=nada", "evento"), ("desde=ayer", "desde"),
    ("desde=2026-01-02T00:00:00Z&hasta=2026-01-01T00:00:00Z", "desde"), ("cursor=1.x", "cursor"), ("pagina=2", "consulta"),
    ("limite=1&limite=1", "consulta"), ("datos=todo", "datos"), ("datos=", "datos"), ("mensaje=", "mensaje"), ("mensaje=812", "mensaje"),
    ("mensaje=msg_1_0", "mensaje"), ("mensaje=msg__1", "mensaje"), ("mensaje=msg_x_1", "mensaje"), ("mensaje=msg_1_2_3", "mensaje"),
    ("mensaje=msg_1_99999999999999999999", "mensaje"), ("mensaje=msg_1", "mensaje"), ("mensaje=_", "mensaje"),
    ("mensaje=x", "mensaje"), ("mensaje=msg_-5_812", "mensaje"), ("estado=%zz", "consulta")])
def test_a_question_that_cannot_be_understood_is_refused(entity, query, field):
    response = entity.api("GET", f"{PATH}?{query}")
    assert response.status == 400 and field in response.json()["message"], response


def test_foreign_and_unknown_webhooks_are_404(entity, new_entity):
    foreign = new_entity().register()
    for id_ in (foreign.id, 999999999, 0, "x", ""):
        response = entity.api("GET", f"{PATH}?webhook={id_}")
        assert (response.status, response.json()["message"]) == (404, "No existe ningún webhook con ese identificador"), id_
