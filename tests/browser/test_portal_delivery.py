"""The portal's page of one delivery: what was sent, every attempt, what to correct, the button that sends the delivery again,
and the printed page, the technical record of the delivery."""
import hashlib
import json
import re
from urllib.parse import urlsplit

import pytest

from fakes.receiver import Behaviour
from fakes.verify import problems
from support.actors import BASE
from support.browser import API, assert_no_barriers, assert_no_sideways_scrolling, picture, tab_to
from support.portal import PORTAL, answer, enter, open_portal
from support.portal_changes import lose

HOSTILE = "<img src=x onerror=alert(1)></pre><script>alert(2)</script> שלום مرحبا ñ \u202e"


def failed(stack, entity, receiver, data=None, **how):
    """Returns a webhook and the id of its one delivery, which has failed."""
    webhook = entity.register(**how)
    receiver.behave(webhook.path, Behaviour(status=500))
    id = stack.delivery_id(entity.notify(data=data), webhook.id)
    stack.wait_delivery(id, "fallida")
    return webhook, id


@pytest.fixture
def failure(stack, entity, receiver):
    return failed(stack, entity, receiver, {"evaluacionId": 9007199254740993, "titulo": HOSTILE})


def place(failure) -> str:
    return f"#/entregas/{failure[0].id}/{failure[1]}"


def shown(entity, failure) -> dict:
    return entity.api("GET", f"{BASE}/{failure[0].id}/entregas/{failure[1]}").json()


def test_everything_that_the_log_has_of_it(browser, entity, failure, expect):
    whole = shown(entity, failure)
    page = open_portal(browser, entity.token, place(failure))
    expect(page.get_by_role("heading", level=1)).to_have_text("Evaluación abierta")
    expect(page).to_have_title(f"Evaluación abierta, entrega {failure[1]} · {urlsplit(failure[0].url).netloc} (n.º {failure[0].id}) · {entity.name} · Portal de avisos")
    main = page.locator("main")
    for text in (failure[0].url, whole["mensaje"], whole["sha256Cuerpo"], "✓ comprobado en este navegador", "Fallida", "evaluacion.abierta"):
        expect(main).to_contain_text(text)
    attempts = page.locator(".timeline").get_by_role("listitem")
    expect(attempts).to_have_count(4)
    expect(attempts.first).to_contain_text(re.compile(r"Intento 1: fallido \(500\).*\(península\) · \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC · \d+ ms · 1 firma.*se espera un 2xx", re.S))
    expect(page.get_by_role("heading", name="Qué hay que arreglar")).to_be_visible()
    expect(main).to_contain_text("Es un error de su servidor")
    assert_no_barriers(page)
    picture(page, "entrega")


def test_what_may_have_been_corrected_is_told_as_such(browser, entity, stack, receiver, failure, expect):
    receiver.behave(failure[0].path, Behaviour())
    stack.wait_delivery(stack.delivery_id(entity.notify(), failure[0].id), "entregada")
    page = open_portal(browser, entity.token, place(failure))
    expect(page.get_by_text("puede que ya esté corregido lo que falló aquí")).to_be_visible()
    expect(page.get_by_role("heading", name="Qué hay que arreglar, si no lo está ya")).to_be_visible()
    expect(page.get_by_text("Es un error de su servidor")).to_be_visible()
    assert_no_barriers(page)


def test_what_leads_out_of_the_portal_leaves_it_open(browser, entity, failure, expect):
    page = open_portal(browser, entity.token, place(failure))
    for name in ("Todos los errores", "Documentación", "Accesibilidad"):
        link = page.get_by_role("link", name=f"{name} (se abre en otra pestaña)")
        expect(link).to_have_attribute("rel", "noopener noreferrer")
        with page.context.expect_page() as opened:
            link.click()
        opened.value.wait_for_load_state("domcontentloaded")
        assert "/apientidades/docs/" in opened.value.url and opened.value.evaluate("opener") is None
        opened.value.close()
    expect(page.get_by_role("heading", name="Datos")).to_be_visible()
    assert page.locator("a:not([href^='#']):not([target=_blank])").count() == 0


def test_data_is_text_with_all_its_digits(browser, entity, failure, expect):
    page = open_portal(browser, entity.token, place(failure), width=320, text=2)
    body = page.get_by_label("Cuerpo del aviso")
    expect(body).to_contain_text("9007199254740993")
    expect(body).to_contain_text("<img src=x onerror=alert(1)></pre><script>")
    assert page.locator("main img, main script").count() == 0
    assert json.loads(body.inner_text()) == json.loads(shown(entity, failure)["cuerpo"])
    assert_no_sideways_scrolling(page)
    assert_no_barriers(page)


@pytest.mark.parametrize("how", [dict(dark=True), dict(width=320), dict(width=320, dark=True, reduced_motion=True)])
def test_the_screen_fits_and_has_no_barriers(browser, entity, failure, expect, how):
    page = open_portal(browser, entity.token, place(failure), **how)
    expect(page.get_by_role("heading", name="Datos")).to_be_visible()
    assert_no_sideways_scrolling(page)
    assert_no_barriers(page)
    picture(page, "entrega-" + "-".join(map(str, how)))


@pytest.mark.usefixtures("patient")
def test_a_failure_is_sent_again_by_keyboard_and_watched_until_it_arrives(browser, entity, receiver, failure, expect):
    receiver.behave(failure[0].path, Behaviour(hold=True))
    page = open_portal(browser, entity.token, place(failure))
    expect(page.get_by_role("heading", name="Datos")).to_be_visible()
    tab_to(page, "Reenviar")
    page.keyboard.press("Enter")
    expect(page.locator("#reenvio")).to_contain_text(re.compile("El reenvío está en la cola|Se está enviando"))
    assert receiver.wait(failure[0].path, 5, 30)[-1].headers["x-webhook-reenvio"] == "1"
    expect(page.get_by_role("button", name="Reenviar")).to_have_attribute("aria-disabled", "true")
    receiver.release(failure[0].path)
    expect(page.locator("#reenvio")).to_contain_text("Se ha enviado otra vez y se ha recibido.")
    expect(page.locator(".timeline").get_by_role("listitem").last).to_contain_text(re.compile(r"Intento \d \(de un reenvío\): recibido \(200\)"))
    expect(page.locator(".state").first).to_contain_text("Entregada")
    expect(page.get_by_role("heading", name="Qué hay que arreglar")).to_have_count(0)
    expect(page.get_by_role("button", name="Reenviar")).to_be_focused()
    assert_no_barriers(page)
    picture(page, "entrega-reenviada")


def test_a_replay_that_fails_too(browser, entity, failure, expect):
    page = open_portal(browser, entity.token, place(failure))
    page.get_by_role("button", name="Reenviar").click()
    told = page.locator("#reenvio")
    for words in ("Se ha enviado otra vez y ha vuelto a fallar.", "Ya no se reintentará"):
        expect(told).to_contain_text(words)
    expect(page.get_by_text("Es un error de su servidor")).to_have_count(1)
    expect(page.locator(".timeline").get_by_role("listitem").last).to_contain_text("fallido (500)")
    assert_no_barriers(page)
    expect(page.get_by_role("button", name="Reenviar")).not_to_have_attribute("aria-disabled", "true")


def test_a_replay_that_fails_and_waits_for_its_retry(browser, entity, failure, expect):
    """With the usual plan of retries, hours pass before the replay itself fails."""
    page = open_portal(browser, entity.token, place(failure))
    answer(page, "POST", f"webhooks/{failure[0].id}/entregas/{failure[1]}/reenvio", 202, {"message": "", "reenvio": {"id": 5, "estado": "pendiente"}})
    answer(page, "GET", f"webhooks/{failure[0].id}/reenvios/5", 200, {"entregadas": 0, "fallidas": 0, "reenviadas": 1, "estado": "terminado"})
    button = page.get_by_role("button", name="Reenviar")
    button.click()
    expect(page.locator("#reenvio")).to_contain_text("Se está enviando.")
    expect(button).to_have_attribute("aria-disabled", "true")
    whole = shown(entity, failure)
    again = whole["historial"][-1] | {"numero": 5, "tipo": "reenvio"}
    path = f"webhooks/{failure[0].id}/entregas/{failure[1]}"
    answer(page, "GET", path, 200, whole | {"estado": "pendiente", "proximoIntento": "2030-11-20T10:00:00.000Z", "historial": whole["historial"] + [again]})
    for words in ("ha vuelto a fallar", "Se volverá a intentar el 20 nov 2030 a las 11:00. Si lo corrige antes, pulse Reenviar."):
        expect(page.locator("#reenvio")).to_contain_text(words)
    expect(button).not_to_have_attribute("aria-disabled", "true")
    assert_no_barriers(page)
    received = again | {"numero": 6, "estadoHttp": 204, "error": ""}
    answer(page, "GET", path, 200, whole | {"estado": "entregada", "ultimoError": "", "historial": whole["historial"] + [again, received]})
    answer(page, "GET", f"webhooks/{failure[0].id}/reenvios/5", 200, {"entregadas": 1, "fallidas": 0, "reenviadas": 1, "estado": "terminado"})
    expect(page.locator("#reenvio")).to_contain_text("Se ha enviado otra vez y se ha recibido.El receptor respondió 204.")


@pytest.mark.parametrize("status, told", [(409, "Ahora no se puede"), (503, "El servicio no está disponible")])
def test_a_refusal_after_a_replay_that_arrived(browser, entity, receiver, failure, expect, status, told):
    receiver.behave(failure[0].path, Behaviour())
    page = open_portal(browser, entity.token, place(failure))
    page.get_by_role("button", name="Reenviar").click()
    box = page.locator("#reenvio")
    expect(box).to_contain_text("Se ha enviado otra vez y se ha recibido.")
    path, held = f"webhooks/{failure[0].id}/entregas/{failure[1]}", []
    page.route(f"**{API}{path}", lambda route: held.append(route))
    answer(page, "POST", f"{path}/reenvio", status)
    page.get_by_role("button", name="Reenviar").click()
    page.get_by_role("dialog").get_by_role("button", name="Reenviar").click()
    expect(box.get_by_role("alert")).to_contain_text(told)
    held[0].fulfill(json=shown(entity, failure) | {"intentos": 9})
    expect(page.get_by_role("heading", name="Intentos (9)")).to_be_visible()
    expect(box.get_by_role("alert")).to_contain_text(told)
    expect(box).not_to_contain_text("se ha recibido")


def test_a_replay_is_told_of_only_with_its_own_attempt(browser, entity, failure, expect):
    """The replay of a delivered delivery fails. Another attempt, made before the replay, is not the replay's."""
    webhook, id = failure
    last = shown(entity, failure)["historial"][-1]
    path, asked = f"webhooks/{webhook.id}/entregas/{id}", []
    whole = shown(entity, failure) | {"estado": "entregada", "ultimoError": "", "historial": [last | {"numero": 5, "estadoHttp": 204, "error": ""}]}
    scheduled = whole["historial"] + [last | {"numero": 6}]
    page = browser.page(PORTAL + place(failure))
    page.route(f"**{API}{path}", lambda route: route.fulfill(json=whole | {"historial": scheduled + [last | {"numero": 7, "tipo": "reenvio", "error": "El receptor respondió 404: se espera un 2xx"}]} if len(asked) > 2
                                                             else whole | {"historial": scheduled} if asked else whole))

    def progress(route):
        asked.append(route)
        route.fulfill(json={"id": 5, "estado": "terminado", "candidatas": 1, "reenviadas": 1, "entregadas": 0, "fallidas": int(len(asked) > 2), "porReintentar": 0})

    page.route(f"**{API}webhooks/{webhook.id}/reenvios/5", progress)
    answer(page, "POST", f"{path}/reenvio", 202, {"message": "", "reenvio": {"id": 5, "estado": "pendiente"}})
    enter(page, entity.token)
    page.get_by_role("button", name="Reenviar").wait_for()
    page.evaluate("""() => { globalThis.told = []; const box = document.getElementById("reenvio");
                    new MutationObserver(() => told.push(box.textContent)).observe(box, { childList: true, subtree: true }); }""")
    page.get_by_role("button", name="Reenviar").click()
    page.get_by_role("dialog").get_by_role("button", name="Reenviar").click()
    expect(page.locator("#reenvio")).to_contain_text("ha vuelto a fallar.El receptor respondió 404")
    told = page.evaluate("told")
    assert not [text for text in told if "undefined" in text or "500" in text], told
    assert any("Se está enviando." in text for text in told)


def test_the_delivery_ends_before_its_replay_is_known_to(browser, entity, failure, expect):
    """The page asks for the delivery and for the replay separately. The failed attempt is told at once, and frees the button."""
    page = open_portal(browser, entity.token, place(failure))
    going = {"entregadas": 0, "fallidas": 0, "reenviadas": 1, "estado": "terminado"}
    answer(page, "GET", f"webhooks/{failure[0].id}/reenvios/*", 200, going)
    button = page.get_by_role("button", name="Reenviar")
    button.click()
    expect(page.locator(".timeline").get_by_role("listitem").last).to_contain_text(re.compile(r"Intento \d \(de un reenvío\): fallido \(500\)"))
    expect(page.locator(".state").first).to_contain_text("Fallida")
    expect(page.locator("#reenvio")).to_contain_text("ha vuelto a fallar")
    expect(page.locator("#reenvio")).to_contain_text("Ya no se reintentará")
    expect(button).not_to_have_attribute("aria-disabled", "true")


def test_a_refusal_after_the_button_was_drawn_anew(browser, entity, failure, expect):
    page = open_portal(browser, entity.token, place(failure))
    expect(page.get_by_role("button", name="Reenviar")).to_be_visible()
    held = []
    page.route(f"**/entregas/{failure[1]}/reenvio", lambda route: held.append(route))
    page.get_by_role("button", name="Reenviar").click()
    answer(page, "GET", f"webhooks/{failure[0].id}/entregas/{failure[1]}", 200, shown(entity, failure) | {"intentos": 9})
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")  # this event makes the page ask the API at once
    expect(page.get_by_role("heading", name="Intentos (9)")).to_be_visible()
    expect(page.get_by_role("button", name="Pidiendo el reenvío…")).to_have_attribute("aria-disabled", "true")
    held[0].fulfill(status=500, json={"message": "Respuesta 500 de la prueba"})
    expect(page.get_by_role("alert")).to_contain_text("Error del servicio")
    expect(page.get_by_role("button", name="Reenviar")).not_to_have_attribute("aria-disabled", "true")


@pytest.mark.parametrize("estado, activo, why", [
    ("cancelada", 1, "Está cancelada"), ("en_curso", 1, "Se está enviando en este momento"), ("retenida", 1, "Está retenida, y se enviará en cuanto sea posible, salvo que caduque o se anule"), ("fallida", 0, "El webhook no está activo")])
def test_what_cannot_be_sent_again_says_why_beforehand(browser, entity, failure, expect, estado, activo, why):
    webhook, id = failure
    page = browser.page(PORTAL + place(failure))
    answer(page, "GET", f"webhooks/{webhook.id}/entregas/{id}", 200, shown(entity, failure) | {"estado": estado})
    answer(page, "GET", f"webhooks/{webhook.id}", 200, entity.api("GET", f"{BASE}/{webhook.id}").json() | {"activo": bool(activo)})
    enter(page, entity.token)
    button = page.get_by_role("button", name="Reenviar")
    expect(button).to_have_attribute("aria-disabled", "true")
    expect(button).to_have_accessible_description(re.compile(why))
    assert_no_barriers(page)


def test_a_409_is_explained(browser, entity, failure, expect):
    """The webhook becomes inactive after the portal has drawn the button."""
    page = open_portal(browser, entity.token, place(failure))
    button = page.get_by_role("button", name="Reenviar")
    expect(button).to_be_visible()
    assert entity.api("PATCH", f"{BASE}/{failure[0].id}", json_body={"activo": False}).status == 200
    button.click()
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("Ahora no se puede")
    expect(alert).to_contain_text("El webhook está inactivo")
    assert_no_barriers(page)


@pytest.mark.parametrize("status, title", [(429, "Demasiadas peticiones"), (503, "El servicio no está disponible"), (412, "Ha cambiado entretanto")])
def test_other_refusals_of_the_button(browser, entity, failure, expect, status, title):
    page = open_portal(browser, entity.token, place(failure))
    answer(page, "POST", f"webhooks/{failure[0].id}/entregas/{failure[1]}/reenvio", status, headers={"Retry-After": "60"} if status != 412 else None)
    page.get_by_role("button", name="Reenviar").click()
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text(title)
    if status != 412:
        expect(alert.get_by_role("button", name="Reintentar")).to_have_attribute("aria-disabled", "true")


@pytest.mark.parametrize("arrives", [True, False])
def test_an_answer_that_never_came(browser, entity, failure, expect, arrives):
    page = open_portal(browser, entity.token, place(failure))
    lose(page, "POST", f"webhooks/{failure[0].id}/entregas/{failure[1]}/reenvio", arrives)
    page.get_by_role("button", name="Reenviar").click()
    expect(page.locator("#reenvio")).to_contain_text("No se sabe si el reenvío llegó a pedirse")
    attempts = page.locator(".timeline").get_by_role("listitem")
    expect(attempts.nth(4) if arrives else attempts.last).to_contain_text(f"{'Intento 5 (de un reenvío)' if arrives else 'Intento 4'}: fallido")
    assert_no_barriers(page)


def test_it_is_shown_once_the_service_is_back(browser, entity, failure, expect):
    """The page asks for the webhook first, and gets no answer. So no Retry-After says when to ask again."""
    page = browser.page(PORTAL + place(failure))
    path = f"**{API}webhooks/{failure[0].id}"
    page.route(path, lambda route: route.abort())
    enter(page, entity.token)
    expect(page.get_by_role("alert")).to_contain_text("Sin conexión")
    page.unroute(path)
    expect(page.get_by_role("heading", name="Datos")).to_be_visible(timeout=15_000)
    expect(page.get_by_role("alert")).to_have_count(0)


def test_a_token_that_only_reads_has_no_button(browser, entity, failure, expect):
    page = open_portal(browser, entity.issue_token("--read-only"), place(failure))
    expect(page.get_by_role("button", name="Imprimir el registro técnico")).to_be_visible()
    expect(page.get_by_role("button", name="Reenviar")).to_have_count(0)


def test_a_token_that_turns_out_to_read_only(browser, entity, failure, expect):
    page = open_portal(browser, entity.token, place(failure))
    answer(page, "POST", f"webhooks/{failure[0].id}/entregas/{failure[1]}/reenvio", 403, {"message": "El token de acceso es de solo lectura: no permite cambiar nada"})
    page.get_by_role("button", name="Reenviar").click()
    expect(page.get_by_role("alert")).to_contain_text("No está permitido")
    expect(page.get_by_text("Token de solo lectura")).to_be_visible()


def test_a_401_in_the_midst_of_it_asks_for_a_token_and_goes_on(browser, entity, stack, receiver, failure, expect):
    page = open_portal(browser, entity.token, place(failure))
    expect(page.get_by_role("button", name="Reenviar")).to_be_visible()
    receiver.behave(failure[0].path, Behaviour())
    token = next(one for one in stack.admin("token", "list") if one["entidad_id"] == entity.id)
    stack.admin("token", "revoke", token["id"])
    page.get_by_role("button", name="Reenviar").click()
    dialog = page.get_by_role("dialog", name="Hace falta otro token")
    dialog.get_by_label("Token de acceso").fill(entity.issue_token())
    dialog.get_by_role("button", name="Seguir").click()
    expect(page.locator("#reenvio")).to_contain_text("Se ha enviado otra vez y se ha recibido.")


def test_the_command_is_copied(browser, entity, failure, expect):
    page = open_portal(browser, entity.token, place(failure), permissions=["clipboard-write", "clipboard-read"])
    page.get_by_text("Copiar como curl").click()
    page.get_by_role("button", name="Copiar", exact=True).click()
    expect(page.locator("#anuncios")).to_have_text("Copiado")
    command = page.get_by_label("Orden de curl").inner_text()
    assert failure[0].url in command and shown(entity, failure)["mensaje"] in command
    assert_no_barriers(page)


def test_the_command_is_signed_in_the_browser(browser, entity, failure, expect):
    """The secret goes nowhere, and a redrawing of the screen leaves it and the command."""
    webhook, id = failure
    page = open_portal(browser, entity.token, place(failure), width=320)
    asked = []
    page.on("request", lambda request: asked.append((request.url, str(request.headers), request.post_data)))
    page.get_by_text("Copiar como curl").click()
    tab_to(page, "Su secreto, para firmarla")
    page.keyboard.press("Enter")
    secret = page.get_by_label("Su secreto, para firmarla")
    expect(secret).to_have_accessible_description(re.compile("Pegue el secreto"))
    assert_no_barriers(page)
    expect(secret).to_have_attribute("type", "text")  # browsers offer to store a password
    secret.fill(webhook.secret + " ")
    page.keyboard.press("Enter")
    expect(secret).to_have_accessible_description(re.compile("Quite los espacios"))
    secret.fill(webhook.secret)
    page.keyboard.press("Enter")
    expect(page.locator("#anuncios")).to_have_text("Firmada con la hora de ahora")
    command = page.get_by_label("Orden de curl").inner_text()
    headers = {name.lower(): value for name, value in re.findall(r"-H '([^:']+): ([^']+)'", command)}
    whole = shown(entity, failure)
    assert problems(headers, whole["cuerpo"].encode(), webhook.secret) == []
    assert_no_sideways_scrolling(page)
    assert_no_barriers(page)
    answer(page, "GET", f"webhooks/{webhook.id}/entregas/{id}", 200, whole | {"intentos": 9})
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(page.get_by_role("heading", name="Intentos (9)")).to_be_visible()
    expect(secret).to_be_focused()
    expect(secret).to_have_value("")
    assert page.get_by_label("Orden de curl").inner_text() == command
    page.keyboard.insert_text("o")  # of another secret
    expect(page.get_by_label("Orden de curl")).not_to_contain_text("webhook-signature")
    answer(page, "GET", f"webhooks/{webhook.id}", 200, entity.api("GET", f"{BASE}/{webhook.id}").json() | {"tieneSecreto": False})
    page.reload()
    enter(page, entity.token)
    page.get_by_text("Copiar como curl").click()
    expect(page.get_by_text("este webhook no tiene secreto")).to_be_visible()
    expect(secret).to_have_count(0)
    assert webhook.secret not in str(asked) + page.content() and page.evaluate("history.state") is None


def test_its_print_is_a_technical_record_on_one_page(browser, entity, failure, expect, tmp_path):
    whole = shown(entity, failure)
    page = open_portal(browser, entity.token, place(failure))
    page.evaluate("globalThis.print = () => (globalThis.printed = true)")
    page.get_by_role("button", name="Imprimir el registro técnico").click()
    assert page.evaluate("printed")
    heading, title = page.get_by_role("heading", level=1), page.title()
    usual = heading.inner_text()
    page.route("**/reenvio", lambda route: route.fulfill(status=500, json={"message": "Respuesta 500 de la prueba"}))
    page.get_by_role("button", name="Reenviar").click()
    page.get_by_role("button", name="Reintentar").wait_for()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert heading.inner_text() == "Registro técnico de la entrega" and page.title().startswith(f"Registro técnico de la entrega {failure[1]}")
    expect(page.locator("#leido time, #impreso time")).to_have_count(2)
    page.emulate_media(media="print")
    text = page.locator("body").inner_text()
    for wanted in (whole["mensaje"], whole["sha256Cuerpo"], failure[0].url, "Intento 4: fallido (500)", "9007199254740993", "Leído del servicio el ", "Impreso el ",
                   "Registro técnico de la entrega", "No es una notificación administrativa, ni prueba oficial", f"Entrega {failure[1]} del servicio de avisos de localhost", entity.name, "Europe/Madrid"):
        assert wanted in text
    assert not re.search(r"\b(hoy|ayer) a las? \d", text)
    assert "Reintentar" not in text and "Reenviar" not in text and "Resumen" not in text and "Copiar" not in text
    pdf = page.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) == 1
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    expect(page).to_have_title(title)
    assert heading.inner_text() == usual


@pytest.mark.parametrize("webhook, delivery, told", [(None, 999999999, "No existe ninguna entrega"), (999999999, 1, "No existe ningún webhook")])
def test_an_unknown_delivery_or_webhook_is_reported(browser, entity, expect, webhook, delivery, told):
    own = entity.register()
    page = open_portal(browser, entity.token, f"#/entregas/{webhook or own.id}/{delivery}")
    expect(page.get_by_role("alert")).to_contain_text(told)
    assert_no_barriers(page)


def test_a_cancelled_one_says_its_cause_once_and_no_advice(browser, entity, failure, expect):
    page = browser.page(PORTAL + place(failure))
    whole = shown(entity, failure) | {"estado": "cancelada", "ultimoError": "La notificación ha caducado", "historial": [], "intentos": 0}
    answer(page, "GET", f"webhooks/{failure[0].id}/entregas/{failure[1]}", 200, whole)
    enter(page, entity.token)
    expect(page.locator(".state").first).to_contain_text("La notificación caducó antes de entregarse.")
    expect(page.locator("main").get_by_text("caduc")).to_have_count(1)
    for absent in ("Qué hay que arreglar", "pida un diagnóstico", "Todavía"):
        expect(page.get_by_text(absent)).to_have_count(0)
    assert_no_barriers(page)


def test_an_altered_body_is_noticed(browser, entity, failure, expect):
    page = browser.page(PORTAL + place(failure))
    whole = shown(entity, failure)
    assert whole["sha256Cuerpo"] == hashlib.sha256(whole["cuerpo"].encode()).hexdigest()
    answer(page, "GET", f"webhooks/{failure[0].id}/entregas/{failure[1]}", 200, whole | {"cuerpo": whole["cuerpo"] + " "})
    enter(page, entity.token)
    expect(page.locator("main")).to_contain_text("✕ no es el del cuerpo que se ve")


def test_the_data_of_a_test_that_cannot_be_read_any_more(browser, entity, failure, expect):
    page = browser.page(PORTAL + place(failure))
    whole = shown(entity, failure) | {"cuerpo": None, "sha256Cuerpo": None, "prueba": True, "historial": [], "intentos": 0}
    answer(page, "GET", f"webhooks/{failure[0].id}/entregas/{failure[1]}", 200, whole)
    enter(page, entity.token)
    expect(page.get_by_text("Los datos de esta prueba ya no se pueden leer.")).to_be_visible()
    expect(page.get_by_text("No se ha intentado.")).to_be_visible()
    assert_no_barriers(page)
