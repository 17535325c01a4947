"""The contacts of an entity, and their codes, computed without our code."""
from __future__ import annotations

import base64
import hashlib
import hmac
from pathlib import Path

from support.stack import setting

CONTACTS = "/apientidades/v1/entidad/contactos"
KINDS = ["fallo", "desactivacion_proxima", "desactivado", "recuperado", "certificado", "secreto", "token", "entregas_fallidas"]
MAIL = setting(mail_server="smtp://localhost:25", mail_from="avisos@ejemplo.es")


def authentic(stack, purpose: str, text: str) -> str:
    """The first 32 digits of the code that the program computes under its current key."""
    line = Path(stack.env["SECRETS_DIR"], "secrets.keys").read_text().splitlines()[0]
    key = base64.b64decode(line.split(":", 1)[1])
    derived = hmac.digest(key, f"authenticate:{purpose}".encode(), hashlib.sha256)
    return hmac.digest(derived, text.encode(), hashlib.sha256).hex()[:32]


def code_of(stack, entity, number=1) -> str:
    id, address, issued = stack.sql(
        "SELECT id, correo, DATE_FORMAT(codigo_emitido, '%Y-%m-%dT%H:%i:%s.%f') FROM contactos"
        f" WHERE entidad_id = {entity.id} AND plaza = {number}")[0]
    return f"{int(authentic(stack, 'contact-code', f'{id} {address} {issued[:-3]}Z')[:15], 16) % 10**6:06}"


def put(entity, *contacts) -> list[dict]:
    """Each contact is an address, or an address and its kinds."""
    wanted = [{"correo": one} if isinstance(one, str) else dict(zip(("correo", "avisos"), one)) for one in contacts]
    answer = entity.api("PUT", CONTACTS, json_body={"contactos": wanted})
    assert answer.status == 200, answer
    assert entity.api("GET", CONTACTS).json() == answer.json()
    return answer.json()["contactos"]
