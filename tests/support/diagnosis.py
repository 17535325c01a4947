"""Diagnoses of receivers, as an entity asks for them."""
from __future__ import annotations

from fakes import verify
from fakes.scripted import OK, answer
from support.actors import BASE
from support.wait import wait_until

CHECKS = ["nombre", "direcciones", "conexion", "tls", "certificado", "nombre_certificado", "autentica", "tiempo", "conexion_mantenida",
          "firma_incorrecta", "sin_firma", "fecha_antigua", "repetida", "cuerpo_grande", "tipo_contenido", "cabeceras_mayusculas", "segunda_firma",
          "evento_desconocido"]
SIGNATURES = CHECKS[9:12]
RARE_FORMS = CHECKS[13:]
SENT = 10  # requests to a good receiver
REQUESTS = CHECKS[6:]


def ask(entity, hook):
    return entity.api("POST", f"{BASE}/{hook.id}/diagnostico")


def shown(entity, hook) -> dict:
    answer = entity.api("GET", f"{BASE}/{hook.id}/diagnostico")
    assert answer.status == 200, answer
    assert list(answer.json()) == ["estado", "iniciado", "pruebas"]
    return answer.json()


def wait_ended(entity, hook, state="terminado", timeout=30) -> dict[str, dict]:
    """Returns the checks by name, once the diagnosis has ended."""
    found = wait_until(lambda: (one := shown(entity, hook))["estado"] not in ("pendiente", "en_curso") and one, timeout, "the diagnosis to end")
    assert found["estado"] == state, found
    assert [one["prueba"] for one in found["pruebas"]] == CHECKS
    for one in found["pruebas"]:
        assert list(one) == ["prueba", "resultado", "detalle", "remedio"] and one["detalle"], one
        assert one["resultado"] in ("bien", "mal", "aviso", "no_hecha") and bool(one["remedio"]) >= (one["resultado"] in ("mal", "aviso")), one
    return {one["prueba"]: one for one in found["pruebas"]}


def diagnose(entity, hook, timeout=30) -> dict[str, dict]:
    answer = ask(entity, hook)
    assert answer.status == 202, answer
    return wait_ended(entity, hook, timeout=timeout)


def not_good(checks: dict[str, dict]) -> dict[str, str]:
    return {name: one["resultado"] for name, one in checks.items() if one["resultado"] != "bien"}


class Verifier:
    """The script of a receiver that verifies requests and processes each message once. A repeated message gets the status
    `again`."""

    def __init__(self, secret="s3creto-de-prueba", signature=True, timestamp=True, again=200):
        self.secret, self.signature, self.timestamp, self.again = secret, signature, timestamp, again
        self.received, self.processed = [], []

    def status(self, fields: dict, body: bytes) -> int:
        problems = verify.problems(fields, body, self.secret)
        if any("webhook-timestamp" in one for one in problems) and self.timestamp:
            return 400
        if any("match" in one for one in problems) and self.signature:
            return 401
        if fields["webhook-id"] in self.processed:
            return self.again
        self.processed.append(fields["webhook-id"])
        return 200

    def __call__(self, connection, _number, fields):
        body = connection.read_body(fields)
        self.received.append((fields, body))
        status = self.status(fields, body)
        connection.send(OK if status == 200 else answer(status))
