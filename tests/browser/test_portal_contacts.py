"""The portal's screen «Alertas por correo»: the addresses, their kinds and codes, and interruptions."""
import re

import pytest

from support.browser import assert_no_barriers, assert_no_sideways_scrolling, picture, tab_to
from support.contacts import CONTACTS, KINDS, MAIL, code_of, put
from support.portal import answer
from support.portal_changes import arrived, at, go, lose, shown
from support.stack import setting
from support.wait import wait_until

LIST, HEADING = "#/avisos", "Alertas por correo"


@pytest.fixture(scope="module")
def mailing(stack):
    with stack.part_with("fcgi", **MAIL, **setting(limits_contact_codes="5")):
        yield


@pytest.fixture(autouse=True)
def no_codes_before(stack):
    stack.sql("DELETE FROM codigos_pedidos")


def contacts(entity) -> list[dict]:
    return entity.api("GET", CONTACTS).json()["contactos"]


def card(page, address):
    return page.get_by_role("region", name=address)


def code_field(page, address):
    return page.get_by_label(f"Código enviado a {address}")


def test_without_mail_the_portal_says_so_and_keeps_the_address(browser, entity, expect):
    page = at(browser, entity, LIST, HEADING)
    expect(shown(page).get_by_text("El operador no envía correo")).to_be_visible()
    put(entity, "a@ejemplo.es")
    page.reload()
    page = at(browser, entity, LIST, HEADING)
    expect(card(page, "a@ejemplo.es")).to_contain_text("Sin confirmar: no se le envía nada hasta que el operador configure el correo.")
    expect(code_field(page, "a@ejemplo.es")).to_have_count(0)
    assert_no_barriers(page)
    page.get_by_role("link", name="Añadir una dirección").click()
    address = page.get_by_label("Dirección de correo")
    expect(address).to_have_accessible_description("Se guarda, pero no se le envía nada hasta que el operador configure el correo.")
    address.fill("b@ejemplo.es")
    page.get_by_role("button", name="Añadir").click()
    expect(page.locator("#hecho")).to_contain_text("Se guarda, pero no se le envía nada hasta que el operador configure el correo.")


def test_a_confirmed_address_without_kinds_is_told_that_it_gets_nothing(mailing, browser, entity, stack, expect):
    put(entity, ("a@ejemplo.es", []))
    page = at(browser, entity, LIST, HEADING)
    code_field(page, "a@ejemplo.es").fill(code_of(stack, entity))
    page.get_by_role("button", name="Confirmar").click()
    expect(page.locator("#hecho")).to_contain_text("No recibe ninguna: elija cuáles")
    assert_no_barriers(page)


def test_from_an_address_to_its_confirmation(mailing, browser, entity, stack, expect):
    page = at(browser, entity, "#/", "Resumen")
    page.get_by_role("navigation").get_by_role("link", name=HEADING).click()
    expect(shown(page).get_by_text("Todavía no se escribe a ninguna dirección.")).to_be_visible()
    assert_no_barriers(page)
    page.get_by_role("link", name="Añadir una dirección").click()
    arrived(page, "Añadir una dirección")
    assert_no_barriers(page)
    picture(page, "avisos-nuevo")
    page.get_by_label("Dirección de correo").fill(" Ana@Ejemplo.ES ")
    page.get_by_label("Vuelve a funcionar").uncheck()
    page.get_by_role("button", name="Añadir").click()
    expect(page.locator("#hecho")).to_contain_text("Dirección añadida")
    expect(card(page, "Ana@ejemplo.es")).to_contain_text("Sin confirmar: no recibe alertas")
    assert contacts(entity)[0]["avisos"] == [kind for kind in KINDS if kind != "recuperado"]
    assert_no_barriers(page)
    picture(page, "avisos-sin-confirmar")
    code_field(page, "Ana@ejemplo.es").fill("12345")
    page.get_by_role("button", name="Confirmar").click()
    expect(code_field(page, "Ana@ejemplo.es")).to_have_accessible_description(re.compile("Escriba las seis cifras"))
    code = code_of(stack, entity)
    code_field(page, "Ana@ejemplo.es").fill("000001" if code == "000000" else "000000")
    page.get_by_role("button", name="Confirmar").click()
    expect(code_field(page, "Ana@ejemplo.es")).to_have_accessible_description(re.compile("Intentos restantes: 4"))
    assert_no_barriers(page)
    code_field(page, "Ana@ejemplo.es").fill(f"{code[:3]} {code[3:]}")
    page.get_by_role("button", name="Confirmar").click()
    expect(page.locator("#hecho")).to_contain_text("Desde ahora recibe las alertas")
    expect(card(page, "Ana@ejemplo.es")).to_contain_text("Confirmada:")
    assert contacts(entity)[0]["confirmado"]
    assert_no_barriers(page)
    picture(page, "avisos")


def issued_at(stack, entity) -> str:
    return stack.value(f"SELECT codigo_emitido FROM contactos WHERE entidad_id = {entity.id} AND plaza = 1")


def test_another_code_is_asked_for_until_the_day_has_no_more(mailing, browser, entity, stack, expect):
    put(entity, "a@ejemplo.es", "b@ejemplo.es", "c@ejemplo.es")
    first = code_of(stack, entity)
    wrong = "000001" if first == "000000" else "000000"
    assert entity.api("POST", f"{CONTACTS}/1/confirmacion", json_body={"codigo": wrong}).status == 400
    page = at(browser, entity, LIST, HEADING)
    another = card(page, "a@ejemplo.es").get_by_role("button", name="Pedir otro código")
    for _ in range(2):
        issued = issued_at(stack, entity)
        another.click()
        wait_until(lambda before=issued: issued_at(stack, entity) > before, what="another code")
        expect(page.locator("#hecho")).to_contain_text("Código pedido")
        page.wait_for_function("() => document.querySelector('#contenido .loading') === null")
    assert contacts(entity)[0]["intentos"] == 5
    another.click()
    expect(page.get_by_role("alert")).to_contain_text("demasiados códigos de confirmación")
    assert_no_barriers(page)


def test_the_kinds_of_an_address_are_changed_and_nothing_else_is(mailing, browser, entity, expect):
    put(entity, "a@ejemplo.es", "b@ejemplo.es")
    page = at(browser, entity, LIST, HEADING)
    page.get_by_role("link", name="Cambiar las alertas de a@ejemplo.es").click()
    arrived(page, "Cambiar las alertas")
    put(entity, "a@ejemplo.es", ("b@ejemplo.es", ["token"]), "c@ejemplo.es")  # another person
    page.get_by_role("button", name="Desmarcar todo").click()
    page.get_by_label("Falla").check()
    assert_no_barriers(page)
    page.get_by_role("button", name="Guardar").click()
    expect(page.locator("#hecho")).to_contain_text("Cambios guardados")
    assert [(one["correo"][0], one["avisos"]) for one in contacts(entity)] == [("a", ["fallo"]), ("b", ["token"]), ("c", KINDS)]
    expect(card(page, "a@ejemplo.es")).to_contain_text("Alertas elegidas: Falla.")
    expect(card(page, "c@ejemplo.es")).to_contain_text("Alertas elegidas: todas.")


def test_a_link_that_is_used_while_a_person_edits_is_not_undone(mailing, browser, entity, stack, expect):
    put(entity, "a@ejemplo.es", "b@ejemplo.es")
    page = at(browser, entity, LIST, HEADING)
    page.get_by_role("link", name="Cambiar las alertas de a@ejemplo.es").click()
    arrived(page, "Cambiar las alertas")
    page.route("**/entidad/contactos", lambda route: used_link(route, stack, entity))
    page.get_by_label("Falla").uncheck()
    page.get_by_role("button", name="Guardar").click()
    expect(page.locator("#hecho")).to_contain_text("Cambios guardados")
    assert [one["avisos"] for one in contacts(entity)] == [[kind for kind in KINDS if kind != "fallo"], []]


def used_link(route, stack, entity):
    """The link of b is used between the page's GET and its PUT."""
    if route.request.method == "PUT":
        stack.sql(f"UPDATE contactos SET avisos = '', confirmado_en = NULL, codigo_emitido = NULL WHERE entidad_id = {entity.id} AND plaza = 2")
    route.continue_()


def test_an_address_is_removed_after_a_question(mailing, browser, entity, expect):
    put(entity, "a@ejemplo.es", "b@ejemplo.es")
    page = at(browser, entity, LIST, HEADING)
    page.get_by_role("button", name="Quitar a@ejemplo.es").click()
    assert_no_barriers(page)
    page.get_by_role("dialog").get_by_role("button", name="Cancelar").click()
    assert len(contacts(entity)) == 2
    page.get_by_role("button", name="Quitar a@ejemplo.es").click()
    page.get_by_role("dialog").get_by_role("button", name="Quitarla").click()
    expect(page.locator("#hecho")).to_contain_text("Dirección quitada")
    expect(card(page, "a@ejemplo.es")).to_have_count(0)
    assert [one["correo"] for one in contacts(entity)] == ["b@ejemplo.es"]


def test_by_keyboard_alone(mailing, browser, entity, expect):
    page = at(browser, entity, "#/avisos/nuevo", "Añadir una dirección")
    tab_to(page, "Dirección de correo")
    page.keyboard.type("a@ejemplo.es")
    page.keyboard.press("Enter")
    expect(page.locator("#hecho")).to_contain_text("Dirección añadida")
    tab_to(page, "Quitar a@ejemplo.es")
    page.keyboard.press("Enter")
    tab_to(page, "Quitarla")
    page.keyboard.press("Enter")
    expect(page.locator("#hecho")).to_contain_text("Dirección quitada")
    assert contacts(entity) == []


@pytest.mark.parametrize("typed, told", [("", "Escriba la dirección"), ("a@b", "No es una dirección de correo completa"),
                                         ("ñ@ejemplo.es", "letras sin tilde"), ("b@EJEMPLO.es", "Ya está en la lista")])
def test_what_is_refused_is_told_at_the_field(mailing, browser, entity, expect, typed, told):
    put(entity, "b@ejemplo.es")
    page = at(browser, entity, "#/avisos/nuevo", "Añadir una dirección")
    page.get_by_label("Dirección de correo").fill(typed)
    page.get_by_role("button", name="Añadir").click()
    expect(page.get_by_label("Dirección de correo")).to_have_accessible_description(re.compile(told))
    assert len(contacts(entity)) == 1
    page.get_by_label("Dirección de correo").fill("")


def test_a_token_that_only_reads_sees_the_list_without_controls(mailing, browser, entity, expect):
    put(entity, *(f"{name}@ejemplo.es" for name in "abcde"))
    whole = at(browser, entity, LIST, HEADING)
    expect(shown(whole).get_by_text("Ya están las cinco direcciones")).to_be_visible()
    page = at(browser, entity, LIST, HEADING, entity.issue_token("--read-only"), width=320, text=2)
    expect(card(page, "e@ejemplo.es")).to_contain_text("Sin confirmar")
    expect(page.locator("main").get_by_role("button")).to_have_count(0)
    expect(page.locator("main").get_by_role("link")).to_have_count(0)
    assert_no_barriers(page)
    assert_no_sideways_scrolling(page)


def test_an_address_that_its_server_refuses(mailing, browser, entity, stack, expect):
    put(entity, "a@ejemplo.es")
    stack.sql("UPDATE contactos SET confirmado_en = UTC_TIMESTAMP(3), codigo_emitido = NULL, rechazado_en = UTC_TIMESTAMP(3), rechazo = '550 <b>inconfundible'"
              f" WHERE entidad_id = {entity.id}")
    page = at(browser, entity, LIST, HEADING, dark=True)
    expect(card(page, "a@ejemplo.es")).to_contain_text("Su servidor de correo la rechaza")
    assert "inconfundible" not in page.content()
    assert_no_barriers(page)
    page.get_by_role("button", name="Pedir un código").click()
    expect(page.locator("#hecho")).to_contain_text("Código pedido")
    expect(code_field(page, "a@ejemplo.es")).to_be_visible()


def test_an_addition_whose_answer_is_lost(mailing, browser, entity, expect):
    page = at(browser, entity, "#/avisos/nuevo", "Añadir una dirección")
    lose(page, "PUT", "entidad/contactos", True)
    page.get_by_label("Dirección de correo").fill("a@ejemplo.es")
    page.get_by_role("button", name="Añadir").click()
    expect(shown(page).get_by_text("No se sabe si llegó a añadirse")).to_be_visible()
    page.get_by_role("button", name="Reintentar").click()
    expect(page.get_by_label("Dirección de correo")).to_have_accessible_description(re.compile("Ya está en la lista"))
    assert len(contacts(entity)) == 1


def test_the_list_cannot_be_read(browser, entity, expect):
    page = at(browser, entity, "#/", "Resumen")
    answer(page, "GET", "entidad/contactos", 503, times=1)
    page.get_by_role("navigation").get_by_role("link", name=HEADING).click()
    page.get_by_role("button", name="Reintentar").click()
    expect(shown(page).get_by_text("Todavía no se escribe a ninguna dirección.")).to_be_visible()


def test_an_address_that_is_gone(mailing, browser, entity, expect):
    page = at(browser, entity, "#/avisos/3", "Cambiar las alertas")
    expect(shown(page).get_by_text("Esta dirección ya no está en la lista")).to_be_visible()
    page.get_by_role("link", name="Ver las que hay").click()
    arrived(page, HEADING)


def test_the_activity_tells_of_them(mailing, browser, entity, stack, expect):
    put(entity, "ana@ejemplo.es")
    stack.sql(f"INSERT INTO auditoria (entidad_id, accion, detalle) VALUES ({entity.id}, 'contactos', '{{\"sinAvisos\": \"a…@ejemplo.es\"}}')")
    page = at(browser, entity, "#/actividad", "Actividad")
    rows = page.get_by_role("table", name="Actividad").get_by_role("row")
    expect(rows.nth(1)).to_contain_text("ya no recibe alertas, por el enlace de un correo: a…@ejemplo.es")
    expect(rows.nth(1)).to_contain_text("Quien recibía las alertas")
    expect(rows.nth(2)).to_contain_text("se añade: a…@ejemplo.es (1)")


def test_the_summary_says_when_no_address_is_told(mailing, stack, browser, entity, expect):
    page = at(browser, entity, "#/", "Resumen")
    expect(page.get_by_text("Nadie recibe un correo")).to_be_visible()
    assert_no_barriers(page)
    page.get_by_role("link", name="elija quién recibe las alertas").click()
    expect(page.get_by_role("heading", name=HEADING)).to_be_visible()
    stack.admin("entity", "contact", "add", entity.id, "--address", "ana@ejemplo.es")
    go(page, "#/", "Resumen")
    expect(page.locator("#actualizado")).to_contain_text("Actualizado")
    expect(page.get_by_text("Nadie recibe un correo")).to_have_count(0)
