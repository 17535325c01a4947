"""What is typed into a form and not sent: the question before it is left, Back, a reload, and the session that ends by itself."""
import json
import re

import pytest

from support.actors import BASE
from support.browser import assert_no_barriers, assert_no_sideways_scrolling, picture, tab_to
from support.portal import PORTAL, answer, enter
from support.portal_changes import arrived, at, hide, said
from support.stack import EVENTS
from support.wait import wait_until

URL = "Dirección que recibe los avisos"
TYPED = "https://ejemplo.es/nueva"
KEPT = "Aquí está lo que dejó escrito, salvo los secretos."


def edit(browser, entity, hook, **how):
    return at(browser, entity, f"#/webhooks/{hook.id}/editar", "Editar el webhook", **how)


def reload(page, token: str, heading: str) -> None:
    page.once("dialog", lambda question: question.accept())  # the browser's own, before a changed form is left
    page.reload()
    enter(page, token)
    arrived(page, heading)


def test_a_changed_form_asks_before_it_is_left_and_back_returns_to_it(browser, entity, expect):
    hook = entity.register()
    page = edit(browser, entity, hook, width=320)
    page.get_by_role("link", name="Cancelar").click()  # nothing has been typed
    arrived(page, "Webhook")
    page.get_by_role("link", name="Editar").click()
    arrived(page, "Editar el webhook")
    page.get_by_label(URL).fill(TYPED)
    page.get_by_label("Evaluación cerrada").uncheck()
    tab_to(page, "Cancelar")
    page.keyboard.press("Enter")
    question = page.get_by_role("dialog", name="¿Salir sin enviar lo que ha escrito?")
    expect(question).to_be_visible()
    assert_no_barriers(page)
    assert_no_sideways_scrolling(page)
    picture(page, "salir-sin-enviar")
    page.keyboard.press("Escape")
    expect(page.get_by_role("link", name="Cancelar")).to_be_focused()
    expect(page.get_by_label(URL)).to_have_value(TYPED)
    page.get_by_role("button", name="Salir").click()  # the session's end asks, too
    expect(question).to_contain_text("Se olvida lo de esta pantalla; en un equipo compartido, cierre la pestaña.")
    question.get_by_role("button", name="Seguir aquí").click()
    page.get_by_role("link", name="Entregas", exact=True).click()
    question.get_by_role("button", name="Salir").click()
    arrived(page, "Entregas")
    page.go_back()
    arrived(page, "Editar el webhook")
    expect(page.get_by_label(URL)).to_have_value(TYPED)
    expect(page.get_by_label("Evaluación cerrada")).not_to_be_checked()
    expect(page.get_by_text(KEPT).first).to_be_visible()
    assert_no_barriers(page)
    reload(page, entity.token, "Editar el webhook")
    expect(page.get_by_label(URL)).to_have_value(TYPED)
    page.get_by_role("button", name="Guardar", exact=True).click()
    expect(page.locator("#hecho")).to_contain_text("Cambios guardados")
    now = entity.api("GET", f"{BASE}/{hook.id}").json()
    assert now["url"] == TYPED and now["eventos"] == [event for event in EVENTS if event != "evaluacion.cerrada"]
    page.go_back()
    arrived(page, "Editar el webhook")
    expect(page.get_by_text(KEPT)).to_have_count(0)  # it was sent
    page.get_by_role("link", name="Cancelar").click()
    arrived(page, "Webhook")


def test_the_question_while_it_is_sent_closes_once_it_was_sent(browser, entity, expect):
    hook = entity.register()
    page = edit(browser, entity, hook)
    page.get_by_label(URL).fill(TYPED)
    held = []
    page.route(f"**{BASE}/{hook.id}", lambda route: held.append(route) if route.request.method == "PATCH" else route.fallback())
    page.get_by_role("button", name="Guardar", exact=True).click()
    page.get_by_role("link", name="Cancelar").click()
    expect(page.get_by_role("dialog", name="¿Salir mientras se envía?")).to_contain_text("Se está enviando: no se sabrá si llegó.")
    assert_no_barriers(page)
    wait_until(lambda: page.wait_for_timeout(20) or held, what="the request")
    held[0].continue_()
    expect(page.locator("#hecho")).to_contain_text("Cambios guardados")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_secrets_are_not_kept_nor_shown_to_another_entity(browser, entity, new_entity, expect):
    page = at(browser, entity, "#/webhooks/nuevo", "Registrar un webhook")
    page.get_by_label("Dirección que recibirá los avisos").fill(TYPED)
    page.get_by_label("Nombre (opcional)").fill("Producción")
    page.get_by_label("No, sin firmar").check()
    page.get_by_label("Sí, con un secreto").check()
    page.get_by_label("Secreto nuevo").fill("un secreto que solo está aquí")
    page.get_by_label("He guardado el secreto").check()
    page.get_by_role("button", name="Desmarcar todo").click()
    page.once("dialog", lambda question: question.accept())
    page.reload()
    kept = json.dumps(page.evaluate("history.state"))
    assert TYPED in kept and "un secreto" not in kept and entity.token not in kept
    assert page.evaluate("[localStorage.length, sessionStorage.length, document.cookie]") == [0, 0, ""]
    enter(page, new_entity().token)
    arrived(page, "Registrar un webhook")
    expect(page.get_by_label("Dirección que recibirá los avisos")).to_have_value("")
    reload(page, entity.token, "Registrar un webhook")
    expect(page.get_by_label("Dirección que recibirá los avisos")).to_have_value(TYPED)
    expect(page.get_by_label("Nombre (opcional)")).to_have_value("Producción")
    expect(page.get_by_label("Incidencia cerrada")).not_to_be_checked()
    expect(page.get_by_label("Secreto nuevo")).to_have_value(re.compile("^whsec_"))
    expect(page.get_by_label("He guardado el secreto")).not_to_be_checked()
    expect(said(page)).to_have_text(KEPT)


def test_every_form_keeps_what_was_typed(browser, entity, expect):
    hook, other = entity.register(), entity.register()
    page = at(browser, entity, f"#/webhooks/{hook.id}/reenvios", "Reenviar muchas")
    page.get_by_text("Más opciones").click()
    page.get_by_label("Hasta").fill("2026-11-20T11:00")
    page.get_by_label("También las entregadas").check()
    reload(page, entity.token, "Reenviar muchas")
    expect(page.get_by_label("Hasta")).to_have_value("2026-11-20T11:00")
    expect(page.get_by_label("Hasta")).to_be_visible()
    expect(page.get_by_label("También las entregadas")).to_be_checked()
    page.evaluate("location.hash = '#/probar'")
    arrived(page, "Probar")
    page.get_by_label("A quién").select_option(str(other.id))
    page.get_by_label("Datos (opcional)").fill('{"a": 1}')
    reload(page, entity.token, "Probar")
    expect(page.get_by_label("Datos (opcional)")).to_have_value('{"a": 1}')
    expect(page.locator(".receivers")).to_contain_text(other.path)
    page.get_by_role("button", name="Enviar la prueba").click()
    page.get_by_role("link", name="Ver la entrega entera").wait_for()
    page.get_by_role("link", name="Resumen").click()  # what was sent is not asked about
    arrived(page, "Resumen")
    page.evaluate(f"location.hash = '#/webhooks/{hook.id}/secreto'")
    arrived(page, "Secreto")
    page.get_by_label("¿Cuánto tiempo seguirá").select_option("3600")
    reload(page, entity.token, "Secreto")
    expect(page.get_by_label("¿Cuánto tiempo seguirá")).to_have_value("3600")


def test_what_another_person_changed_in_between_is_told(browser, entity, expect):
    hook = entity.register()
    page = edit(browser, entity, hook)
    page.get_by_label(URL).fill(TYPED)
    page.get_by_label("Nombre (opcional)").fill("Mío")
    assert entity.api("PATCH", f"{BASE}/{hook.id}", json_body={"url": "https://ejemplo.es/suya", "eventos": EVENTS[:2]}).status == 200
    reload(page, entity.token, "Editar el webhook")
    expect(page.locator("form .notice")).to_contain_text(f"{URL}: ahora, https://ejemplo.es/suya")
    expect(page.locator("form .notice")).to_contain_text("al pulsar «Guardar» se pondrá lo que usted escribió")
    expect(page.locator("form .notice")).not_to_contain_text("Nombre")
    expect(page.get_by_label(URL)).to_have_value(TYPED)
    expect(page.get_by_label("Incidencia cerrada")).not_to_be_checked()
    assert_no_barriers(page)


def test_a_choice_that_is_gone_is_made_again(browser, entity, expect):
    """The test that was meant for one webhook must not go to all the others."""
    entity.register()
    gone = entity.register()
    page = at(browser, entity, "#/probar", "Probar")
    page.get_by_label("A quién").select_option(str(gone.id))
    page.get_by_label("Datos (opcional)").fill('{"a": 1}')
    assert entity.api("DELETE", f"{BASE}/{gone.id}").status == 200
    reload(page, entity.token, "Probar")
    expect(page.locator("form .notice")).to_contain_text("A quién: lo que eligió ya no puede elegirse")
    expect(page.get_by_label("A quién")).to_have_value("elegir")
    assert_no_barriers(page)
    page.get_by_role("button", name="Enviar la prueba").click()
    expect(page.get_by_label("A quién")).to_have_accessible_description(re.compile("Elija a quién"))


def test_without_the_entitys_id_no_draft_is_shown(browser, entity, expect):
    """An older API does not tell it: what was typed may be another entity's."""
    hook = entity.register()
    page = browser.page(f"{PORTAL}#/webhooks/{hook.id}/editar")
    answer(page, "GET", "entidad", 200, {"nombre": "Sin número", "token": {"soloLectura": False}})
    page.evaluate(f"history.replaceState({{ escrito: {json.dumps({URL: ['', TYPED]})} }}, '')")
    enter(page, entity.token)
    arrived(page, "Editar el webhook")
    expect(page.get_by_label(URL)).to_have_value(hook.url)


def idle(browser, entity, hook):
    page = browser.page()
    page.clock.install()
    page.goto(f"{PORTAL}#/webhooks/{hook.id}/editar")
    enter(page, entity.token)
    arrived(page, "Editar el webhook")
    page.get_by_label(URL).fill(TYPED)
    return page


def test_an_idle_session_ends_with_a_warning_and_the_form_survives(browser, entity, expect):
    page = idle(browser, entity, entity.register())
    question = page.get_by_role("dialog", name="¿Sigue ahí?")
    page.clock.fast_forward("27:00")
    expect(question).to_have_count(0)
    page.evaluate("document.querySelector('h1').click()")  # by the page itself: no use
    page.clock.fast_forward("01:30")
    expect(question).to_contain_text(re.compile(r"se cerrará a las \d\d:\d\d"))
    assert_no_barriers(page)
    picture(page, "sigue-ahi")
    page.keyboard.press("Enter")
    expect(page.locator("dialog")).to_have_count(0)  # its role is gone before its event has been handled
    expect(page.get_by_label(URL)).to_be_focused()
    page.clock.fast_forward("27:00")
    page.keyboard.insert_text("x")  # voice control sends no key
    page.clock.fast_forward("27:00")
    expect(question).to_have_count(0)
    page.evaluate("(() => { const real = Date.now; Date.now = () => real() - 3600_000; })()")  # the clock is set back
    page.clock.fast_forward("00:20")
    page.clock.fast_forward("28:30")
    expect(question).to_be_visible()
    page.keyboard.press("Tab")  # is meant for another thing, and ends no warning
    page.clock.fast_forward("02:00")
    expect(page.get_by_role("alert")).to_contain_text("llevaba media hora sin uso")
    expect(question).to_have_count(0)
    expect(page.get_by_role("heading", name="Entrar")).to_be_focused()
    assert_no_barriers(page)
    enter(page, entity.token)
    expect(page.get_by_label(URL)).to_have_value(re.compile("nueva"))
    page.get_by_role("button", name="Salir").click()
    page.get_by_role("dialog").get_by_role("button", name="Salir").click()
    expect(page.get_by_role("heading", name="Entrar")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)


def test_what_the_page_does_by_itself_is_no_activity(browser, entity, expect):
    entity.register()
    page = browser.page()
    page.clock.install()
    page.goto(PORTAL)
    enter(page, entity.token)
    arrived(page, "Resumen")
    answer(page, "GET", "webhooks", 401)  # the question for another token must not outlive the session
    for _ in range(4):
        page.clock.fast_forward("07:30")
    expect(page.get_by_text("llevaba media hora sin uso")).to_be_visible()
    expect(page.get_by_role("dialog")).to_have_count(0)


@pytest.mark.parametrize("wakes", ["shown", "key"])
def test_a_computer_that_slept_shows_nothing_more(browser, entity, expect, wakes):
    """No timer has run: the clock alone has moved on."""
    page = edit(browser, entity, entity.register())
    page.get_by_label(URL).focus()
    page.evaluate("(() => { const real = Date.now; Date.now = () => real() + 31 * 60_000; })()")
    hide(page, False) if wakes == "shown" else page.keyboard.press("a")
    assert page.get_by_role("heading", name="Entrar").is_visible()
    assert page.get_by_label(URL).count() == 0
