"""Entities for tests, each with a token, and their webhooks at a fake receiver."""
from __future__ import annotations

import itertools
import json
import secrets
from dataclasses import dataclass

from fakes.receiver import Receiver
from support.stack import EVENTS, Stack

BASE = "/apientidades/v1/webhooks"
DATA = {  # for each event, example data that obey docs/events.md
    "evaluacion.abierta": {"evaluacionId": 42, "titulo": "Convocatoria 2026"},
    "evaluacion.prorroga": {"evaluacionId": 42, "fechaInicio": "2026-11-20", "fechaFin": "2026-12-04"},
    "evaluacion.cierre_proximo": {"evaluacionId": 42, "fechaCierre": "2026-12-04T23:59:59Z", "diasRestantes": 3},
    "evaluacion.cerrada": {"evaluacionId": 42, "titulo": "Convocatoria 2026"},
    "resultados.provisionales": {"evaluacionId": 42, "declaracionId": 7, "notaFinal": 7.5},
    "resultados.definitivos": {"evaluacionId": 42, "declaracionId": 7, "notaFinal": 8},
    "alegaciones.periodo_abierto": {"evaluacionId": 42, "declaracionId": 7, "fechaFin": "2026-12-20"},
    "alegaciones.periodo_cierre": {"evaluacionId": 42, "declaracionId": 7},
    "incidencia.respuesta": {"incidenciaId": 9, "titulo": "No puedo subir el anexo"},
    "incidencia.cerrada": {"incidenciaId": 9, "titulo": "No puedo subir el anexo"},
    "documento.disponible": {"documentoId": 3, "declaracionId": 7, "tipo": 1, "descripcion": "Informe final ñ"},
}
assert list(DATA) == EVENTS
_ids = itertools.count(1001)


def fresh_id() -> int:
    """Returns the id of an entity that does not exist yet."""
    return next(_ids)


@dataclass(frozen=True)
class Webhook:
    id: int
    url: str
    path: str
    secret: str | None


class Entity:
    """A new entity for each test, so that tests can share a stack."""

    def __init__(self, stack: Stack, receiver: Receiver, name: str = "Entidad de pruebas ñ", id: int | None = None):
        self.stack, self.receiver = stack, receiver
        self.id, self.name = id or fresh_id(), name
        stack.admin("entity", "add", "--id", self.id, "--name", name)
        self.token = self.issue_token()

    def issue_token(self, *options) -> str:
        return self.stack.dev("admin", "token", "issue", "--entity", self.id, *options).stdout.strip()

    def api(self, method, path, **how):
        return self.stack.api(method, path, self.token, **how)

    def register(self, events=EVENTS, secret: str | None = "s3creto-de-prueba", port: int | None = None) -> Webhook:
        """Registers a webhook at a host and a path that no other test uses."""
        name = secrets.token_hex(6)
        url = f"https://{name}.receptor.test:{port or self.receiver.port}/{name}"
        body = {"url": url, "eventos": list(events)} | ({"secreto": secret} if secret is not None else {})
        response = self.api("POST", BASE, json_body=body)
        assert response.status == 201, response
        return Webhook(response.json()["id"], url, f"/{name}", secret)

    def listed(self, webhook: Webhook) -> dict:
        return next(w for w in self.api("GET", BASE).json() if w["id"] == webhook.id)

    def notify(self, event: str = "evaluacion.abierta", data: dict | str | None = None, **more) -> int:
        data = DATA[event] if data is None else data
        text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
        return self.stack.notify(self.id, event, text, **more)
