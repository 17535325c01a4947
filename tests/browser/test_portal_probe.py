"""The portal's page «Probar» sends a test event, and shows its arrival without a reload."""
import re

import pytest

from fakes.receiver import Behaviour
from support.actors import BASE
from support.browser import assert_no_barriers, assert_no_sideways_scrolling, picture, tab_to
from support.portal import answer, called
from support.portal_changes import HOSTILE, HOSTILE_SHOWN, arrived, at, hide, lose, said, settle, shown
from support.stack import EVENTS, setting
from support.wait import wait_until


def screen(browser, entity, query="", **how):
    return at(browser, entity, f"#/probar{query}", "Probar", **how)


def send(page):
    page.get_by_role("button", name="Enviar la prueba").click()


def test_the_arrival_of_a_test_event_is_shown(browser, entity, receiver, expect):
    hook, other = entity.register(EVENTS[2:4]), entity.register(EVENTS[:2])
    page = screen(browser, entity, f"?webhook={hook.id}")
    expect(page.get_by_label("Aviso de prueba")).to_have_value(EVENTS[2])
    assert_no_barriers(page)
    picture(page, "probar")
    receiver.behave(hook.path, Behaviour(hold=True))
    send(page)
    card = page.locator(".arrival")
    expect(card).to_contain_text(hook.path[1:])
    receiver.wait(hook.path)
    receiver.release(hook.path)
    expect(card).to_contain_text("Llegó: respondió 200 en")
    expect(said(page)).to_contain_text("Llegó: respondió 200 en")
    assert_no_barriers(page)
    picture(page, "probar-llego")
    assert not receiver.requests(other.path)
    assert receiver.requests(hook.path)[0].json()["data"]["test"] is True


def test_what_has_ended_before_the_first_look_is_announced(browser, entity, stack, receiver, expect):
    hook = entity.register()
    page = screen(browser, entity)
    ended = f"SELECT COUNT(*) FROM entregas WHERE webhook_id = {hook.id} AND estado = 'entregada'"

    def look_late(route):
        wait_until(lambda: stack.value(ended) == "1", 20, "the delivery")
        route.continue_()
    page.route("**/entregas?*", look_late)
    send(page)
    expect(said(page)).to_contain_text("Llegó: respondió")


def test_in_a_system_for_tests_nothing_arrives(browser, entity, stack, receiver, expect):
    hook = entity.register()
    page = screen(browser, entity)
    with stack.dispatcher_with(**setting(delivery_sandbox="none")):
        send(page)
        expect(page.locator(".arrival")).to_contain_text("Entorno de pruebas: no se ha enviado.")
        expect(said(page)).to_contain_text("Entorno de pruebas: no se ha enviado.")
        expect(page.locator(".arrival")).not_to_contain_text("Llegó")
    assert not receiver.requests(hook.path)


def test_by_keyboard_alone_to_two_at_once(browser, entity, receiver, expect):
    good, bad = entity.register(), entity.register()
    receiver.behave(bad.path, Behaviour(status=500))
    page = screen(browser, entity)
    tab_to(page, "Aviso de prueba")
    page.keyboard.press("End")
    tab_to(page, "Enviar la prueba")
    page.keyboard.press("Enter")
    expect(page.locator(".arrival").filter(has_text=good.path[1:])).to_contain_text("Llegó: respondió 200")
    failed = page.locator(".arrival").filter(has_text=bad.path[1:])
    expect(failed).to_contain_text("El receptor respondió 500")
    expect(failed.get_by_role("link", name="Diagnosticar")).to_be_visible()
    assert_no_barriers(page)
    failed.get_by_role("link", name="Ver la entrega").click()
    page.get_by_text("Qué hay que arreglar").wait_for()
    assert receiver.requests(good.path)[0].headers["x-webhook-event"] == EVENTS[-1]


def test_the_first_is_not_shown_as_the_second(browser, entity, expect):
    """When the page asks for the delivery of the second test event, there is none yet."""
    hook = entity.register()
    page = screen(browser, entity)
    page.clock.install()
    answer(page, "POST", "webhooks/test", 200, {"message": "x", "webhooks": [{"id": hook.id, "url": hook.url}]})
    one = delivery(estado="entregada", entregada="2026-11-20T10:00:00.000Z", intentos=1, ultimoEstado=200)
    answer(page, "GET", f"webhooks/{hook.id}/entregas?*", 200, {"entregas": [one], "siguiente": None})
    for id, status in ((7, 200), (8, 204)):
        answer(page, "GET", f"webhooks/{hook.id}/entregas/{id}", 200, one | {"id": id, "ultimoEstado": status, "historial": []})
    send(page)
    expect(page.locator(".arrival")).to_contain_text("Llegó: respondió 200")
    with page.expect_response("**/entregas?*"):
        send(page)
    settle(page)
    expect(page.locator(".arrival")).to_contain_text("En la cola")
    answer(page, "GET", f"webhooks/{hook.id}/entregas?*", 200, {"entregas": [one | {"id": 8}, one], "siguiente": None})
    page.clock.fast_forward(10_000)
    expect(page.locator(".arrival")).to_contain_text("Llegó: respondió 204")


def test_one_that_is_not_active_is_not_replaced_by_all(browser, entity, receiver, expect):
    paused, hook = entity.register(), entity.register()
    assert entity.api("PATCH", f"{BASE}/{paused.id}", json_body={"activo": False}).status == 200
    page = screen(browser, entity, f"?webhook={paused.id}")
    expect(page.get_by_text(f"{called(paused)} no está activo")).to_be_visible()
    send(page)
    to = page.get_by_label("A quién")
    expect(to).to_have_accessible_description(re.compile("Elija a quién se envía"))
    expect(to).to_be_focused()
    assert_no_barriers(page)
    to.select_option(label=called(hook))
    send(page)
    expect(page.locator(".arrival")).to_contain_text("Llegó: respondió 200")
    assert len(receiver.requests(hook.path)) == 1


def test_to_one_webhook_with_data_of_ones_own(browser, entity, receiver, expect):
    hook, other = entity.register(EVENTS[:1]), entity.register()
    page = screen(browser, entity)
    page.get_by_label("A quién").select_option(label=called(hook))
    page.get_by_label("Aviso de prueba").select_option(EVENTS[-1])
    data = page.get_by_label("Datos (opcional)")
    data.fill("[1]")
    send(page)
    expect(data).to_have_accessible_description(re.compile("no es un objeto JSON"))
    expect(data).to_be_focused()
    page.get_by_text("como ejemplo").click()
    assert_no_barriers(page)
    picture(page, "probar-con-datos")
    page.get_by_role("button", name="Usarlos en la prueba").click()
    data.fill(data.input_value().replace("{", '{"largo": 9223372036854775807,', 1))
    send(page)
    expect(page.locator(".arrival")).to_contain_text("Llegó: respondió 200")
    sent, = receiver.requests(hook.path)
    assert sent.headers["x-webhook-event"] == EVENTS[-1] and sent.json()["data"]["datos"]["largo"] == 9223372036854775807
    assert not receiver.requests(other.path)


@pytest.mark.parametrize("how", [dict(width=320, text=2), dict(dark=True)])
def test_the_screen_fits_and_has_no_barriers(browser, entity, how):
    entity.register()
    page = screen(browser, entity, **how)
    assert_no_sideways_scrolling(page)
    assert_no_barriers(page)
    picture(page, "probar-" + "-".join(map(str, how)))


def test_no_receiver_to_send_it_to(browser, entity, expect):
    page = screen(browser, entity)
    expect(shown(page).get_by_text("Todavía no hay ningún webhook")).to_be_visible()
    assert_no_barriers(page)
    page.get_by_role("link", name="Registrar un webhook").click()
    arrived(page, "Registrar un webhook")
    hook = entity.register()
    assert entity.api("PATCH", f"{BASE}/{hook.id}", json_body={"activo": False}).status == 200
    page.get_by_role("link", name="Probar", exact=True).click()
    expect(shown(page).get_by_text("Ningún webhook está activo")).to_be_visible()
    expect(page.get_by_role("button", name="Enviar la prueba")).to_have_count(0)


def test_the_last_one_was_deleted(browser, entity, expect):
    hook = entity.register()
    page = screen(browser, entity)
    entity.api("DELETE", f"{BASE}/{hook.id}")
    send(page)
    expect(page.get_by_role("alert")).to_contain_text("Ningún webhook activo está suscrito al evento")


def test_too_many_and_an_answer_that_never_came(browser, entity, receiver, expect):
    hook = entity.register()
    page = screen(browser, entity)
    answer(page, "POST", "webhooks/test", 429, {"message": "La entidad tendría más de 50 envíos de prueba pendientes"}, {"Retry-After": "60"}, times=1)
    send(page)
    expect(page.get_by_role("alert")).to_contain_text("más de 50 envíos de prueba pendientes")
    expect(page.get_by_role("button", name="Reintentar")).to_have_attribute("aria-disabled", "true")
    lose(page, "POST", "webhooks/test", arrives=False)
    send(page)
    expect(shown(page).get_by_text("No se sabe si llegó a enviarse")).to_be_visible()
    send(page)
    expect(page.locator(".arrival")).to_contain_text("Llegó")
    assert len(receiver.requests(hook.path)) == 1


def delivery(**members):
    return {"id": 7, "mensaje": "msg_1_7", "evento": EVENTS[0], "prueba": True, "estado": "pendiente", "intentos": 0, "creada": "2026-11-20T10:00:00.000Z", "entregada": None,
            "terminada": None, "proximoIntento": None, "ultimoEstado": None, "ultimoError": ""} | members


def test_text_of_others_and_a_service_that_goes_away(browser, entity, expect):
    hook = entity.register()
    page = screen(browser, entity, width=320)
    failing = delivery(estado="fallida", intentos=3, ultimoError=HOSTILE, cuerpo="{}", sha256Cuerpo=None, historial=[])
    answer(page, "POST", "webhooks/test", 200, {"message": "x", "webhooks": [{"id": hook.id, "url": "https://a.es/" + HOSTILE}]})
    answer(page, "GET", f"webhooks/{hook.id}/entregas?*", 200, {"entregas": [failing], "siguiente": None})
    answer(page, "GET", f"webhooks/{hook.id}/entregas/7", 200, failing)
    answer(page, "GET", f"webhooks/{hook.id}/entregas?*", 503, times=1)
    page.clock.install()
    send(page)
    card = page.locator(".arrival")
    expect(card).to_contain_text("No se puede consultar ahora")
    page.clock.fast_forward(10_000)
    expect(card).to_contain_text("No llegó: " + HOSTILE_SHOWN)
    assert page.locator("main img, main b").count() == 0
    assert_no_sideways_scrolling(page)
    assert_no_barriers(page)


def test_nothing_is_asked_once_it_has_been_left(browser, entity, expect):
    hook = entity.register()
    page = screen(browser, entity)
    answer(page, "GET", f"webhooks/{hook.id}/entregas?*", 200, {"entregas": [], "siguiente": None})
    answer(page, "POST", "webhooks/test", 200, {"message": "x", "webhooks": [{"id": hook.id, "url": hook.url}]})
    page.clock.install()
    with page.expect_response("**/entregas?*"):
        send(page)
    hide(page, True)
    asked = []
    page.on("request", lambda request: "/entregas?" in request.url and asked.append(request.url))
    page.clock.fast_forward(600_000)
    settle(page)
    assert not asked
    with page.expect_response("**/entregas?*"):
        hide(page, False)
    page.get_by_role("link", name="Registrar").or_(page.get_by_role("link", name="Resumen")).first.click()
    arrived(page, "Resumen")
    page.wait_for_load_state("networkidle")
    asked.clear()
    page.clock.fast_forward(30_000)
    settle(page)
    assert not [url for url in asked if "evento=" in url]
