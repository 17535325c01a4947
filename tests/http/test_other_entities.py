"""An entity cannot reach another entity's data, nor set what the service decides (OWASP API1 and API3, 2023)."""
import pytest

from support.actors import BASE
from support.stack import EVENTS

TEST = BASE + "/test"
ROW = ("SELECT entidad_id, plaza, url, eventos, secreto_clave, HEX(secreto_sellado), activo, motivo, fecha_alta, fecha_baja"
       " FROM webhooks WHERE id = {}")


@pytest.fixture
def victim(new_entity):
    return new_entity(name="La otra")


def test_no_request_of_one_entity_reads_or_changes_anything_of_another(entity, victim, receiver, stack):
    theirs = [victim.register([event]) for event in EVENTS[:3]]
    before = [stack.sql(ROW.format(hook.id)) for hook in theirs]
    claims = {"entidad_id": victim.id, "entidadId": victim.id, "entidad": victim.id, "id": theirs[0].id,
              "webhookId": theirs[0].id, "webhooks": [hook.id for hook in theirs]}
    headers = {"X-Entidad": str(victim.id), "X-Entity-Id": str(victim.id), "X-Forwarded-User": str(victim.id),
               "Cookie": f"entidad={victim.id}"}
    query = f"?entidad_id={victim.id}&entidadId={victim.id}&id={theirs[0].id}"
    seen = []
    for suffix in ("", query):
        for hook in theirs:
            for path in (f"{BASE}/{hook.id}", f"{BASE}/{hook.id}/", f"{BASE}/{hook.id}/test", f"{BASE}/0{hook.id}",
                         f"{BASE}/%20{hook.id}", f"{BASE}/1,{hook.id}", f"{BASE}/{hook.id}/entregas", f"{BASE}/{hook.id}/entregas/1"):
                for method in ("DELETE", "GET", "PUT", "PATCH", "POST"):
                    body = claims if method in ("PUT", "PATCH", "POST") else ...
                    seen.append(entity.api(method, path + suffix, json_body=body, headers=headers))
                    assert seen[-1].status in (400, 404, 405), seen[-1]
        # The entity has no webhook yet, and the victim's webhooks are not tested.
        for event in EVENTS[:3]:
            seen.append(entity.api("POST", TEST + suffix, json_body={**claims, "evento": event}, headers=headers))
            assert seen[-1].status == 404
        seen.append(entity.api("GET", BASE + suffix, headers=headers))
        assert seen[-1].json() == []
    own = entity.register([EVENTS[0]])
    answer = entity.api("POST", TEST, json_body={**claims, "evento": EVENTS[0], "datosExtra": claims}, headers=headers)
    assert [w["id"] for w in answer.json()["webhooks"]] == [own.id]
    arrived = receiver.wait(own.path)[0].json()["data"]
    assert (arrived["entidadId"], arrived["entidadNombre"]) == (entity.id, entity.name)
    text = "".join(response.text for response in seen)
    assert not [hook.url for hook in theirs if hook.url in text] and victim.name not in text
    assert [stack.sql(ROW.format(hook.id)) for hook in theirs] == before
    assert [receiver.requests(hook.path) for hook in theirs] == [[], [], []]


def test_what_the_service_decides_cannot_be_set(entity, victim, stack):
    """The requests try to set the database's columns, and fields of answers, by their names."""
    columns = [name for (name,) in stack.sql(
        f"SELECT DISTINCT column_name FROM information_schema.columns WHERE table_schema = '{stack.env['DB_NAME']}'")]
    fields = ["id", "activo", "fechaAlta", "ultimaEjecucion", "ultimoEstado", "ultimoError", "entidadId", "test", "mensaje"]
    allowed = {"url", "eventos", "secreto", "evento", "datosExtra", "nombre"}
    extra = {name: victim.id for name in [*columns, *fields, "__proto__", "constructor"] if name not in allowed}
    assert {"plaza", "activo", "entidad_id", "estado", "origen", "hash"} <= extra.keys()
    body = {**extra, "url": "https://x.receptor.test/", "eventos": EVENTS}
    response = entity.api("POST", BASE, json_body=body)
    assert response.status == 201
    created = response.json()
    assert list(created) == ["id", "url", "eventos", "activo", "fechaAlta"] and created["activo"] is True
    row = stack.sql(f"SELECT entidad_id, plaza, activo, motivo, fecha_baja, ABS(TIMESTAMPDIFF(SECOND, fecha_alta,"
                    f" UTC_TIMESTAMP())) < 60, secreto_clave FROM webhooks WHERE id = {created['id']}")
    assert row == [[str(entity.id), "1", "1", "NULL", "NULL", "1", "NULL"]]
    assert entity.api("POST", TEST, json_body={**extra, "evento": EVENTS[0]}).status == 200
    rows = stack.sql(f"SELECT entidad_id, evento, estado, origen, clave, error FROM notificaciones_pendientes"
                     f" WHERE entidad_id IN ({entity.id}, {victim.id})")
    assert rows == [[str(entity.id), EVENTS[0], "procesada", "prueba", "NULL", "NULL"]]
    assert entity.api("DELETE", f"{BASE}/{created['id']}", json_body=extra).status == 200
    assert victim.api("GET", BASE).json() == []


def test_answers_have_the_documented_fields_and_no_more(entity):
    hook = entity.register()
    listed = entity.api("GET", BASE).json()[0]
    queued = entity.api("POST", TEST, json_body={"evento": EVENTS[0]}).json()
    gone = entity.api("DELETE", f"{BASE}/{hook.id}").json()
    assert set(listed) == {"id", "url", "eventos", "activo", "fechaAlta", "ultimaEjecucion", "ultimoEstado", "ultimoError"}
    assert set(queued) == {"message", "webhooks"} and set(queued["webhooks"][0]) == {"id", "url"}
    assert set(gone) == {"message"}
