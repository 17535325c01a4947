"""The portal's screen "Reenviar muchas" counts the deliveries of a range and has them sent again. Another screen shows the
replay's progress and stops it."""
import re
from urllib.parse import urlsplit

import pytest

from fakes.receiver import Behaviour
from support.actors import BASE
from support.browser import assert_no_barriers, assert_no_sideways_scrolling, picture, tab_to
from support.portal import PORTAL, answer, enter
from support.portal_changes import arrived, at, count_requests, go, hide, lose, said, settle, shown
from support.stack import EVENTS
from support.wait import wait_until

COUNT = "Contar cuántas"


@pytest.fixture
def failed(entity, receiver):
    """A webhook with three deliveries that failed; its receiver works again."""
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(status=500))
    for event in EVENTS[:3]:
        entity.notify(event)
    path = f"{BASE}/{hook.id}/entregas?estado=fallida"
    wait_until(lambda: len(entity.api("GET", path).json()["entregas"]) == 3, 30, "three failures")
    receiver.behave(hook.path, Behaviour())
    return hook


def screen(browser, entity, hook, query="", **how):
    return at(browser, entity, f"#/webhooks/{hook.id}/reenvios{query}", "Reenviar muchas", **how)


def count(page):
    page.get_by_role("button", name=COUNT).click()


def test_from_a_failure_to_its_reception(browser, entity, receiver, failed, expect):
    page = at(browser, entity, "#/", "Resumen")
    page.get_by_role("link", name="Ver 3 fallidas").click()
    page.get_by_role("link", name="Reenviar muchas").click()
    arrived(page, "Reenviar muchas")
    assert_no_barriers(page)
    picture(page, "reenviar-muchas")
    before = len(receiver.requests(failed.path))
    count(page)
    heading = page.get_by_role("heading", name="Se reenviarán 3 entregas")
    expect(heading).to_be_focused()
    assert len(receiver.requests(failed.path)) == before, "a count sends nothing"
    assert_no_barriers(page)
    picture(page, "reenviar-muchas-contadas")
    page.get_by_role("button", name="Reenviar 3 entregas").click()
    page.get_by_role("heading", level=1, name=re.compile(r"Reenvío \d+")).wait_for()
    expect(shown(page).get_by_text("Se han recibido todas.")).to_be_visible()
    expect(said(page)).to_contain_text("Terminado: 3 de 3 entregas")
    assert_no_barriers(page)
    picture(page, "reenvio")
    again = receiver.requests(failed.path)[before:]
    assert len(again) == 3 and all(one.headers["x-webhook-reenvio"] == "1" for one in again)


def test_the_end_of_a_replay_that_is_over_before_the_first_look_is_told(browser, entity, failed, expect):
    def late(route):
        path = urlsplit(route.request.url).path
        wait_until(lambda: entity.api("GET", path).json()["estado"] == "terminado", what="the replay to end")
        route.continue_()

    page = screen(browser, entity, failed)
    count(page)
    page.route(re.compile(r"/reenvios/\d+$"), late)
    page.get_by_role("button", name="Reenviar 3 entregas").click()
    expect(said(page)).to_contain_text("Terminado: 3 de 3 entregas")


@pytest.mark.parametrize("how", [dict(), dict(width=320, text=2, dark=True)])
def test_the_replays_and_who_changed_what(browser, entity, failed, expect, how):
    gone = entity.register()
    for change in ({"nombre": "Pruebas <b>ñ</b>"}, {"activo": False}, {"activo": True}):
        assert entity.api("PATCH", f"{BASE}/{failed.id}", json_body=change).status == 200
    replay = entity.api("POST", f"{BASE}/{failed.id}/reenvios", json_body={"desde": "2026-01-01T00:00:00Z"}).json()["reenvio"]["id"]
    assert entity.api("DELETE", f"{BASE}/{gone.id}").status == 200
    page = at(browser, entity, "#/reenvios", "Reenvíos", **how)
    row = page.get_by_role("table", name="Reenvíos").get_by_role("row").nth(1)
    expect(row).to_contain_text("Pruebas <b>ñ</b>")
    expect(row).to_contain_text("Terminado: 3 de 3 reenviadas, 3 recibidas.")
    expect(row.get_by_role("link", name="3 entregas")).to_have_attribute("href", f"#/webhooks/{failed.id}/reenvios/{replay}")
    assert_no_barriers(page)
    assert_no_sideways_scrolling(page)
    picture(page, "reenvios-" + "-".join(map(str, how)))
    go(page, "#/actividad", "Actividad")
    rows = page.get_by_role("table", name="Actividad").get_by_role("row")
    expect(rows.filter(has_text="Eliminó el webhook")).to_contain_text(f"Webhook {gone.id}, eliminado")
    expect(rows.filter(has_text="nombre:")).to_contain_text("ninguno → Pruebas <b>ñ</b>")
    expect(rows.filter(has_text="Registró el webhook").last).to_contain_text("Un token sin etiqueta")
    expect(rows.filter(has_text="estado: activo → en pausa")).to_have_count(1)
    assert_no_barriers(page)
    assert_no_sideways_scrolling(page)
    picture(page, "actividad-" + "-".join(map(str, how)))


def test_what_one_person_changed(browser, entity, expect):
    hook = entity.register()
    entity.token = entity.issue_token("--label", "Marta ñ")
    assert entity.api("PATCH", f"{BASE}/{hook.id}", json_body={"nombre": "Producción"}).status == 200
    page = at(browser, entity, "#/actividad", "Actividad")
    rows = page.get_by_role("table", name="Actividad").get_by_role("row")
    expect(rows).to_have_count(3)
    rows.get_by_role("link", name="Solo lo de Marta ñ").click()
    expect(rows).to_have_count(2)
    expect(rows.last).to_contain_text("nombre: ninguno → Producción")
    assert_no_barriers(page)
    page.get_by_role("link", name="Quitar Token: Marta ñ").click()
    expect(rows).to_have_count(3)


def test_single_replays_say_what_they_send_again(browser, entity, expect):
    hook = entity.register()
    entity.notify()
    sent, = wait_until(lambda: [one for one in entity.api("GET", f"{BASE}/{hook.id}/entregas").json()["entregas"] if one["estado"] == "entregada"], 20, "the delivery")
    page = at(browser, entity, f"#/entregas/{hook.id}/{sent['id']}", "Evaluación abierta")
    page.get_by_role("button", name="Reenviar").click()
    question = page.get_by_role("dialog", name="¿Reenviar lo que ya llegó?")
    assert_no_barriers(page)
    question.get_by_role("button", name="Cancelar").click()
    expect(page.get_by_role("button", name="Reenviar")).to_be_focused()
    assert entity.api("GET", "/apientidades/v1/reenvios").json()["reenvios"] == []
    page.get_by_role("button", name="Reenviar").click()
    question.get_by_role("button", name="Reenviar").click()
    expect(page.locator("#reenvio")).to_contain_text("Se ha enviado otra vez y se ha recibido.")
    go(page, "#/reenvios", "Reenvíos")
    expect(page.get_by_role("link", name=f"Evaluación abierta, entrega {sent['id']}")).to_be_visible()


def test_what_was_chosen_and_sent_again_is_one_row(browser, entity, failed, expect):
    ids = [one["id"] for one in entity.api("GET", f"{BASE}/{failed.id}/entregas").json()["entregas"]]
    for id in ids:
        assert entity.api("POST", f"{BASE}/{failed.id}/entregas/{id}/reenvio").status == 202
    page = at(browser, entity, "#/reenvios", "Reenvíos")
    rows = page.get_by_role("table", name="Reenvíos").get_by_role("row")
    expect(rows).to_have_count(2)
    expect(rows.last).to_contain_text("Terminado: 3 de 3 reenviadas, 3 recibidas.")
    page.get_by_text("3 reenvíos").click()
    for id in ids:
        expect(page.get_by_role("link", name=f"entrega {id}")).to_have_attribute("href", f"#/entregas/{failed.id}/{id}")
    assert_no_barriers(page)
    picture(page, "reenvios-juntos")


def test_a_replay_that_fails_again_says_why(browser, entity, expect):
    hook = entity.register()
    page = at(browser, entity, "#/entregas", "Entregas", width=320)
    one = {"id": 5, "webhook": hook.id, "entrega": 806, "evento": "evaluacion.abierta", "estado": "terminado", "candidatas": 1, "reenviadas": 1, "entregadas": 0, "fallidas": 0,
           "porReintentar": 1, "ultimoError": "El receptor respondió 500: se espera un 2xx", "pedido": "2026-11-20T10:00:00.000Z", "terminado": "2026-11-20T10:00:01.000Z"}
    answer(page, "GET", "reenvios?*", 200, {"reenvios": [one], "siguiente": None})
    go(page, "#/reenvios", "Reenvíos")
    row = page.get_by_role("table", name="Reenvíos").get_by_role("row").last
    expect(row).to_contain_text("En marcha: 1 de 1 reenviada, 0 recibidas, 1 ha vuelto a fallar y se reintentará.")
    expect(row).to_contain_text("Ha vuelto a fallar: el receptor tiene un error interno (500). Qué hacer: Es un error de su servidor")
    assert_no_sideways_scrolling(page)
    assert_no_barriers(page)


def test_what_has_ended_without_a_result_does_not_go_on(browser, entity, expect):
    """Neither a delivery that was cancelled nor one that failed, and has arrived since then, keeps its replay going."""
    hook = entity.register()
    one = {"id": 6, "webhook": hook.id, "entrega": 807, "evento": "evaluacion.abierta", "estado": "terminado", "candidatas": 1, "reenviadas": 1, "entregadas": 0, "fallidas": 0,
           "porReintentar": 0, "ultimoError": "", "pedido": "2026-11-20T10:00:10.000Z", "terminado": "2026-11-20T10:00:11.000Z"}
    other = one | {"id": 5, "entrega": 806, "fallidas": 1, "pedido": "2026-11-20T10:00:00.000Z"}
    page = at(browser, entity, "#/entregas", "Entregas")
    answer(page, "GET", "reenvios?*", 200, {"reenvios": [one, other], "siguiente": None})
    go(page, "#/reenvios", "Reenvíos")
    row = page.get_by_role("table", name="Reenvíos").get_by_role("row").last
    expect(row).to_contain_text("Terminado: 2 de 2 reenviadas, 0 recibidas, 1 fallida.")
    page.get_by_text("2 reenvíos").click()
    expect(row.get_by_role("listitem")).to_have_text(["Evaluación abierta, entrega 807", "Evaluación abierta, entrega 806: fallida"])


def done(action: str, detail: dict, times: int = 1) -> dict:
    return {"id": 1, "cuando": "2026-11-20T10:00:00.000Z", "accion": action, "webhook": 1, "token": "t", "detalle": detail, "veces": times, "ultima": "2026-11-20T10:30:00.000Z"}


def test_all_that_can_be_done_is_in_words(browser, entity, expect):
    page = browser.page()
    streak = {"fallaDesde": {"antes": "2026-11-19T10:00:00.000Z", "ahora": None}}
    entries = [(done("reenvio", {"reenvio": 5, "entrega": 806}, 20), "20 reenvíos; el primero, de la entrega 806El primero, 20 nov 2026, 11:00:00"),
               (done("reenvio", {"reenvio": 5, "cancelado": True}), "Detuvo un reenvíoreenvío: 5"),
               (done("reenvio", {"reenvio": 5, "desde": "2026-11-19T10:00:00.000Z", "candidatas": 3}), "desde: 19 nov 2026, 11:00:00 (península) · 2026-11-19 10:00:00 UTCentregas: 3"),
               (done("secreto", {"graciaSegundos": 86400}), "Cambió el secretoel anterior sigue firmando: 1 día"), (done("secreto", {"graciaSegundos": 0}), "el anterior sigue firmando: no"),
               (done("cambio", streak), "dejó de contar los fallos desde: 19 nov 2026, 11:00:00"), (done("diagnostico", {}, 2), "Pidió un diagnóstico2 veces; la primera, ")]
    answer(page, "GET", "actividad?*", 200, {"actividad": [entry for entry, _ in entries], "siguiente": None})
    page.goto(PORTAL + "#/actividad")
    enter(page, entity.token)
    rows = page.get_by_role("table", name="Actividad").get_by_role("row")
    for number, (_, words) in enumerate(entries, 1):
        expect(rows.nth(number)).to_contain_text(words)
    assert_no_barriers(page)


def test_what_was_done_again_is_listed_at_its_last_time(browser, entity, expect):
    page = browser.page()
    turn = lambda before, after: {"activo": {"antes": before, "ahora": after}}  # noqa: E731
    later = done("cambio", turn(False, True)) | {"cuando": "2026-11-20T10:10:00.000Z", "ultima": "2026-11-20T10:10:00.000Z"}
    answer(page, "GET", "actividad?*", 200, {"actividad": [later, done("cambio", turn(True, False), 3)], "siguiente": None})
    page.goto(PORTAL + "#/actividad")
    enter(page, entity.token)
    rows = page.get_by_role("table", name="Actividad").get_by_role("row")
    expect(rows.nth(1)).to_contain_text("activo → en pausa3 veces; la primera, 20 nov 2026, 11:00:00")
    expect(rows.nth(1)).to_contain_text("11:30")
    expect(rows.nth(2)).to_contain_text("en pausa → activo")


def test_pages_of_what_was_done_and_a_page_that_is_no_more(browser, entity, expect):
    hook = entity.register()
    for number in range(52):
        assert entity.api("PATCH", f"{BASE}/{hook.id}", json_body={"nombre": f"n{number}"}).status == 200
    page = at(browser, entity, "#/actividad", "Actividad")
    rows = page.get_by_role("table", name="Actividad").get_by_role("row")
    expect(rows).to_have_count(51)
    page.get_by_role("link", name="Más antiguo").click()
    expect(rows).to_have_count(4)
    go(page, "#/actividad?cursor=x", "Actividad")
    expect(page.get_by_text("Esta página ya no existe.")).to_be_visible()
    page.get_by_role("link", name="Ver lo más reciente").click()
    expect(rows).to_have_count(51)


def test_by_keyboard_alone(browser, entity, failed, expect):
    page = screen(browser, entity, failed)
    tab_to(page, "Últimas 24 horas")
    page.keyboard.press("Enter")
    tab_to(page, "Más opciones")
    page.keyboard.press("Enter")
    tab_to(page, "Desmarcar todo")
    page.keyboard.press("Enter")
    tab_to(page, "Prórroga de la evaluación")
    page.keyboard.press("Space")
    tab_to(page, COUNT)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Se reenviará 1 entrega")).to_be_focused()
    tab_to(page, "Reenviar 1 entrega")
    page.keyboard.press("Enter")
    expect(shown(page).get_by_text("Se han recibido todas.")).to_be_visible()


@pytest.mark.parametrize("how", [dict(width=320, text=2), dict(dark=True)])
def test_the_screen_fits_and_has_no_barriers(browser, entity, how):
    page = screen(browser, entity, entity.register(), **how)
    page.get_by_text("Más opciones").click()
    assert_no_sideways_scrolling(page)
    assert_no_barriers(page)
    picture(page, "reenviar-muchas-" + "-".join(map(str, how)))


def test_what_was_filtered_is_what_is_asked_for(browser, entity, failed, expect):
    page = at(browser, entity, f"#/entregas?webhook={failed.id}&estado=fallida&evento={EVENTS[1]}&desde=2026-01-01T10:00:00Z", "Entregas")
    page.get_by_role("link", name="Reenviar muchas").click()
    arrived(page, "Reenviar muchas")
    expect(page.get_by_label("Creadas desde")).to_have_value("2026-01-01T11:00")
    count(page)
    expect(page.get_by_role("heading", name="Se reenviará 1 entrega")).to_be_visible()
    page.get_by_role("button", name="Marcar todo", exact=True).click()
    page.get_by_label("También las entregadas").check()
    expect(page.get_by_role("heading", name="Se reenviará 1 entrega")).to_have_count(0)


def test_a_time_typed_in_part_is_not_taken_for_none(browser, entity, failed, expect):
    page = screen(browser, entity, failed)
    page.get_by_text("Más opciones").click()
    until = page.get_by_label("Hasta")
    until.focus()
    page.keyboard.type("11")
    page.get_by_text("Más opciones").click()
    count(page)
    expect(until).to_be_focused()
    expect(until).to_have_accessible_description(re.compile("Complete el día y la hora"))
    expect(page.get_by_role("heading", name="Se reenviará")).to_have_count(0)
    page.keyboard.press("Backspace")
    count(page)
    expect(page.get_by_role("heading", name="Se reenviarán 3 entregas")).to_be_focused()


def test_nothing_to_send_again_and_what_is_missing(browser, entity, expect):
    page = screen(browser, entity, entity.register())
    count(page)
    expect(shown(page).get_by_text("No hay nada que reenviar")).to_be_visible()
    assert_no_barriers(page)
    page.get_by_label("Creadas desde").fill("")
    count(page)
    expect(page.get_by_label("Creadas desde")).to_have_accessible_description(re.compile("Indique desde qué día"))
    page.get_by_label("Creadas desde").fill("2026-11-20T11:00")
    page.get_by_label("Las fallidas").uncheck()
    count(page)
    expect(page.get_by_label("Las fallidas")).to_be_focused()
    assert_no_barriers(page)
    page.get_by_label("Las fallidas").check()
    page.get_by_text("Más opciones").click()
    page.get_by_role("button", name="Desmarcar todo").click()
    page.get_by_text("Más opciones").click()
    count(page)
    expect(page.get_by_label("Evaluación abierta")).to_be_focused()
    page.get_by_role("button", name="Marcar todo", exact=True).click()
    page.get_by_label("Hasta").fill("2026-11-19T11:00")
    count(page)
    expect(page.get_by_label("Creadas desde")).to_have_accessible_description(re.compile("No puede ser posterior a hasta"))


def test_a_webhook_that_is_not_active(browser, entity, expect):
    hook = entity.register()
    assert entity.api("PATCH", f"{BASE}/{hook.id}", json_body={"activo": False}).status == 200
    page = screen(browser, entity, hook)
    expect(shown(page).get_by_text("El webhook no está activo")).to_be_visible()
    expect(page.locator("main form")).to_have_count(0)
    assert_no_barriers(page)


@pytest.mark.usefixtures("patient")
def test_another_one_runs_already_and_is_stopped(browser, entity, receiver, failed, expect):
    receiver.behave(failed.path, Behaviour(hold=True))
    started = entity.api("POST", f"{BASE}/{failed.id}/reenvios", json_body={"desde": "2020-01-01T00:00:00Z"})
    running = started.json()["reenvio"]["id"]
    page = screen(browser, entity, failed)
    page.get_by_label("También las entregadas").check()
    answer(page, "POST", f"webhooks/{failed.id}/reenvios", 200, {"candidatas": 3, "exacto": True}, times=1)
    count(page)
    page.get_by_role("button", name="Reenviar 3 entregas").click()
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("Ya hay otro reenvío en marcha")
    assert_no_barriers(page)
    alert.get_by_role("link", name=f"Ver el reenvío {running}").click()
    page.get_by_role("dialog").get_by_role("button", name="Salir").click()  # what was chosen has not been sent
    arrived(page, f"Reenvío {running}")
    tab_to(page, "Detener")
    page.keyboard.press("Enter")
    question = page.get_by_role("dialog")
    expect(question).to_contain_text("sigue su curso")
    assert_no_barriers(page)
    question.get_by_role("button", name="Detenerlo").click()
    expect(shown(page).get_by_text("ya en camino")).to_be_visible()
    expect(page.get_by_role("button", name="Detener")).to_have_count(0)
    assert entity.api("GET", f"{BASE}/{failed.id}/reenvios/{running}").json()["estado"] == "cancelado"
    assert_no_barriers(page)
    receiver.release(failed.path)


def test_after_the_question_the_focus_is_at_its_button_again(browser, entity, expect):
    """While the dialog is open, the page asks the API again and draws the button anew."""
    page, hook = follow(browser, entity, expect)
    page.get_by_role("button", name="Detener").click()
    for _ in range(2):
        page.wait_for_event("response", lambda one: one.url.endswith("/reenvios/5"))
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Detener")).to_be_focused()


def test_fewer_were_sent_again_than_counted_without_any_limit(browser, entity, stack, failed, expect):
    """After the count, one of the three becomes `entregada` before the replay reaches it."""
    stack.stop("dispatcher")
    try:
        asked = entity.api("POST", f"{BASE}/{failed.id}/reenvios", json_body={"desde": "2020-01-01T00:00:00Z"}).json()["reenvio"]["id"]
        stack.sql(f"UPDATE entregas SET estado = 'entregada', entregada_en = UTC_TIMESTAMP(3), ultimo_error = '', ultimo_estado = 200 WHERE webhook_id = {failed.id} ORDER BY id LIMIT 1")
    finally:
        stack.start("dispatcher")
    page = at(browser, entity, f"#/webhooks/{failed.id}/reenvios/{asked}", f"Reenvío {asked}")
    expect(shown(page).get_by_text("2 de 3 entregas")).to_be_visible()
    expect(shown(page).get_by_text("1 entrega no se ha reenviado: ya no cumplía las condiciones, o no lo ha permitido el límite diario.")).to_be_visible()


def progress(page, hook, **members):
    answer(page, "GET", f"webhooks/{hook.id}/reenvios/5", 200, {"id": 5, "estado": "en_curso", "candidatas": 312, "reenviadas": 40, "entregadas": 38, "fallidas": 0, "porReintentar": 0} | members)


def follow(browser, entity, expect, **members):
    hook = entity.register()
    page = at(browser, entity, "#/entregas", "Entregas", width=320)
    progress(page, hook, **members)
    go(page, f"#/webhooks/{hook.id}/reenvios/5", "Reenvío 5")
    return page, hook


@pytest.mark.parametrize("members, told", [
    ({}, "40 de 312 entregas"), ({"estado": "pendiente", "reenviadas": 0, "entregadas": 0}, "En la cola"),
    ({"estado": "terminado", "reenviadas": 300, "entregadas": 300}, "12 entregas no se han reenviado: ya no cumplían las condiciones, o no lo ha permitido el límite diario."),
    ({"estado": "terminado", "reenviadas": 312, "entregadas": 310, "fallidas": 2}, "2 entregas han vuelto a fallar"),
    ({"estado": "terminado", "reenviadas": 312, "entregadas": 310}, "algunas esperan aún respuesta"),
    ({"estado": "terminado", "reenviadas": 312, "entregadas": 310, "porReintentar": 2}, "2 han vuelto a fallar y se reintentarán."),
    ({"estado": "cancelado"}, "lo demás queda como estaba")])
def test_the_progress_of_a_replay_is_shown(browser, entity, expect, members, told):
    page, _ = follow(browser, entity, expect, **members)
    expect(shown(page).get_by_text(told)).to_be_visible()
    assert_no_sideways_scrolling(page)
    assert_no_barriers(page)


def test_it_is_followed_at_a_bounded_pace_while_it_is_looked_at(browser, entity, expect):
    page, hook = follow(browser, entity, expect)
    expect(shown(page).get_by_text("40 de 312 entregas")).to_be_visible()
    page.wait_for_load_state("networkidle")
    page.clock.install()
    hide(page, True)
    asked = count_requests(page, "GET", f"webhooks/{hook.id}/reenvios/5")
    page.clock.fast_forward(600_000)
    settle(page)
    assert not asked
    progress(page, hook, reenviadas=41)
    with page.expect_response("**/reenvios/5"):
        hide(page, False)
    expect(shown(page).get_by_text("41 de 312 entregas")).to_be_visible()
    with page.expect_response("**/reenvios/5"):
        page.clock.fast_forward(2_500)
    go(page, "#/probar", "Probar")
    asked.clear()
    page.clock.fast_forward(600_000)
    settle(page)
    assert not asked


def test_the_service_goes_away_while_it_is_followed(browser, entity, expect):
    page, hook = follow(browser, entity, expect)
    page.wait_for_load_state("networkidle")
    page.clock.install()
    answer(page, "GET", f"webhooks/{hook.id}/reenvios/5", 503, headers={"Retry-After": "30"})
    hide(page, False)
    expect(page.get_by_role("alert")).to_contain_text("El servicio no está disponible")
    expect(shown(page).get_by_text("40 de 312 entregas")).to_be_visible()
    progress(page, hook, estado="terminado", reenviadas=312, entregadas=312)
    page.clock.fast_forward(31_000)
    expect(shown(page).get_by_text("Se han recibido todas.")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)


def test_an_unknown_replay_is_reported(browser, entity, expect):
    hook = entity.register()
    page = at(browser, entity, f"#/webhooks/{hook.id}/reenvios/999999", "Reenvío 999999")
    expect(page.get_by_role("alert")).to_contain_text("No existe ningún reenvío")
    assert_no_barriers(page)


def test_more_than_can_be_counted_and_an_answer_that_never_came(browser, entity, receiver, failed, expect):
    page = screen(browser, entity, failed)
    path = f"webhooks/{failed.id}/reenvios"
    answer(page, "POST", path, 200, {"candidatas": 0, "exacto": False}, times=1)
    count(page)
    expect(page.get_by_role("heading", name="No se sabe cuántas se reenviarán")).to_be_visible()
    expect(page.get_by_role("button", name="Reenviarlas")).to_be_visible()
    answer(page, "POST", path, 200, {"candidatas": 2000, "exacto": False}, times=1)
    count(page)
    expect(page.get_by_role("heading", name="Se reenviarán al menos 2.000 entregas")).to_be_visible()
    expect(shown(page).get_by_text("límite diario")).to_be_visible()
    lose(page, "POST", path, arrives=True)
    page.get_by_role("button", name="Reenviarlas").click()
    expect(shown(page).get_by_text("No se sabe si el reenvío llegó a empezar")).to_be_visible()
    wait_until(lambda: len([one for one in receiver.requests(failed.path) if "x-webhook-reenvio" in one.headers]) == 3, 20, "three replays")
    count(page)
    expect(shown(page).get_by_text("No hay nada que reenviar")).to_be_visible()


def test_the_limit_of_a_day(browser, entity, failed, expect):
    page = screen(browser, entity, failed)
    count(page)
    answer(page, "POST", f"webhooks/{failed.id}/reenvios", 429, {"message": "La entidad puede reenviar 10000 entregas en 24 horas y ahora no le queda ninguna"}, {"Retry-After": "3600"})
    page.get_by_role("button", name="Reenviar 3 entregas").click()
    expect(page.get_by_role("alert")).to_contain_text("no le queda ninguna")
    expect(page.get_by_role("alert")).to_contain_text("Se puede reintentar dentro de")
