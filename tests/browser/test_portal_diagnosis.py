"""Diagnóstico: a diagnosis is asked for and followed, and its report says what is wrong and what to do."""
import re

import pytest

from support.browser import assert_no_barriers, assert_no_sideways_scrolling, picture, tab_to
from support.portal import answer
from support.portal_changes import HOSTILE, HOSTILE_SHOWN, at, go, lose, said, shown

PATH = "webhooks/{}/diagnostico"
NONE = (404, {"message": "No se ha pedido ningún diagnóstico de ese webhook"})
ASKED = (202, {"message": "El diagnóstico está en la cola", "diagnostico": {"estado": "pendiente"}})
BEGUN = "2026-11-20T10:00:00.000Z"
TESTS = ["nombre", "direcciones", "conexion", "tls", "certificado", "nombre_certificado", "autentica", "tiempo", "conexion_mantenida", "firma_incorrecta",
         "sin_firma", "fecha_antigua", "repetida"]


def report(state="terminado", **results):
    tests = [{"prueba": name, "resultado": "bien", "detalle": f"Detalle de {name}", "remedio": ""} | results.get(name, {}) for name in TESTS]
    return {"estado": state, "iniciado": BEGUN, "pruebas": tests if state in ("terminado", "fallido") else []}


WRONG = report(firma_incorrecta={"resultado": "mal", "detalle": "Se aceptó con 200 una notificación con la firma incorrecta", "remedio": "Verifique la firma"},
               certificado={"resultado": "aviso", "detalle": "Le quedan 9 días", "remedio": "Renuévelo"}, repetida={"resultado": "no_hecha", "detalle": "Sin secreto"})


@pytest.fixture
def hook(entity):
    return entity.register()


def screen(browser, entity, hook, last=NONE, **how):
    """Opens the screen. `last` is the API's answer about the last diagnosis: status and body."""
    page = at(browser, entity, "#/entregas", "Entregas", **how)
    answer(page, "GET", PATH.format(hook.id), *last)
    go(page, f"#/webhooks/{hook.id}/diagnostico", "Diagnóstico")
    return page


def ask(page):
    page.get_by_role("button", name=re.compile("^Diagnosticar")).click()


def test_what_was_not_checked_is_one_line_for_each_reason(browser, entity, hook, expect):
    none = {"resultado": "no_hecha", "detalle": "No se hizo: antes hay que corregir la conexión con el receptor"}
    page = screen(browser, entity, hook, (200, report(conexion={"resultado": "mal"}, **{name: none for name in TESTS[3:]})))
    section = page.locator("section", has=page.get_by_role("heading", name="No se ha comprobado"))
    expect(section.get_by_role("listitem")).to_have_count(1)
    expect(section).to_contain_text("antes hay que corregir la conexión con el receptor: Conexión segura (TLS), Certificado, ")
    assert_no_barriers(page)


def test_it_is_asked_for_and_followed_by_keyboard_alone(browser, entity, hook, expect):
    page = screen(browser, entity, hook)
    expect(shown(page).get_by_text("Todavía no se ha hecho ninguno")).to_be_visible()
    assert_no_barriers(page)
    answer(page, "POST", PATH.format(hook.id), *ASKED)
    answer(page, "GET", PATH.format(hook.id), 200, report("en_curso"))
    tab_to(page, "Diagnosticar")
    page.keyboard.press("Enter")
    expect(shown(page).get_by_text("En marcha")).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("^Diagnosticar"))).to_be_hidden()
    assert_no_barriers(page)
    picture(page, "diagnostico-en-marcha")
    answer(page, "GET", PATH.format(hook.id), 200, WRONG)
    expect(shown(page).get_by_text("1 cosa que corregir y 1 advertencia.")).to_be_visible()
    expect(said(page)).to_contain_text("Diagnóstico terminado. 1 cosa que corregir")
    order = page.get_by_role("heading", level=2).all_text_contents()
    assert order == ["Hay que corregirlo", "Conviene corregirlo", "No se ha comprobado", "Está bien"]
    first = page.locator(".checks li").first
    expect(first).to_contain_text("Mal Aviso con la firma incorrecta")
    expect(first).to_contain_text("Qué hacer: Verifique la firma")
    expect(page.get_by_role("button", name="Diagnosticar otra vez")).to_be_visible()
    assert_no_barriers(page)
    picture(page, "diagnostico")
    answer(page, "GET", PATH.format(hook.id), 200, report("en_curso"))
    ask(page)
    expect(shown(page).get_by_text("En marcha")).to_be_visible()
    answer(page, "GET", PATH.format(hook.id), 200, report())
    expect(shown(page).get_by_text("Todo lo comprobado está bien")).to_be_visible()


@pytest.mark.parametrize("how", [dict(width=320, text=2), dict(dark=True)])
def test_the_last_diagnosis_is_shown_at_once(browser, entity, hook, expect, how):
    page = screen(browser, entity, hook, (200, WRONG), **how)
    expect(shown(page).get_by_text("1 cosa que corregir y 1 advertencia.")).to_be_visible()
    assert_no_sideways_scrolling(page)
    assert_no_barriers(page)
    picture(page, "diagnostico-" + "-".join(map(str, how)))


@pytest.mark.parametrize("last, told", [
    (report(), "Todo lo comprobado está bien"), (report("fallido", autentica={"resultado": "no_hecha"}), "No se pudo hacer entero"),
    (report(tls={"resultado": "aviso"}), "1 advertencia.")])
def test_the_result_of_a_diagnosis_is_shown(browser, entity, hook, expect, last, told):
    page = screen(browser, entity, hook, (200, last))
    expect(shown(page).get_by_text(told)).to_be_visible()
    assert_no_barriers(page)


def test_one_that_runs_already_is_followed(browser, entity, hook, expect):
    page = screen(browser, entity, hook, (200, report("pendiente")))
    expect(shown(page).get_by_text("En la cola")).to_be_visible()
    answer(page, "GET", PATH.format(hook.id), 200, report())
    expect(shown(page).get_by_text("Todo lo comprobado está bien")).to_be_visible()


def test_text_of_others_and_names_of_a_newer_version(browser, entity, hook, expect):
    data = report(nombre={"detalle": HOSTILE, "remedio": HOSTILE, "resultado": "mal"})
    data["pruebas"].append({"prueba": "<b>nueva</b>", "resultado": "raro", "detalle": "d", "remedio": ""})
    page = screen(browser, entity, hook, (200, data), width=320)
    expect(page.get_by_text("<b>nueva</b>")).to_be_visible()
    assert page.locator("main img, main b").count() == 0 and HOSTILE_SHOWN in page.locator("main").text_content()
    assert_no_sideways_scrolling(page)
    assert_no_barriers(page)


def test_too_many_are_counted_down(browser, entity, hook, expect):
    page = screen(browser, entity, hook)
    page.clock.install()
    answer(page, "POST", PATH.format(hook.id), 429, {"message": "La entidad ha pedido demasiados diagnósticos: el máximo es 6 por hora"}, {"Retry-After": "600"})
    ask(page)
    expect(page.get_by_role("alert")).to_contain_text("el máximo es 6 por hora")
    expect(page.get_by_role("button", name="Reintentar")).to_have_attribute("aria-disabled", "true")
    page.clock.fast_forward(601_000)
    expect(page.get_by_role("button", name="Reintentar")).not_to_have_attribute("aria-disabled", "true")
    assert_no_barriers(page)


def test_a_webhook_the_operator_disabled_is_not_diagnosed(browser, entity, hook, stack, expect):
    stack.dev("admin", "webhook", "disable", hook.id)
    page = screen(browser, entity, hook)
    expect(shown(page).get_by_text("Hable con el operador del servicio")).to_be_visible()
    expect(page.locator("main").get_by_role("button")).to_have_count(0)
    assert_no_barriers(page)


def test_an_answer_that_never_came(browser, entity, hook, expect):
    page = screen(browser, entity, hook)
    answer(page, "POST", PATH.format(hook.id), *ASKED)
    lose(page, "POST", PATH.format(hook.id), arrives=False)
    ask(page)
    expect(shown(page).get_by_text("No se sabe si llegó a empezar")).to_be_visible()
    answer(page, "POST", PATH.format(hook.id), *ASKED)
    answer(page, "GET", PATH.format(hook.id), 200, report())
    page.get_by_role("button", name="Reintentar").click()
    expect(shown(page).get_by_text("Todo lo comprobado está bien")).to_be_visible()


def test_the_service_goes_away_while_it_runs(browser, entity, hook, expect):
    page = screen(browser, entity, hook, (200, report("en_curso")))
    page.clock.install()
    answer(page, "GET", PATH.format(hook.id), 503)
    page.clock.fast_forward(3_000)
    expect(page.get_by_role("alert")).to_contain_text("El servicio no está disponible")
    answer(page, "GET", PATH.format(hook.id), 200, report())
    page.clock.fast_forward(60_000)
    expect(shown(page).get_by_text("Todo lo comprobado está bien")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)


def test_a_receiver_that_verifies_nothing(browser, entity, hook, expect):
    page = at(browser, entity, f"#/webhooks/{hook.id}/diagnostico", "Diagnóstico")
    ask(page)
    expect(shown(page).get_by_text(re.compile(r"\d cosas que corregir"))).to_be_visible()
    wrong = page.locator(".checks li.bad")
    expect(wrong.filter(has_text="Aviso con la firma incorrecta")).to_contain_text("Qué hacer:")
    expect(wrong.filter(has_text="Aviso sin firma")).to_contain_text("Qué hacer:")
    expect(page.locator(".checks li.good").filter(has_text="Aviso auténtico")).to_be_visible()
    expect(page.get_by_role("button", name="Diagnosticar otra vez")).to_be_visible()
    assert_no_barriers(page)
