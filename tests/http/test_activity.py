"""GET /actividad: what the entity changed, with which token, and when."""
import pytest

from support.actors import BASE

PATH = "/apientidades/v1/actividad"
ROW = ["id", "cuando", "accion", "webhook", "token", "detalle", "veces", "ultima"]


def page(entity, query="") -> dict:
    response = entity.api("GET", PATH + query)
    assert response.status == 200, response
    found = response.json()
    assert list(found) == ["actividad", "siguiente"] and all(list(one) == ROW for one in found["actividad"])
    return found


def test_each_change_is_shown_with_its_token(entity, new_entity, stack):
    assert page(entity) == {"actividad": [], "siguiente": None}
    entity.token = entity.issue_token("--label", "consola ñ")
    hook = entity.register(["evaluacion.abierta"], secret=None)
    path = f"{BASE}/{hook.id}"
    for _ in range(2):
        for active in (False, True):
            assert entity.api("PATCH", path, json_body={"activo": active}).status == 200
    entity.token = entity.issue_token("--label", "otra")
    assert entity.api("PUT", path + "/secreto", json_body={"secreto": "uno-que-no-se-ve"}).status == 200
    stack.admin("webhook", "disable", hook.id)
    assert entity.api("DELETE", path).status == 200
    entity.token = entity.issue_token("--read-only")
    found = page(entity)["actividad"]
    told = [(one["accion"], one["webhook"], one["token"]) for one in found]
    assert told[:2] == [("baja", hook.id, "otra"), ("secreto", hook.id, "otra")]
    assert told[-1] == ("alta", hook.id, "consola ñ") and set(told[2:-1]) == {("cambio", hook.id, "consola ñ")}
    assert sum(one["veces"] for one in found[2:-1]) == 4, "equal changes of an hour are one entry"
    assert found[-1]["detalle"] == {"url": hook.url, "eventos": ["evaluacion.abierta"]}
    assert found[-2]["detalle"] == {"activo": {"antes": True, "ahora": False}}
    assert all(one["cuando"] <= one["ultima"] and one["ultima"].endswith("Z") for one in found)
    assert "uno-que-no-se-ve" not in str(found)
    assert page(new_entity())["actividad"] == []
    assert [one["accion"] for one in page(entity, "?token=otra")["actividad"]] == ["baja", "secreto"]
    assert {one["token"] for one in page(entity, "?token=consola%20%C3%B1")["actividad"]} == {"consola ñ"}
    assert page(entity, "?token=nadie") == {"actividad": [], "siguiente": None}
    cursor = page(entity, "?token=otra&limite=1")["siguiente"]
    assert entity.api("GET", f"{PATH}?cursor={cursor}").status == 400, "a cursor of another filter"


def test_pages(entity, new_entity):
    hook = entity.register()
    for events in (["evaluacion.abierta"], ["evaluacion.cerrada"], ["documento.disponible"]):
        assert entity.api("PATCH", f"{BASE}/{hook.id}", json_body={"eventos": events}).status == 200
    seen, query = [], "?limite=3"
    while query:
        one = page(entity, query)
        seen += [entry["id"] for entry in one["actividad"]]
        query = f"?limite=3&cursor={one['siguiente']}" if one["siguiente"] else None
    assert len(seen) == len(set(seen)) == 4 and seen == sorted(seen, reverse=True)
    stranger, cursor = new_entity(), page(entity, "?limite=1")["siguiente"]
    assert stranger.api("GET", f"{PATH}?cursor={cursor}").status == 400
    assert entity.api("GET", f"/apientidades/v1/reenvios?cursor={cursor}").status == 400, "a cursor of another list"
    assert entity.api("GET", f"{PATH}?limite=1").headers["link"].startswith("<?limite=1&cursor=")


def test_a_detail_that_is_no_json_is_null(entity, stack):
    stack.sql(f"INSERT INTO auditoria (entidad_id, accion, detalle) VALUES ({entity.id}, 'futura', 'x')")
    shown, = page(entity)["actividad"]
    assert (shown["accion"], shown["detalle"], shown["webhook"], shown["token"]) == ("futura", None, None, None)


@pytest.mark.parametrize("query", ["?limite=0", "?limite=x", "?limite=1&limite=1", "?webhook=1", "?cursor=", "?cursor=1.x"])
def test_another_query_is_400(entity, query):
    assert entity.api("GET", PATH + query).status == 400


def test_other_methods_and_no_token(entity, stack):
    assert stack.api("GET", PATH).status == 401
    assert entity.api("DELETE", PATH).status == 405
