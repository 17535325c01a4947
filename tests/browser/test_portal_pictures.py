"""Shows the portal with answers that are always the same, for the pictures of the README. PORTAL_PICTURES=1 draws the pictures
anew."""
import datetime
import hashlib
import os

import pytest

from support.portal import PORTAL, answer, enter
from support.stack import ROOT

IMAGES = ROOT / "docs/images"
NOW = datetime.datetime(2026, 11, 25, 11, 10, tzinfo=datetime.timezone.utc)
GOOD, BAD = "https://avisos.universidad.example/evaluacion", "https://integracion.ayuntamiento.example/notificaciones"
EXPIRED = "El certificado TLS del receptor ha caducado o aún no es válido"
BODY = '{"evento":"alegaciones.periodo_abierto","timestamp":"2026-11-24T09:31:58.000Z","data":{"evaluacionId": 42, "declaracionId": 7, "fechaFin": "2026-12-20"}}'


def ago(hours: float) -> str:
    return (NOW - datetime.timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def webhook(id: int, url: str, **more) -> dict:
    return {"id": id, "url": url, "eventos": ["alegaciones.periodo_abierto"], "activo": True, "fechaAlta": ago(900), "ultimaEjecucion": ago(0.2), "ultimoEstado": 200,
            "ultimoError": "", "nombre": None, "motivo": None, "fallaDesde": None, "desactivacion": None, "tieneSecreto": True, "secretoAnteriorHasta": None, "certificadoCaduca": None, "fechaModificacion": ago(900)} | more


def delivery(id: int, hours: float, **more) -> dict:
    return {"id": id, "mensaje": f"msg_1795512718000_{id}", "evento": "alegaciones.periodo_abierto", "prueba": False, "estado": "entregada", "intentos": 1, "creada": ago(hours),
            "entregada": ago(hours), "terminada": ago(hours), "proximoIntento": None, "ultimoEstado": 200, "ultimoError": ""} | more


def statistics(delivered: int, failed: int, waiting: int) -> dict:
    return {"ventana": "24h", "entregadas": delivered, "fallidas": failed, "pendientes": waiting, "retenidas": 0, "intentosFallidos": 9, "p50Ms": 84, "p95Ms": 412, "exacto": True}


FAILED = {"estado": "fallida", "entregada": None, "ultimoEstado": None, "ultimoError": EXPIRED, "intentos": 4}
HOURS = (1, 1, 2, 2, 2, 3, 4, 4, 5, 7, 8, 8, 8, 9, 16, 18, 19, 19, 20, 21, 22, 22)


def whole() -> dict:
    attempts = [{"numero": i + 1, "tipo": "programado", "inicio": ago(25.633 - wait), "duracionMs": 31 + i, "direccion": "203.0.113.7", "firmas": 1, "estadoHttp": None, "error": EXPIRED}
                for i, wait in enumerate((0, 0.002, 0.09, 0.6))]
    return delivery(806, 25.634, **FAILED, terminada=ago(25), cuerpo=BODY, sha256Cuerpo=hashlib.sha256(BODY.encode()).hexdigest(), historial=attempts)


def entered(browser, place: str, **how):
    page = browser.page(**how)
    page.clock.install(time=NOW)
    answer(page, "GET", "webhooks", 200, [webhook(1, GOOD), webhook(2, BAD)])
    answer(page, "GET", "entidad", 200, {"id": 7, "nombre": "Ayuntamiento de Prueba", "token": {"etiqueta": "", "caduca": None, "soloLectura": False}})
    answer(page, "GET", "entidad/contactos", 200, {"contactos": [], "operadorEnviaCorreo": False})
    answer(page, "GET", "webhooks/1", 200, webhook(1, GOOD))
    answer(page, "GET", "webhooks/2", 200, webhook(2, BAD, fallaDesde=ago(25.634), desactivacion=ago(-94.4), ultimoEstado=None, ultimoError=EXPIRED))
    for id, day, week in ((1, statistics(22, 0, 0), statistics(140, 0, 0)), (2, statistics(3, 2, 1), statistics(118, 2, 1))):
        answer(page, "GET", f"webhooks/{id}/estadisticas?ventana=24h", 200, day)
        answer(page, "GET", f"webhooks/{id}/estadisticas?ventana=7d", 200, week)
    answer(page, "GET", "webhooks/1/entregas?*", 200, {"entregas": [delivery(900 - i, hours) for i, hours in enumerate(HOURS)], "siguiente": None})
    failing = [delivery(908, 0.5, estado="pendiente", entregada=None), delivery(907, 4.1, **FAILED), delivery(906, 9.3, **FAILED), *(delivery(905 - i, 19 + i) for i in range(3))]
    answer(page, "GET", "webhooks/2/entregas?*", 200, {"entregas": failing, "siguiente": None})
    answer(page, "GET", "webhooks/2/entregas/806", 200, whole())
    page.goto(PORTAL + place)
    enter(page, "apie_" + "A" * 43)
    return page


@pytest.mark.parametrize("name, place, heading, how", [
    ("portal-resumen", "", "integracion.ayuntamiento.example", dict(width=1000, height=645)),
    ("portal-entrega", "#/entregas/2/806", "Datos", dict(width=390, height=760, dark=True))])
def test_the_pictures_of_the_readme(browser, expect, name, place, heading, how):
    page = entered(browser, place, **how)
    expect(page.get_by_role("heading", name=heading)).to_be_visible()
    page.evaluate("document.activeElement.blur()")
    if os.environ.get("PORTAL_PICTURES"):
        IMAGES.mkdir(exist_ok=True)
        page.screenshot(path=str(IMAGES / f"{name}.png"))
    assert 5_000 < (IMAGES / f"{name}.png").stat().st_size < 150_000
    assert f"docs/images/{name}.png" in (ROOT / "README.md").read_text()
