"""/entidad/contactos: the addresses at which the people of an entity are told, and the link by which a person ends that."""
import time
from pathlib import Path

import pytest

from support.contacts import CONTACTS as PATH
from support.contacts import KINDS, MAIL, authentic, code_of, put
from support.stack import setting
from support.wait import wait_until

LINK = "/apientidades/avisos/baja"
FIELDS = ["numero", "correo", "avisos", "fechaAlta", "confirmado", "codigoHasta", "intentos", "rechazado"]


@pytest.fixture(scope="module")
def mailing(stack):
    with stack.part_with("fcgi", **MAIL, **setting(limits_contact_codes="5")):
        yield


@pytest.fixture(autouse=True)
def no_codes_before(stack):
    stack.sql("DELETE FROM codigos_pedidos")


def link_of(stack, contact: int, lasts: int = 60) -> str:
    address = stack.value(f"SELECT COALESCE(MAX(correo), 'x@ejemplo.es') FROM contactos WHERE id = {contact}")
    text = f"{contact}.{int(time.time()) + lasts}.{authentic(stack, 'contact-address', address)[:16]}"
    return f"{LINK}?codigo={text}.{authentic(stack, 'contact-unsubscribe', text)}"


def confirm(entity, code, number=1):
    return entity.api("POST", f"{PATH}/{number}/confirmacion", json_body={"codigo": code})


def refusal(answer) -> tuple[int, str]:
    return answer.status, answer.message


def test_without_a_mail_server_addresses_are_kept_and_no_code_is_promised(entity):
    contact = put(entity, "a@ejemplo.es")[0]
    assert (contact["codigoHasta"], contact["intentos"]) == (None, None)
    assert entity.api("GET", PATH).json()["operadorEnviaCorreo"] is False
    assert entity.api("POST", f"{PATH}/1/codigo").status == 409


def test_an_address_is_confirmed_by_its_code(mailing, entity, stack):
    assert entity.api("GET", PATH).json() == {"contactos": [], "operadorEnviaCorreo": True}
    one, two = put(entity, "Ana.Perez@Ejemplo.ES", ("b@ejemplo.es", ["token", "fallo", "token"]))
    assert list(one) == FIELDS
    assert (one["numero"], one["correo"], one["avisos"]) == (1, "Ana.Perez@ejemplo.es", KINDS)
    assert (two["numero"], two["avisos"]) == (2, ["fallo", "token"])
    assert one["confirmado"] is None and one["codigoHasta"] > one["fechaAlta"] and one["intentos"] == 5
    code = code_of(stack, entity)
    wrong = "000001" if code == "000000" else "000000"
    assert refusal(confirm(entity, wrong)) == (400, "codigo: el código no es correcto. Intentos restantes: 4")
    assert confirm(entity, code, 2).status == 400, "the code of another address"
    assert confirm(entity, code).status == 200
    kept = put(entity, ("Ana.Perez@ejemplo.es", []))[0]
    assert kept["confirmado"].endswith("Z") and kept["avisos"] == []
    assert (kept["codigoHasta"], kept["intentos"], kept["rechazado"]) == (None, None, None)
    assert confirm(entity, "123456").status == 200, "confirmed already"
    assert refusal(entity.api("POST", f"{PATH}/1/codigo")) == (409, "El contacto ya está confirmado")


def test_after_five_tries_another_code_must_be_asked_for(mailing, entity, stack):
    put(entity, "a@ejemplo.es")
    right = code_of(stack, entity)
    wrong = "000001" if right == "000000" else "000000"
    for left in range(4, -1, -1):
        assert confirm(entity, wrong).message.endswith(f"Intentos restantes: {left}")
    assert confirm(entity, right).status == 409
    shown = entity.api("GET", PATH).json()["contactos"][0]
    assert (shown["codigoHasta"], shown["intentos"]) == (None, None)
    assert entity.api("POST", f"{PATH}/1/codigo").status == 202
    assert confirm(entity, code_of(stack, entity)).status == 200


def test_a_day_has_five_codes_however_they_are_asked_for(mailing, entity, new_entity):
    for name in "abc":
        put(entity, f"{name}@ejemplo.es")
        put(entity)
    put(entity, "a@ejemplo.es")
    assert entity.api("POST", f"{PATH}/1/codigo").headers["ratelimit"].startswith('"codigos-de-confirmacion";r=0;')
    put(entity)
    refused = entity.api("PUT", PATH, json_body={"contactos": [{"correo": "d@ejemplo.es"}]})
    assert refused.status == 429 and int(refused.headers["retry-after"]) > 86000 and "5 al día" in refused.message
    assert entity.api("GET", PATH).json()["contactos"] == []
    assert len(put(new_entity(), "d@ejemplo.es")) == 1, "another entity has its own"


def test_a_stranger_gets_few_codes_and_one_entity_blocks_no_other(mailing, entity, new_entity):
    put(entity, "victima@ejemplo.es")
    assert [entity.api("POST", f"{PATH}/1/codigo").status for _ in range(2)] == [202, 202]
    refused = entity.api("POST", f"{PATH}/1/codigo")
    assert refused.status == 429 and "el máximo es 3 de una entidad, y 6 en total" in refused.message
    assert int(refused.headers["retry-after"]) > 86000
    for _ in range(3):
        put(new_entity(), "Victima@ejemplo.es")
    seventh = new_entity().api("PUT", PATH, json_body={"contactos": [{"correo": "VICTIMA@ejemplo.es"}]})
    assert refusal(seventh) == refusal(refused)


@pytest.mark.parametrize("body, message", [
    ({}, "contactos: debe ser la lista de todos los contactos, que puede estar vacía"),
    ({"contactos": None}, "contactos: debe ser la lista de todos los contactos, que puede estar vacía"),
    ({"contactos": [], "x": 1}, "Solo se admite contactos"),
    ({"contactos": ["a@ejemplo.es"]}, "contactos: cada contacto es un objeto con correo y avisos, y nada más"),
    ({"contactos": [{"correo": "a@ejemplo.es", "confirmado": True}]}, "contactos: cada contacto es un objeto con correo y avisos, y nada más"),
    ({"contactos": [{"avisos": []}]}, "correo: indique la dirección de cada contacto"),
    ({"contactos": [{"correo": f"{n}@ejemplo.es"} for n in range(6)]}, "Máximo 5 contactos"),
    ({"contactos": [{"correo": "a@EJEMPLO.es"}, {"correo": "a@ejemplo.es"}]}, "contactos: hay una dirección repetida"),
    ({"contactos": [{"correo": "A@ejemplo.es"}, {"correo": "a@ejemplo.es"}]}, "contactos: hay una dirección repetida"),
    ({"contactos": [{"correo": "a@ejemplo.es", "avisos": "fallo"}]}, "avisos: debe ser una lista de clases de alerta"),
    ({"contactos": [{"correo": "a@ejemplo.es", "avisos": ["Fallo"]}]}, "avisos: las clases de alerta son " + ", ".join(KINDS)),
])
def test_what_a_body_must_be(entity, body, message):
    assert refusal(entity.api("PUT", PATH, json_body=body)) == (400, message)


@pytest.mark.parametrize("address", [
    "a", "a@", "@ejemplo.es", "a@localhost", "a@192.0.2.1", "a@[192.0.2.1]", "a@ejemplo.es\r\nBcc: b@ejemplo.es", "a@ejemplo.es,b@ejemplo.es",
    "Ana <a@ejemplo.es>", '"a b"@ejemplo.es', "a@ejemplo.es\n", "a\x00@ejemplo.es", "a" * 65 + "@ejemplo.es", "a@" + "b." * 130 + "es"])
def test_an_address_that_could_be_read_as_more_is_refused(entity, address):
    refused = entity.api("PUT", PATH, json_body={"contactos": [{"correo": address}]})
    assert refusal(refused) == (400, "correo: no es una dirección de correo completa, como avisos@ejemplo.es")


@pytest.mark.parametrize("address", ["ñ@ejemplo.es", "a@ñandú.es", "a@ejemplo.es\u202e"])
def test_an_international_address_is_refused_with_its_reason(entity, address):
    refused = entity.api("PUT", PATH, json_body={"contactos": [{"correo": address}]})
    assert refused.status == 400 and refused.message.startswith("correo: solo se admiten direcciones con letras sin tilde y sin ñ")


def test_a_code_is_six_digits_in_a_string(mailing, entity):
    put(entity, "a@ejemplo.es")
    for code in ("12345", "1234567", 123456, "12345a", "１２３４５６", None, ""):
        assert refusal(confirm(entity, code)) == (400, "codigo: debe ser una cadena con las seis cifras del correo")
    assert entity.api("GET", PATH).json()["contactos"][0]["intentos"] == 5


def test_other_numbers_and_other_entities(mailing, entity, new_entity, stack):
    put(entity, "a@ejemplo.es")
    code, stranger = code_of(stack, entity), new_entity()
    for who, number in ((entity, 2), (entity, 6), (entity, 0), (entity, "01"), (entity, "x"), (stranger, 1)):
        assert refusal(confirm(who, code, number)) == (404, "La entidad no tiene ningún contacto con ese número")
        assert who.api("POST", f"{PATH}/{number}/codigo").status == 404
    assert confirm(entity, code).status == 200


def test_a_read_only_token_sees_and_changes_nothing(mailing, entity):
    put(entity, "a@ejemplo.es")
    entity.token = entity.issue_token("--read-only")
    assert len(entity.api("GET", PATH).json()["contactos"]) == 1
    assert entity.api("PUT", PATH, json_body={"contactos": []}).status == 403
    assert confirm(entity, "123456").status == entity.api("POST", f"{PATH}/1/codigo").status == 403


def test_the_activity_tells_of_contacts_with_little_of_their_addresses(mailing, entity, stack):
    put(entity, "maria.perez@ejemplo.es", "b@ejemplo.es")
    confirm(entity, code_of(stack, entity))
    put(entity, "maria.perez@ejemplo.es")
    entity.token = entity.issue_token("--read-only")
    found = entity.api("GET", "/apientidades/v1/actividad").json()["actividad"]
    assert [one["detalle"] for one in found] == [
        {"baja": ["b…@ejemplo.es (2)"]}, {"confirmado": "m…@ejemplo.es (1)"}, {"alta": ["m…@ejemplo.es (1)", "b…@ejemplo.es (2)"]}]
    assert {(one["accion"], one["webhook"]) for one in found} == {("contactos", None)}


def test_each_confirmation_is_an_entry_of_its_own(mailing, entity, stack):
    for _ in range(2):
        put(entity, "a@ejemplo.es")
        assert confirm(entity, code_of(stack, entity)).status == 200
        put(entity)
    found = entity.api("GET", "/apientidades/v1/actividad").json()["actividad"]
    assert [one["veces"] for one in found if "confirmado" in one["detalle"]] == [1, 1]


def test_the_operator_vouches_for_an_address_and_sees_what_the_mail_server_said(entity, stack):
    row = stack.admin("entity", "contact", "add", entity.id, "--address", "a@Ejemplo.es", "--kinds", "token,fallo")
    assert (row["correo"], row["avisos"], row["numero"]) == ("a@ejemplo.es", "fallo,token", 1) and row["confirmado"]
    contact = entity.api("GET", PATH).json()["contactos"][0]
    assert contact["confirmado"] and contact["avisos"] == ["fallo", "token"]
    stack.sql(f"UPDATE contactos SET rechazado_en = UTC_TIMESTAMP(3), rechazo = '550 unknown' WHERE entidad_id = {entity.id}")
    assert stack.admin("entity", "contact", "list", entity.id)[0]["rechazo"] == "550 unknown"
    refused = entity.api("GET", PATH)
    assert confirm(entity, "123456").status == 409, "a refused address gets no notice"
    assert refused.json()["contactos"][0]["rechazado"] and "unknown" not in refused.text
    for wrong in (["--address", "ñ@ejemplo.es"], ["--address", "a@ejemplo.es", "--kinds", "fallo,otra"], ["--address", "a@ejemplo.es", "--kinds", ""]):
        assert stack.try_admin("entity", "contact", "add", entity.id, *wrong).returncode == 2
    put(entity, *(f"{n}@ejemplo.es" for n in "abcde"))
    assert stack.try_admin("entity", "contact", "add", entity.id, "--address", "f@ejemplo.es").returncode == 1
    stack.admin("entity", "contact", "remove", entity.id, "--address", "a@ejemplo.es")
    assert stack.try_admin("entity", "contact", "remove", entity.id, "--address", "a@ejemplo.es").returncode == 1
    assert [one["correo"][0] for one in entity.api("GET", PATH).json()["contactos"]] == list("bcde")
    audited = stack.sql(f"SELECT accion, detalle FROM auditoria WHERE entidad_id = {entity.id} AND accion LIKE 'entity contact %'")
    assert [one[0].split()[-1] for one in audited] == ["add", "remove"]
    assert all('a…@' in one[1] and "(1)" in one[1] and "a@" not in one[1] for one in audited), audited


def kinds(entity) -> list[list[str]]:
    return [one["avisos"] for one in entity.api("GET", PATH).json()["contactos"]]


def id_of(stack, entity, number=1) -> int:
    return int(stack.value(f"SELECT id FROM contactos WHERE entidad_id = {entity.id} AND plaza = {number}"))


def test_a_link_asks_first_and_a_post_ends_the_notices(entity, stack):
    put(entity, "a@ejemplo.es", "b@ejemplo.es")
    link = link_of(stack, id_of(stack, entity))
    for method in ("GET", "HEAD"):
        page = stack.api(method, link)
        assert page.status == 200 and page.headers["content-type"] == "text/html; charset=utf-8"
        assert "script" not in page.text and page.headers["cache-control"] == "no-store" and page.headers["referrer-policy"] == "no-referrer"
        assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
        assert '<form method="post">' in page.text or method == "HEAD"
    assert kinds(entity) == [KINDS, KINDS]
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    done = [stack.api("POST", link, body=b"List-Unsubscribe=One-Click", headers=form) for _ in range(2)]
    assert [one.status for one in done] == [200, 200] and done[0].text == done[1].text and "Ya no recibirá" in done[0].text
    assert kinds(entity) == [[], KINDS]
    put(entity, "a@ejemplo.es", "b@ejemplo.es")
    assert kinds(entity) == [[], KINDS], "a list that says nothing of kinds leaves them"
    put(entity, ("a@ejemplo.es", ["token"]), "b@ejemplo.es")
    assert entity.api("GET", PATH).json()["contactos"][0]["confirmado"] is None, "it must be confirmed again"
    entry = entity.api("GET", "/apientidades/v1/actividad").json()["actividad"][1]
    assert (entry["accion"], entry["token"], entry["detalle"]) == ("contactos", None, {"sinAvisos": "a…@ejemplo.es (1)"})
    assert stack.api("POST", link_of(stack, 10**15)).text == done[0].text, "no contact has that id"


def test_a_link_that_is_not_ours_or_has_ended_does_nothing(entity, stack):
    put(entity, "a@ejemplo.es")
    contact = id_of(stack, entity)
    link = link_of(stack, contact)
    cut = link.rsplit(".", 1)[0]
    for bad in (link_of(stack, contact, lasts=-1), LINK, LINK + "?", LINK + "?codigo=", link[:-1], link + "0", cut, link.replace(f"={contact}.", f"={contact + 1}."),
                link + "&x=1", link.replace("codigo=", "x="), link.replace(".", "%2E")):
        for method in ("GET", "POST"):
            answer = stack.api(method, bad)
            assert answer.status == 404 and "no es válido o ha caducado" in answer.text, bad
    assert (stack.api("PUT", link).status, stack.api("TRACE", link).headers["allow"]) == (405, "GET, HEAD, POST")
    too_long = stack.api("POST", link, body=b"x" * 1025)
    assert too_long.status == 413 and too_long.headers["content-type"] == "text/html; charset=utf-8" and '<h1>No se ha podido' in too_long.text
    assert kinds(entity) == [KINDS]


def test_a_link_keeps_its_code_out_of_the_log(entity, stack):
    link = link_of(stack, 1)
    stack.api("GET", link)
    written = wait_until(lambda: LINK in (text := "".join(file.read_text(errors="replace") for file in Path(stack.folder, "log").iterdir())) and text)
    assert link.rsplit(".", 1)[1] not in written


def test_while_the_database_is_away_the_person_is_told_so(entity, stack):
    put(entity, "a@ejemplo.es")
    link = link_of(stack, id_of(stack, entity))
    stack.dev("kill", "db", "-9")
    try:
        answer = stack.api("POST", link)
        assert answer.status == 503 and "html" in answer.headers["content-type"] and answer.headers["retry-after"] == "60"
        assert stack.api("POST", link[:-1]).status == 404, "a forged link needs no database"
    finally:
        stack.dev("start", "db")
        stack.connect_evaluation()
    wait_until(lambda: stack.api("POST", link).status == 200, what="the database to be found again")
    assert kinds(entity) == [[]]
