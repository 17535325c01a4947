"""The operator's actions are recorded in the audit and in the journal. After a restore, the operator repeats revocations
from the journal."""
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fakes.mail_server import MailServer
from support import manual
from support.actors import BASE
from support.wait import wait_until

ROOT = Path(__file__).resolve().parents[2]
CHANGES = {"db migrate", "entity add", "entity disable", "entity enable",
           "entity contact add", "entity contact remove", "token issue", "token revoke", "webhook disable", "webhook enable",
           "webhook lift", "webhook diagnose", "webhook test", "notification retry", "notification discard", "notification cancel", "delivery retry", "replay cancel",
           "queue pause", "queue resume", "queue clock accept", "secrets reencrypt", "notice resend"}
# A program that stands for the journal in its own mount namespace: it opens the journal's socket, runs a command, and prints the
# entries that the command sends, one in each line.
LISTEN = """
import os, socket, subprocess, sys
os.makedirs("/run/systemd/journal", exist_ok=True)
journal = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
journal.bind("/run/systemd/journal/socket")
journal.setblocking(False)
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
try:
    while True:
        print(journal.recv(65536).decode().replace("\\n", "\\t"))
except BlockingIOError:
    pass
"""


NAMESPACE = ["unshare", "-m" if os.geteuid() == 0 else "-rm"]
PRIVATE_RUN = ["sh", "-c", '[ -d /run/systemd ] && d=/run/systemd || d=/run; mount -t tmpfs none $d && exec "$@"', "-"]
TRIAL = subprocess.run([*NAMESPACE, *PRIVATE_RUN, "true"], capture_output=True, text=True)
# In a chroot, for example, the root is no mount point, and unshare cannot make it private.
needs_namespace = pytest.mark.skipif(TRIAL.returncode != 0, reason=f"no mount namespace can be made here: {TRIAL.stderr.strip()}")


def journal_of(stack, *words, **environment) -> list[dict]:
    """The entries that a run of apientidades-admin hands to the journal."""
    printed = subprocess.run(
        [*NAMESPACE, *PRIVATE_RUN, sys.executable, "-c", LISTEN, str(ROOT / "dev"), "admin", *map(str, words)], check=True, text=True,
        stdout=subprocess.PIPE, timeout=60, env={**stack.environment, **stack.settings, **environment}).stdout
    return [dict(field.split("=", 1) for field in entry.rstrip("\t").split("\t")) for entry in printed.splitlines()]


def commands(stack) -> set[str]:
    listed = stack.dev("admin", "--help").stdout.split("\n\n")[1]
    return {m.group(1) for m in re.finditer(r"^  ([a-z]+(?: [a-z]+)*)  ", listed, re.M)}


def recorded(stack, after=0) -> list[list[str]]:
    return stack.sql(f"SELECT id, accion, COALESCE(objeto, ''), operador, detalle FROM auditoria WHERE operador IS NOT NULL AND id > {after}"
                     " ORDER BY id")


@pytest.fixture
def mail_server():
    with MailServer() as running:
        yield running


def test_every_command_that_changes_is_recorded_and_no_other(entity, receiver, stack, root, tmp_path, mail_server):
    hook, gone = entity.register(secret=None), entity.register()  # the diagnosis of an unsigned webhook ends well
    delivery = stack.delivery_id(entity.notify(), hook.id)
    stack.wait_delivery(delivery, "entregada")
    rejected = [stack.notify(entity.id, "evaluacion.abierta", "{}") for _ in range(2)]
    wait_until(lambda: all(stack.admin("notification", "show", one)["estado"] == "rechazada" for one in rejected))
    token = stack.admin("token", "list", "--entity", entity.id)[0]["id"]
    stack.admin("webhook", "disable", gone.id)
    assert entity.api("DELETE", f"{BASE}/{gone.id}").status == 200
    stack.sql(f"INSERT INTO avisos (contacto_id, entidad_id, tipo, episodio, datos, proximo_intento) VALUES (0, {entity.id}, 'resumen', 'x', '{{}}',"
              " UTC_TIMESTAMP(3))")
    notice = stack.admin("notice", "list", "--entity", entity.id)[0]["id"]
    waiting = []  # the notification that is written while the queue is paused

    def pending():
        if not waiting:
            waiting.append(entity.notify())
            root("START TRANSACTION")  # while the delivery is locked, the replay waits
            root(f"SELECT 1 FROM entregas WHERE id = {delivery} FOR UPDATE")
            assert entity.api("POST", f"{BASE}/{hook.id}/entregas/{delivery}/reenvio").status == 202
        return waiting[0]

    lines = {
        "db migrate": [], "db status": [],
        "entity add": ["--id", entity.id, "--name", "Otra"], "entity list": [], "entity disable": [entity.id], "entity enable": [entity.id],
        "entity contact add": [entity.id, "--address", "a@ejemplo.es"], "entity contact list": [entity.id],
        "entity contact remove": [entity.id, "--address", "a@ejemplo.es"],
        "webhook list": [], "webhook show": [hook.id], "webhook urls": [], "webhook explain": [hook.id],
        "webhook diagnose": [hook.id], "webhook test": [hook.id], "webhook trace": [hook.id, "--for", "1s"], "webhook disable": [hook.id], "webhook enable": [hook.id],
        "webhook lift": ["--entity", entity.id, "--url", gone.url],
        "notification list": [], "notification show": [rejected[0]], "notification retry": [rejected[0]], "notification discard": [rejected[1]],
        "delivery list": [], "delivery show": [delivery], "queue pause": [], "queue status": [],
        "notification cancel": lambda: [pending()], "replay list": [],
        "replay cancel": lambda: [pending() and stack.admin("replay", "list", "--entity", entity.id)[0]["id"]],
        "delivery retry": [delivery], "queue resume": [], "queue clock accept": [], "audit list": [],
        "report": ["--event", "evaluacion.abierta", "--since", "1h"], "secrets status": [], "secrets reencrypt": [], "config show": [],
        "config check": [], "config diff": [], "nginx limits": ["--folder", tmp_path], "nginx origins": ["--folder", tmp_path],
        "nginx docs": ["--from", ROOT / "build/site", "--folder", tmp_path / "docs"], "token issue": ["--entity", entity.id], "token list": [],
        "token revoke": [token], "notice list": [], "notice show": [notice], "notice resend": [notice],
        "notice test": ["ana@ejemplo.es", "--mail.server", f"smtp://127.0.0.1:{mail_server.port}", "--mail.from", "a@example.org"]}
    assert set(lines) == commands(stack), "add a line for each new command, and its name to CHANGES if it changes something"
    printed = ""
    for command, arguments in lines.items():
        arguments = arguments() if callable(arguments) else arguments
        last = int(stack.value("SELECT COALESCE(MAX(id), 0) FROM auditoria"))
        if command == "config diff":  # the stack's processes have no RuntimeDirectory
            assert stack.try_admin(*command.split()).returncode == 1
        else:
            printed += json.dumps(stack.admin(*command.split(), *arguments))
        if command == "replay cancel":
            root("ROLLBACK")
        rows = recorded(stack, last)
        assert [row[1] for row in rows] == ([command] if command in CHANGES else []), command
        for row in rows:
            assert re.fullmatch(r"[\w.-]+ uid=\d+ host=[\w.-]+", row[3]), row
    issued = re.search(r"apie_[\w-]+", printed).group()
    assert issued not in json.dumps(recorded(stack))
    listed = {row["accion"]: row for row in stack.admin("audit", "list", "--entity", entity.id)}
    assert (listed["token revoke"]["objeto"], listed["token revoke"]["token_id"]) == (f"token {token}", None)
    assert listed["webhook enable"]["objeto"] == f"webhook {hook.id}" and listed["webhook enable"]["operador"]
    assert json.loads(listed["webhook lift"]["detalle"])["url"] == gone.url


def test_a_change_that_cannot_be_recorded_is_not_made(entity, stack):
    token = stack.admin("token", "list", "--entity", entity.id)[0]["id"]
    stack.sql(f"ALTER TABLE auditoria ADD CONSTRAINT nada CHECK (accion <> 'token revoke' OR objeto <> 'token {token}')")
    try:
        refused = stack.try_admin("token", "revoke", token)
        assert refused.returncode == 1
        assert entity.api("GET", BASE).status == 200
    finally:
        stack.sql("ALTER TABLE auditoria DROP CONSTRAINT nada")
    assert stack.try_admin("token", "revoke", token).returncode == 0
    assert entity.api("GET", BASE).status == 401


@needs_namespace
@pytest.mark.parametrize("name, shown", [("ana", "ana"), ('x uid=7 host=y"\n\x1b[2J\u202e', "xuid7hosty[2J"), ("a" * 5000, "a" * 100)])
def test_who_ran_it_is_the_caller_of_sudo_and_forges_no_field(entity, stack, name, shown):
    entry, = journal_of(stack, "token", "issue", "--entity", entity.id, SUDO_USER=name)
    who = recorded(stack)[-1][3]
    assert re.fullmatch(re.escape(shown) + r" uid=\d+ host=[\w.-]+", who)
    assert entry["APIENTIDADES_OPERATOR"] == who and entry["SYSLOG_IDENTIFIER"] == "apientidades-admin"
    assert "apie_" not in json.dumps(entry)


@needs_namespace
def test_what_was_revoked_since_a_backup_is_revoked_again_from_the_journal(entity, new_entity, stack, tmp_path):
    other, hook, again = new_entity(), entity.register(), entity.register()
    token = stack.admin("token", "list", "--entity", entity.id)[0]["id"]
    lines = []
    for words in (("token", "revoke", token), ("webhook", "disable", hook.id), ("webhook", "disable", again.id), ("webhook", "enable", again.id),
                  ("entity", "disable", other.id), ("token", "revoke", 10**15)):
        lines += [entry["MESSAGE"] for entry in journal_of(stack, *words)]
    assert len(lines) == 5, "a refused command is not recorded"
    stack.sql(f"UPDATE tokens_acceso SET revocado = NULL WHERE id = {token}; UPDATE entidades SET activa = TRUE WHERE id = {other.id};"
              f" UPDATE webhooks SET activo = TRUE, motivo = NULL WHERE id = {hook.id}")
    block, = (one for one in manual.blocks() if one.chapter == "Restore" and "-t apientidades-admin" in one.commands)
    (tmp_path / "journal").write_text("\n".join(lines) + "\n")
    for name, text in (("journalctl", f"cat {tmp_path}/journal"), ("apientidades-admin", f'exec {ROOT}/dev admin "$@"')):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    subprocess.run(["bash", "-euo", "pipefail", "-c", block.commands], check=True, timeout=60,
                   env={**stack.environment, **stack.settings, "PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert entity.api("GET", BASE).status == 401 and other.api("GET", BASE).status == 401
    assert stack.admin("webhook", "show", hook.id)["motivo"] == "operador"
    assert stack.admin("webhook", "show", again.id)["activo"] is True
