"""notificaciones_anuladas calls a notification off in its writer's transaction; a `clave` that reached no webhook is free again."""
from contextlib import closing

import pytest

from fakes.receiver import Behaviour
from support.sql import SqlError
from support.stack import setting
from support.wait import wait_until

REASON = "La notificación ha sido anulada"


def withdraw(stack, **columns) -> None:
    names, values = zip(*columns.items())
    stack.evaluation(f"INSERT INTO notificaciones_anuladas ({', '.join(names)}) VALUES ({', '.join(map(repr, values))})")


def seen(stack, id: int) -> tuple:
    row, = stack.evaluation("SELECT estado, webhooks, entregadas, pendientes, canceladas, ultimo_error"
                            f" FROM notificaciones_resultado WHERE notificacion_id = {id}")
    return tuple(int(text) if text.isdigit() else text for text in row)


def test_what_was_sent_is_told_as_sent_and_no_retry_passes_the_withdrawal(entity, receiver, stack):
    good, bad = entity.register(), entity.register()
    receiver.behave(bad.path, Behaviour(status=500))
    with stack.dispatcher_with(**setting(delivery_retry_schedule="2s, 2s, 2s, 2s, 2s, 2s, 2s, 2s, 2s")):
        id = entity.notify()
        wait_until(lambda: receiver.requests(bad.path) and receiver.requests(good.path), 20, "first attempts")
        withdraw(stack, notificacion_id=id, motivo="se publicó por error")
        wait_until(lambda: seen(stack, id)[3] == 0, 30, "the claim to end the delivery")
        assert seen(stack, id) == ("cancelada", 2, 1, 0, 1, REASON)
    shown = stack.admin("notification", "show", id)
    assert (shown["estado"], shown["motivo"]) == ("cancelada", "se publicó por error") and shown["anulada_en"].endswith("Z")
    receiver.behave(bad.path, Behaviour(status=200))
    delivery = stack.delivery_id(id, bad.id)
    assert stack.try_admin("delivery", "retry", delivery).returncode != 0
    assert stack.try_admin("delivery", "retry", stack.delivery_id(id, good.id)).returncode != 0
    assert len(receiver.requests(good.path)) == 1


def test_a_rollback_undoes_it_and_a_key_names_it(entity, receiver, stack):
    hook = entity.register()
    with closing(stack.writer()) as other:
        id = entity.notify(clave="abierta-1", no_antes_de=stack.value("SELECT UTC_TIMESTAMP(3) + INTERVAL 8 SECOND"))
        stack.wait_deferred(id)
        other(f"START TRANSACTION; INSERT INTO notificaciones_anuladas (notificacion_id) VALUES ({id}); ROLLBACK")
    wait_until(lambda: seen(stack, id)[2] == 1, 30, "the delivery")
    later = entity.notify(clave="abierta-2", no_antes_de=stack.value("SELECT UTC_TIMESTAMP(3) + INTERVAL 1 HOUR"))
    withdraw(stack, entidad_id=entity.id, clave="abierta-2")
    assert seen(stack, later)[0] == "cancelada"
    assert len(receiver.requests(hook.path)) == 1


@pytest.mark.parametrize("columns", [{"notificacion_id": 999999999}, {"clave": "x"}, {"motivo": "x"}])
def test_an_unknown_one_is_refused(stack, columns):
    with pytest.raises(SqlError, match="no hay ninguna notificación"):
        withdraw(stack, **columns)


def test_the_writer_chooses_no_id(entity, stack):
    id = entity.notify()
    with pytest.raises(SqlError, match="lo pone el servidor"):
        withdraw(stack, id=5, notificacion_id=id)
    with closing(stack.writer()) as writer, pytest.raises(SqlError, match="lo pone el servidor"):
        writer(f"SET insert_id = 9223372036854775806; INSERT INTO notificaciones_anuladas (notificacion_id) VALUES ({id})")
    stack.evaluation(f"INSERT INTO notificaciones_anuladas (id, notificacion_id) VALUES (DEFAULT, {id})")


def test_a_repeated_job_reaches_who_has_subscribed_since(entity, receiver, stack):
    first = entity.notify(clave="abierta-1")
    wait_until(lambda: seen(stack, first)[0] == "procesada", 20, "the fan-out")
    assert seen(stack, first)[5] == "La entidad no tenía ningún webhook suscrito"
    hook = entity.register()
    again = entity.notify(clave="abierta-1")
    wait_until(lambda: seen(stack, again)[2] == 1, 20, "the delivery")
    with pytest.raises(SqlError, match="Duplicate"):
        entity.notify(clave="abierta-1")
    assert len(receiver.requests(hook.path)) == 1
