"""Mail servers that are away, slow, or refuse, and runs of apientidades-notices that are killed."""
import os
import threading
import time

import pytest

from fakes.certificates import issue
from fakes.mail_server import MailServer
from fakes.receiver import self_signed
from support.mail import Post, add_contact, clear_contacts, make_fail
from support.metrics import observed_dispatcher
from support.wait import wait_until


@pytest.fixture(scope="module", autouse=True)
def quiet_stack(stack):
    stack.stop("dispatcher")
    yield
    stack.start("dispatcher")


@pytest.fixture(autouse=True)
def no_others(stack):
    clear_contacts(stack)
    stack.sql("UPDATE reloj_visto SET hora = UTC_TIMESTAMP(3)")
    yield
    clear_contacts(stack)


@pytest.fixture
def server():
    with MailServer() as running:
        yield running


@pytest.fixture
def post(stack, server):
    return Post(stack, server)


@pytest.fixture
def address(stack, entity):
    make_fail(stack, entity.register().id)
    return add_contact(stack, entity.id)


def notice_to(stack, address):
    return next(one for one in stack.admin("notice", "list", "--limit", 1000) if one["correo"] == address)


def test_greylisting_delays_a_mail(stack, post, server, address):
    server.answers[address] = ["451 4.7.1 Greylisted, try again"] * 2
    post.run_late()
    first = notice_to(stack, address)
    assert first["estado"] == "enviando" and first["error"].startswith("451 4.7.1 Greylisted")
    post.run()
    assert notice_to(stack, address)["intentos"] == 1, "not before the wait is over"
    post.pass_time(60)
    post.run()
    post.pass_time(120)
    post.run()
    assert len(server.mails_to(address)) == 1 and notice_to(stack, address)["estado"] == "enviado"


def test_a_refused_address_is_marked_and_told_nothing_more(stack, post, server, entity, address):
    other = add_contact(stack, entity.id)
    server.answers[address] = ["550 5.1.1 No such user here"]
    post.run_late()
    assert len(server.mails_to(other)) == 1
    assert notice_to(stack, address)["estado"] == "fallido"
    assert stack.value(f"SELECT rechazo FROM contactos WHERE correo = '{address}'") == "550 5.1.1 No such user here"
    make_fail(stack, entity.register().id)
    post.pass_time(3600)
    post.run_late()
    assert len(server.mails_to(other)) == 2 and not server.mails_to(address)


def test_only_an_address_that_does_not_exist_is_marked(stack, post, server, new_entity):
    """A relay that refuses this host says 5xx to every address."""
    answers = {"550 5.1.1 No such user": True, "553 5.1.3 Bad address": True, "550 5.2.1 Disabled": True, "550 No such user": True,
               "554 5.7.1 Relay access denied": False, "550 5.7.26 Not authenticated": False, "530 Login first": False,
               "554 No thanks": False, "550 5.1.8 Bad sender": False, "552 5.2.2 Full": False}
    addresses = {}
    for answer in answers:
        entity = new_entity()
        make_fail(stack, entity.register().id)
        addresses[answer] = add_contact(stack, entity.id)
        server.answers[addresses[answer]] = [answer]
    post.run_late()
    marked = {answer: stack.value(f"SELECT rechazo FROM contactos WHERE correo = '{one}'") == answer for answer, one in addresses.items()}
    assert marked == answers
    post.pass_time(60)
    post.run()
    assert {answer for answer, one in addresses.items() if server.mails_to(one)} == {answer for answer in answers if not answers[answer]}


@pytest.mark.parametrize("change", ["avisos = ''", "confirmado_en = NULL, codigo_emitido = UTC_TIMESTAMP(3)", None])
def test_a_mail_that_is_tried_again_is_still_wanted(stack, post, server, address, change):
    server.answers[address] = ["451 later"]
    post.run_late()
    stack.sql(f"UPDATE contactos SET {change} WHERE correo = '{address}'" if change else "DELETE FROM contactos")
    post.pass_time(60)
    post.run()
    assert stack.sql("SELECT tipo, estado FROM avisos WHERE tipo NOT IN ('codigo', 'sin_novedad')") == [["fallo", "descartado"]]
    assert not [mail for mail in server.mails_to(address) if "recibe" in mail.message["subject"]]


@pytest.mark.parametrize("change", ["confirmado_en = UTC_TIMESTAMP(3), codigo_emitido = NULL",
                                    "codigo_emitido = UTC_TIMESTAMP(3) - INTERVAL 25 HOUR"])
def test_a_code_that_no_longer_counts_is_not_mailed_again(stack, post, server, new_entity, change):
    first, second = (add_contact(stack, new_entity().id, confirmed=False) for _ in range(2))
    server.at_data = lambda recipient: None if recipient == first else "250 OK"
    post.run()
    post.pass_time(60)
    stack.sql(f"UPDATE contactos SET {change} WHERE correo = '{first}'")
    server.at_data = lambda recipient: "250 OK"
    post.run()
    assert len(server.mails_to(first)) == 1 and len(server.mails_to(second)) == 1
    assert sorted(stack.sql("SELECT estado FROM avisos WHERE tipo = 'codigo'")) == [["descartado"], ["enviado"]]


def test_a_code_overtakes_what_else_is_due(stack, post, server, new_entity):
    for _ in range(3):
        entity = new_entity()
        make_fail(stack, entity.register().id)
        add_contact(stack, entity.id)
    post.run()
    post.pass_time(61)
    waiting = add_contact(stack, entity.id, confirmed=False)
    post.run()
    assert server.accepted[0].recipient == waiting and len(server.accepted) == 4


def test_a_mail_with_an_unknown_outcome_is_repeated_with_the_same_message_id(stack, post, server, address):
    server.at_data = lambda recipient: None  # accepts, and ends the connection without an answer
    post.run_late()
    server.at_data = lambda recipient: "250 OK"
    post.pass_time(60)
    post.run()
    first, second = server.mails_to(address)
    assert first.message["message-id"] == second.message["message-id"]
    post.pass_time(600)
    post.run()
    assert len(server.mails_to(address)) == 2


def test_a_server_that_is_away_costs_one_try_a_run_and_no_notice(stack, server, new_entity):
    addresses = []
    for _ in range(3):
        entity = new_entity()
        make_fail(stack, entity.register().id)
        addresses.append(add_contact(stack, entity.id))

    class Away:
        port = 1

    away = Post(stack, Away)
    away.run_late()
    assert stack.value("SELECT SUM(intentos) FROM avisos") == "1"
    back = Post(stack, server)
    back.pass_time(60)
    back.run()
    assert all(len(server.mails_to(one)) == 1 for one in addresses)


@pytest.fixture
def gauge(stack, server):
    """Waits for a gauge of the notices, as a dispatcher shows it."""
    stack.start("dispatcher")
    with observed_dispatcher(stack) as scrape:
        def wait(name, holds, **labels):
            wait_until(lambda: holds(scrape().value(name, **labels)), 10, name)
        yield wait
    stack.stop("dispatcher")


def test_the_gauges_tell_of_a_server_that_is_away_but_not_of_a_wrong_address(stack, server, new_entity, address, gauge):
    class Away:
        port = 1

    away = Post(stack, Away)
    away.run_late()
    away.pass_time(3000)
    away.run()
    gauge("apientidades_notices_oldest_seconds", lambda value: value > 3000)  # though its next try is not due
    away.pass_time(2 * 86400)
    away.run()
    gauge("apientidades_notices", lambda value: value == 1, state="given_up")
    stack.sql(f"UPDATE contactos SET rechazado_en = UTC_TIMESTAMP(3), rechazo = '550' WHERE correo = '{address}'")
    gauge("apientidades_notices", lambda value: value == 0, state="given_up")
    wrong = add_contact(stack, new_entity().id, confirmed=False)
    server.answers[wrong] = ["450 4.1.2 Domain not found"] * 2
    back = Post(stack, server)
    back.run()
    back.pass_time(3000)
    back.run()
    gauge("apientidades_notices", lambda value: value == 1, state="waiting")
    gauge("apientidades_notices_oldest_seconds", lambda value: value == 0)
    back.pass_time(2 * 86400)
    back.run()
    gauge("apientidades_notices", lambda value: value == 0, state="waiting")
    gauge("apientidades_notices", lambda value: value == 0, state="given_up")


@pytest.mark.parametrize("password, arrives", [("correcta", True), ("otra", False)])
def test_the_server_may_want_a_password(stack, server, address, tmp_path, password, arrives):
    given = tmp_path / "mail"
    given.write_text(password)
    given.chmod(0o600)
    with MailServer(password="correcta") as wants:
        Post(stack, wants, mail_user="avisos", mail_password_file=given).run_late()
        assert bool(wants.mails_to(address)) == arrives
    notice = notice_to(stack, address)
    assert notice["estado"] == ("enviado" if arrives else "enviando") and (arrives or notice["error"].startswith("535 "))


def test_the_operator_lifts_every_refusal_at_once(stack, post, server, new_entity):
    addresses = []
    for _ in range(2):
        entity = new_entity()
        make_fail(stack, entity.register().id)
        addresses.append(add_contact(stack, entity.id))
        server.answers[addresses[-1]] = ["550 5.1.1 No such user"]
    post.run_late()
    assert not server.accepted
    assert stack.admin("notice", "resend", "--refused") == {"direcciones": 2, "avisos": 2}
    post.run()
    assert [len(server.mails_to(one)) for one in addresses] == [1, 1]
    assert stack.try_admin("notice", "resend").returncode == 2


def test_what_was_not_sent_in_two_days_is_given_up(stack, post, server, address):
    server.answers[address] = ["451 later"]
    post.run_late()
    stack.sql("UPDATE avisos SET creado_en = creado_en - INTERVAL 3 DAY")
    post.run()
    assert notice_to(stack, address)["estado"] == "enviando", "another host may be sending it"
    post.pass_time(2 * 86400)
    post.run()
    given_up = notice_to(stack, address)
    assert given_up["estado"] == "fallido" and given_up["error"] == "451 later" and not server.mails_to(address)


def test_a_slow_server_is_waited_for(stack, post, server, address):
    server.at_data = lambda recipient: time.sleep(2) or "250 OK"
    post.run_late()
    assert len(server.mails_to(address)) == 1


BEGINS = "NEW.estado = 'enviando' AND OLD.estado = 'pendiente'"
AT_STATEMENTS = {  # when it sleeps in the database, and how many copies of the first contact's mail arrive
    "while it decides": ("INSERT", "TRUE", 1),
    "while it takes a mail": ("UPDATE", BEGINS, 1),
    "before it marks a mail as sent": ("UPDATE", "NEW.estado = 'enviado'", 2),
    "after it has marked a mail as sent": ("UPDATE", BEGINS + " AND NEW.contacto_id > {first}", 1),
    "before it notes that a mail is deferred": ("UPDATE", "NEW.error <> OLD.error", 1),
    "while it takes a mail again": ("UPDATE", "NEW.intentos > OLD.intentos AND OLD.estado = 'enviando'", 1),
    "before it marks a refused address": ("UPDATE", "NEW.estado = 'fallido'", 0)}
AT_SERVER = {"MAIL": 1, "RCPT": 1, "the end of a mail": 1, "the end of an accepted mail": 2}


@pytest.fixture
def addresses(stack, new_entity):
    found = []
    for _ in range(2):
        entity = new_entity()
        make_fail(stack, entity.register().id)
        found.append(add_contact(stack, entity.id))
    return found


def end_killed(post, server, addresses, copies):
    """The next runs send what the killed one has not, and nothing further."""
    for seconds in (301, 301, 3600):
        post.pass_time(seconds)
        post.run()
    seen = [[mail.message["message-id"] for mail in server.mails_to(one)] for one in addresses]
    assert [len(ids) for ids in seen] == [copies, 1] and all(len(set(ids)) <= 1 for ids in seen), seen


@pytest.mark.parametrize("when", AT_STATEMENTS)
def test_a_run_that_is_killed_at_a_statement(stack, post, server, addresses, when):
    event, condition, copies = AT_STATEMENTS[when]
    first = stack.value(f"SELECT id FROM contactos WHERE correo = '{addresses[0]}'")
    server.answers[addresses[0]] = ["451 later"] * ("deferred" in when or "again" in when) + ["550 5.1.1 No such user"] * 3 * (not copies)
    if event == "UPDATE":
        post.run()
        post.pass_time(61)
    if "again" in when:
        post.run()
        post.pass_time(61)
    stack.sql(f"CREATE TRIGGER espera BEFORE {event} ON avisos FOR EACH ROW DO IF({condition.format(first=first)}, SLEEP(60), 0)")
    sleeps = "SELECT id FROM information_schema.processlist WHERE state = 'User sleep'"  # as the trigger's definer
    run = post.start()
    try:
        wait_until(lambda: stack.sql(sleeps), 20, "the run to sleep in the database")
    finally:
        run.kill()
        run.wait(20)
        for session, in stack.sql(sleeps):
            stack.sql(f"KILL {session}")  # the server would notice the end of its client after the statement
        stack.sql("DROP TRIGGER espera")
    end_killed(post, server, addresses, copies)


@pytest.mark.parametrize("when", AT_SERVER)
def test_a_run_that_is_killed_while_it_talks_to_the_server(post, server, addresses, when):
    post.run()
    post.pass_time(61)
    reached, go_on = threading.Event(), threading.Event()

    def stand(command_or_recipient):
        if command_or_recipient in (when, addresses[0]):
            reached.set()
            go_on.wait(20)
        return "451 the client is gone"

    if when in ("MAIL", "RCPT"):
        server.at_command = stand
    else:
        server.at_data, server.accepts_first = stand, "accepted" in when
    run = post.start()
    assert reached.wait(20)
    run.kill()
    run.wait(20)
    go_on.set()
    server.at_data, server.accepts_first, server.at_command = lambda recipient: "250 OK", False, lambda command: None
    end_killed(post, server, addresses, AT_SERVER[when])


def test_two_runs_at_once_send_each_mail_once(stack, post, server, new_entity):
    addresses, shared = [], "comun@ejemplo.es"
    for number in range(18):
        entity = new_entity()
        make_fail(stack, entity.register().id)
        addresses.append(add_contact(stack, entity.id, address=shared if number % 3 else None))
    post.run()
    post.pass_time(61)
    runs = [post.start(), post.start()]
    try:
        assert [run.wait(60) for run in runs] == [0, 0]
    finally:
        for run in runs:
            run.kill()
    assert all(len(server.mails_to(one)) == 1 for one in addresses if one != shared)
    sent = server.mails_to(shared)
    assert 1 <= len(sent) <= 2 and len({mail.message["message-id"] for mail in sent}) == len(sent), "each run may send one in the same instant"


def test_a_conflict_at_a_contact_keeps_no_other_mail_from_going(stack, post, server, addresses):
    post.run()
    post.pass_time(61)
    first = stack.value(f"SELECT id FROM contactos WHERE correo = '{addresses[0]}'")
    stack.sql(f"DELIMITER //\nCREATE TRIGGER choque BEFORE UPDATE ON avisos FOR EACH ROW IF NEW.contacto_id = {first} THEN"
              " SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213; END IF//\nDELIMITER ;\nDO 0")
    try:
        post.run()
        assert [len(server.mails_to(one)) for one in addresses] == [0, 1]
    finally:
        stack.sql("DROP TRIGGER choque")
    post.run()
    assert [len(server.mails_to(one)) for one in addresses] == [1, 1]


def test_many_entities_that_fail_at_once_get_a_mail_each_at_a_bounded_rate(stack, post, server):
    count, first = 10_000 if os.environ.get("TEST_LONG") else 200, 500_000
    rows = range(first, first + count)
    stack.sql("INSERT INTO entidades (id, nombre) VALUES " + ",".join(f"({id}, 'Entidad {id}')" for id in rows))
    stack.sql("INSERT INTO webhooks (id, entidad_id, plaza, url, eventos) VALUES "
              + ",".join(f"({id}, {id}, 1, 'https://x.example.org/', 'evaluacion.abierta')" for id in rows))
    stack.sql("INSERT INTO webhook_ejecuciones (webhook_id, ultima_ejecucion, ultimo_error, fallos, fallos_desde, fallos_ultimo) VALUES "
              + ",".join(f"({id}, UTC_TIMESTAMP(3), 'x', 5, UTC_TIMESTAMP(3) - INTERVAL 2 HOUR, UTC_TIMESTAMP(3))" for id in rows))
    stack.sql("INSERT INTO contactos (entidad_id, plaza, correo, avisos, confirmado_en) VALUES "
              + ",".join(f"({id}, 1, 'p{id}@ejemplo.es', 'fallo', UTC_TIMESTAMP(3))" for id in rows))
    post.run()
    post.pass_time(61)
    began = time.monotonic()
    run = post.start()
    try:
        assert run.wait(600) == 0
        took = time.monotonic() - began
    finally:
        run.kill()
        run.wait(20)
        clear_contacts(stack)
        for table, column in (("webhook_ejecuciones", "webhook_id"), ("webhooks", "id"), ("entidades", "id")):
            stack.sql(f"DELETE FROM {table} WHERE {column} BETWEEN {first} AND {first + count - 1}")
    assert len(server.accepted) == count and len({mail.recipient for mail in server.accepted}) == count
    assert (count - 1) / 25 <= took < 480, "25 mails a second, and 10,000 within ten minutes with the decision and the minute before"
    assert server.connections <= 2, "the connection is kept"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    authority = self_signed(folder, "authority")
    return {"ca": authority[0], "good": issue(folder, authority, "good", "localhost"),
            "relay": issue(folder, authority, "relay", "relay.ejemplo.es"), "wrong": issue(folder, authority, "wrong", "otro.ejemplo.es")}


# A server on this host needs no TLS by smtp://, so these use smtps://.
@pytest.mark.parametrize("name, arrives", [("good", True), ("wrong", False)])
def test_the_certificate_must_have_the_name_of_the_server(stack, certificates, address, name, arrives):
    with MailServer(certificates[name], implicit_tls=True) as server:
        post = Post(stack, server, scheme="smtps", host="localhost", mail_ca_file=certificates["ca"])
        post.run_late()
        assert bool(server.mails_to(address)) == arrives
        assert arrives or "subject name" in notice_to(stack, address)["error"]


def test_an_authority_that_is_not_known_is_refused(stack, certificates, address):
    with MailServer(certificates["good"], implicit_tls=True) as server:
        Post(stack, server, scheme="smtps", host="localhost").run_late()
        assert not server.mails_to(address) and "certificate" in notice_to(stack, address)["error"]


@pytest.mark.parametrize("offers, arrives", [(True, True), (False, False)])
def test_another_host_must_offer_starttls(stack, certificates, address, offers, arrives):
    """By a name that is not one of this host's own, which leads here by a file of /etc/hosts in a mount namespace."""
    with MailServer(certificates["relay"] if offers else None) as server:
        post = Post(stack, server, host="relay.ejemplo.es", mail_ca_file=certificates["ca"])
        post.run()
        post.pass_time(61)
        post.run_with_hosts("127.0.0.1 relay.ejemplo.es")
        assert bool(server.mails_to(address)) == arrives
        assert arrives or "STARTTLS" in notice_to(stack, address)["error"]
