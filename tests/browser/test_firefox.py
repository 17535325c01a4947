"""The portal and the site in Debian's Firefox: what a person does most, in one window."""
import os

import pytest

from fakes.receiver import Behaviour
from support.actors import BASE
from support.firefox import FIREFOX, Firefox, button, link
from support.portal import PORTAL
from support.wait import wait_until


@pytest.fixture(scope="module")
def window():
    if not os.path.exists(FIREFOX):
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"{FIREFOX} is not installed")
    firefox = Firefox()
    yield firefox
    firefox.close()


@pytest.fixture
def firefox(window, stack):
    """Ends with a complaint about what the pages told the console."""
    window.forget_errors()
    yield window
    assert window.errors(stack.env["BASE_URL"]) == []


def enter(firefox, stack, entity, place: str = "", **size) -> None:
    firefox.open("about:blank")
    firefox.open(stack.env["BASE_URL"] + PORTAL + place, **size)
    firefox.type("Token de acceso", entity.token)
    firefox.click(button("Entrar"))
    firefox.find(button("Salir"))


def assert_fit(firefox, name: str) -> None:
    assert firefox.barriers() == []
    wide, there = firefox.script("return [document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert wide <= there
    firefox.picture(f"firefox-{name}")


def test_what_failed_is_found_and_sent_again(firefox, stack, entity, receiver):
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(status=500))
    entity.notify()
    path = f"{BASE}/{hook.id}/entregas?estado=fallida"
    failed, = wait_until(lambda: entity.api("GET", path).json()["entregas"], 30, "the failure")
    receiver.behave(hook.path, Behaviour())
    enter(firefox, stack, entity)
    firefox.expect("1 fallida", "el receptor tiene un error interno (500)")
    assert_fit(firefox, "resumen")
    firefox.click(link("Entregas"))
    firefox.click(link("Con algún fallo"))
    firefox.expect("Evaluación 42")
    assert_fit(firefox, "entregas")
    firefox.click(f"//a[@id='entrega-{failed['id']}']")
    firefox.expect("Qué hay que arreglar", "Evaluación 42 · Convocatoria 2026", "comprobado en este navegador")
    firefox.click("//summary[contains(., 'Copiar como curl')]")
    firefox.type("Su secreto, para firmarla", hook.secret)
    firefox.click(button("Firmar"))
    firefox.expect("X-Webhook-Signature: sha256=", "webhook-signature: v1,")
    firefox.click(button("Copiar"))
    firefox.expect("Copiado")
    assert_fit(firefox, "entrega")
    firefox.click(button("Reenviar"))
    firefox.expect("Se ha enviado otra vez y se ha recibido.", "Intento 5 (de un reenvío): recibido (200)")
    firefox.click(button("Reenviar"))
    firefox.expect("¿Reenviar lo que ya llegó?")
    assert_fit(firefox, "pregunta")
    firefox.click("//dialog//button[.='Cancelar']")


def test_a_webhook_is_registered_and_tested_on_a_telephone(firefox, stack, entity, receiver):
    enter(firefox, stack, entity, "#/webhooks/nuevo", width=450)
    url = f"https://firefox-{entity.id}.receptor.test:{receiver.port}/firefox-{entity.id}"
    firefox.type("Dirección que recibirá los avisos", url)
    assert_fit(firefox, "registrar")
    firefox.click("//label[normalize-space()='No, sin firmar']")
    firefox.click(button("Registrar"))
    firefox.expect("Desde ahora se envían los avisos a ")
    hook, = entity.api("GET", BASE).json()
    assert hook["url"] == url
    assert_fit(firefox, "registrado")
    firefox.script("location.hash = arguments[0]", f"#/probar?webhook={hook['id']}")
    firefox.click(button("Enviar la prueba"))
    receiver.wait(f"/firefox-{entity.id}")


def test_the_site_is_searched_offline_and_its_code_copied(firefox, stack, site):
    firefox.open(stack.env["BASE_URL"] + "/apientidades/docs/primeros-pasos.html")
    firefox.click("(//main//button[starts-with(normalize-space(), 'Copiar')])[1]")
    firefox.expect("Copiado")
    assert_fit(firefox, "sitio")
    firefox.type("Buscar", "reintentos")
    firefox.expect("Qué llega a su servidor")
    assert_fit(firefox, "buscar")
