"""The portal's screen "Resumen": how each webhook is, what to correct, what waits, and what has not been set up yet."""
import datetime
import re

import pytest

from fakes.receiver import Behaviour
from support.actors import BASE
from support.browser import assert_no_barriers, assert_no_sideways_scrolling, picture, tab_to
from support.portal import PORTAL, answer, enter, open_portal
from support.wait import wait_until

LONG = "/" + "ruta-larga-" * 150


def card(page, webhook):
    return page.get_by_role("listitem").filter(has_text=webhook.url)


def details(page, webhook):
    """Opens the figures and the table of the webhook."""
    card(page, webhook).get_by_role("button", name="Detalles").click()


@pytest.fixture
def life(stack, entity, receiver):
    """Three webhooks of one entity: one works, one fails, one is paused."""
    good, bad, off = entity.register(), entity.register(), entity.register()
    receiver.behave(bad.path, Behaviour(status=503))
    entity.notify()
    entity.notify("documento.disponible")
    wait_until(lambda: stack.count_deliveries(good.id, "entregada") == 2 and stack.count_deliveries(bad.id, "fallida") == 2, 30, "two delivered, two failed")
    assert entity.api("PATCH", f"{BASE}/{off.id}", json_body={"activo": False}).status == 200
    entity.notify("evaluacion.cerrada")
    wait_until(lambda: stack.count_deliveries(off.id, "retenida") == 1 and stack.count_deliveries(bad.id, "fallida") == 3, what="one held, a third failed")
    return good, bad, off


def test_how_each_webhook_is(browser, life, entity, expect):
    good, bad, off = life
    page = open_portal(browser, entity.token)
    expect(page.get_by_text("1 webhook necesita atención, 1 webhook está en pausa y 3 entregas han fallado en los últimos 7 días.")).to_be_visible()
    expect(card(page, good)).to_contain_text(re.compile(r"Funciona\.\s+El último envío, (hoy|ayer) a las? .*, se recibió bien"))
    expect(card(page, bad)).to_contain_text(re.compile(r"Falla desde (hoy|ayer) a las? \d\d:\d\d: el receptor no está disponible \(503\)"))
    expect(card(page, bad)).to_contain_text("Qué hacer: Es un error de su servidor")
    expect(card(page, off)).to_contain_text(re.compile(r"En pausa desde el \d+ \w+ 20\d\d, \d\d:\d\d, por decisión de su entidad"))
    expect(card(page, off)).to_contain_text("1 retenida")
    expect(card(page, bad).get_by_role("link", name="Ver 3 fallidas")).to_have_attribute("href", f"#/entregas?webhook={bad.id}&estado=fallida")
    expect(card(page, bad).get_by_role("link", name="Diagnosticar")).to_have_attribute("href", f"#/webhooks/{bad.id}/diagnostico")
    expect(card(page, good).get_by_role("link", name="Entregas")).to_have_attribute("href", f"#/entregas?webhook={good.id}")
    assert page.get_by_role("listitem").filter(has=page.get_by_role("heading")).first.inner_text().find(bad.url) >= 0  # the failing webhook comes first
    assert_no_barriers(page)
    assert_no_sideways_scrolling(page)
    picture(page, "resumen")


def test_what_was_not_counted_is_not_said_to_be_none(browser, entity, expect):
    """The webhook has more deliveries than the API counts."""
    hook = entity.register()
    page = browser.page(PORTAL)
    shown = entity.api("GET", f"{BASE}/{hook.id}").json()
    answer(page, "GET", f"webhooks/{hook.id}", 200, shown | {"ultimaEjecucion": "2026-11-20T10:00:00.000Z"})
    counts = {"ventana": "7d", "entregadas": 2000, "fallidas": 0, "pendientes": 0, "retenidas": 0, "intentosFallidos": 0, "p50Ms": 3, "p95Ms": 9, "exacto": False}
    answer(page, "GET", f"webhooks/{hook.id}/estadisticas?*", 200, counts)
    enter(page, entity.token)
    details(page, hook)
    figures = page.locator(".figures dd")
    expect(figures).to_have_text(["al menos 2.000", "ninguna de las 2.000 más recientes", "ninguna de las 2.000 más recientes", "3 ms"])
    answer(page, "GET", f"webhooks/{hook.id}/estadisticas?*", 200, counts | {"fallidas": 3, "pendientes": 2})
    page.get_by_role("button", name="Actualizar").click()
    expect(figures).to_have_text(["al menos 2.000", "al menos 3", "al menos 2 en espera", "3 ms"])
    expect(page.get_by_text("Al menos 3 entregas han fallado en los últimos 7 días.")).to_be_visible()
    expect(page.get_by_role("link", name="Ver al menos 3 fallidas")).to_be_visible()


def test_hours_of_which_only_tests_were_read_are_not_said_to_have_nothing(browser, entity, expect):
    """All deliveries that the chart reads are of test events, and there are older ones that it does not read."""
    hook = entity.register()
    page = browser.page(PORTAL)
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    test = {"id": 7, "mensaje": "msg_1_7", "evento": "evaluacion.abierta", "prueba": True, "estado": "entregada", "intentos": 1, "creada": now, "entregada": now,
            "terminada": now, "proximoIntento": None, "ultimoEstado": 200, "ultimoError": ""}
    answer(page, "GET", f"webhooks/{hook.id}/entregas?*", 200, {"entregas": [test] * 100, "siguiente": "x"})
    enter(page, entity.token)
    details(page, hook)
    expect(page.locator(".legend")).to_contain_text("Sin contar (raya)")
    table = card(page, hook).get_by_role("table")
    uncounted = table.get_by_role("row").filter(has_text="sin contar")
    expect(uncounted.nth(21)).to_be_visible()
    assert uncounted.count() in (22, 23), "all hours before that of the events; 22 if an hour of the clock has ended since"


def test_what_waits_is_counted_for_seven_days_and_says_so(browser, entity, stack, expect):
    hook = entity.register()
    entity.api("PATCH", f"{BASE}/{hook.id}", json_body={"activo": False})
    delivery = stack.delivery_id(entity.notify(), hook.id)
    stack.wait_delivery(delivery, "retenida")
    stack.sql(f"UPDATE entregas SET creada_en = creada_en - INTERVAL 8 DAY WHERE id = {delivery}")
    page = open_portal(browser, entity.token)
    details(page, hook)
    expect(card(page, hook).locator(".figures div").nth(2)).to_have_text("Por enviar, de los últimos 7 díasninguna")


@pytest.mark.parametrize("how", [dict(width=320), dict(width=320, text=2, dark=True), dict(width=760, dark=True)])
def test_the_screen_fits_and_has_no_barriers(browser, life, entity, how, expect):
    page = open_portal(browser, entity.token, **how)
    expect(page.get_by_text("1 webhook necesita atención")).to_be_visible()
    details(page, life[1])
    assert_no_sideways_scrolling(page)
    assert_no_barriers(page)
    picture(page, "resumen-" + "-".join(f"{name}{value}" for name, value in how.items()))


def test_the_chart_is_also_a_table_by_keyboard(browser, life, entity, expect):
    good = life[0]
    page = open_portal(browser, entity.token)
    expect(card(page, good).get_by_role("img")).to_have_accessible_name(re.compile("Últimas 24 horas: [23] entregadas, 0 fallidas"))
    button = card(page, good).get_by_role("button", name="Detalles")
    button.focus()
    page.keyboard.press("Enter")
    table = card(page, good).get_by_role("table", name="Entregas de las últimas 24 horas")
    expect(table.get_by_role("columnheader")).to_have_text(["Desde las", "Entregadas", "Fallidas", "Por llegar"])
    expect(table.get_by_role("row").nth(1)).to_contain_text(re.compile(r"\d\d:00"))
    entity.notify()
    page.evaluate("document.querySelector('.cards').remembered = true")
    with page.expect_response("**/estadisticas?ventana=7d"):
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(page.locator(".cards")).not_to_have_js_property("remembered", True)  # the cards were drawn anew
    expect(table).to_be_visible()
    expect(button).to_be_focused()
    expect(button).to_have_attribute("aria-expanded", "true")


@pytest.fixture
def five(entity, receiver, stack):
    """Five webhooks with names and long addresses; the deliveries of two of them fail."""
    hooks = [entity.register() for _ in range(5)]
    for hook, name in zip(hooks, ("Producción", "Pruebas", "Archivo documental de la entidad", "漢" * 20, "Copia")):
        assert entity.api("PATCH", f"{BASE}/{hook.id}", json_body={"nombre": name, "url": hook.url + "/" + "ruta/" * 40}).status == 200
    for hook in hooks[:2]:
        receiver.behave(f"{hook.path}/" + "ruta/" * 40, Behaviour(status=503))
    entity.notify()
    wait_until(lambda: all(stack.count_deliveries(hook.id, "fallida" if hook in hooks[:2] else "entregada") == 1 for hook in hooks), 30, "two failed, three delivered")
    return hooks


def test_five_webhooks_are_in_view_on_a_notebook(browser, five, entity, expect):
    page = open_portal(browser, entity.token, height=720)
    expect(page.get_by_text("2 webhooks necesitan atención")).to_be_visible()
    bottom, height = page.evaluate("[document.querySelector('.cards').getBoundingClientRect().bottom, innerHeight]")
    assert bottom <= height, f"{bottom} px of {height}"
    assert_no_sideways_scrolling(page)
    assert_no_barriers(page)
    picture(page, "resumen-cinco", full=False)


def test_a_failed_request_spoils_its_card_only(browser, life, entity, expect):
    good, bad, off = life
    page = browser.page(PORTAL)
    answer(page, "GET", f"webhooks/{good.id}/estadisticas?*", 500)
    answer(page, "GET", f"webhooks/{off.id}", 503)
    enter(page, entity.token)
    expect(page.get_by_text("1 webhook necesita atención")).to_be_visible()
    expect(card(page, good)).to_contain_text(re.compile("Funciona.*No se han podido consultar sus cifras: Respuesta 500 de la prueba", re.S))
    expect(card(page, off)).to_contain_text(re.compile("No se sabe.*No se ha podido consultar: Respuesta 503 de la prueba", re.S))
    expect(card(page, bad).get_by_role("link", name="Ver 3 fallidas")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)
    assert_no_barriers(page)
    picture(page, "resumen-con-fallos")
    page.unroute_all()
    page.get_by_role("button", name="Actualizar").click()
    expect(card(page, off)).to_contain_text("En pausa")


def test_what_is_not_known_or_stands_still_is_not_said_to_work(browser, entity, expect):
    hooks = [entity.register() for _ in range(2)]
    page = browser.page(PORTAL)
    answer(page, "GET", "webhooks/*/estadisticas?*", 500)
    enter(page, entity.token)
    expect(page.get_by_text("2 webhooks no se han podido consultar")).to_be_visible()
    page.unroute_all()
    assert entity.api("PATCH", f"{BASE}/{hooks[0].id}", json_body={"activo": False}).status == 200
    seen = entity.api("GET", f"{BASE}/{hooks[1].id}").json()
    answer(page, "GET", f"webhooks/{hooks[1].id}", 200, seen | {"ultimaEjecucion": "2026-11-20T10:00:00.000Z", "ultimoError": "El receptor respondió 500: se espera un 2xx"})
    page.get_by_role("button", name="Actualizar").click()
    expect(page.get_by_text("1 webhook está en pausa y 1 webhook falló en su último envío.")).to_be_visible()
    expect(page.get_by_text("Todo funciona")).to_have_count(0)
    expect(page.locator(".legend")).to_contain_text("Entregadas (barra estrecha)")


def test_a_paused_webhook_is_reactivated_at_once(browser, life, entity, stack, expect):
    off = life[2]
    page = open_portal(browser, entity.token)
    expect(card(page, off)).to_contain_text("En pausa")
    expect(card(page, life[0]).get_by_role("button", name="Reactivar")).to_have_count(0)
    entity.api("PATCH", f"{BASE}/{off.id}", json_body={"nombre": "Cambiado"})
    tab_to(page, "Reactivar")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("Otra persona lo ha cambiado")
    assert entity.api("GET", f"{BASE}/{off.id}").json()["activo"] is False, "nothing is overwritten unseen"
    card(page, off).get_by_role("button", name="Reactivar").click()
    expect(page.locator("#hecho")).to_contain_text("Reactivado: Cambiado")
    wait_until(lambda: stack.count_deliveries(off.id, "entregada") == 3, what="what was held to be delivered")
    reader = open_portal(browser, entity.issue_token("--read-only"))
    expect(card(reader, off)).to_be_visible()
    expect(reader.get_by_role("button", name="Reactivar")).to_have_count(0)
    expect(reader.get_by_role("link", name="Diagnosticar")).to_have_count(0)


def test_no_webhook_yet_says_what_to_do_first(browser, entity, expect):
    page = open_portal(browser, entity.token)
    expect(page.get_by_role("heading", name="Su entidad no tiene ningún webhook todavía")).to_be_visible()
    expect(page.get_by_role("link", name="Registrar un webhook")).to_have_attribute("href", "#/webhooks/nuevo")
    assert_no_barriers(page)
    picture(page, "resumen-vacio")
    reader = open_portal(browser, entity.issue_token("--read-only"))
    expect(reader.get_by_text("Su token es de solo lectura: lo tiene que registrar quien tenga otro.")).to_be_visible()
    expect(reader.get_by_role("link", name="Registrar un webhook")).to_have_count(0)


def test_a_webhook_that_nothing_was_sent_to(browser, entity, expect):
    webhook = entity.register()
    page = open_portal(browser, entity.token)
    expect(card(page, webhook)).to_contain_text("Sin probar. Todavía no se le ha enviado nada")
    expect(card(page, webhook).get_by_role("heading")).to_contain_text(f"(n.º {webhook.id})")
    expect(card(page, webhook).get_by_role("link", name="Probar")).to_be_visible()
    expect(page.locator(".verdict")).to_have_text("○ 1 webhook está sin probar.")
    assert_no_barriers(page)


def test_what_was_lost_is_told_before_what_is_untried(browser, entity, expect):
    lost, _ = entity.register(), entity.register()
    page = browser.page(PORTAL)
    answer(page, "GET", f"webhooks/{lost.id}", 200, entity.api("GET", f"{BASE}/{lost.id}").json() | {"ultimaEjecucion": "2026-11-20T10:00:00.000Z"})
    counts = {"ventana": "7d", "entregadas": 9, "fallidas": 12, "pendientes": 0, "retenidas": 0, "intentosFallidos": 0, "p50Ms": 3, "p95Ms": 9, "exacto": True}
    answer(page, "GET", f"webhooks/{lost.id}/estadisticas?*", 200, counts)
    enter(page, entity.token)
    expect(page.locator(".verdict")).to_have_text("! 12 entregas han fallado en los últimos 7 días y 1 webhook está sin probar.")


def test_who_paused_a_webhook_is_said(browser, entity, expect):
    webhook = entity.register()
    marta, other = (entity.issue_token("--label", label) for label in ("Marta ñ", "Otra"))
    for entity.token, active in ((marta, False), (other, True), (other, False), (marta, True), (marta, False)):
        assert entity.api("PATCH", f"{BASE}/{webhook.id}", json_body={"activo": active}).status == 200
    page = open_portal(browser, entity.token, f"#/webhooks/{webhook.id}")
    expect(page.locator("main .notice")).to_contain_text("por decisión de su entidad (token «Marta ñ»).")
    page.get_by_role("link", name="Ver quién y cuándo, en Actividad").click()
    expect(page.get_by_role("table", name="Actividad").get_by_role("row").nth(1)).to_contain_text("estado: activo → en pausa")


@pytest.mark.parametrize("reason, words", [
    ("operador", "por el operador del servicio: solo él puede reactivarlo"), ("http_410", "Desactivado porque su receptor respondió 410"),
    ("fallos", "Desactivado porque durante días no hubo más que fallos")])
def test_the_reason_of_a_deactivation_is_shown(browser, entity, stack, expect, reason, words):
    webhook = entity.register()
    if reason == "operador":
        stack.admin("webhook", "disable", webhook.id)
    else:
        stack.sql(f"UPDATE webhooks SET activo = 0, motivo = '{reason}' WHERE id = {webhook.id}")
    page = open_portal(browser, entity.token)
    expect(card(page, webhook)).to_contain_text(words)


def test_the_time_of_a_coming_deactivation_is_shown(browser, entity, expect):
    webhook = entity.register()
    page = browser.page("/apientidades/portal/")
    shown = entity.api("GET", f"{BASE}/{webhook.id}").json()
    answer(page, "GET", f"webhooks/{webhook.id}", 200, shown | {
        "fallaDesde": "2020-01-01T09:32:00.000Z", "desactivacion": "2020-01-06T09:32:00.000Z", "ultimoError": "El certificado TLS del receptor ha caducado o aún no es válido"})
    enter(page, entity.token)
    expect(card(page, webhook)).to_contain_text(
        "Falla desde el 1 ene 2020 a las 10:32: el certificado caducó o aún no vale. Se desactivará el 6 ene 2020, 10:32 si no se recibe nada antes; los avisos se guardarán 90 días, si el operador no ha fijado otra duración.")


def test_what_others_wrote_is_shown_as_text(browser, entity, expect):
    webhook = entity.register()
    page = browser.page("/apientidades/portal/", width=320)
    markup = "<img src=x onerror=alert(1)><script>alert(2)</script>"
    url = f"https://receptor.test/{markup}\u202e{LONG}"
    shown = entity.api("GET", f"{BASE}/{webhook.id}").json()
    answer(page, "GET", f"webhooks/{webhook.id}", 200, shown | {"nombre": markup, "url": url, "ultimoError": markup, "ultimaEjecucion": "2026-11-25T10:00:00.000Z", "fallaDesde": "2026-11-25T10:00:00.000Z"})
    enter(page, entity.token)
    expect(page.locator(".named")).to_contain_text(markup)
    expect(page.get_by_role("listitem").filter(has=page.get_by_role("heading"))).to_contain_text(f": {markup}")
    assert page.locator("main img, main script").count() == 0
    assert_no_sideways_scrolling(page)
    assert_no_barriers(page)


def test_it_is_asked_again_at_a_bounded_pace_and_not_while_hidden(browser, entity, expect):
    entity.register()
    page = browser.page()
    page.clock.install()
    asked = []
    page.on("request", lambda request: asked.append(request.url) if request.url.endswith("/webhooks") else None)
    page.goto("/apientidades/portal/")
    enter(page, entity.token)
    expect(page.get_by_text("Se actualiza solo cada minuto")).to_be_visible()
    before = len(asked)
    page.clock.run_for(45_000)
    assert len(asked) == before
    with page.expect_response("**/estadisticas?ventana=7d"):
        page.clock.run_for(16_000)
    expect(page.get_by_text("Se actualiza solo cada minuto")).to_be_visible()
    page.evaluate("Object.defineProperty(document, 'hidden', {value: true, configurable: true}); document.dispatchEvent(new Event('visibilitychange'))")
    asked.clear()
    page.clock.run_for(600_000)
    assert asked == []
    with page.expect_response("**/estadisticas?ventana=7d"):
        page.evaluate("Object.defineProperty(document, 'hidden', {value: false, configurable: true}); document.dispatchEvent(new Event('visibilitychange'))")


@pytest.mark.parametrize("status, headers, title", [
    (429, {"Retry-After": "40"}, "Demasiadas peticiones"), (503, {"Retry-After": "40"}, "El servicio no está disponible")])
def test_a_refusal_is_counted_down_and_then_asked_again(browser, entity, expect, status, headers, title):
    webhook = entity.register()
    page = browser.page()
    page.clock.install()
    page.goto("/apientidades/portal/")
    enter(page, entity.token)
    expect(card(page, webhook)).to_be_visible()
    answer(page, "GET", "webhooks", status, headers=headers, times=1)
    page.get_by_role("button", name="Actualizar").click()
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text(title)
    expect(alert.get_by_role("button", name="Reintentar")).to_have_attribute("aria-disabled", "true")
    expect(card(page, webhook)).to_be_visible()  # the card stays
    page.clock.run_for(3_000)
    expect(alert).to_contain_text(re.compile(r"dentro de [123]\d s"))  # the page's clock goes on between two calls
    assert_no_barriers(page)
    page.clock.run_for(38_000)
    expect(alert).to_have_count(0)


def test_a_token_that_ends_in_the_midst_of_it_is_asked_for_again(browser, entity, stack, expect):
    webhook = entity.register()
    page = open_portal(browser, entity.token)
    expect(card(page, webhook)).to_be_visible()
    token = next(one for one in stack.admin("token", "list") if one["entidad_id"] == entity.id)
    stack.admin("token", "revoke", token["id"])
    page.get_by_role("button", name="Actualizar").click()
    dialog = page.get_by_role("dialog", name="Hace falta otro token")
    expect(dialog).to_contain_text("ha caducado o ha sido revocado")
    assert_no_barriers(page)
    picture(page, "otro-token")
    dialog.get_by_label("Token de acceso").fill(entity.issue_token())
    page.keyboard.press("Enter")
    expect(dialog).to_have_count(0)
    expect(page.locator("#anuncios")).to_have_text("Resumen actualizado")
    expect(page.get_by_role("button", name="Actualizar")).to_be_focused()


def test_leaving_the_question_for_another_token(browser, entity, stack, expect):
    page = open_portal(browser, entity.token)
    page.get_by_role("heading", name="Su entidad no tiene").wait_for()
    token = next(one for one in stack.admin("token", "list") if one["entidad_id"] == entity.id)
    stack.admin("token", "revoke", token["id"])
    page.get_by_role("button", name="Actualizar").click()
    page.get_by_role("dialog").wait_for()
    page.keyboard.press("Escape")
    expect(page.get_by_role("alert")).to_contain_text("El token no vale")


def test_by_keyboard_from_the_summary_to_what_failed(browser, life, entity, expect):
    page = open_portal(browser, entity.token)
    expect(page.get_by_text("1 webhook necesita atención")).to_be_visible()
    tab_to(page, "Ver 3 fallidas")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Entregas")).to_be_focused()
    expect(page.get_by_role("table").get_by_role("row")).to_have_count(4)
