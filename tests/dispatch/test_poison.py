"""A row that the database refuses must stop no other row. In most tests here a trigger refuses it."""
import contextlib

import pytest

from fakes.receiver import Behaviour
from support.wait import wait_until


@contextlib.contextmanager
def refused(stack, table: str, condition: str):
    stack.sql(f"CREATE TRIGGER veneno BEFORE INSERT ON {table} FOR EACH ROW"
              f" SET @veneno = IF({condition}, (SELECT 1 UNION SELECT 2), 0)")  # a subquery of two rows is an error
    try:
        yield
    finally:
        stack.sql("DROP TRIGGER veneno")


def refusals(stack) -> str:
    lines = stack.dev("logs", "dispatcher").stdout.splitlines()
    return "\n".join(line for line in lines if "the database refuses to fan out" in line)


def failed_tasks(stack) -> int:
    return stack.dev("logs", "dispatcher").stdout.count("a task failed")


def test_many_results_that_cannot_be_recorded_stop_no_other(new_entity, receiver, stack):
    """The 30 refused results come first. After 20 of them the dispatcher believes that the database refuses all results."""
    entities = [new_entity() for _ in range(6)]
    hooks = [entity.register(["evaluacion.abierta"], port=2) for entity in entities for _ in range(5)]
    other = new_entity()
    good = other.register(["evaluacion.cerrada"])
    ids = ",".join(str(hook.id) for hook in hooks)
    with refused(stack, "intentos_entrega", f"NEW.entrega_id IN (SELECT id FROM entregas WHERE webhook_id IN ({ids}))"):
        poison = [entity.notify("evaluacion.abierta") for entity in entities]
        wait_until(lambda: stack.dev("logs", "dispatcher").stdout.count("cannot be recorded") > 3, what="the refusals")
        for id in [other.notify("evaluacion.cerrada") for _ in range(5)]:
            stack.wait_delivery(stack.delivery_id(id, good.id), "entregada", 30)
        for entity, id in zip(entities, poison):
            stack.admin("notification", "cancel", id)


@pytest.mark.usefixtures("patient")
def test_a_result_that_cannot_be_recorded_stops_no_other(entity, receiver, stack):
    hook, other = entity.register(["evaluacion.abierta"], port=2), entity.register(["evaluacion.cerrada"])
    with refused(stack, "intentos_entrega", f"NEW.entrega_id IN (SELECT id FROM entregas WHERE webhook_id = {hook.id})"):
        poison = stack.delivery_id(entity.notify("evaluacion.abierta"), hook.id)  # no program listens on port 2
        wait_until(lambda: "cannot be recorded" in stack.dev("logs", "dispatcher").stdout, what="the refusal")
        ids = [entity.notify("evaluacion.cerrada") for _ in range(5)]
        for id in ids:
            stack.wait_delivery(stack.delivery_id(id, other.id), "entregada")
        assert stack.delivery(poison)["estado"] == "en_curso", "its lease must expire first"
    entity.api("DELETE", f"/apientidades/v1/webhooks/{hook.id}")
    assert len({r.id for r in receiver.requests(other.path)}) == len(receiver.requests(other.path)) == 5


@pytest.mark.usefixtures("patient")
def test_a_refused_result_and_a_locked_row_together_stop_no_other(new_entity, receiver, stack, root):
    entities = [new_entity() for _ in range(3)]
    locked, poisoned, free = hooks = [entity.register() for entity in entities]
    for entity, hook in zip(entities, hooks):
        stack.wait_delivery(stack.delivery_id(entity.notify(), hook.id), "entregada")
        receiver.behave(hook.path, Behaviour(hold=True))
    condition = f"NEW.entrega_id IN (SELECT id FROM entregas WHERE webhook_id = {poisoned.id})"
    with refused(stack, "intentos_entrega", condition):
        root(f"START TRANSACTION; SELECT 1 FROM webhook_ejecuciones WHERE webhook_id = {locked.id} FOR UPDATE")
        ids = [stack.delivery_id(entity.notify(), hook.id) for entity, hook in zip(entities, hooks)]
        for hook in hooks:  # the attempts end together, so that one batch records their results
            receiver.wait(hook.path, 2)
        for hook in hooks:
            receiver.release(hook.path)
        stack.wait_delivery(ids[2], "entregada", 20)
        assert stack.delivery(ids[0])["estado"] == "en_curso", "its row was locked"
        root("ROLLBACK")
    stack.wait_delivery(ids[0], "entregada", 20)
    entities[1].api("DELETE", f"/apientidades/v1/webhooks/{poisoned.id}")


def test_a_notification_that_cannot_be_fanned_out_stops_no_other(entity, new_entity, receiver, stack):
    hook, neighbour = entity.register(), new_entity()
    other = neighbour.register()
    failures = failed_tasks(stack)
    with refused(stack, "entregas", f"NEW.webhook_id = {hook.id}"):
        poison = entity.notify()
        wait_until(lambda: f"entity={entity.id} " in refusals(stack), what="the refusal")
        stack.wait_delivery(stack.delivery_id(neighbour.notify(), other.id), "entregada")
        assert failed_tasks(stack) == failures, "a refusal for one entity is no failure of the task"
    if stack.notification(poison)["estado"] == "rechazada":  # a second refusal may have made it `rechazada`
        stack.admin("notification", "retry", poison)
    stack.wait_delivery(stack.delivery_id(poison, hook.id), "entregada")


def test_a_notification_that_cannot_be_fanned_out_does_not_stop_its_own_entity(entity, stack):
    hook = entity.register()
    stack.admin("queue", "pause")  # so that all notifications wait when the fan-out begins
    try:
        ids = [entity.notify() for _ in range(24)]
        good, bad = [ids[0], *ids[21:]], ids[1:21]  # after a refusal, the fan-out takes 8 notifications of the entity at once
        with refused(stack, "entregas", f"NEW.notificacion_id IN ({','.join(map(str, bad))})"):
            stack.admin("queue", "resume")
            for id in good:
                stack.wait_delivery(stack.delivery_id(id, hook.id), "entregada")
            for id in bad:
                wait_until(lambda: f"notification={id} " in refusals(stack), what="the refusal of each")
    finally:
        stack.admin("queue", "resume")
    for id in bad:
        if stack.notification(id)["estado"] == "rechazada":  # a second refusal may have made it `rechazada`
            stack.admin("notification", "retry", id)
        stack.wait_notification(id, "procesada", 30)
        stack.wait_delivery(stack.delivery_id(id, hook.id), "entregada")


@contextlib.contextmanager
def unchecked_length(stack):
    """Drops the CHECK of the length of `datos`, as if a writer's session had switched the CHECK off."""
    table, rule = "notificaciones_pendientes", "datos_de_mas_de_64_KiB"
    stack.sql(f"ALTER TABLE {table} DROP CONSTRAINT {rule}")
    try:
        yield
    finally:
        stack.sql(f"DELETE FROM {table} WHERE LENGTH(datos) > 65536 AND origen <> 'prueba'")
        stack.sql(f"ALTER TABLE {table} ADD CONSTRAINT {rule} CHECK (origen = 'prueba' OR LENGTH(datos) <= 65536)")


def test_data_that_are_too_long_are_rejected(entity, stack):
    hook = entity.register()
    with unchecked_length(stack):
        stack.sql("INSERT INTO notificaciones_pendientes (entidad_id, evento, datos) VALUES"
                  f" ({entity.id}, 'evaluacion.abierta',"
                  " CONCAT('{\"evaluacionId\": 1, \"titulo\": \"', REPEAT('x', 3000000), '\"}'))")
        after = entity.notify()
        stack.wait_delivery(stack.delivery_id(after, hook.id), "entregada")
        state = ("SELECT estado, error FROM notificaciones_pendientes"
                 f" WHERE entidad_id = {entity.id} AND LENGTH(datos) > 65536")
        wait_until(lambda: stack.sql(state) == [["rechazada", "datos: tiene más de 65536 bytes"]], what="the rejection")


def test_rows_written_past_the_checks_are_rejected(new_entity, receiver, stack):
    """On MariaDB the evaluation system's user can bypass the CHECKs without a special right."""
    if "MariaDB" not in stack.value("SELECT VERSION()"):
        pytest.skip("on MySQL a CHECK holds for every session")
    entities = [new_entity() for _ in range(4)]
    hooks = [entity.register() for entity in entities]
    good = [entity.notify() for entity in entities]
    data = '{"evaluacionId": 42, "titulo": "Convocatoria"}'
    kinds = [("ninguno", data, "NULL"), ("evaluacion.abierta", "{", "NULL"), ("evaluacion.abierta", data, f"'{'k' * 65}'"),
             ("evaluacion.abierta", data, "''"), ("evaluacion.abierta ", data, "NULL")]
    rows = [f"({entity.id}, '{event}', '{text}', {key})" for entity in entities[:3]
            for event, text, key in kinds for _ in range(1 if key != "NULL" else 50)]
    rows += [f"({entities[0].id}, 'evaluacion.abierta', CONCAT('\"', REPEAT('x', 70000), '\"'), NULL)"]
    stack.evaluation("SET check_constraint_checks = 0")
    try:
        stack.evaluation(f"INSERT INTO notificaciones_pendientes (entidad_id, evento, datos, clave) VALUES {', '.join(rows)}")
        stack.evaluation("INSERT INTO notificaciones_pendientes (entidad_id, evento, datos, ocurrida_en)"
                         f" VALUES ({entities[0].id}, 'evaluacion.abierta', '{data}', '1969-12-31')")
    finally:
        stack.evaluation("SET check_constraint_checks = 1")
    good += [entity.notify() for entity in entities]
    for id, hook in zip(good, hooks * 2):
        stack.wait_delivery(stack.delivery_id(id, hook.id), "entregada", 30)
    ids = ",".join(str(entity.id) for entity in entities)
    count = f"SELECT COUNT(*) FROM notificaciones_pendientes WHERE entidad_id IN ({ids}) AND estado = "
    wait_until(lambda: int(stack.value(count + "'rechazada'")) == len(rows) + 1, 30, "each to be rejected")
    reasons = {row["error"].split(":")[0] for row in stack.admin("notification", "list", "--entity", entities[0].id,
                                                                 "--state", "rechazada", "--limit", "1000")}
    assert reasons == {"evento", "datos", "clave", "ocurrida_en"}
    bad = stack.admin("notification", "list", "--entity", entities[1].id, "--state", "rechazada", "--limit", "1")[0]["id"]
    stack.admin("notification", "retry", bad)
    stack.wait_notification(bad, "rechazada", 30)
    stack.admin("notification", "discard", bad)
    assert stack.notification(bad)["estado"] == "cancelada"


def test_a_date_that_is_none_is_refused_at_the_insert_in_any_mode(entity, stack):
    for mode in ("STRICT_ALL_TABLES", ""):
        result = stack.dev("sql", check=False, input=(
            f"SET sql_mode='{mode}'; INSERT INTO notificaciones_pendientes (entidad_id, evento, datos, ocurrida_en)"
            f" VALUES ({entity.id}, 'evaluacion.cerrada', '{{}}', '2026-00-15')"))
        assert result.returncode and "ocurrida_en_no_es_fecha" in result.stderr, result
