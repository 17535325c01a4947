"""Entregas: filters, pages by cursor, and a list that is refreshed without moving while it is read."""
import re

import pytest

from support.actors import BASE
from support.browser import assert_no_barriers, assert_no_sideways_scrolling, picture, tab_to
from support.portal import PORTAL, answer, enter, open_portal
from support.sql import numbers

MANY = 120  # deliveries: two pages of 50, and one of 20


def rows(page):
    return page.get_by_role("table", name="Entregas").get_by_role("row").filter(has=page.get_by_role("cell"))


def old_deliveries(stack, entity, webhook, count: int, state: str = "entregada") -> None:
    """Makes one delivery for each of the last `count` hours. The newest has the highest id."""
    before = stack.value("SELECT COALESCE(MAX(id), 0) FROM notificaciones_pendientes")
    delivered, error = ("at", "''") if state == "entregada" else ("NULL", "'El receptor respondió 500: se espera un 2xx'")
    stack.sql(f"""INSERT INTO notificaciones_pendientes (entidad_id, evento, datos, estado, ocurrida_en, terminada_en)
        SELECT {entity.id}, 'evaluacion.abierta', '{{"evaluacionId": 1, "titulo": "ñ"}}', 'procesada', UTC_TIMESTAMP(3) - INTERVAL {count} - seq + 1 HOUR, UTC_TIMESTAMP(3)
        FROM {numbers(count)} ORDER BY seq""")
    stack.sql(f"""INSERT INTO entregas (notificacion_id, webhook_id, estado, intentos, proximo_intento, creada_en, terminada_en, entregada_en, ultimo_error)
        SELECT id, {webhook.id}, '{state}', 1, at, at, at, {delivered}, {error}
        FROM (SELECT id, ocurrida_en AS at FROM notificaciones_pendientes WHERE entidad_id = {entity.id} AND id > {before} ORDER BY id) made""")


@pytest.fixture
def webhook(entity):
    return entity.register()


@pytest.fixture
def crowd(stack, entity, webhook):
    old_deliveries(stack, entity, webhook, MANY)
    return webhook


def one(id: int, **more) -> dict:
    return {"id": id, "mensaje": f"msg_{id}", "evento": "evaluacion.abierta", "prueba": False, "estado": "entregada", "intentos": 1, "creada": "2026-11-20T10:00:00.000Z",
            "entregada": "2026-11-20T10:00:01.000Z", "terminada": "2026-11-20T10:00:01.000Z", "proximoIntento": None, "ultimoEstado": 200, "ultimoError": ""} | more


@pytest.mark.parametrize("how", [dict(), dict(width=320, dark=True), dict(width=320, text=2)])
def test_the_pages_of_a_long_list_and_the_way_back(browser, entity, crowd, expect, how):
    page = open_portal(browser, entity.token, "#/entregas", **how)
    expect(rows(page)).to_have_count(50)
    first = rows(page).first.inner_text()
    assert_no_barriers(page)
    assert_no_sideways_scrolling(page)
    picture(page, "entregas-" + "-".join(f"{name}{value}" for name, value in how.items()), full=False)
    page.get_by_role("link", name="Más antiguas").click()
    expect(page.get_by_role("link", name="Más recientes")).to_be_visible()
    expect(rows(page)).to_have_count(50)
    second = rows(page).first.inner_text()
    assert second != first
    page.get_by_role("link", name="Más antiguas").click()
    expect(page.get_by_role("link", name="Al principio")).to_be_visible()
    expect(rows(page)).to_have_count(MANY - 100)
    expect(page.get_by_role("link", name="Más antiguas")).to_have_count(0)
    page.get_by_role("link", name="Más recientes").click()
    expect(rows(page).first).to_have_text(re.compile(re.escape(second.split("\n")[0].split("\t")[0])))
    page.go_back()
    expect(rows(page)).to_have_count(MANY - 100)


def test_a_delivery_and_back_to_the_same_place(browser, entity, crowd, expect):
    page = open_portal(browser, entity.token, "#/entregas")
    link = rows(page).nth(40).get_by_role("link")
    link.scroll_into_view_if_needed()
    name, at = link.inner_text(), page.evaluate("scrollY")
    assert at > 500
    link.click()
    expect(page.get_by_role("heading", name="Datos")).to_be_visible()
    page.get_by_role("link", name="← Entregas").click()
    expect(page.get_by_role("link", name=name, exact=True)).to_be_focused()
    assert abs(page.evaluate("scrollY") - at) < 100


def test_filters_by_keyboard_alone(browser, entity, stack, webhook, expect):
    old_deliveries(stack, entity, webhook, 3, "fallida")
    old_deliveries(stack, entity, webhook, 5)
    page = open_portal(browser, entity.token, "#/entregas")
    expect(rows(page)).to_have_count(8)
    tab_to(page, "Estado")
    page.keyboard.type("Fall")
    tab_to(page, "Filtrar")
    page.keyboard.press("Enter")
    expect(rows(page)).to_have_count(3)
    assert page.url.endswith(f"#/entregas?webhook={webhook.id}&estado=fallida")
    expect(page.get_by_label("Estado")).to_have_value("fallida")
    expect(rows(page).first).to_contain_text("El receptor falla por dentro (500)")
    expect(page.get_by_role("heading", name="Entregas")).to_be_focused()
    tab_to(page, "Quitar los filtros")
    page.keyboard.press("Enter")
    expect(rows(page)).to_have_count(8)


def test_times_are_of_the_peninsula_wherever_the_browser_is(browser, entity, webhook, expect):
    page = open_portal(browser, entity.token, "#/entregas", timezone="America/Bogota")
    page.get_by_label("Creadas desde").fill("2026-07-20T12:00")
    page.get_by_label("y antes de").fill("2026-11-20T11:00")
    with page.expect_request(lambda request: "/entregas?" in request.url and "hasta" in request.url) as asked:
        page.get_by_role("button", name="Filtrar").click()
    assert "desde=2026-07-20T10%3A00%3A00Z" in asked.value.url and "hasta=2026-11-20T10%3A00%3A00Z" in asked.value.url
    expect(page.get_by_label("Creadas desde")).to_have_value("2026-07-20T12:00")
    page.get_by_label("Creadas desde").fill("2026-12-20T12:00")
    page.get_by_role("button", name="Filtrar").click()
    expect(page.get_by_label("Creadas desde")).to_have_accessible_description(re.compile("Es posterior a la otra fecha"))
    expect(page.get_by_label("Creadas desde")).to_be_focused()
    assert_no_barriers(page)


def test_a_time_typed_in_part_is_not_taken_for_none(browser, entity, webhook, expect):
    page = open_portal(browser, entity.token, "#/entregas")
    until = page.get_by_label("y antes de")
    until.fill("2026-11-20T11:00")
    until.press("Backspace")
    page.get_by_role("button", name="Filtrar").click()
    expect(until).to_have_accessible_description(re.compile("Complete el día y la hora"))
    expect(until).to_be_focused()


@pytest.mark.parametrize("how", [dict(), dict(width=320, text=2)])
def test_utc_stands_beside_every_time_of_a_list(browser, entity, stack, webhook, expect, how):
    """A title attribute alone would not do: touch and keyboard do not reach it."""
    stack.wait_delivery(stack.delivery_id(entity.notify(), webhook.id), "entregada")
    page = open_portal(browser, entity.token, "#/entregas", **how)
    expect(rows(page).first.get_by_text(re.compile(r"^ ?(\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d UTC$"))).to_be_visible()
    expect(page.get_by_text("llevan al lado la hora UTC")).to_be_visible()
    page.evaluate("location.hash = '#/'")
    expect(page.get_by_text("Último envío:")).to_contain_text(re.compile(r"\(península\) · \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"))
    page.get_by_text("Ver como tabla").click()
    expect(page.locator(".chart-table tbody th").first).to_have_text(re.compile(r"\d\d:\d\d (\d{4}-\d\d-\d\d )?\d\d:\d\d UTC"))
    assert page.locator("[title]").count() == 0
    assert_no_sideways_scrolling(page)


def test_what_is_new_waits_and_what_changes_changes_in_place(browser, entity, stack, webhook, expect):
    stack.delivery_id(entity.notify(), webhook.id)
    page = browser.page()
    page.clock.install()
    page.goto(PORTAL + "#/entregas")
    enter(page, entity.token)
    expect(rows(page)).to_have_count(1)
    shown = rows(page).first.inner_text()
    id = stack.delivery_id(entity.notify("documento.disponible"), webhook.id)
    stack.wait_delivery(id, "entregada")
    page.clock.run_for(31_000)
    news = page.get_by_role("button", name="Hay 1 entrega nueva: verlas")
    expect(news).to_be_visible()
    expect(rows(page)).to_have_count(1)
    assert rows(page).first.inner_text().split("\t")[0] == shown.split("\t")[0]
    assert_no_barriers(page)
    news.click()
    expect(rows(page)).to_have_count(2)
    expect(rows(page).first).to_contain_text("Documento disponible")
    expect(rows(page).first.get_by_role("link")).to_be_focused()
    stack.sql(f"UPDATE entregas SET estado = 'fallida', entregada_en = NULL, ultimo_error = 'El receptor respondió 500: se espera un 2xx' WHERE id = {id}")
    rows(page).nth(1).get_by_role("link").focus()
    page.clock.run_for(31_000)
    expect(rows(page).first).to_contain_text("Fallida")
    expect(rows(page).nth(1).get_by_role("link")).to_be_focused()


def test_pages_that_are_short_or_empty_are_gone_through(browser, entity, webhook, expect):
    page = browser.page()
    pages = {"": ([], "a"), "a": ([one(9)], "b"), "b": ([], "c"), "c": ([one(5), one(4)], "d"), "d": ([], "e"), "e": ([], "f"), "f": ([], "g"), "g": ([], "h"), "h": ([], "i"), "i": ([], "j"), "j": ([], None)}
    counted = []

    def page_of(route):
        cursor = dict(part.split("=") for part in route.request.url.partition("?")[2].split("&")).get("cursor", "")
        counted.append(cursor)
        found, following = pages[cursor]
        route.fulfill(json={"entregas": found, "siguiente": following})

    page.route(f"**/webhooks/{webhook.id}/entregas?*", page_of)
    page.goto(PORTAL + "#/entregas")
    enter(page, entity.token)
    expect(rows(page)).to_have_count(3)
    assert counted == ["", "a", "b", "c", "d"]
    page.get_by_role("link", name="Más antiguas").click()
    expect(page.get_by_text("quedan entregas por mirar")).to_be_visible()
    assert counted[5:] == ["e", "f", "g", "h", "i"]
    page.get_by_role("link", name="Seguir buscando").click()
    expect(page.get_by_text("No quedan más entregas.")).to_be_visible()
    assert counted[10:] == ["j"]
    page.get_by_role("link", name="Al principio").click()
    expect(rows(page)).to_have_count(3)


def test_a_page_that_is_no_more(browser, entity, webhook, expect):
    page = open_portal(browser, entity.token, f"#/entregas?webhook={webhook.id}&cursor=antiguo")
    expect(page.get_by_text("Esta página ya no existe.")).to_be_visible()
    page.get_by_role("link", name="Ver las más recientes").click()
    expect(page.get_by_text("No hay entregas de este webhook.")).to_be_visible()


def test_nothing_with_those_filters_and_no_webhooks(browser, entity, new_entity, webhook, expect):
    page = open_portal(browser, entity.token, f"#/entregas?webhook={webhook.id}&estado=cancelada")
    expect(page.get_by_text("No hay ninguna entrega con esos filtros.")).to_be_visible()
    assert_no_barriers(page)
    empty = open_portal(browser, new_entity().token, "#/entregas")
    expect(empty.get_by_text("no tiene webhooks")).to_be_visible()
    assert_no_barriers(empty)


def test_what_others_wrote_is_shown_as_text(browser, entity, webhook, expect):
    page = browser.page(width=320)
    markup = "<b>hola</b><img src=x onerror=alert(1)>"
    answer(page, "GET", f"webhooks/{webhook.id}/entregas?*", 200, {"entregas": [one(1, estado="fallida", ultimoError=markup * 30, evento=markup), one(2, estado="nuevo")], "siguiente": None})
    page.goto(PORTAL + "#/entregas")
    enter(page, entity.token)
    expect(rows(page).first).to_contain_text(markup)
    assert page.locator("main img, main b").count() == 0
    assert_no_sideways_scrolling(page)
    assert_no_barriers(page)


@pytest.mark.parametrize("status, title", [(429, "Demasiadas peticiones"), (503, "El servicio no está disponible"), (403, "No está permitido"), (500, "Error del servicio")])
def test_refusals(browser, entity, webhook, expect, status, title):
    page = browser.page()
    answer(page, "GET", f"webhooks/{webhook.id}/entregas?*", status, headers={"Retry-After": "60"} if status in (429, 503) else None, times=1)
    page.goto(PORTAL + "#/entregas")
    enter(page, entity.token)
    expect(page.get_by_role("alert")).to_contain_text(title)
    assert_no_barriers(page)


def test_what_could_not_be_had_is_asked_for_again(browser, entity, crowd, expect):
    page = browser.page()
    page.clock.install()
    answer(page, "GET", f"webhooks/{crowd.id}/entregas?*", 500, times=1)
    page.goto(PORTAL + "#/entregas")
    enter(page, entity.token)
    expect(page.get_by_role("alert")).to_contain_text("Error del servicio")
    page.clock.run_for(31_000)
    expect(rows(page)).to_have_count(50)
    expect(page.get_by_role("button", name="entregas nuevas")).to_have_count(0)


def test_no_network_in_the_midst_of_it(browser, entity, crowd, expect):
    page = open_portal(browser, entity.token, "#/entregas")
    expect(rows(page)).to_have_count(50)
    page.context.set_offline(True)
    page.get_by_role("link", name="Más antiguas").click()
    expect(page.get_by_role("alert")).to_contain_text("Sin conexión")
    page.context.set_offline(False)
    page.get_by_role("button", name="Reintentar").click()
    expect(page.get_by_role("alert")).to_have_count(0)


def test_a_page_is_drawn_within_100_ms_of_its_answer(browser, entity, crowd, expect):
    """The fastest of several renderings counts, because the machine's other work delays it least."""
    page = browser.page(init="""new MutationObserver(() => {
        if (document.querySelectorAll('.deliveries tbody tr').length !== 50) globalThis.drawn = undefined;
        else globalThis.drawn ??= performance.now();
    }).observe(document, {childList: true, subtree: true});""")
    page.goto(PORTAL + "#/entregas")
    enter(page, entity.token)

    def taken() -> float:
        expect(rows(page)).to_have_count(50)
        return page.evaluate("drawn - performance.getEntriesByType('resource').filter(({name}) => name.includes('/entregas?')).at(-1).responseEnd")

    times = [taken()]
    for name, newer in [("Más antiguas", 1), ("Más recientes", 0)] * 2:
        page.get_by_role("link", name=name).click()
        expect(page.get_by_role("link", name="Más recientes")).to_have_count(newer)
        times.append(taken())
    assert min(times) < 100, f"{times} ms"
