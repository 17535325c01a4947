"""`nombre`: what people call a webhook. POST takes it, PATCH changes it, GET /webhooks/{id} shows it."""
from concurrent.futures import ThreadPoolExecutor

import pytest

from support.actors import BASE

BODY = {"url": "https://hooks.example.com/", "eventos": ["evaluacion.abierta"]}
TAKEN = "nombre: ya lo tiene otro webhook de la entidad"
BAD = "nombre: debe tener de 1 a 60 caracteres, sin espacios al principio ni al final ni caracteres que no se vean"


def register(entity, **more):
    return entity.api("POST", BASE, json_body=BODY | more)


def change(entity, number, **body):
    return entity.api("PATCH", f"{BASE}/{number}", json_body=body)


def name(entity, number):
    return entity.api("GET", f"{BASE}/{number}").json()["nombre"]


def test_a_name_is_given_changed_and_removed(entity, stack):
    made = register(entity, nombre="Producción, ñ 😀")
    assert made.status == 201 and list(made.json()) == ["id", "url", "eventos", "activo", "fechaAlta"]
    number = made.json()["id"]
    path = f"{BASE}/{number}"
    shown = entity.api("GET", path)
    assert shown.json()["nombre"] == "Producción, ñ 😀" == stack.admin("webhook", "list", "--entity", entity.id)[0]["nombre"]
    assert "nombre" not in entity.api("GET", BASE).json()[0]
    changed = change(entity, number, nombre="Pruebas")
    assert (changed.status, changed.json()["nombre"], stack.admin("webhook", "show", number)["nombre"]) == (200, "Pruebas", "Pruebas")
    tags = [shown.headers["etag"], changed.headers["etag"]]
    assert change(entity, number, nombre="Pruebas").headers["etag"] == tags[1], "nothing has changed"
    assert change(entity, number, activo=True).json()["nombre"] == "Pruebas"
    assert change(entity, number, nombre=None).json()["nombre"] is None
    tags.append(entity.api("GET", path).headers["etag"])
    assert len(set(tags)) == 3
    assert [one["detalle"] for one in entity.api("GET", "/apientidades/v1/actividad").json()["actividad"]] == [
        {"nombre": {"antes": "Pruebas", "ahora": None}}, {"nombre": {"antes": "Producción, ñ 😀", "ahora": "Pruebas"}},
        {"url": BODY["url"], "eventos": BODY["eventos"], "nombre": "Producción, ñ 😀"}]


def test_a_name_is_unique_within_the_entity(entity, new_entity):
    first = register(entity, nombre="uno").json()["id"]
    refused = register(entity, nombre="uno")
    assert (refused.status, refused.message) == (409, TAKEN)
    second = register(entity, nombre="UNO").json()["id"]
    refused = change(entity, second, nombre="uno", activo=False)
    assert (refused.status, refused.message) == (409, TAKEN)
    assert entity.api("GET", f"{BASE}/{second}").json()["activo"] is True, "none of it was done"
    assert change(entity, first, nombre="uno").status == 200, "its own"
    assert register(new_entity(), nombre="uno").status == 201
    assert [register(entity).status for _ in range(2)] == [201, 201], "without a name, any number"
    assert entity.api("DELETE", f"{BASE}/{first}").status == 200
    assert change(entity, second, nombre="uno").status == 200, "that of a deleted webhook is free"
    assert [register(entity, nombre="otro").status for _ in range(3)] == [201, 409, 409]
    assert register(entity).status == 201
    assert register(entity, nombre="uno").status == 400, "five webhooks"


def test_of_requests_at_once_one_gets_the_name(entity):
    with ThreadPoolExecutor(5) as pool:
        answers = list(pool.map(lambda _: register(entity, nombre="uno").status, range(5)))
        assert sorted(answers) == [201, 409, 409, 409, 409]
        numbers = [register(entity).json()["id"] for _ in range(4)]
        answers = list(pool.map(lambda number: change(entity, number, nombre="dos").status, numbers))
        assert sorted(answers) == [200, 409, 409, 409]
    assert sorted(str(name(entity, number)) for number in numbers) == ["None", "None", "None", "dos"]


@pytest.mark.parametrize("wrong", ["", " ", " a", "a ", "a\nb", "a\u007f", "ñ" * 61])
def test_a_bad_name_is_400(entity, wrong):
    number = register(entity, nombre="ñ" * 60).json()["id"]
    for refused in (register(entity, nombre=wrong), change(entity, number, nombre=wrong)):
        assert (refused.status, refused.message) == (400, BAD)


def test_a_name_that_is_no_text(entity):
    number = register(entity, nombre=None).json()["id"]
    assert name(entity, number) is None
    for refused in (register(entity, nombre=7), change(entity, number, nombre=["x"])):
        assert (refused.status, refused.message) == (400, "nombre: debe ser una cadena")


def test_the_same_registration_again_has_the_same_answer(entity):
    first, again = (entity.api("POST", BASE, json_body=BODY | {"nombre": "uno"}, headers={"Idempotency-Key": "k"}) for _ in range(2))
    assert (first.status, again.status, again.text) == (201, 201, first.text)
