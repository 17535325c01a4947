"""The portal's screen «Secreto»: a rotation step by step, the requests that the receiver then gets, and interruptions."""
import re

import pytest

from fakes.verify import hub_signature, problems
from support.actors import BASE
from support.browser import assert_no_barriers, assert_no_sideways_scrolling, picture, tab_to
from support.portal import answer
from support.portal_changes import at, go, lose, shown

STORED = "Lo he guardado en un lugar seguro"
NEW = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"


def screen(browser, entity, hook, **how):
    return at(browser, entity, f"#/webhooks/{hook.id}/secreto", "Secreto", **how)


def seen(entity, hook):
    return entity.api("GET", f"{BASE}/{hook.id}").json()


def begin(page):
    secret = page.get_by_label("Secreto nuevo").first.input_value()
    page.get_by_label(STORED).first.check()
    page.get_by_role("button", name="Poner en vigor").click()
    return secret


def rotate(entity, hook, **more):
    answered = entity.api("PUT", f"{BASE}/{hook.id}/secreto", json_body={"secreto": NEW} | more)
    assert answered.status == 200, answered


def last_request(entity, receiver, hook):
    before = len(receiver.requests(hook.path))
    entity.notify()
    return receiver.wait(hook.path, before + 1)[-1]


def test_a_rotation_that_no_notification_is_lost_to(browser, entity, receiver, expect):
    hook = entity.register()
    page = screen(browser, entity, hook)
    assert_no_barriers(page)
    picture(page, "secreto")
    page.get_by_label("¿Cuánto tiempo").select_option("7 días")
    new = begin(page)
    expect(shown(page).get_by_text("Hay dos secretos en vigor")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    expect(page.locator("[aria-current=step]")).to_contain_text("Ponerlo en su sistema")
    expect(page.get_by_text(new)).to_be_visible()
    expect(shown(page).get_by_text(re.compile("X-Webhook-Signature-Nueva"))).to_be_visible()
    assert_no_barriers(page)
    picture(page, "secreto-dos")
    request = last_request(entity, receiver, hook)
    assert request.headers["x-webhook-signature"] == hub_signature(hook.secret, request.body)
    assert request.headers["x-webhook-signature-nueva"] == hub_signature(new, request.body)
    page.get_by_role("button", name="Mi sistema ya tiene el nuevo").click()
    question = page.get_by_role("dialog")
    assert_no_barriers(page)
    question.get_by_role("button", name="Retirarlo").click()
    expect(page.locator("#hecho")).to_contain_text("El secreto anterior ya no vale")
    request = last_request(entity, receiver, hook)
    assert not problems(request.headers, request.body, new)
    assert new not in page.content() and new not in page.url
    assert page.evaluate("[localStorage.length, sessionStorage.length, document.cookie]") == [0, 0, ""]


def test_by_keyboard_alone(browser, entity, expect):
    hook = entity.register()
    page = screen(browser, entity, hook)
    tab_to(page, "¿Cuánto tiempo")
    page.keyboard.press("Home")
    tab_to(page, STORED)
    page.keyboard.press("Space")
    tab_to(page, "Poner en vigor")
    page.keyboard.press("Enter")
    expect(shown(page).get_by_text("Hay dos secretos en vigor")).to_be_visible()
    tab_to(page, "Mi sistema ya tiene el nuevo")
    page.keyboard.press("Enter")
    tab_to(page, "Retirarlo")
    page.keyboard.press("Enter")
    expect(page.locator("#hecho")).to_contain_text("El secreto anterior ya no vale")
    assert seen(entity, hook)["secretoAnteriorHasta"] is None


def test_the_first_secret_of_a_webhook(browser, entity, receiver, expect):
    hook = entity.register(secret=None)
    page = screen(browser, entity, hook)
    expect(shown(page).get_by_text("Los avisos van sin firmar")).to_be_visible()
    expect(page.get_by_label("¿Cuánto tiempo")).to_have_count(0)
    new = begin(page)
    expect(shown(page).get_by_text("firmados solo con él")).to_be_visible()
    assert_no_barriers(page)
    request = last_request(entity, receiver, hook)
    assert not problems(request.headers, request.body, new)


def test_a_leak_ends_all_old_ones_at_once(browser, entity, receiver, expect):
    hook = entity.register()
    rotate(entity, hook)
    page = screen(browser, entity, hook)
    expect(shown(page).get_by_text("Hay dos secretos en vigor")).to_be_visible()
    expect(page.get_by_text("El secreto nuevo ya no se puede ver")).to_be_visible()
    page.get_by_text("Se ha filtrado, o lo he perdido", exact=True).click()
    assert_no_barriers(page)
    picture(page, "secreto-filtrado")
    new = page.get_by_label("Secreto nuevo").input_value()
    page.get_by_role("button", name="Anular los anteriores").click()
    expect(page.get_by_label(STORED)).to_have_accessible_description(re.compile("no se volverá a mostrar"))
    page.get_by_label(STORED).check()
    page.get_by_role("button", name="Anular los anteriores").click()
    expect(shown(page).get_by_text("El secreto está en vigor")).to_be_visible()
    assert seen(entity, hook)["secretoAnteriorHasta"] is None
    request = last_request(entity, receiver, hook)
    assert not problems(request.headers, request.body, new) and "x-webhook-signature-nueva" not in request.headers


def test_another_person_began_a_rotation(browser, entity, expect):
    hook = entity.register()
    page = screen(browser, entity, hook)
    rotate(entity, hook)
    begin(page)
    expect(page.get_by_role("alert")).to_contain_text("El secreto anterior sigue en vigor hasta")
    expect(shown(page).get_by_text("Lo está cambiando otra persona")).to_be_visible()
    assert_no_barriers(page)


@pytest.mark.parametrize("arrives", [True, False])
def test_an_answer_that_never_came(browser, entity, expect, arrives):
    hook = entity.register()
    page = screen(browser, entity, hook)
    sent = lose(page, "PUT", f"webhooks/{hook.id}/secreto", arrives)
    new = begin(page)
    expect(shown(page).get_by_text("No se sabe si el secreto llegó a entrar en vigor")).to_be_visible()
    page.get_by_role("button", name="Reintentar").click()
    expect(shown(page).get_by_text("Hay dos secretos en vigor")).to_be_visible()
    expect(page.get_by_text(new)).to_be_visible()
    assert sent[0][1] == sent[1][1]


def test_the_grace_ended_by_itself(browser, entity, expect):
    hook = entity.register()
    rotate(entity, hook)
    page = screen(browser, entity, hook)
    assert entity.api("DELETE", f"{BASE}/{hook.id}/secreto/anterior").status == 200
    page.get_by_role("button", name="Mi sistema ya tiene el nuevo").click()
    page.get_by_role("button", name="Retirarlo").click()
    expect(page.locator("#hecho")).to_contain_text("El secreto anterior ya no vale")


def test_too_many_changes_and_a_secret_that_is_refused(browser, entity, expect):
    hook = entity.register()
    page = screen(browser, entity, hook)
    page.get_by_label("Secreto nuevo").first.fill("")
    page.get_by_label(STORED).first.check()
    page.get_by_role("button", name="Poner en vigor").click()
    expect(page.get_by_label("Secreto nuevo").first).to_have_accessible_description(re.compile("No puede estar vacío"))
    answer(page, "PUT", f"webhooks/{hook.id}/secreto", 429, {"message": "La entidad ha hecho demasiados registros y cambios"}, {"Retry-After": "60"})
    page.get_by_label("Secreto nuevo").first.fill(NEW)
    page.get_by_role("button", name="Poner en vigor").click()
    expect(page.get_by_role("alert")).to_contain_text("Se puede reintentar dentro de")
    expect(page.get_by_label("Secreto nuevo").first).to_have_value(NEW)


def test_what_is_new_is_never_in_a_field_that_browsers_keep(browser, entity, expect):
    hook = entity.register()
    page = screen(browser, entity, hook, width=320)
    expect(page.get_by_label("Secreto nuevo").first).to_have_attribute("autocomplete", "off")
    first = page.get_by_label("Secreto nuevo").first.input_value()
    assert_no_sideways_scrolling(page)
    go(page, f"#/webhooks/{hook.id}", "Webhook")
    page.go_back()
    page.get_by_label("Secreto nuevo").first.wait_for()
    assert page.get_by_label("Secreto nuevo").first.input_value() != first
