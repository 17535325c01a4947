"""The download of the list of deliveries: CSV, JSON, its progress, its limit, and how it is stopped."""
import csv
import io
import json
import re

import pytest

from support.actors import BASE
from support.browser import API, assert_no_barriers, assert_no_sideways_scrolling, picture, tab_to
from support.portal import answer, open_portal
from support.wait import wait_until
from test_portal_deliveries import old_deliveries, one, rows

FORMULA = "=HYPERLINK(\"https://x.example\";\"Pulse, aquí\")\r\n@SUM(1)"


def opened(browser, entity, place="#/entregas", **how):
    page = open_portal(browser, entity.token, place, **how)
    page.get_by_text("Descargar lo filtrado").click()
    return page


def saved(page, kind: str):
    """Presses the button with the keyboard. Returns the file's name and its bytes."""
    with page.expect_download() as download:
        tab_to(page, f"Descargar {kind}")
        page.keyboard.press("Enter")
    return download.value.suggested_filename, download.value.path().read_bytes()


def test_what_is_filtered_is_downloaded(browser, new_entity, stack, expect):
    entity = new_entity(name="Ayuntamiento de Ávila / Sede")
    hook = entity.register()
    old_deliveries(stack, entity, hook, 130)
    old_deliveries(stack, entity, hook, 2, "fallida")
    page = opened(browser, entity, "#/entregas?desde=2020-01-01T00:00:00Z", width=320)
    name, data = saved(page, "CSV")
    assert re.fullmatch(r"entregas_ayuntamiento-de-avila-sede_desde-2020-01-01T0100_\d{4}-\d\d-\d\dT\d{4}\.csv", name), name
    expect(page.get_by_text(f"132 entregas en {name}")).to_be_visible()
    expect(page.get_by_role("button", name="Descargar CSV")).to_be_focused()
    assert_no_sideways_scrolling(page)
    assert_no_barriers(page)
    picture(page, "descargar")
    assert data.startswith(b"\xef\xbb\xbf") and data.count(b"\r\n") == 133 and data.count(b"\n") == 133
    table = list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline="")))
    assert [row["estado"] for row in table] == ["fallida"] * 2 + ["entregada"] * 130
    assert table[0]["asunto"] == "Evaluación 1 · ñ" and table[0]["dirección"] == hook.url and table[0]["creada (UTC)"].endswith("Z")
    page.evaluate("location.hash = '#/entregas?estado=fallida'")
    expect(rows(page)).to_have_count(2)
    page.get_by_text("Descargar lo filtrado").click()
    name, data = saved(page, "JSON")
    found = json.loads(data)
    listed = entity.api("GET", "/apientidades/v1/entregas?estado=fallida&datos=resumen").json()["entregas"]
    assert name.endswith(".json") and found["entregas"] == listed and found["completo"] is True
    assert found["filtros"] == {"estado": "fallida"} and found["entidad"] == {"id": entity.id, "nombre": "Ayuntamiento de Ávila / Sede"}
    page.evaluate(f"location.hash = '#/entregas?busca=entrega {listed[1]['id']}'")
    expect(rows(page)).to_have_count(1)
    page.get_by_text("Descargar lo filtrado").click()
    assert [row["id"] for row in json.loads(saved(page, "JSON")[1])["entregas"]] == [listed[1]["id"]]


def test_a_file_is_harmless_bounded_and_patient(browser, entity, expect):
    hook = entity.register()
    assert entity.api("PATCH", f"{BASE}/{hook.id}", json_body={"nombre": "-1+1"}).status == 200
    page = browser.page()
    page.clock.install()  # the pauses between the requests would last 25 s
    asked, refuse = [], [True]
    until = lambda text: wait_until(lambda: page.clock.run_for(300) or page.get_by_text(text).is_visible(), 60, text)  # noqa: E731

    def page_of(route):
        if refuse.pop() if refuse and "cursor=3" in route.request.url else False:
            return route.fulfill(status=429, json={"message": "Demasiadas"}, headers={"Retry-After": "2"})
        asked.append(route.request.url)
        number = len(asked)
        found = [one(number * 1000 + i, webhook=hook.id, datos={"evaluacionId": 9007199254740993, "titulo": FORMULA}) for i in range(100)]
        route.fulfill(json={"entregas": found, "siguiente": str(number)})

    page.goto("/apientidades/portal/#/entregas")
    page.route(f"**{API}entregas?*limite=100*", page_of)
    page.get_by_label("Token de acceso").fill(entity.token)
    page.keyboard.press("Enter")
    page.get_by_text("Descargar lo filtrado").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Descargar CSV").click()
        until("se sigue dentro de")
        expect(page.get_by_role("progressbar", name="Entregas reunidas")).to_have_js_property("value", 300)
        assert_no_barriers(page)
        picture(page, "descargando")
        until("10.000 entregas en entregas_")
    expect(page.get_by_text("Hay más: son las más recientes")).to_be_visible()
    assert len(asked) == 100
    table = list(csv.DictReader(io.StringIO(download.value.path().read_bytes().decode("utf-8-sig"), newline="")))
    assert len(table) == 10_000 and table[0]["nombre del webhook"] == "'-1+1"
    assert table[0]["asunto"] == f"Evaluación 9007199254740993 · {FORMULA}".replace("@", "'@")  # the cell begins with a word, and has a second line


def test_a_search_that_finds_nothing_ends(browser, entity, expect):
    entity.register()
    asked = []

    def page_of(route):
        asked.append(route.request.url)
        route.fulfill(json={"entregas": [one(9)], "siguiente": str(len(asked))})

    page = opened(browser, entity)
    page.route(f"**{API}entregas?*limite=100*", page_of)
    page.clock.install()
    page.evaluate("location.hash = '#/entregas?busca=inexistente'")
    page.get_by_role("link", name="Seguir buscando").wait_for()
    page.get_by_text("Descargar lo filtrado").click()
    asked.clear()
    page.get_by_role("button", name="Descargar CSV").click()
    wait_until(lambda: page.clock.run_for(300) or page.get_by_text("Se ha parado tras mirar 200 páginas (200 entregas)").is_visible(), 60, "the end")
    expect(page.get_by_text("No se ha encontrado ninguna: no se ha descargado nada.")).to_be_visible()
    assert_no_barriers(page)
    assert len(asked) == 200


def test_a_file_that_cannot_be_made_is_told(browser, entity, expect):
    entity.register()
    page = opened(browser, entity)
    page.route(f"**{API}entregas?*limite=100*", lambda route: route.fulfill(json={"entregas": [one(9)], "siguiente": None}))
    page.evaluate("() => { URL.createObjectURL = () => { throw new Error('sin memoria'); }; }")
    page.get_by_role("button", name="Descargar JSON").click()
    expect(page.get_by_role("alert")).to_contain_text("No se ha hecho el archivo: Error: sin memoria")
    expect(page.get_by_role("button", name="Descargar JSON")).not_to_have_attribute("aria-disabled", "true")


def test_a_stop_leaves_nothing_running_and_a_failure_goes_on(browser, entity, expect):
    entity.register()
    page = opened(browser, entity)
    held, downloads = [], []
    page.on("download", lambda download: downloads.append(download))
    pattern = f"**{API}entregas?*limite=100*"
    page.route(pattern, lambda route: held.append(route))
    tab_to(page, "Descargar CSV")
    page.keyboard.press("Enter")
    wait_until(lambda: page.wait_for_timeout(20) or held, what="the first request")
    tab_to(page, "Detener")
    with page.expect_event("requestfailed", lambda request: "limite=100" in request.url, timeout=10_000):  # before its time-out
        page.keyboard.press("Enter")
    expect(page.get_by_text("Detenido: no se ha descargado nada.")).to_be_visible()
    expect(page.get_by_role("button", name="Descargar CSV")).to_be_focused()
    assert_no_barriers(page)
    page.unroute(pattern)
    pages = [(200, {"entregas": [one(9)], "siguiente": "a"}), (500, {"message": "Respuesta 500 de la prueba"}), (200, {"entregas": [one(8)], "siguiente": None})]
    asked = []

    def page_of(route):
        asked.append(route.request.url)
        status, body = pages[len(asked) - 1]
        route.fulfill(status=status, json=body)

    page.route(pattern, page_of)
    page.get_by_role("button", name="Descargar JSON").click()
    expect(page.get_by_text("Reunidas: 1 entrega. No se ha descargado nada.")).to_be_visible()
    assert_no_barriers(page)
    assert not downloads
    with page.expect_download() as download:
        page.get_by_role("button", name="Reintentar").click()
    assert [row["id"] for row in json.loads(download.value.path().read_text())["entregas"]] == [9, 8]
    assert ["cursor=a" in url for url in asked] == [False, True, True] and len(held) == 1


def test_leaving_the_list_ends_it(browser, entity, expect):
    entity.register()
    page = opened(browser, entity)
    held = []
    page.route(f"**{API}entregas?*limite=100*", lambda route: held.append(route))
    page.get_by_role("button", name="Descargar CSV").click()
    wait_until(lambda: page.wait_for_timeout(20) or held, what="the first request")
    with page.expect_event("requestfailed", lambda request: "limite=100" in request.url, timeout=10_000):  # before its time-out
        page.get_by_role("link", name="Actividad").click()
