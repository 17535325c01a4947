"""Entrar: the token, what is wrong with it, and the portal with a token that may only read. Also what all screens share: the
menu, the notes about clock and time zone, and the question for another token."""
import re

import pytest

from support.actors import BASE
from support.browser import assert_no_barriers, assert_no_sideways_scrolling, focused, picture, tab_to
from support.portal import PORTAL, answer, enter, open_portal

READS = "Token de solo lectura"


def test_the_first_screen_is_drawn_without_the_api(browser, expect):
    page = browser.page()
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(PORTAL)
    expect(page.get_by_role("heading", name="Entrar")).to_be_visible()
    expect(page).to_have_title("Entrar · Portal de avisos")
    assert focused(page) == "Token de acceso"
    assert not [url for url in asked if "/v1/" in url]
    assert_no_barriers(page)
    picture(page, "entrar")


@pytest.mark.parametrize("how", [dict(width=320), dict(width=320, text=2), dict(dark=True), dict(reduced_motion=True, text=2)])
def test_the_screen_fits_and_has_no_barriers(browser, how):
    page = open_portal(browser, **how)
    page.get_by_role("heading", name="Entrar").wait_for()
    assert_no_sideways_scrolling(page)
    assert_no_barriers(page)
    picture(page, "entrar-" + "-".join(map(str, how)))


def test_entering_by_keyboard_alone(browser, entity, expect):
    page = open_portal(browser)
    page.get_by_role("heading", name="Entrar").wait_for()
    page.keyboard.insert_text(f"  Bearer {entity.token}\n")
    tab_to(page, "Mostrar el token")
    page.keyboard.press("Space")
    expect(page.get_by_label("Token de acceso")).to_have_attribute("type", "text")
    tab_to(page, "Entrar")
    page.keyboard.press("Enter")
    heading = page.get_by_role("heading", name="Resumen")
    expect(heading).to_be_focused()
    expect(page).to_have_title(f"Resumen · {entity.name} · Portal de avisos")
    page.reload()
    expect(page.get_by_role("heading", name="Entrar")).to_be_visible()  # the token is gone with the page
    assert page.evaluate("[localStorage.length, sessionStorage.length, document.cookie]") == [0, 0, ""]


@pytest.mark.parametrize("typed, told", [
    ("", "Escriba o pegue el token."), ("hola", "empieza por apie_"), ("apie_corto", "aquí hay 10"),
    ("apie_" + "á" * 43, "algún carácter que no vale"),
    ("apie_" + "A" * 43, "no es válido, ha caducado o ha sido revocado")])
def test_what_is_wrong_with_the_token_is_said_at_its_field(browser, expect, typed, told):
    page = open_portal(browser)
    field = page.get_by_label("Token de acceso")
    field.fill(typed)
    field.press("Enter")
    expect(field).to_have_accessible_description(re.compile(re.escape(told)))
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_be_focused()
    expect(field).to_have_value(typed)
    assert_no_barriers(page)


def test_login_leads_to_the_requested_screen(browser, entity, expect):
    page = open_portal(browser, entity.token, "#/entregas")
    expect(page.get_by_role("heading", name="Entregas")).to_be_visible()
    expect(page.get_by_role("link", name="Entregas", exact=True)).to_have_attribute("aria-current", "page")
    page.get_by_role("button", name="Salir").click()
    expect(page.get_by_role("heading", name="Entrar")).to_be_visible()
    expect(page.get_by_role("navigation")).to_be_hidden()


@pytest.mark.parametrize("how", [dict(), dict(dark=True), dict(width=320, text=2)])
def test_an_address_that_leads_nowhere(browser, entity, expect, how):
    page = open_portal(browser, entity.token, "#/nada", **how)
    expect(page.get_by_role("heading", name="Esta página no existe")).to_be_visible()
    assert_no_barriers(page)
    assert_no_sideways_scrolling(page)


def test_a_token_that_only_reads_is_told_apart_and_changes_nothing(browser, entity, expect):
    page = open_portal(browser, entity.issue_token("--read-only"))
    expect(page.get_by_text(READS)).to_be_visible()
    expect(page.get_by_role("navigation").get_by_role("link")).to_have_text(["Resumen", "Entregas", "Reenvíos", "Actividad", "Alertas por correo"])
    assert_no_barriers(page)
    whole = open_portal(browser, entity.token)
    expect(whole.get_by_text(READS)).to_be_hidden()


@pytest.mark.parametrize("status, told", [(429, "Demasiadas peticiones"), (503, "no está disponible"), (500, "Error del servicio"), (403, "si el token permite cambiar"),
                                         (200, "si el token permite cambiar"), (None, "Sin conexión")])
def test_what_a_token_may_do_is_never_guessed(browser, entity, expect, status, told):
    page = open_portal(browser)
    if status:
        answer(page, "GET", "entidad", status, times=1)
    else:
        page.route("**/entidad", lambda route: route.abort(), times=1)
    page.get_by_label("Token de acceso").fill(entity.issue_token("--read-only"))
    page.get_by_role("button", name="Entrar").click()
    expect(page.get_by_role("alert")).to_contain_text(told)
    expect(page.get_by_role("button", name="Salir")).to_be_hidden()
    page.get_by_role("alert").get_by_role("button", name="Reintentar").click()
    expect(page.get_by_text(READS)).to_be_visible()


WIDE = "Ayuntamiento de " + "漢" * 30 + " <b>ñ</b>"


@pytest.mark.parametrize("how", [dict(), dict(width=320, text=2)])
def test_the_entity_is_named_on_screen_in_the_title_and_in_print(browser, new_entity, expect, how):
    page = open_portal(browser, new_entity(name=WIDE).token, **how)
    name = page.locator("header").get_by_text(WIDE)
    expect(name).to_be_visible()
    expect(page).to_have_title(f"Resumen · {WIDE} · Portal de avisos")
    assert_no_sideways_scrolling(page)
    assert_no_barriers(page)
    page.emulate_media(media="print")
    expect(name).to_be_visible()
    expect(page.locator("nav")).to_be_hidden()
    page.emulate_media(media="screen")
    page.get_by_role("button", name="Salir").click()
    expect(name).to_be_hidden()
    expect(page).to_have_title("Entrar · Portal de avisos")


def test_with_an_api_of_before_the_portal_only_reads(browser, entity, expect):
    page = open_portal(browser)
    answer(page, "GET", "entidad", 404)
    page.get_by_label("Token de acceso").fill(entity.token)
    page.get_by_role("button", name="Entrar").click()
    expect(page.get_by_text(READS)).to_be_visible()


@pytest.mark.parametrize("place, method, path, steps", [
    ("#/webhooks/{id}", "PATCH", "webhooks/{id}", ["Pausar", "Pausar"]), ("#/probar", "POST", "webhooks/test", ["Enviar la prueba"]),
    ("#/webhooks/{id}/diagnostico", "POST", "webhooks/{id}/diagnostico", ["Diagnosticar"])])
def test_any_change_that_is_forbidden_makes_it_read_only(browser, entity, expect, place, method, path, steps):
    id = entity.register().id
    page = open_portal(browser, entity.token, place.format(id=id))
    expect(page.get_by_role("navigation").get_by_role("link", name="Probar")).to_be_visible()
    answer(page, method, path.format(id=id), 403, {"message": "El token de acceso es de solo lectura: no permite cambiar nada"})
    for name in steps:
        page.get_by_role("button", name=name).last.click()
    expect(page.get_by_text(READS)).to_be_visible()
    expect(page.locator("#menu a", has_text="Probar")).to_be_hidden()
    expect(page.locator("#menu a", has_text="Entregas")).to_have_count(1)


REGISTER = "Dirección que recibirá los avisos"


def register(page, url: str) -> None:
    page.get_by_label(REGISTER).fill(url)
    page.get_by_label("He guardado el secreto").check()
    page.get_by_role("button", name="Registrar").click()


def go_on_with(page, token: str) -> None:
    dialog = page.get_by_role("dialog", name="Hace falta otro token")
    dialog.get_by_label("Token de acceso").fill(token)
    dialog.get_by_role("button", name="Seguir").click()
    dialog.wait_for(state="detached")


@pytest.mark.parametrize("own, others", [(1, 1), (0, 0)])
def test_nothing_is_repeated_in_another_entity(browser, entity, new_entity, expect, own, others):
    other = new_entity()
    for one, number in ((entity, own), (other, others)):
        for _ in range(number):
            one.register()
    page = open_portal(browser, entity.token, "#/webhooks/nuevo")
    answer(page, "POST", "webhooks", 401, times=1)
    register(page, "https://203.0.113.9/de-la-primera")
    go_on_with(page, other.token)
    expect(page.get_by_role("heading", name="Resumen")).to_be_visible()
    expect(page.locator("#hecho")).to_contain_text("el token de otra entidad")
    assert_no_barriers(page)
    assert len(other.api("GET", BASE).json()) == others and len(entity.api("GET", BASE).json()) == own


def test_what_is_registered_here_is_of_the_same_entity(browser, entity, receiver, expect):
    page = open_portal(browser, entity.token, "#/webhooks/nuevo")
    register(page, f"https://nuevo.receptor.test:{receiver.port}/uno")
    expect(page.get_by_role("heading", name="Webhook registrado")).to_be_visible()
    answer(page, "GET", "webhooks", 401, times=1)
    page.evaluate("location.hash = '#/entregas'")
    go_on_with(page, entity.issue_token())
    expect(page.get_by_text("Todavía no hay ninguna entrega.")).to_be_visible()


def test_nothing_is_repeated_once_one_has_left(browser, entity, expect):
    hook = entity.register()
    page = open_portal(browser, entity.token, f"#/webhooks/{hook.id}")
    held = []
    page.route(f"**/webhooks/{hook.id}", lambda route: held.append(route) if route.request.method == "PATCH" else route.fallback())
    page.get_by_role("button", name="Pausar").click()
    page.get_by_role("dialog").get_by_role("button", name="Pausar").click()
    expect(page.get_by_role("dialog").get_by_role("button", name="Pausar")).to_have_attribute("aria-disabled", "true")
    page.evaluate("document.getElementById('salir').click()")
    expect(page.get_by_role("heading", name="Entrar")).to_be_visible()
    enter(page, entity.token)
    with page.expect_event("response", lambda response: response.request.method == "PATCH" and response.status == 401):
        held[0].fulfill(status=401, json={"message": "Respuesta 401 de la prueba"})
    page.get_by_role("link", name="Entregas", exact=True).click()
    expect(page.get_by_role("heading", name="Entregas")).to_be_visible()
    assert len(held) == 1 and page.get_by_role("dialog").count() == 0
    assert entity.api("GET", f"{BASE}/{hook.id}").json()["activo"] is True


@pytest.mark.parametrize("status, headers, told", [
    (429, {"Retry-After": "7"}, "Demasiadas peticiones"), (503, {"Retry-After": "5"}, "El servicio no está disponible"),
    (500, {"X-Request-Id": "abc123"}, "abc123")])
def test_the_service_refuses(browser, expect, status, headers, told):
    page = open_portal(browser)
    answer(page, "GET", "entidad", status, headers=headers)
    page.get_by_label("Token de acceso").fill("apie_" + "A" * 43)
    page.get_by_role("button", name="Entrar").click()
    expect(page.get_by_role("alert")).to_contain_text(told)
    expect(page.get_by_role("alert")).to_contain_text(f"Respuesta {status} de la prueba")
    assert_no_barriers(page)


def test_without_network_and_then_with_it(browser, entity, expect):
    page = open_portal(browser)
    page.get_by_role("heading", name="Entrar").wait_for()
    page.context.set_offline(True)
    page.get_by_label("Token de acceso").fill(entity.token)
    page.get_by_role("button", name="Entrar").click()
    expect(page.get_by_role("alert")).to_contain_text("Sin conexión")
    page.context.set_offline(False)
    page.get_by_role("button", name="Entrar").click()
    expect(page.get_by_role("heading", name="Resumen")).to_be_visible()


@pytest.mark.parametrize("hours, told", [(3, "adelantado"), (-3, "atrasado")])
def test_a_clock_that_is_wrong_is_noticed(browser, entity, expect, hours, told):
    page = browser.page(init=f"const real = Date.now; Date.now = () => real() + {hours} * 3600000;")
    page.goto(PORTAL)
    enter(page, entity.token)
    expect(page.get_by_text(re.compile(f"va 3 horas {told}"))).to_be_visible()


@pytest.mark.parametrize("zone", ["America/Bogota", "Europe/London", "Africa/Lagos"])  # Lagos has Madrid's time in winter; London had Madrid's time at the Unix epoch, in January 1970
def test_another_time_zone_is_noticed(browser, expect, zone):
    page = open_portal(browser, timezone=zone)
    expect(page.get_by_text(f"otra zona horaria ({zone})")).to_be_visible()
    assert_no_barriers(page)


def test_the_way_past_the_menu(browser, entity, expect):
    page = open_portal(browser, entity.token)
    tab_to(page, "Saltar al contenido", key="Shift+Tab")
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
