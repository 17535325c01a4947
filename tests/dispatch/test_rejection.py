"""Bad rows are rejected. The operator sees the reason, can retry and discard them, and no other row waits for them."""
import contextlib
import json
import re

from support.later import Later
from support.metrics import observed_dispatcher
from support.sql import literal, numbers
from support.wait import wait_until

TABLE = "notificaciones_pendientes"
GOOD = json.dumps({"evaluacionId": 1, "titulo": "t"})
TOO_DEEP = '{"evaluacionId": 1, "titulo": "t", "x": ' + "[" * 31 + "]" * 31 + "}"  # MySQL's CHECK would take it
# Rows that only a session without CHECKs can write: (columns after entidad_id, their values, beginning of the reason).
BAD = [
    ("evento, datos", f"'nada', {literal(GOOD)}", "evento: "),
    ("evento, datos", "'evaluacion.abierta', '{'", "datos: JSON no válido"),
    ("evento, datos", f"'evaluacion.abierta', {literal(TOO_DEEP)}", "datos: no puede pasar de 31 niveles"),
    ("evento, datos, clave", f"'evaluacion.abierta', {literal(GOOD)}, CONCAT(REPEAT('c', 70), seq)", "clave: "),
    ("evento, datos, ocurrida_en", f"'evaluacion.abierta', {literal(GOOD)}, '2026-00-15'", "ocurrida_en: "),
]
BETWEEN = 25  # bad rows of one kind, between two good rows
SOON = 60  # seconds


def forget_bad_rows(stack) -> None:
    """Deletes bad rows: they would make the ALTER TABLE of a migration, or of another test, fail."""
    stack.sql(f"DELETE FROM {TABLE} WHERE estado <> 'procesada' AND id NOT IN (SELECT notificacion_id FROM entregas)")


@contextlib.contextmanager
def without_checks(stack):
    """Yields a session of the evaluation system without CHECKs. On MySQL only the administrator can switch them off."""
    if "MariaDB" in stack.value("SELECT VERSION()"):
        stack.evaluation("SET check_constraint_checks = 0, sql_mode = 'ALLOW_INVALID_DATES'")
        try:
            yield stack.evaluation
        finally:
            stack.evaluation("SET check_constraint_checks = 1, sql_mode = DEFAULT")
            forget_bad_rows(stack)
        return
    rules = [name for [name] in stack.sql(
        "SELECT constraint_name FROM information_schema.table_constraints WHERE constraint_type = 'CHECK'"
        f" AND table_schema = DATABASE() AND table_name = '{TABLE}'")]
    enforce = lambda how: stack.sql(f"ALTER TABLE {TABLE} " + ", ".join(f"ALTER CHECK {name} {how}" for name in rules))
    enforce("NOT ENFORCED")
    stack.evaluation("SET sql_mode = 'ALLOW_INVALID_DATES'")
    try:
        yield stack.evaluation
    finally:
        stack.evaluation("SET sql_mode = DEFAULT")
        forget_bad_rows(stack)
        enforce("ENFORCED")


@contextlib.contextmanager
def trigger(stack, condition: str):
    """A trigger, such as an installation may have, refuses the changes of notifications for which `condition` is true."""
    stack.sql(f"CREATE TRIGGER del_sitio BEFORE UPDATE ON {TABLE} FOR EACH ROW"
              f" SET @del_sitio = IF({condition}, (SELECT 1 UNION SELECT 2), 0)")
    try:
        yield
    finally:
        stack.sql("DROP TRIGGER IF EXISTS del_sitio")


def rejected(stack, entity) -> dict:
    rows = stack.admin("notification", "list", "--state", "rechazada", "--entity", entity.id, "--limit", 1000)
    return {row["id"]: row["error"] for row in rows}


def keep_passing(stack, entity, hook, done, timeout: float) -> None:
    """Delivers notifications of `entity`, which has no bad rows, until done(): a row is rejected only while others pass."""
    def pass_one():
        stack.wait_delivery(stack.delivery_id(entity.notify(), hook.id), "entregada")
        return done()
    wait_until(pass_one, timeout, "the bad rows to be rejected")


def test_bad_rows_of_several_entities_stop_no_delivery(new_entity, receiver, stack):
    neighbour, entities = new_entity(), [new_entity() for _ in range(5)]
    other, hooks = neighbour.register(), [entity.register() for entity in entities]
    good = {entity.id: [] for entity in entities}
    stack.admin("queue", "pause")
    with without_checks(stack) as session:
        try:
            for entity in entities:
                good[entity.id].append(entity.notify())
                for columns, values, _ in BAD:
                    session(f"INSERT INTO {TABLE} (entidad_id, {columns}) SELECT {entity.id}, {values} FROM {numbers(BETWEEN)}")
                    good[entity.id].append(entity.notify())
        finally:
            stack.admin("queue", "resume")
        with stack.second_dispatcher():
            stack.wait_delivery(stack.delivery_id(neighbour.notify(), other.id), "entregada")
            for entity, hook in zip(entities, hooks):
                for id in good[entity.id]:
                    stack.wait_delivery(stack.delivery_id(id, hook.id), "entregada", 30)
            count = f"SELECT COUNT(*) FROM {TABLE} WHERE estado = 'pendiente' AND aplazada_hasta IS NULL"
            wait_until(lambda: stack.value(count) == "0", 30, "the bad rows to be dealt with")
        for entity in entities:
            reasons = rejected(stack, entity).values()
            for _, _, beginning in BAD:
                assert sum(reason.startswith(beginning) for reason in reasons) == BETWEEN, reasons
        one, another, third = list(rejected(stack, entities[0]))[:3]
        assert stack.admin("notification", "discard", one)["estado"] == "cancelada"
        stack.admin("notification", "retry", another)
        wait_until(lambda: another in rejected(stack, entities[0]), what="the retried row to be rejected again")
        stack.admin("queue", "pause")
        try:
            assert stack.admin("notification", "retry", third)["estado"] == "pendiente"
            assert stack.admin("notification", "cancel", third)["estado"] == "cancelada"
        finally:
            stack.admin("queue", "resume")
    for hook in hooks:
        assert len(receiver.requests(hook.path)) == len(BAD) + 1


def test_a_row_that_is_refused_twice_while_others_pass_is_rejected(entity, new_entity, stack):
    hook, neighbour = entity.register(), new_entity()
    other = neighbour.register()
    stack.admin("queue", "pause")
    try:
        before, bad, behind = entity.notify(), [entity.notify() for _ in range(20)], entity.notify()
        condition = f"NEW.id IN ({','.join(map(str, bad))}) AND NEW.estado = 'procesada'"
        with trigger(stack, condition), stack.second_dispatcher():
            stack.admin("queue", "resume")
            for id in (before, behind):
                stack.wait_delivery(stack.delivery_id(id, hook.id), "entregada", 30)
            keep_passing(stack, neighbour, other, lambda: set(rejected(stack, entity)) == set(bad), SOON)
    finally:
        stack.admin("queue", "resume")
    assert all(error.startswith("fila: la base de datos la rechaza: error 1242") for error in rejected(stack, entity).values())
    assert stack.admin("notification", "discard", bad[0])["estado"] == "cancelada"
    stack.admin("notification", "retry", bad[1])  # the trigger is dropped
    stack.wait_notification(bad[1], "procesada", SOON)
    stack.wait_delivery(stack.delivery_id(bad[1], hook.id), "entregada")


def test_a_row_that_cannot_even_be_rejected_waits_and_is_named(entity, new_entity, stack):
    hook, neighbour = entity.register(), new_entity()
    other = neighbour.register()
    stack.admin("queue", "pause")
    try:
        bad, good = [entity.notify() for _ in range(4)], entity.notify()
        logged = lambda: stack.dev("logs", "dispatcher").stdout
        with trigger(stack, f"NEW.id IN ({','.join(map(str, bad))})"), observed_dispatcher(stack) as scrape:
            stack.admin("queue", "resume")
            stack.wait_delivery(stack.delivery_id(good, hook.id), "entregada", 30)
            told = lambda: "refuses even to reject notifications" in logged()
            keep_passing(stack, neighbour, other, told, SOON)
            refusals = lambda: scrape().value("apientidades_database_errors_total", kind="refused")
            enough = refusals() + 3 * len(bad)
            keep_passing(stack, neighbour, other, lambda: refusals() > enough, SOON)
            assert {stack.notification(id)["estado"] for id in bad} == {"pendiente"}
            before = len(logged())
        assert re.search("refuses even to reject.*stopped", logged()[before:], re.S), "a stop logs the rest"
        for id in bad:
            stack.wait_notification(id, "procesada", SOON)
            stack.wait_delivery(stack.delivery_id(id, hook.id), "entregada")
    finally:
        stack.admin("queue", "resume")


def test_what_is_logged_once_a_minute_is_logged_in_a_pause(stack, tmp_path):
    later = Later(tmp_path)
    with stack.dispatcher_with(**later.environment):
        lines = lambda: stack.dev("logs", "dispatcher").stdout.count("notifications rejected")
        before = lines()
        for unknown in (600_000_001, 600_000_002):
            stack.sql(f"INSERT INTO {TABLE} (entidad_id, evento, datos) VALUES ({unknown}, 'evaluacion.abierta', {literal(GOOD)})")
            state = f"SELECT estado FROM {TABLE} WHERE entidad_id = {unknown}"
            wait_until(lambda: stack.value(state) == "rechazada", what="a rejection")
            wait_until(lambda: lines() == before + 1, what="a line for the first")
        stack.admin("queue", "pause")
        try:
            later.minute()
            wait_until(lambda: lines() == before + 2, what="the line for the second")
        finally:
            stack.admin("queue", "resume")
    forget_bad_rows(stack)


def test_rows_of_unknown_entities_delay_no_others(entity, stack):
    hook = entity.register()
    unknown, many = "entidad_id BETWEEN 500000001 AND 500020000", 20_000
    count = f"(SELECT COUNT(*) FROM {TABLE} WHERE {unknown} AND estado = 'pendiente')"
    lines = lambda: re.findall(r"notifications rejected.*?notifications\W+(\d+)", stack.dev("logs", "dispatcher").stdout)
    with stack.dispatcher_with():
        before = len(lines())
        stack.sql(f"INSERT INTO {TABLE} (entidad_id, evento, datos)"
                  f" SELECT 500000000 + seq, 'evaluacion.abierta', {literal(GOOD)} FROM {numbers(many)}")
        id = entity.notify()
        state = lambda: stack.sql(f"SELECT estado, {count} FROM {TABLE} WHERE id = {id}")[0]
        wait_until(lambda: state()[0] == "procesada", what="the row of an entity that exists")
        assert int(state()[1]) > 0, "it waited for those of unknown entities"
        stack.wait_delivery(stack.delivery_id(id, hook.id), "entregada")
        wait_until(lambda: stack.value(f"SELECT {count}") == "0", 60, "the others to be rejected")
    logged = lines()[before:]
    assert len(logged) <= 3, "one line a minute and one at the stop, not one a row"
    assert sum(map(int, logged)) == many
    stack.sql(f"DELETE FROM {TABLE} WHERE {unknown}")


def test_when_everything_is_refused_nothing_is_put_aside(entity, stack):
    hook = entity.register()
    with trigger(stack, "NEW.estado = 'procesada'"), observed_dispatcher(stack) as scrape:
        ids = [entity.notify() for _ in range(5)]
        refusals = lambda: scrape().value("apientidades_database_errors_total", kind="refused")
        wait_until(lambda: refusals() > 4 * len(ids), SOON, "all of them to be refused several times")
        assert not rejected(stack, entity)
    for id in ids:
        stack.wait_notification(id, "procesada", SOON)
        stack.wait_delivery(stack.delivery_id(id, hook.id), "entregada")
