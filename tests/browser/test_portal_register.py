"""The portal's screen "Registrar un webhook": registering by mouse and by keyboard, refusals, and answers that never came."""
import re

import pytest

from fakes.verify import problems
from support.actors import BASE
from support.browser import assert_no_barriers, assert_no_sideways_scrolling, focused, picture, tab_to
from support.portal import answer, enter
from support.portal_changes import arrived, at, lose, shown
from support.stack import EVENTS

NEW, HEADING = "#/webhooks/nuevo", "Registrar un webhook"
URL = "Dirección que recibirá los avisos"
STORED = "He guardado el secreto en un lugar seguro"


def hooks(entity):
    return entity.api("GET", BASE).json()


def address(entity, name="hola"):
    return f"https://{name}.receptor.test:{entity.receiver.port}/{name}{entity.id}"


def fill(page, entity, name="hola"):
    page.get_by_label(URL).fill(address(entity, name))
    page.get_by_label(STORED).check()
    return page.get_by_label("Secreto nuevo").input_value()


def press(page):
    page.get_by_role("button", name="Registrar", exact=True).click()


def test_from_nothing_to_a_webhook_that_signs(browser, entity, receiver, expect):
    page = at(browser, entity, NEW, HEADING)
    expect(page.get_by_role("textbox", name="Secreto nuevo")).to_have_value(re.compile(r"^whsec_[A-Za-z0-9+/]{32}$"))
    assert_no_barriers(page)
    picture(page, "registrar")
    page.get_by_label("Nombre (opcional)").fill("  Producción ")
    page.get_by_label("Incidencia cerrada").uncheck()
    secret = fill(page, entity)
    press(page)
    heading = page.get_by_role("heading", level=1, name="Webhook registrado")
    expect(heading).to_be_focused()
    expect(shown(page).get_by_text(re.compile("Desde ahora se envían los avisos a Producción"))).to_be_visible()
    expect(page.get_by_text(secret)).to_be_visible()
    assert_no_barriers(page)
    picture(page, "registrado")
    one, = hooks(entity)
    assert (one["url"], one["eventos"]) == (address(entity), [event for event in EVENTS if event != "incidencia.cerrada"])
    assert entity.api("GET", f"{BASE}/{one['id']}").json()["nombre"] == "Producción"
    page.get_by_role("link", name="Probar").last.click()
    expect(page.get_by_role("heading", level=1, name="Probar")).to_be_visible()
    assert secret not in page.content() and secret not in page.url
    assert page.evaluate("[localStorage.length, sessionStorage.length, document.cookie]") == [0, 0, ""]
    page.get_by_role("button", name="Enviar la prueba").click()
    request, = receiver.wait(f"/hola{entity.id}")
    assert not problems(request.headers, request.body, secret)


def test_by_keyboard_alone(browser, entity, expect):
    page = at(browser, entity, NEW, HEADING)
    tab_to(page, URL)
    page.keyboard.insert_text(address(entity))
    tab_to(page, "Desmarcar todo")
    page.keyboard.press("Space")
    tab_to(page, "Documento disponible")
    page.keyboard.press("Space")
    tab_to(page, "Generar otro")
    before = page.get_by_label("Secreto nuevo").input_value()
    page.keyboard.press("Enter")
    assert focused(page) == "Secreto nuevo" and page.get_by_label("Secreto nuevo").input_value() != before
    tab_to(page, STORED)
    page.keyboard.press("Space")
    tab_to(page, "Registrar")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Webhook registrado")).to_be_focused()
    assert [one["eventos"] for one in hooks(entity)] == [["documento.disponible"]]


@pytest.mark.parametrize("how", [dict(width=320, text=2), dict(dark=True)])
def test_the_screen_fits_and_has_no_barriers(browser, entity, how):
    page = at(browser, entity, NEW, HEADING, **how)
    assert_no_sideways_scrolling(page)
    assert_no_barriers(page)
    picture(page, "registrar-" + "-".join(map(str, how)))


def test_a_secret_that_was_not_stored_is_not_lost(browser, entity, expect):
    page = at(browser, entity, NEW, HEADING)
    page.get_by_label(URL).fill(address(entity))
    press(page)
    box = page.get_by_label(STORED)
    expect(box).to_be_focused()
    expect(box).to_have_accessible_description(re.compile("no se volverá a mostrar"))
    assert_no_barriers(page)
    assert hooks(entity) == []


def test_without_a_signature(browser, entity, expect):
    page = at(browser, entity, NEW, HEADING)
    page.get_by_label(URL).fill(address(entity))
    page.get_by_label("No, sin firmar").check()
    expect(page.get_by_label("Secreto nuevo")).to_be_hidden()
    press(page)
    expect(page.get_by_role("heading", name="Webhook registrado")).to_be_visible()
    expect(page.get_by_text("El secreto", exact=True)).to_have_count(0)
    assert entity.api("GET", f"{BASE}/{hooks(entity)[0]['id']}").json()["tieneSecreto"] is False


def test_a_secret_that_no_library_verifies_is_told_before_it_is_registered(browser, entity, expect):
    page = at(browser, entity, NEW, HEADING)
    secret, warning = page.get_by_label("Secreto nuevo"), page.get_by_text("no puede verificarse con las bibliotecas de Standard Webhooks")
    good = secret.input_value()
    for typed, wrong in ((good + " ", 1), ("v1," + good, 1), (good[:-1] + "_", 1), (good + "a", 1), ("whsec_", 1), (good + "==", 1), (good, 0),
                         (good[:-2], 0), (good[:-1] + "=", 0), ("una frase", 0)):
        secret.fill(typed)
        expect(warning).to_have_count(wrong)
    secret.fill(good + " ")
    assert_no_barriers(page)
    page.get_by_role("button", name="Generar otro").click()
    expect(warning).to_have_count(0)


@pytest.mark.parametrize("typed, told", [
    ("", "No puede estar vacía"), ("http://hola.ejemplo.es/x", "Debe empezar por https://"), ("https://10.0.0.1/x", "dirección local, privada o reservada"),
    ("https://hola.ejemplo.es/<b>ñ</b>", "ASCII"), ("https://hola.ejemplo.es/" + "x" * 2000, "2000 caracteres")])
def test_what_the_api_says_of_the_address_is_at_its_field(browser, entity, expect, typed, told):
    page = at(browser, entity, NEW, HEADING)
    page.get_by_label(STORED).check()
    page.get_by_label(URL).fill(typed)
    press(page)
    field = page.get_by_label(URL)
    expect(field).to_have_accessible_description(re.compile(re.escape(told)))
    expect(field).to_be_focused()
    expect(field).to_have_value(typed)
    assert_no_barriers(page)


def test_no_event_and_a_secret_that_is_too_long(browser, entity, expect):
    page = at(browser, entity, NEW, HEADING)
    fill(page, entity)
    page.get_by_role("button", name="Desmarcar todo").click()
    press(page)
    first = page.get_by_label("Evaluación abierta")
    expect(first).to_be_focused()
    expect(first).to_have_accessible_description(re.compile("Indique al menos un evento"))
    assert_no_barriers(page)
    page.get_by_role("button", name="Marcar todo", exact=True).click()
    page.get_by_label("Secreto nuevo").fill("ñ" * 513)
    press(page)
    expect(page.get_by_label("Secreto nuevo")).to_have_accessible_description(re.compile("512 caracteres"))
    expect(first).not_to_have_accessible_description(re.compile("Indique"))


def test_five_are_all_there_can_be(browser, entity, expect):
    registered = [entity.register() for _ in range(5)]
    page = at(browser, entity, NEW, HEADING)
    expect(shown(page).get_by_text("ya tiene 5 webhooks")).to_be_visible()
    expect(page.get_by_role("button", name="Registrar")).to_have_count(0)
    for one in registered:
        expect(page.get_by_role("link", name=one.path[1:])).to_be_visible()
    assert_no_barriers(page)


def test_the_fifth_came_while_this_was_typed(browser, entity, expect):
    page = at(browser, entity, NEW, HEADING)
    fill(page, entity)
    for _ in range(5):
        entity.register()
    press(page)
    expect(page.get_by_role("alert")).to_contain_text("Máximo 5 webhooks")
    expect(page.get_by_label(URL)).to_have_value(address(entity))


@pytest.mark.parametrize("arrives", [True, False])
def test_an_answer_that_never_came_registers_once(browser, entity, expect, arrives):
    page = at(browser, entity, NEW, HEADING)
    fill(page, entity)
    sent = lose(page, "POST", "webhooks", arrives)
    press(page)
    expect(shown(page).get_by_text("No se sabe si llegó a registrarse")).to_be_visible()
    assert_no_barriers(page)
    page.get_by_role("button", name="Reintentar").click()
    expect(page.get_by_role("heading", name="Webhook registrado")).to_be_visible()
    assert len(hooks(entity)) == 1
    assert len({headers["idempotency-key"] for headers, _ in sent}) == 1 and sent[0][1] == sent[1][1]


def test_an_answer_that_never_came_registers_once_after_a_reload_too(browser, entity, expect):
    page = at(browser, entity, NEW, HEADING)
    fill(page, entity)
    sent = lose(page, "POST", "webhooks", arrives=True)
    press(page)
    expect(shown(page).get_by_text("No se sabe si llegó a registrarse")).to_be_visible()
    page.once("dialog", lambda question: question.accept())  # the browser's own, before a changed form is left
    page.reload()
    enter(page, entity.token)
    arrived(page, HEADING)
    expect(page.get_by_label(URL)).to_have_value(address(entity))
    page.get_by_label(STORED).check()
    press(page)  # with another secret
    expect(page.get_by_role("alert")).to_contain_text("El registro anterior sí se hizo")
    assert len(hooks(entity)) == 1 and len({headers["idempotency-key"] for headers, _ in sent}) == 1


def test_what_was_typed_changed_after_an_answer_that_never_came(browser, entity, expect):
    page = at(browser, entity, NEW, HEADING)
    fill(page, entity)
    lose(page, "POST", "webhooks", arrives=True)
    press(page)
    expect(page.get_by_role("alert")).to_contain_text("Sin conexión")
    page.get_by_label(URL).fill(address(entity, "otra"))
    press(page)
    expect(page.get_by_role("alert")).to_contain_text("El registro anterior sí se hizo")
    assert_no_barriers(page)
    assert [one["url"] for one in hooks(entity)] == [address(entity)]
    page.get_by_role("button", name="Registrar también este").click()
    press(page)
    expect(page.get_by_role("heading", name="Webhook registrado")).to_be_visible()
    assert [one["url"] for one in hooks(entity)] == [address(entity), address(entity, "otra")]


def test_an_address_that_the_operator_disabled(browser, entity, stack, expect):
    hook = entity.register()
    stack.dev("admin", "webhook", "disable", hook.id)
    page = at(browser, entity, NEW, HEADING)
    page.get_by_label(URL).fill(hook.url)
    page.get_by_label(STORED).check()
    press(page)
    expect(shown(page).get_by_text("Está registrado, pero inactivo")).to_be_visible()
    expect(page.locator("main").get_by_role("link", name="Probar")).to_have_count(0)
    assert_no_barriers(page)


def test_the_wait_of_too_many_registrations_is_counted_down(browser, entity, expect):
    page = at(browser, entity, NEW, HEADING)
    page.clock.install()
    fill(page, entity)
    answer(page, "POST", "webhooks", 429, {"message": "La entidad ha registrado demasiados webhooks"}, {"Retry-After": "90"}, times=1)
    press(page)
    again = page.get_by_role("button", name="Reintentar")
    expect(page.get_by_role("alert")).to_contain_text("demasiados webhooks")
    expect(again).to_have_attribute("aria-disabled", "true")
    page.clock.fast_forward(91_000)
    expect(shown(page).get_by_text("Ya se puede reintentar")).to_be_visible()
    again.click()
    expect(page.get_by_role("heading", name="Webhook registrado")).to_be_visible()


@pytest.mark.parametrize("status, told", [(403, "No está permitido"), (500, "Error del servicio"), (503, "No se sabe si llegó a registrarse")])
def test_the_service_refuses(browser, entity, expect, status, told):
    page = at(browser, entity, NEW, HEADING)
    fill(page, entity)
    answer(page, "POST", "webhooks", status)
    press(page)
    expect(page.locator("main").get_by_text(told)).to_be_visible()
    expect(page.get_by_label(URL)).to_have_value(address(entity))
    assert_no_barriers(page)


def test_another_token_in_the_midst_of_it(browser, entity, expect):
    page = at(browser, entity, NEW, HEADING)
    secret = fill(page, entity)
    answer(page, "POST", "webhooks", 401, {"message": "El token de acceso no es válido, ha caducado o ha sido revocado"}, times=1)
    press(page)
    question = page.get_by_role("dialog")
    expect(question).to_contain_text("ha sido revocado")
    question.get_by_label("Token de acceso").fill(entity.issue_token())
    question.get_by_role("button", name="Seguir").click()
    expect(page.get_by_role("heading", name="Webhook registrado")).to_be_visible()
    expect(page.get_by_text(secret)).to_be_visible()
    assert len(hooks(entity)) == 1


def test_copying(browser, entity, expect):
    page = at(browser, entity, NEW, HEADING, permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copiar el secreto").click()
    expect(page.get_by_role("button", name="Copiado")).to_be_visible()
