"""Each kind's mail, from the tables to a mail server, read back by Python's strict parser."""
import contextlib
import email.utils
import json
import re
import secrets
import time

import pytest

from fakes.mail_server import MailServer
from support.actors import BASE
from support.mail import ADDRESS, Post, add_contact, clear_contacts, make_fail, make_work, states, text_of
from support.sql import SqlSession, numbers
from support.wait import wait_until


@pytest.fixture(scope="module")
def server():
    with MailServer() as running:
        yield running


@pytest.fixture(scope="module")
def post(stack, server):
    stack.stop("dispatcher")  # it would change streaks that the tests write
    stack.sql("UPDATE reloj_visto SET hora = UTC_TIMESTAMP(3)")
    yield Post(stack, server)
    stack.start("dispatcher")


@pytest.fixture(autouse=True)
def believed_clock(stack, post):
    clear_contacts(stack)
    stack.sql("UPDATE reloj_visto SET hora = UTC_TIMESTAMP(3)")
    yield
    clear_contacts(stack)


def only_mail(server, address):
    mails = server.mails_to(address)
    assert len(mails) == 1, [mail.message["subject"] for mail in mails]
    return mails[0]


def is_well_formed(mail):
    message = mail.message
    long = [line for line in mail.raw.split(b"\r\n") if len(line) > 78]
    assert all(line.startswith(f"List-Unsubscribe: <{ADDRESS}".encode()) for line in long), "RFC 5322 wants short lines"
    assert b"\n" not in mail.raw.replace(b"\r\n", b"") and all(byte < 128 for byte in mail.raw)
    assert abs(email.utils.parsedate_to_datetime(message["date"]).timestamp() - time.time()) < 60
    assert re.fullmatch(r"<[0-9a-f]{24}\.\d+@servicio\.example\.org>", message["message-id"])
    assert message["auto-submitted"] == "auto-generated" and message["mime-version"] == "1.0"
    assert message["from"].addresses[0].addr_spec == "avisos@servicio.example.org"
    assert message["from"].addresses[0].display_name == "Ministerio de Pruebas, S. A. ñ"
    assert [part.get_content_type() for part in message.iter_parts()] == ["text/plain", "text/html"]
    for part in message.iter_parts():
        assert part.get_content_charset() == "utf-8" and not part.defects
    return True


def given_failing(stack, entity, hook):
    make_fail(stack, hook.id)


def given_near(stack, entity, hook):
    make_fail(stack, hook.id, since="3 DAY", failures=30)


def given_deactivated(stack, entity, hook):
    stack.admin("webhook", "disable", hook.id)


def given_certificate(stack, entity, hook):
    stack.sql(f"REPLACE INTO webhook_ejecuciones (webhook_id, certificado_caduca) VALUES ({hook.id}, UTC_TIMESTAMP(3) + INTERVAL 10 DAY)")


def given_secret(stack, entity, hook):
    entity.api("PUT", f"/apientidades/v1/webhooks/{hook.id}/secreto",
               json_body={"secreto": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "graciaSegundos": 80000})
    stack.sql(f"UPDATE webhooks SET fecha_modificacion = fecha_modificacion - INTERVAL 2 DAY WHERE id = {hook.id}")


def given_token(stack, entity, hook):
    entity.issue_token("--ttl", "30d", "--label", "producción <x>")
    stack.sql(f"UPDATE tokens_acceso SET caduca = UTC_TIMESTAMP(3) + INTERVAL 2 DAY, fecha_alta = UTC_TIMESTAMP(3) - INTERVAL 28 DAY"
              f" WHERE entidad_id = {entity.id} AND caduca IS NOT NULL")


def given_failed(stack, entity, hook):
    note = entity.notify()
    stack.sql(f"INSERT INTO entregas (notificacion_id, webhook_id, evento, estado, proximo_intento, creada_en, terminada_en, ultimo_error)"
              f" VALUES ({note}, {hook.id}, 'evaluacion.abierta', 'fallida', UTC_DATE() - INTERVAL 5 HOUR, UTC_DATE() - INTERVAL 5 DAY,"
              f" UTC_DATE() - INTERVAL 5 HOUR, 'x')")
    stack.sql(f"UPDATE notificaciones_pendientes SET estado = 'procesada', terminada_en = UTC_TIMESTAMP(3) WHERE id = {note}")
    stack.sql(f"REPLACE INTO webhook_ejecuciones (webhook_id, ultima_ejecucion, fallos_ultimo) VALUES"
              f" ({hook.id}, UTC_TIMESTAMP(3), UTC_DATE() - INTERVAL 5 HOUR)")


def given_waiting(stack, entity, hook):
    note = entity.notify()
    state = "pendiente" if stack.value(f"SELECT activo FROM webhooks WHERE id = {hook.id}") == "1" else "retenida"
    stack.sql(f"INSERT INTO entregas (notificacion_id, webhook_id, evento, estado, proximo_intento, creada_en)"
              f" VALUES ({note}, {hook.id}, 'evaluacion.abierta', '{state}', UTC_TIMESTAMP(3) + INTERVAL 1 HOUR, UTC_TIMESTAMP(3))")
    stack.sql(f"UPDATE notificaciones_pendientes SET estado = 'procesada', terminada_en = UTC_TIMESTAMP(3) WHERE id = {note}")


KINDS = {
    "fallo": (given_failing, "no recibe sus avisos", "#/webhooks/"),
    "desactivacion_proxima": (given_near, "se desactivará si sigue fallando", "#/webhooks/"),
    "desactivado": (given_deactivated, "está desactivado", "#/webhooks/"),
    "certificado": (given_certificate, "caduca pronto", "#/webhooks/"),
    "secreto": (given_secret, "deja de firmar pronto", "/secreto"),
    "token": (given_token, "Un token de acceso caduca pronto", "#/"),
    "entregas_fallidas": (given_failed, "Entregas fallidas", "&estado=fallida"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_one_mail_that_says_what_to_do(stack, post, server, entity, kind):
    given, subject, link = KINDS[kind]
    hook = entity.register()
    address = add_contact(stack, entity.id, kinds=kind)
    other = add_contact(stack, entity.id, kinds="recuperado")
    given(stack, entity, hook)
    if kind != "entregas_fallidas":
        given_waiting(stack, entity, hook)
    post.run_late()
    post.run_late()
    mail = only_mail(server, address)
    assert is_well_formed(mail)
    assert subject in mail.message["subject"]
    text = text_of(mail)
    assert ADDRESS + "/apientidades/portal/" in text and link in text and "Qué hacer" in text and "UTC" in text
    assert entity.name in text and "no recibir más" in text
    assert mail.message["list-unsubscribe"].startswith(f"<{ADDRESS}/apientidades/avisos/baja?codigo=")
    assert mail.message["list-unsubscribe-post"] == "List-Unsubscribe=One-Click"
    html = mail.message.get_body(("html",)).get_content()
    assert "Qué hacer" in html and "<x>" not in html
    if kind in ("fallo", "desactivacion_proxima", "desactivado"):
        assert "Hay 1 aviso en espera." in text
    assert ("En Canarias" in text) == (kind != "entregas_fallidas")
    if kind != "entregas_fallidas":
        assert re.search(r"\d\d:\d\d, hora peninsular \((\d+ de \w+ de \d{4}, )?\d\d:\d\d UTC\)", text)
    assert hook.path not in text and "s3creto" not in text and "whsec_" not in text
    assert not server.mails_to(other)


def test_a_recovery_is_told_only_to_those_who_were_told_of_the_failure(stack, post, server, entity):
    hook = entity.register()
    told = add_contact(stack, entity.id)
    untold = add_contact(stack, entity.id, kinds="recuperado")
    make_fail(stack, hook.id)
    post.run_late()
    assert "no recibe sus avisos" in only_mail(server, told).message["subject"]
    make_work(stack, hook.id)
    post.pass_time(3600)
    post.run_late()
    assert "vuelve a funcionar" in server.mails_to(told)[1].message["subject"]
    assert not server.mails_to(untold)
    post.pass_time(3600)
    post.run_late()
    assert len(server.mails_to(told)) == 2


def test_a_failure_that_ended_before_its_mail_is_not_told(stack, post, server, entity):
    hook = entity.register()
    address = add_contact(stack, entity.id)
    make_fail(stack, hook.id)
    post.run()
    make_work(stack, hook.id)
    post.run_late()
    assert not server.mails_to(address)
    assert states(stack, entity.id) == [("fallo", "descartado")]


def test_notices_within_a_minute_are_one_mail(stack, post, server, entity):
    hooks = [entity.register() for _ in range(3)]
    address = add_contact(stack, entity.id)
    for hook in hooks:
        make_fail(stack, hook.id)
    post.run_late()
    mail = only_mail(server, address)
    assert mail.message["subject"] == "3 alertas sobre sus webhooks"
    assert all(f"webhook n.º {hook.id} (" in text_of(mail) for hook in hooks)


def test_a_contact_gets_one_mail_an_hour_unless_a_webhook_is_deactivated(stack, post, server, entity):
    first, second, third = (entity.register() for _ in range(3))
    address = add_contact(stack, entity.id)
    make_fail(stack, first.id)
    post.run_late()
    make_fail(stack, second.id)
    post.run_late()
    post.run_late()
    assert len(server.mails_to(address)) == 1
    stack.admin("webhook", "disable", third.id)
    post.run_late()
    assert len(server.mails_to(address)) == 2
    assert "está desactivado, y otra alerta" in server.mails_to(address)[1].message["subject"]


def test_an_address_of_two_entities_gets_one_mail_an_hour(stack, post, server, new_entity):
    entities = [new_entity() for _ in range(2)]
    hooks = [entity.register() for entity in entities]
    address = add_contact(stack, entities[0].id)
    add_contact(stack, entities[1].id, address=address)
    for hook in hooks:
        make_fail(stack, hook.id)
    post.run_late()
    post.run_late()
    assert len(server.mails_to(address)) == 1
    post.pass_time(3600)
    stack.sql("UPDATE avisos SET creado_en = creado_en - INTERVAL 3 DAY WHERE estado = 'pendiente'")  # as behind many other entities
    server.answers[address] = ["451 later"]
    post.run()
    assert len(server.mails_to(address)) == 1
    age = "TIMESTAMPDIFF(SECOND, creado_en, UTC_TIMESTAMP())"
    assert int(stack.value(f"SELECT {age} FROM avisos WHERE estado = 'enviando'")) < 1800, "the alert of mails that wait is silent"
    post.pass_time(60)
    post.run()
    assert len(server.mails_to(address)) == 2
    for number, entity in enumerate(entities):
        assert entity.name in text_of(server.mails_to(address)[number])
    more = entities[0].register()
    stack.admin("webhook", "disable", more.id)
    stack.admin("webhook", "disable", hooks[1].id)
    post.run_late()
    assert len(server.mails_to(address)) == 4, "deactivations do not wait"


def test_a_deactivation_does_not_wait_with_another_entity_of_its_address(stack, post, server, new_entity):
    first, second = (new_entity(name=name) for name in ("Una", "Otra"))
    address = add_contact(stack, first.id)
    add_contact(stack, second.id, address=address)
    make_fail(stack, first.register().id)
    post.run_late()
    make_fail(stack, first.register().id)
    post.run()
    post.pass_time(40)
    stack.admin("webhook", "disable", second.register().id)
    post.run()
    post.pass_time(25)
    post.run()  # the first entity's notice is due, and waits for its hour
    post.pass_time(40)
    post.run()
    assert [second.name in text_of(mail) for mail in server.mails_to(address)] == [False, True]
    assert sorted(states(stack, first.id)) == [("fallo", "enviado"), ("fallo", "pendiente")]


def test_a_deactivation_or_a_deferred_mail_keeps_back_no_other(stack, post, server, new_entity):
    entities = [new_entity(name=f"Entidad {letter}.") for letter in "ABC"]
    address = add_contact(stack, entities[0].id)
    for entity in entities[1:]:
        add_contact(stack, entity.id, address=address)
    stack.admin("webhook", "disable", entities[0].register().id)
    post.run_late()
    make_fail(stack, entities[1].register().id)
    server.answers[address] = ["451 later"] * 2
    post.run_late()
    assert states(stack, entities[1].id) == [("fallo", "enviando")]
    post.pass_time(60)
    post.run()
    make_fail(stack, entities[2].register().id)
    post.run()
    post.pass_time(61)
    post.run()
    assert [entities.index(entity) for mail in server.mails_to(address) for entity in entities if entity.name in text_of(mail)] == [0, 2]


def test_a_contact_with_a_notice_each_hour_does_not_keep_back_another_of_its_address(stack, post, server, new_entity):
    busy, quiet = (new_entity(name=name) for name in ("Ruidosa", "Callada"))
    address = add_contact(stack, busy.id)
    add_contact(stack, quiet.id, address=address)
    make_fail(stack, busy.register().id)
    post.run_late()
    make_fail(stack, quiet.register().id)
    post.run()
    for _ in range(2):
        make_fail(stack, busy.register().id)
        post.run_late()
        post.pass_time(3600)
        post.run()
    assert [quiet.name in text_of(mail) for mail in server.mails_to(address)] == [False, True, False]


def test_more_than_a_mail_takes_waits_for_the_hour_and_for_a_week_at_most(stack, post, server, new_entity):
    full, other = new_entity(), new_entity()
    address, theirs = add_contact(stack, full.id), add_contact(stack, other.id)
    make_fail(stack, full.register().id)
    post.run_late()
    for number, age in ((60, 8), (90, 0)):
        stack.sql("INSERT INTO avisos (contacto_id, entidad_id, tipo, episodio, datos, creado_en, proximo_intento)"
                  f" SELECT c.id, c.entidad_id, 'entregas_fallidas', CONCAT('{age} ', seq), '{{}}', UTC_TIMESTAMP(3) - INTERVAL {age} DAY, UTC_TIMESTAMP(3)"
                  f" FROM contactos c JOIN {numbers(number)} WHERE c.entidad_id = {full.id}")
    make_fail(stack, other.register().id)
    post.run_late()
    assert len(server.mails_to(address)) == len(server.mails_to(theirs)) == 1
    of = f"FROM avisos WHERE entidad_id = {full.id} AND tipo = 'entregas_fallidas'"
    assert stack.sql(f"SELECT estado, COUNT(*) {of} GROUP BY estado ORDER BY estado") == [["pendiente", "90"], ["fallido", "60"]]
    assert stack.value(f"SELECT COUNT(*) {of} AND estado = 'pendiente' AND proximo_intento < UTC_TIMESTAMP(3) + INTERVAL 30 MINUTE") == "0"


def test_a_deactivation_takes_the_place_of_its_warning(stack, post, server, entity):
    hook, again = entity.register(), entity.register()
    address = add_contact(stack, entity.id)
    given_near(stack, entity, hook)
    stack.admin("webhook", "disable", again.id)
    post.run()
    stack.admin("webhook", "disable", hook.id)
    stack.admin("webhook", "enable", again.id)
    post.run_late()
    assert "está desactivado" in text_of(only_mail(server, address)) and "se desactivará" not in text_of(only_mail(server, address))
    assert sorted(states(stack, entity.id)) == [("desactivacion_proxima", "descartado"), ("desactivado", "descartado"), ("desactivado", "enviado")]


def test_rows_that_another_session_keeps_end_no_run(stack, post, server, new_entity):
    kept, other = new_entity(), new_entity()
    hooks = [entity.register() for entity in (kept, other)]
    addresses = [add_contact(stack, entity.id) for entity in (kept, other)]
    for hook in hooks:
        make_fail(stack, hook.id)
    post.run()
    post.pass_time(61)
    assert kept.api("DELETE", f"{BASE}/{hooks[0].id}").status == 200
    id = stack.value(f"SELECT id FROM avisos WHERE entidad_id = {kept.id}")
    with contextlib.closing(SqlSession(stack.env["DB_SOCKET"], stack.env["DB_NAME"], "root", "")) as session:
        session("START TRANSACTION")
        session(f"SELECT 1 FROM avisos WHERE id = {id} FOR UPDATE")
        done = post.run()
    assert not server.mails_to(addresses[0]) and len(server.mails_to(addresses[1])) == 1
    assert "were not discarded" in done.stdout + done.stderr


def test_the_code_goes_at_once_and_alone_to_an_address_that_is_not_confirmed(stack, post, server, entity):
    hook = entity.register()
    address = add_contact(stack, entity.id, confirmed=False)
    make_fail(stack, hook.id)
    post.run()
    mail = only_mail(server, address)
    assert is_well_formed(mail) and mail.message["list-unsubscribe"] is None
    assert re.search(r"^\d{6}$", text_of(mail), re.M) and "no haga nada" in text_of(mail)
    assert "Le escribe el servicio de avisos de Ministerio de Pruebas" in text_of(mail) and f"«{entity.name}» ha pedido" in text_of(mail)
    assert not re.search(r"\d{6}", mail.message["subject"])
    post.run_late()
    assert len(server.mails_to(address)) == 1


def test_no_notice_begins_in_an_outage_of_ours_or_while_the_clock_is_in_doubt(stack, post, server, entity):
    hook = entity.register()
    address = add_contact(stack, entity.id)
    make_fail(stack, hook.id)
    stack.sql("INSERT INTO cortes_envio (despachador, tipo, desde, visto_en) VALUES ('x', 'red', UTC_TIMESTAMP(3), UTC_TIMESTAMP(3))")
    post.run_late()
    assert states(stack, entity.id) == []
    stack.sql("DELETE FROM cortes_envio")
    stack.sql("UPDATE reloj_visto SET hora = UTC_TIMESTAMP(3) - INTERVAL 2 HOUR")
    post.run_late()
    assert states(stack, entity.id) == []
    stack.sql("UPDATE reloj_visto SET hora = UTC_TIMESTAMP(3)")
    post.run_late()
    assert only_mail(server, address)


def test_a_name_writes_no_header_and_no_markup(stack, post, server, new_entity):
    entity = new_entity(name="Entidad <b>ñ</b> " + "x" * 200)
    hook = entity.register()
    stack.sql(f"UPDATE webhooks SET nombre = 'x\\r\\nBcc: otro@ejemplo.es' WHERE id = {hook.id}")
    address = add_contact(stack, entity.id)
    make_fail(stack, hook.id)
    post.run_late()
    mail = only_mail(server, address)
    assert is_well_formed(mail) and mail.message["bcc"] is None
    assert "<b>ñ</b>" in text_of(mail) and "<b>" not in mail.message.get_body(("html",)).get_content()


def test_a_digest_tells_the_operator_once_a_day(stack, post, server, entity):
    hook = entity.register()
    # The digest lists 30 at most of each, and other tests have left more.
    stack.sql("UPDATE webhook_ejecuciones SET fallos = 0, fallos_desde = NULL")
    stack.sql("INSERT INTO contactos (entidad_id, plaza, correo, avisos, confirmado_en)"
              f" SELECT id, 1, 'otra@ejemplo.es', '', UTC_TIMESTAMP(3) FROM entidades WHERE id <> {entity.id}")
    make_fail(stack, hook.id)
    to = f"operador{secrets.token_hex(4)}@ejemplo.es"
    settings = {"APIENTIDADES_MAIL_OPERATOR": to}
    post.run(**settings)
    post.run(**settings)
    mail = only_mail(server, to)
    assert is_well_formed(mail)
    assert f"entity {entity.id}, webhook {hook.id}" in text_of(mail) and f"entity {entity.id}, {entity.name}" in text_of(mail)
    alone = [row["id"] for row in stack.admin("entity", "list", "--without-contact")]
    assert alone == [entity.id] and "which are told nothing: 1" in text_of(mail)
    add_contact(stack, entity.id)
    assert entity.id not in [row["id"] for row in stack.admin("entity", "list", "--without-contact")]


def test_without_a_mail_server_or_with_a_sandbox_nothing_is_decided(stack, post, entity):
    make_fail(stack, entity.register().id)
    add_contact(stack, entity.id)
    assert Post(stack, None).run().stdout == ""
    assert "SANDBOX" in (run := post.run(APIENTIDADES_DELIVERY_SANDBOX="none")).stdout + run.stderr
    assert states(stack, entity.id) == []


def test_what_has_ended_before_its_mail_is_not_told(stack, post, server, new_entity):
    for begin, end in ((given_secret, "UPDATE webhooks SET secreto_anterior_hasta = UTC_TIMESTAMP(3) WHERE id = {}"),
                       (given_token, "UPDATE tokens_acceso SET caduca = UTC_TIMESTAMP(3) WHERE entidad_id = {entity} AND caduca IS NOT NULL"),
                       (given_token, "UPDATE tokens_acceso SET revocado = UTC_TIMESTAMP(3) WHERE entidad_id = {entity} AND caduca IS NOT NULL"),
                       (given_certificate, "UPDATE webhook_ejecuciones SET certificado_caduca = UTC_TIMESTAMP(3) + INTERVAL 90 DAY WHERE webhook_id = {}")):
        entity = new_entity()
        hook = entity.register()
        address = add_contact(stack, entity.id)
        begin(stack, entity, hook)
        post.run()
        assert [state for _, state in states(stack, entity.id)] == ["pendiente"]
        stack.sql(end.format(hook.id, entity=entity.id))
        post.run_late()
        assert [state for _, state in states(stack, entity.id)] == ["descartado"] and not server.mails_to(address)


def test_all_that_has_ended_is_discarded_however_much_it_is(stack, post, server, entity):
    address = add_contact(stack, entity.id)
    contact = stack.value(f"SELECT id FROM contactos WHERE correo = '{address}'")
    deleted = int(stack.value("SELECT MAX(id) FROM webhooks")) + 1
    stack.sql("INSERT INTO avisos (contacto_id, entidad_id, webhook_id, tipo, episodio, datos, proximo_intento) VALUES "
              + ",".join(f"({contact}, {entity.id}, {deleted}, 'fallo', '{number}', '{{}}', UTC_TIMESTAMP(3))" for number in range(1100)))
    post.run()
    assert stack.sql("SELECT estado, COUNT(*) FROM avisos WHERE tipo = 'fallo' GROUP BY estado") == [["descartado", "1100"]]
    assert not server.mails_to(address)


def test_the_sums_of_a_day_are_made_up_for(stack, post, server, entity, new_entity):
    """A page of contacts that cannot be told leaves the day open, but costs the operator no digest."""
    hook = entity.register()
    address = add_contact(stack, entity.id, kinds="entregas_fallidas")
    given_failed(stack, entity, hook)
    stack.sql("ALTER TABLE avisos ADD CONSTRAINT roto CHECK (tipo <> 'entregas_fallidas')")
    make_fail(stack, new_entity().register().id)
    settings = {"APIENTIDADES_MAIL_OPERATOR": f"operador{secrets.token_hex(4)}@ejemplo.es"}
    try:
        post.run(**settings)
        post.run(**settings)
        assert stack.value("SELECT COUNT(*) FROM avisos WHERE tipo = 'sin_novedad'") == "0"
        assert only_mail(server, settings["APIENTIDADES_MAIL_OPERATOR"])
    finally:
        stack.sql("ALTER TABLE avisos DROP CONSTRAINT roto")
    day = f"UTC_DATE() - INTERVAL 53 HOUR"
    stack.sql(f"UPDATE entregas SET proximo_intento = {day}, terminada_en = {day}, creada_en = {day} WHERE webhook_id = {hook.id}")
    stack.sql(f"UPDATE webhook_ejecuciones SET fallos_ultimo = {day} WHERE webhook_id = {hook.id}")
    post.run_late()
    assert "Entregas fallidas" in only_mail(server, address).message["subject"]
    assert stack.value("SELECT COUNT(*) FROM avisos WHERE tipo = 'sin_novedad'") == "1"


def test_a_digest_that_fails_keeps_no_mail_from_going(stack, post, server, entity):
    address = add_contact(stack, entity.id)
    make_fail(stack, entity.register().id)
    settings = {"APIENTIDADES_MAIL_OPERATOR": f"operador{secrets.token_hex(4)}@ejemplo.es"}
    stack.sql("ALTER TABLE avisos ADD CONSTRAINT roto CHECK (tipo <> 'resumen')")
    try:
        post.run_late(**settings)
    finally:
        stack.sql("ALTER TABLE avisos DROP CONSTRAINT roto")
    assert only_mail(server, address) and not server.mails_to(settings["APIENTIDADES_MAIL_OPERATOR"])
    post.run(**settings)
    assert only_mail(server, settings["APIENTIDADES_MAIL_OPERATOR"])


def test_the_operator_sees_resends_and_tests(stack, post, server, entity):
    hook = entity.register()
    address = add_contact(stack, entity.id)
    make_fail(stack, hook.id)
    post.run_late()
    notice, = stack.admin("notice", "list", "--entity", entity.id)
    assert notice["estado"] == "enviado" and notice["correo"] == address and notice["tipo"] == "fallo"
    shown = stack.admin("notice", "show", notice["id"])
    assert json.loads(shown["datos"])["webhook"] == hook.id and shown["mensaje"] in server.mails_to(address)[0].message["message-id"]
    make_work(stack, hook.id)  # what has ended is sent again, too, and at once
    assert stack.admin("notice", "resend", notice["id"])["estado"] == "enviando"
    post.run()
    assert [len(server.mails_to(address)), stack.admin("notice", "show", notice["id"])["estado"]] == [2, "enviado"]
    stack.sql(f"UPDATE contactos SET avisos = '' WHERE correo = '{address}'")
    refused = stack.try_admin("notice", "resend", notice["id"])
    assert refused.returncode == 1 and "cannot be sent" in refused.stderr
    assert stack.admin("notice", "show", notice["id"])["estado"] == "enviado"
    to = f"prueba{secrets.token_hex(4)}@ejemplo.es"
    answer = json.loads(stack.dev("admin", "notice", "test", to, "--json", **post.settings).stdout)
    assert answer["correo"] == to and "prueba" in only_mail(server, to).message["subject"]
