"""Mails through Debian's Postfix, from a failing webhook to a person's mailbox on this machine."""
import email
import email.policy

import pytest

from support.mail import make_fail, make_work
from support.wait import wait_until

ADDRESS = "persona@correo.ejemplo.es"
SETTINGS = """
[api]
address = https://api.ejemplo.es
[mail]
server = smtp://localhost:25
from = avisos@correo.ejemplo.es
"""
INSTALL = """
debconf-set-selections <<'END'
postfix postfix/main_mailer_type select Local only
postfix postfix/mailname string correo.ejemplo.es
END
apt-get -q -y --no-download install postfix
useradd --create-home persona
postconf -n
"""


@pytest.fixture
def postfix(machine, installation):
    """With the certificate of its own that Debian gives it."""
    shown = machine.shell(INSTALL, timeout=300)
    assert "smtpd_tls_security_level = may" in shown and "ssl-cert-snakeoil" in shown
    settings = machine.root / "etc/apientidades/apientidades.conf.d/correo.conf"
    settings.write_text(SETTINGS)
    assert "mail" not in machine.run("apientidades-admin", "config", "check").stderr
    machine.run("systemctl", "restart", "postfix")
    yield machine.root / "var/mail/persona"
    settings.unlink()
    machine.run("systemctl", "disable", "--now", "postfix")


@pytest.fixture
def entity(installation):
    entity = installation.entity()
    hook = entity.register()
    installation.admin("entity", "contact", "add", entity.id, "--address", ADDRESS)
    make_fail(installation, hook.id)
    yield entity
    make_work(installation, hook.id)
    installation.sql(f"DELETE FROM avisos WHERE entidad_id = {entity.id}; DELETE FROM contactos WHERE entidad_id = {entity.id}")


def test_a_failure_reaches_a_mailbox_though_postfix_was_away(machine, installation, postfix, entity):

    def notice(state):
        return [row for row in installation.admin("notice", "list", "--entity", entity.id) if row["estado"] == state]

    def later(seconds):
        installation.sql(f"UPDATE avisos SET proximo_intento = proximo_intento - INTERVAL {seconds} SECOND")

    wait_until(lambda: notice("pendiente"), 100, "the timer's run to decide", every=1)
    machine.run("systemctl", "stop", "postfix")
    later(61)
    machine.run("systemctl", "start", "apientidades-notices.service")
    waiting, = notice("enviando")
    assert waiting["intentos"] == 1 and "connect" in waiting["error"].lower()
    machine.run("systemctl", "start", "postfix")
    later(61)
    wait_until(lambda: notice("enviado"), 100, "the timer's run to send it", every=1)
    wait_until(lambda: postfix.exists() and postfix.read_bytes().endswith(b"\n\n"), 30, "the mail in the mailbox", every=0.2)
    envelope, raw = postfix.read_bytes().split(b"\n", 1)
    message = email.message_from_bytes(raw, policy=email.policy.default.clone(raise_on_defect=True))
    assert envelope.startswith(b"From avisos@correo.ejemplo.es ") and raw.count(b"\nFrom ") == 0
    assert message["to"] == ADDRESS and "no recibe sus avisos" in message["subject"]
    assert entity.name in message.get_body(("plain",)).get_content()
    assert message["message-id"].startswith(f"<{installation.admin('notice', 'show', waiting['id'])['mensaje']}@")
    assert message["list-unsubscribe-post"] == "List-Unsubscribe=One-Click" and message["auto-submitted"] == "auto-generated"
    assert "Received" in message
