"""Contacts and webhooks for the tests of apientidades-notices, and its runs."""
from __future__ import annotations

import itertools
import os
import re
import subprocess

from support.stack import ROOT, setting

KINDS = "fallo,desactivacion_proxima,desactivado,recuperado,certificado,secreto,token,entregas_fallidas"
ADDRESS = "https://api.ejemplo.es"
_numbers = itertools.count(1)


class Post:
    """Runs apientidades-notices with a mail server."""

    def __init__(self, stack, server, **settings):
        scheme = settings.pop("scheme", "smtp")
        host = settings.pop("host", "127.0.0.1")
        self.stack = stack
        self.settings = setting(mail_server=f"{scheme}://{host}:{server.port}" if server else "",
                                mail_from="avisos@servicio.example.org", api_address=ADDRESS,
                                contact_name="Ministerio de Pruebas, S. A. ñ", **settings)

    def run(self, check=True, **settings) -> subprocess.CompletedProcess:
        return self.stack.dev("notices", check=check, **{**self.settings, **settings})

    def start(self) -> subprocess.Popen:
        """A run that a test ends; `dev` becomes the program itself."""
        return subprocess.Popen([ROOT / "dev", "notices"], stderr=subprocess.DEVNULL,
                                env={**self.stack.environment, **self.stack.settings, **self.settings, "PATH": os.environ["PATH"]})

    def run_with_hosts(self, line: str) -> None:
        """A run that sees `line` alone in /etc/hosts."""
        script = 'f=$(mktemp) && echo "$1" >"$f" && mount --bind "$f" /etc/hosts && rm "$f" && exec "$2" notices'
        subprocess.run(["unshare", "-m" if os.geteuid() == 0 else "-rm", "sh", "-ec", script, "sh", line, ROOT / "dev"], check=True, capture_output=True,
                       timeout=60, env={**self.stack.environment, **self.stack.settings, **self.settings})

    def run_late(self, **how):
        """As run(), once the notices no longer wait for others."""
        self.run(**how)
        self.pass_time(61)
        return self.run(**how)

    def pass_time(self, seconds: int) -> None:
        """As if every mail had been decided, tried and sent so much earlier."""
        self.stack.sql(f"UPDATE avisos SET proximo_intento = proximo_intento - INTERVAL {seconds} SECOND,"
                       f" enviado_en = enviado_en - INTERVAL {seconds} SECOND, creado_en = creado_en - INTERVAL {seconds} SECOND")


def clear_contacts(stack) -> None:
    """A run tells every contact, also those that other tests have left."""
    stack.sql("DELETE FROM avisos")
    stack.sql("DELETE FROM contactos")


def add_contact(stack, entity: int, address: str | None = None, kinds: str = KINDS, confirmed: bool = True) -> str:
    address = address or f"persona{next(_numbers)}@ejemplo.es"
    place = int(stack.value(f"SELECT COUNT(*) + 1 FROM contactos WHERE entidad_id = {entity}"))
    stack.sql(f"INSERT INTO contactos (entidad_id, plaza, correo, avisos, confirmado_en, codigo_emitido) VALUES ({entity}, {place},"
              f" '{address}', '{kinds}', {'UTC_TIMESTAMP(3)' if confirmed else 'NULL'}, {'NULL' if confirmed else 'UTC_TIMESTAMP(3)'})")
    return address


def make_fail(stack, webhook: int, since: str = "2 HOUR", failures: int = 5) -> None:
    """As the dispatcher records a failure streak."""
    stack.sql(f"REPLACE INTO webhook_ejecuciones (webhook_id, ultima_ejecucion, ultimo_estado, ultimo_error, fallos, fallos_desde, fallos_ultimo)"
              f" VALUES ({webhook}, UTC_TIMESTAMP(3), 500, 'El receptor respondió 500: se espera un 2xx', {failures},"
              f" UTC_TIMESTAMP(3) - INTERVAL {since}, UTC_TIMESTAMP(3))")


def make_work(stack, webhook: int) -> None:
    stack.sql(f"UPDATE webhook_ejecuciones SET ultima_ejecucion = UTC_TIMESTAMP(3), ultimo_estado = 200, ultimo_error = '', fallos = 0,"
              f" fallos_desde = NULL WHERE webhook_id = {webhook}")


def text_of(mail) -> str:
    """The plain text, with the flowed lines (RFC 3676) joined."""
    part = mail.message.get_body(("plain",))
    assert part["content-type"].params["format"] == "flowed"
    return re.sub(r" \n", " ", part.get_content().replace("\r\n", "\n"))


def states(stack, entity: int) -> list[tuple[str, str]]:
    return [tuple(row) for row in stack.sql(f"SELECT tipo, estado FROM avisos WHERE entidad_id = {entity} ORDER BY id")]
