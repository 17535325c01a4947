"""Un webhook: its state, pausing, reactivating, editing while another person edits it, deleting."""
import re

import pytest

from fakes.receiver import Behaviour
from support.actors import BASE
from support.browser import API, assert_no_barriers, assert_no_sideways_scrolling, picture, tab_to
from support.portal import PORTAL, answer, called, enter
from support.portal_changes import HOSTILE, HOSTILE_SHOWN, arrived, at, go, lose, settle, shown
from support.stack import EVENTS
from support.wait import wait_until

URL = "Dirección que recibe los avisos"
CHANGING = ["", "/editar", "/secreto", "/diagnostico", "/reenvios"]


def place(hook, rest=""):
    return f"#/webhooks/{hook.id}{rest}"


def seen(entity, hook):
    return entity.api("GET", f"{BASE}/{hook.id}").json()


def change(entity, hook, **members):
    answered = entity.api("PATCH", f"{BASE}/{hook.id}", json_body=members)
    assert answered.status == 200, answered


def other(entity, name):
    return f"https://{name}.receptor.test:{entity.receiver.port}/{name}"


def test_a_new_webhook_is_shown(browser, entity, expect):
    hook = entity.register(EVENTS[:2])
    page = at(browser, entity, place(hook), "Webhook")
    expect(shown(page).get_by_text("Todavía no se le ha enviado nada")).to_be_visible()
    expect(page.locator("dl").get_by_text(hook.url)).to_be_visible()
    expect(page.locator(".about")).to_have_text(called(hook).replace(" · ", " "))
    expect(page.get_by_text("Prórroga de la evaluación")).to_be_visible()
    expect(page.get_by_text("Los avisos van firmados")).to_be_visible()
    assert_no_barriers(page)
    picture(page, "webhook")


@pytest.mark.parametrize("rest, heading", [("", "Webhook"), ("/editar", "Editar el webhook"), ("/secreto", "Secreto")])
@pytest.mark.parametrize("how", [dict(width=320, text=2), dict(dark=True)])
def test_the_screens_fit_and_have_no_barriers(browser, entity, rest, heading, how):
    page = at(browser, entity, place(entity.register(), rest), heading, **how)
    assert_no_sideways_scrolling(page)
    assert_no_barriers(page)


@pytest.mark.parametrize("members, told", [
    ({"activo": False, "motivo": "operador"}, "solo él puede reactivarlo"), ({"activo": False, "motivo": "http_410"}, "respondió 410"),
    ({"activo": False, "motivo": "fallos"}, "durante días"), ({"activo": False, "motivo": "entidad"}, "por decisión de su entidad"),
    ({"fallaDesde": "2026-11-20T10:00:00.000Z", "ultimoError": HOSTILE, "desactivacion": "2026-11-25T10:00:00.000Z"}, "Se desactivará"),
    ({"ultimaEjecucion": "2026-11-20T10:00:00.000Z", "ultimoError": HOSTILE}, "Último envío fallido"),
    ({"secretoDebil": True}, "El secreto es demasiado corto"),
    ({"avisoSecreto": "Aviso"}, "no puede verificarse con las bibliotecas")])
def test_its_states_and_text_of_others(browser, entity, expect, members, told):
    hook = entity.register()
    page = at(browser, entity, "#/entregas", "Entregas", width=320)
    answer(page, "GET", f"webhooks/{hook.id}", 200, seen(entity, hook) | {"url": "https://a.es/" + HOSTILE, "eventos": [*EVENTS, "<i>nuevo</i>"]} | members)
    go(page, place(hook), "Webhook")
    expect(shown(page).get_by_text(told)).to_be_visible()
    expect(page.get_by_text("<i>nuevo</i>")).to_be_visible()
    assert page.locator("main img, main b, main i").count() == 0 and page.title().startswith("Webhook")
    assert "https://a.es/" + HOSTILE_SHOWN in page.locator("main").text_content()
    expect(page.get_by_role("button", name="Reactivar")).to_have_count(int(members.get("activo") is False and members["motivo"] != "operador"))
    assert_no_sideways_scrolling(page)
    assert_no_barriers(page)


def test_a_failure_from_before_a_change_is_told_as_such(browser, entity, expect):
    hook = entity.register()
    page = at(browser, entity, "#/entregas", "Entregas")
    now = seen(entity, hook) | {"ultimaEjecucion": "2026-11-20T10:00:00.000Z", "ultimoEstado": 404, "ultimoError": "El receptor respondió 404"}
    answer(page, "GET", f"webhooks/{hook.id}", 200, now)
    go(page, place(hook), "Webhook")
    expect(shown(page).get_by_text("Se ha cambiado después de ese envío")).to_be_visible()
    expect(page.get_by_text("Qué hacer")).to_have_count(0)
    expect(page.get_by_text("Si el cambio no lo corrige")).to_be_visible()  # a change of the name corrects nothing
    assert_no_barriers(page)
    answer(page, "GET", f"webhooks/{hook.id}", 200, now | {"ultimaEjecucion": "2099-11-20T10:00:00.000Z", "ultimoEstado": 204, "ultimoError": ""})
    expect(shown(page).get_by_text("se recibió bien")).to_be_visible(timeout=15_000)
    expect(page.get_by_text("Se ha cambiado después de ese envío")).to_have_count(0)


def test_a_name_and_a_long_address_tell_webhooks_apart(browser, entity, expect):
    hook = entity.register()
    long = f"{hook.url}/{'ruta/' * 30}produccion"
    change(entity, hook, nombre="Producción", url=long)
    page = at(browser, entity, place(hook), "Webhook", width=320)
    expect(page).to_have_title(f"Webhook · Producción · {entity.name} · Portal de avisos")
    about = page.locator(".about")
    expect(about).to_contain_text("Producción")
    expect(about.get_by_text(long)).to_be_hidden()
    about.get_by_text("…").click()
    expect(about.get_by_text(long)).to_be_visible()
    assert_no_sideways_scrolling(page)
    assert_no_barriers(page)


def test_a_foreign_webhook_is_shown_as_gone(browser, entity, new_entity, expect):
    foreign = new_entity().register()
    page = at(browser, entity, place(foreign), "Webhook")
    expect(shown(page).get_by_text("Este webhook ya no existe")).to_be_visible()
    assert_no_barriers(page)


def test_the_service_is_away_and_returns(browser, entity, expect):
    hook = entity.register()
    page = at(browser, entity, "#/entregas", "Entregas")
    answer(page, "GET", f"webhooks/{hook.id}", 503)  # each time, since the list may ask for it, too
    go(page, place(hook), "Webhook")
    expect(page.get_by_role("alert")).to_contain_text("El servicio no está disponible")
    page.unroute_all()
    page.get_by_role("button", name="Reintentar").click()
    expect(page.locator("dl").get_by_text(hook.url)).to_be_visible()


@pytest.mark.parametrize("rest", CHANGING)
def test_a_token_that_only_reads_is_offered_no_change(browser, entity, expect, rest):
    hook = entity.register()
    page = at(browser, entity, place(hook, rest), "", token=entity.issue_token("--read-only"))
    expect(shown(page).get_by_text("solo lectura").first).to_be_visible()
    expect(page.locator("main").get_by_role("button")).to_have_count(0)
    expect(page.locator("main form")).to_have_count(0)
    assert_no_barriers(page)


def test_pausing_and_reactivating(browser, entity, stack, expect):
    hook = entity.register()
    page = at(browser, entity, place(hook), "Webhook")
    instead = page.get_by_text("Si solo quiere parar un tiempo, páuselo.")
    expect(instead).to_be_visible()
    page.get_by_role("button", name="Pausar").click()
    question = page.get_by_role("dialog")
    expect(question).to_contain_text("Los plazos de la evaluación no se paran")
    expect(question).to_contain_text("los que esperan y los nuevos, se guardan 90 días, si el operador no ha fijado otra duración")
    expect(question).to_contain_text(hook.url)
    expect(question).to_contain_text("Ninguna entrega.")
    assert_no_barriers(page)
    question.get_by_role("button", name="Cancelar").click()
    expect(page.get_by_role("button", name="Pausar")).to_be_focused()
    assert seen(entity, hook)["activo"]
    page.get_by_role("button", name="Pausar").click()
    question.get_by_role("button", name="Pausar").click()
    expect(page.locator("#hecho")).to_contain_text("al reactivarlo se enviarán, salvo lo que haya caducado o se haya anulado")
    expect(page.get_by_role("link", name="Reenviar muchas")).to_have_count(0)
    expect(instead).to_have_count(0)
    expect(page.locator("main")).to_contain_text(re.compile(r"En pausa desde el \d+ \w+ 20\d\d, \d\d:\d\d, por decisión de su entidad\. ?Mientras tanto no se le envía nada"))
    assert_no_barriers(page)
    picture(page, "webhook-en-pausa")
    delivery = stack.delivery_id(entity.notify(), hook.id)
    stack.wait_delivery(delivery, "retenida")
    tab_to(page, "Reactivar")
    page.keyboard.press("Enter")
    expect(page.locator("#hecho")).to_contain_text("salvo lo que haya caducado o se haya anulado")
    stack.wait_delivery(delivery, "entregada")
    go(page, "#/entregas", "Entregas")
    expect(page.locator("#hecho")).to_be_empty()


@pytest.mark.parametrize("act", ["Pausar", "Reactivar", "Eliminar"])
def test_the_next_screen_is_left_alone(browser, entity, expect, act):
    """The answer comes when the person already writes on another screen."""
    hook = entity.register()
    change(entity, hook, activo=act != "Reactivar")
    page = at(browser, entity, place(hook), "Webhook")
    held = []
    page.route(f"**{API}webhooks/{hook.id}", lambda route: route.fallback() if route.request.method == "GET" else held.append(route))
    page.get_by_role("button", name=act).click()
    if act != "Reactivar":
        question = page.get_by_role("dialog")
        if act == "Eliminar":
            question.get_by_role("textbox").fill(str(hook.id))
        question.get_by_role("button", name=act).click()
    wait_until(lambda: page.wait_for_timeout(50) or held, what="the request")
    go(page, "#/webhooks/nuevo", "Registrar un webhook")
    page.get_by_label("Dirección que recibirá").fill("https://ejemplo.es/avisos")
    with page.expect_response(f"**{API}webhooks/{hook.id}"):
        held[0].continue_()
    settle(page)
    expect(page.get_by_label("Dirección que recibirá")).to_have_value("https://ejemplo.es/avisos")
    expect(page.locator("#hecho")).to_be_empty()


def test_a_webhook_the_operator_disabled_cannot_be_reactivated(browser, entity, stack, expect):
    hook = entity.register()
    change(entity, hook, activo=False)
    page = at(browser, entity, place(hook), "Webhook")
    stack.dev("admin", "webhook", "disable", hook.id)
    page.get_by_role("button", name="Reactivar").click()
    expect(page.get_by_role("alert")).to_contain_text(re.compile("Otra persona lo ha cambiado|solo él puede reactivarlo"))
    page.get_by_role("button", name="Ver cómo está ahora").click()
    expect(shown(page).get_by_text("por el operador del servicio")).to_be_visible()
    expect(page.get_by_role("button", name="Reactivar")).to_have_count(0)


CONTACT = {"correo": "soporte@ejemplo.es", "telefono": "900 000 000", "pagina": None}


def test_what_only_the_operator_can_do_names_the_operator(browser, entity, stack, expect):
    hook = entity.register()
    stack.dev("admin", "webhook", "disable", hook.id)
    page = browser.page(PORTAL + place(hook))
    answer(page, "GET", "entidad", 200, entity.api("GET", "/apientidades/v1/entidad").json() | {"contacto": CONTACT})
    enter(page, entity.token)
    told = "Hable con el operador del servicio: soporte@ejemplo.es · 900 000 000"
    expect(page.locator("main").get_by_text(told)).to_be_visible()
    expect(page.locator("footer")).to_contain_text("Operador del servicio: soporte@ejemplo.es · 900 000 000")
    assert_no_barriers(page)
    go(page, place(hook, "/diagnostico"), "Diagnóstico")
    expect(page.locator("main").get_by_text(told)).to_be_visible()
    page.get_by_role("button", name="Salir").click()
    expect(page.locator("footer")).not_to_contain_text("soporte@ejemplo.es")


def test_what_another_person_changed_is_not_paused_unseen(browser, entity, expect):
    hook = entity.register()
    page = at(browser, entity, place(hook), "Webhook")
    change(entity, hook, eventos=EVENTS[:1])
    page.get_by_role("button", name="Pausar").click()
    question = page.get_by_role("dialog")
    question.get_by_role("button", name="Pausar").click()
    expect(question).to_contain_text("Otra persona lo ha cambiado")
    assert seen(entity, hook)["activo"]
    question.get_by_role("button", name="Ver cómo está ahora").click()
    expect(page.get_by_text("1 aviso", exact=True)).to_be_visible()


def test_until_when_nothing_is_sent_after_a_429(browser, entity, receiver, stack, expect):
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(status=429, headers={"Retry-After": "7200"}))
    id = stack.delivery_id(entity.notify(), hook.id)
    wait_until(lambda: seen(entity, hook)["ultimoEstado"] == 429, what="the 429")
    page = at(browser, entity, place(hook), "Webhook", width=320)
    told = re.compile(r"No se le envía nada hasta que pase lo que pidió: como tarde, (hoy|mañana) a las? \d\d:\d\d")
    expect(page.locator("main").get_by_text(told)).to_be_visible()
    assert_no_barriers(page)
    go(page, "#/", "Resumen")
    expect(page.locator("main").get_by_text(told)).to_be_visible()
    assert_no_sideways_scrolling(page)
    assert_no_barriers(page)
    assert id


def edit(browser, entity, hook, **how):
    return at(browser, entity, place(hook, "/editar"), "Editar el webhook", **how)


def save(page):
    page.get_by_role("button", name="Guardar", exact=True).click()


def saved(page, expect):
    expect(page.locator("#hecho")).to_contain_text("Cambios guardados")
    expect(page.get_by_role("heading", level=1, name="Webhook", exact=True)).to_be_focused()


def test_editing_by_keyboard_alone(browser, entity, expect):
    hook = entity.register()
    page = edit(browser, entity, hook)
    assert_no_barriers(page)
    picture(page, "editar")
    tab_to(page, URL)
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(other(entity, "nueva"))
    tab_to(page, "Incidencia cerrada")
    page.keyboard.press("Space")
    tab_to(page, "Guardar")
    page.keyboard.press("Enter")
    saved(page, expect)
    expect(page.locator("#hecho")).to_contain_text("lo que esperaba un reintento se envía enseguida")
    now = seen(entity, hook)
    assert now["url"] == other(entity, "nueva") and "incidencia.cerrada" not in now["eventos"] and len(now["eventos"]) == 10


def test_nothing_changed(browser, entity, expect):
    hook = entity.register()
    page = edit(browser, entity, hook)
    before = seen(entity, hook)["fechaModificacion"]
    save(page)
    expect(page.locator("#hecho")).to_contain_text("No había nada que cambiar")
    assert seen(entity, hook)["fechaModificacion"] == before


@pytest.mark.parametrize("typed, told", [("", "No puede estar vacía"), ("https://localhost/", "dirección local")])
def test_what_is_wrong_with_the_address_is_at_its_field(browser, entity, expect, typed, told):
    page = edit(browser, entity, entity.register())
    page.get_by_label(URL).fill(typed)
    save(page)
    expect(page.get_by_label(URL)).to_have_accessible_description(re.compile(told))
    expect(page.get_by_label(URL)).to_be_focused()
    assert_no_barriers(page)


def test_an_address_that_the_operator_disabled(browser, entity, stack, expect):
    blocked, hook = entity.register(), entity.register()
    stack.dev("admin", "webhook", "disable", blocked.id)
    page = edit(browser, entity, hook)
    page.get_by_label(URL).fill(blocked.url)
    save(page)
    expect(page.get_by_label(URL)).to_have_accessible_description(re.compile("El operador la ha desactivado"))


def test_another_person_changed_another_thing(browser, entity, expect):
    hook = entity.register()
    page = edit(browser, entity, hook)
    page.get_by_label(URL).fill(other(entity, "mia"))
    change(entity, hook, eventos=EVENTS[:3])
    save(page)
    expect(page.get_by_role("alert")).to_contain_text("Otra persona lo ha cambiado mientras usted escribía")
    expect(page.get_by_role("alert")).to_contain_text("Ya está puesto en el formulario")
    expect(page.get_by_label("Documento disponible")).not_to_be_checked()
    expect(page.get_by_label(URL)).to_have_value(other(entity, "mia"))
    assert seen(entity, hook)["url"] == hook.url, "nothing is overwritten unseen"
    assert_no_barriers(page)
    save(page)
    saved(page, expect)
    now = seen(entity, hook)
    assert (now["url"], now["eventos"]) == (other(entity, "mia"), EVENTS[:3])


@pytest.mark.parametrize("choice, kept", [("El que usted ha escrito", "mia"), ("Dejarlo como está ahora", "suya")])
def test_another_person_changed_the_same_thing(browser, entity, expect, choice, kept):
    hook = entity.register()
    page = edit(browser, entity, hook, width=320)
    page.get_by_label(URL).fill(other(entity, "mia"))
    change(entity, hook, url=other(entity, "suya"))
    save(page)
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text(other(entity, "suya"))
    expect(alert).to_contain_text(other(entity, "mia"))
    assert_no_sideways_scrolling(page)
    assert_no_barriers(page)
    picture(page, "editar-otra-persona")
    save(page)
    theirs = alert.get_by_role("radio").first
    expect(theirs).to_be_focused()
    expect(theirs).to_have_accessible_description("Elija una opción.")
    alert.get_by_label(choice).check()
    save(page)
    expect(page.locator("#hecho")).to_contain_text("Cambios guardados" if kept == "mia" else "No había nada que cambiar")
    assert seen(entity, hook)["url"] == other(entity, kept)


@pytest.mark.parametrize("choice, kept", [("Las dos cosas", [0, 3, 4]), ("El que usted ha escrito", [0, 1, 4]), ("Dejarlo como está ahora", [0, 2, 3])])
def test_two_changes_of_the_events_that_can_both_stand(browser, entity, expect, choice, kept):
    hook = entity.register(EVENTS[:3])
    page = edit(browser, entity, hook, width=320)
    page.get_by_label("Cierre próximo de la evaluación").uncheck()
    page.get_by_label("Resultados provisionales").check()
    change(entity, hook, eventos=[EVENTS[0], EVENTS[2], EVENTS[3]])
    save(page)
    alert = page.get_by_role("alert")
    for told in ("Dejarlo como está ahora (la otra persona añadió Evaluación cerrada y quitó Prórroga de la evaluación)",
                 "El que usted ha escrito: se añaden Prórroga de la evaluación y Resultados provisionales; se quitan Cierre próximo de la evaluación y Evaluación cerrada",
                 "Las dos cosas: se añade Resultados provisionales; se quita Cierre próximo de la evaluación"):
        expect(alert.get_by_label(told, exact=True)).to_be_visible()
    if choice == "Las dos cosas":
        assert_no_sideways_scrolling(page)
        assert_no_barriers(page)
        picture(page, "editar-las-dos")
    alert.get_by_label(choice).check()
    save(page)
    expect(page.locator("#hecho")).to_contain_text("No había nada que cambiar" if choice == "Dejarlo como está ahora" else "Cambios guardados")
    assert seen(entity, hook)["eventos"] == [EVENTS[i] for i in kept]


def test_saving_a_deleted_webhook_keeps_the_typed_url(browser, entity, expect):
    hook = entity.register()
    page = edit(browser, entity, hook)
    page.get_by_label(URL).fill(other(entity, "mia"))
    entity.api("DELETE", f"{BASE}/{hook.id}")
    save(page)
    expect(page.get_by_role("alert")).to_contain_text("No existe ningún webhook con ese identificador")
    expect(page.get_by_label(URL)).to_have_value(other(entity, "mia"))


@pytest.mark.parametrize("arrives", [True, False])
def test_an_answer_that_never_came(browser, entity, expect, arrives):
    hook = entity.register()
    page = edit(browser, entity, hook)
    page.get_by_label(URL).fill(other(entity, "mia"))
    lose(page, "PATCH", f"webhooks/{hook.id}", arrives)
    save(page)
    expect(shown(page).get_by_text("No se sabe si llegó a guardarse")).to_be_visible()
    page.get_by_role("button", name="Comprobar si se guardó").click()
    if not arrives:
        expect(page.get_by_role("alert")).to_contain_text("No se había guardado")
        save(page)
    saved(page, expect)
    assert seen(entity, hook)["url"] == other(entity, "mia")


def test_another_token_in_the_midst_of_it(browser, entity, expect):
    hook = entity.register()
    page = edit(browser, entity, hook)
    page.get_by_label(URL).fill(other(entity, "mia"))
    answer(page, "PATCH", f"webhooks/{hook.id}", 401, {"message": "El token de acceso no es válido, ha caducado o ha sido revocado"}, times=1)
    save(page)
    question = page.get_by_role("dialog")
    question.get_by_label("Token de acceso").fill(entity.issue_token())
    question.get_by_role("button", name="Seguir").click()
    saved(page, expect)
    assert seen(entity, hook)["url"] == other(entity, "mia")


def deletion(browser, entity, hook, expect, **how):
    page = at(browser, entity, place(hook), "Webhook", **how)
    page.get_by_role("button", name="Eliminar el webhook").click()
    question = page.get_by_role("dialog")
    expect(question).to_contain_text("No se puede deshacer")
    return page, question


def host(hook):
    return hook.url.split("/")[2]


def test_deleting_asks_for_the_name(browser, entity, expect):
    hook, kept = entity.register(), entity.register()
    page, question = deletion(browser, entity, hook, expect)
    typed = question.get_by_role("textbox")
    expect(typed).to_be_focused()
    page.keyboard.insert_text("otro.es")
    page.keyboard.press("Enter")
    expect(typed).to_have_accessible_description(re.compile("No coincide"))
    assert_no_barriers(page)
    picture(page, "eliminar")
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(str(hook.id))
    page.keyboard.press("Enter")
    expect(page.locator("#hecho")).to_contain_text("Webhook eliminado")
    expect(page.get_by_role("heading", level=1, name="Resumen")).to_be_visible()
    assert [one["id"] for one in entity.api("GET", BASE).json()] == [kept.id]


def test_deleting_one_of_two_at_one_host(browser, entity, stack, expect):
    """The question says which it is, and what is lost with it."""
    hook, other = entity.register(EVENTS[:1]), entity.register(EVENTS[:1])
    change(entity, hook, nombre="Pruebas <b>ñ</b>", activo=False)
    change(entity, other, nombre="Producción", url=f"https://{host(hook)}/otro")
    stack.wait_delivery(stack.delivery_id(entity.notify(), hook.id), "retenida")
    page, question = deletion(browser, entity, hook, expect)
    for told in (f"Número{hook.id}", "Pruebas <b>ñ</b>", hook.url, "Evaluación abierta", "1 entrega: lo que espera se cancela"):
        expect(question).to_contain_text(told)
    assert_no_barriers(page)
    picture(page, "eliminar-con-nombre")
    typed = question.get_by_role("textbox")
    for text, number in ((host(hook), 1), ("Producción", 1), ("pruebas <b>ñ</b>", 1), ("Pruebas <b>ñ</b>", 0)):
        typed.fill(text)
        page.keyboard.press("Enter")
        expect(question).to_have_count(number)
    expect(page.locator("#hecho")).to_contain_text("Pruebas <b>ñ</b>")
    assert [one["id"] for one in entity.api("GET", BASE).json()] == [other.id]


@pytest.mark.parametrize("name, typed", [("Pre  producción", "Pre producción"), ("Pre  producción", " Pre  producción"), ("a\u202eb", "a\\u202eb"), ("e\u0301", "\u00e9")])
def test_deleting_one_whose_name_is_hard_to_type(browser, entity, expect, name, typed):
    hook = entity.register()
    page = browser.page()
    answer(page, "GET", f"webhooks/{hook.id}", 200, seen(entity, hook) | {"nombre": name})
    page.goto(PORTAL + place(hook))
    enter(page, entity.token)
    page.get_by_role("button", name="Eliminar el webhook").click()
    page.get_by_role("dialog").get_by_role("textbox").fill(typed)
    page.keyboard.press("Enter")
    expect(page.locator("#hecho")).to_contain_text("Webhook eliminado")
    assert entity.api("GET", BASE).json() == []


def test_a_name_that_another_webhook_has(browser, entity, expect):
    hook, other = entity.register(), entity.register()
    change(entity, other, nombre="Producción")
    page = edit(browser, entity, hook)
    name = page.get_by_label("Nombre (opcional)")
    name.fill("Producción")
    save(page)
    expect(name).to_have_accessible_description(re.compile("Ya lo tiene otro webhook"))
    expect(name).to_be_focused()
    name.fill("Pruebas")
    save(page)
    saved(page, expect)
    assert seen(entity, hook)["nombre"] == "Pruebas"
    page.get_by_role("link", name="Editar").click()
    name.fill("")
    save(page)
    saved(page, expect)
    assert seen(entity, hook)["nombre"] is None


def test_what_another_person_changed_is_not_deleted_unseen(browser, entity, expect):
    hook = entity.register()
    page, question = deletion(browser, entity, hook, expect, width=320)
    change(entity, hook, eventos=EVENTS[:1])
    question.get_by_role("textbox").fill(str(hook.id))
    question.get_by_role("button", name="Eliminar").click()
    expect(question).to_contain_text("No se ha hecho nada")
    assert_no_barriers(page)
    question.get_by_role("button", name="Ver cómo está ahora").click()
    expect(question).to_have_count(0)
    expect(page.get_by_text("1 aviso", exact=True)).to_be_visible()
    assert len(entity.api("GET", BASE).json()) == 1


@pytest.mark.parametrize("arrives", [True, False])
def test_an_answer_to_a_deletion_that_never_came(browser, entity, expect, arrives):
    hook = entity.register()
    page, question = deletion(browser, entity, hook, expect)
    lose(page, "DELETE", f"webhooks/{hook.id}", arrives)
    question.get_by_role("textbox").fill(str(hook.id))
    question.get_by_role("button", name="Eliminar").click()
    expect(question).to_contain_text("No se sabe si llegó a hacerse")
    question.get_by_role("button", name="Eliminar").click()
    expect(page.locator("#hecho")).to_contain_text("Webhook eliminado")
    assert entity.api("GET", BASE).json() == []
