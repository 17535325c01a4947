"""A notification with `caduca_en` is not sent from that time on: its deliveries end cancelada, with that reason."""
import pytest

from fakes.receiver import Behaviour
from support.actors import BASE
from support.sql import SqlError
from support.stack import setting
from support.wait import wait_until

REASON = "La notificación ha caducado"


def utc(stack, seconds: float) -> str:
    """The database's time in some seconds, as a writer gives it."""
    return stack.value(f"SELECT UTC_TIMESTAMP(3) + INTERVAL {int(seconds * 1000)} * 1000 MICROSECOND")


def seen(stack, id: int) -> tuple:
    row, = stack.evaluation("SELECT estado, webhooks, entregadas, pendientes, canceladas, caducadas, ultimo_error"
                            f" FROM notificaciones_resultado WHERE notificacion_id = {id}")
    return tuple(int(text) if text.isdigit() else text for text in row)


def test_what_has_expired_is_not_sent_and_what_has_not_is(entity, receiver, stack):
    hooks = [entity.register() for _ in range(2)]
    late, early = (entity.notify(caduca_en=utc(stack, seconds)) for seconds in (-1, 3600))
    wait_until(lambda: seen(stack, late) == ("procesada", 2, 0, 0, 2, 2, REASON), 20, "the cancellation")
    wait_until(lambda: seen(stack, early)[2] == 2, 20, "the other one to be delivered")
    assert [len(receiver.requests(hook.path)) for hook in hooks] == [1, 1]
    own, = (one for one in entity.api("GET", f"{BASE}/{hooks[0].id}/entregas").json()["entregas"] if one["estado"] == "cancelada")
    assert own["ultimoError"] == REASON and own["intentos"] == 0


def test_a_checked_row_has_a_deadline_too(entity, stack):
    entity.register()
    stack.evaluation("INSERT INTO notificaciones_comprobadas (entidad_id, evento, datos, caduca_en) VALUES"
                     f" ({entity.id}, 'evaluacion.cerrada', '{{\"evaluacionId\": 1, \"titulo\": \"t\"}}', UTC_TIMESTAMP(3))")
    id = int(stack.value(f"SELECT MAX(id) FROM notificaciones_pendientes WHERE entidad_id = {entity.id}"))
    wait_until(lambda: seen(stack, id)[5] == 1, 20, "the cancellation")


def test_no_retry_passes_it(entity, receiver, stack):
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(status=500))
    with stack.dispatcher_with(**setting(delivery_retry_schedule="1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s")):
        id = entity.notify(caduca_en=utc(stack, 5))
        wait_until(lambda: seen(stack, id)[5] == 1, 30, "the delivery to expire")
    before = stack.value(f"SELECT MAX(inicio) < caduca_en AND COUNT(*) BETWEEN 1 AND 6 FROM intentos_entrega i JOIN entregas e ON e.id = i.entrega_id"
                         f" JOIN notificaciones_pendientes n ON n.id = e.notificacion_id WHERE n.id = {id} GROUP BY n.id, caduca_en")
    assert before == "1"
    receiver.behave(hook.path, Behaviour(status=200))
    answer = entity.api("POST", f"{BASE}/{hook.id}/entregas/{stack.delivery_id(id, hook.id)}/reenvio")
    assert answer.status == 409, answer
    assert stack.count_deliveries(hook.id, "cancelada") == 1


def test_no_replay_passes_it(entity, receiver, stack):
    hook = entity.register()
    id = entity.notify()
    delivery = stack.delivery_id(id, hook.id)
    stack.wait_delivery(delivery, "entregada")
    stack.sql(f"UPDATE notificaciones_pendientes SET caduca_en = UTC_TIMESTAMP(3) WHERE id = {id}")
    answer = entity.api("POST", f"{BASE}/{hook.id}/entregas/{delivery}/reenvio")
    assert answer.status == 409 and answer.json()["message"] == "La notificación ha caducado y no se puede reenviar"
    many = {"desde": "2020-01-01T00:00:00Z", "estados": ["entregada"], "simular": True}
    assert entity.api("POST", f"{BASE}/{hook.id}/reenvios", json_body=many).json()["candidatas"] == 0
    refused = stack.try_admin("delivery", "retry", delivery)
    assert refused.returncode != 0 and "caduca_en" in refused.stderr
    assert stack.delivery(delivery)["estado"] == "entregada"
    assert len(receiver.requests(hook.path)) == 1


def test_a_held_one_expires_when_it_is_released(entity, receiver, stack):
    hook = entity.register()
    entity.api("PATCH", f"{BASE}/{hook.id}", json_body={"activo": False})
    id = entity.notify(caduca_en=utc(stack, -1))
    wait_until(lambda: stack.count_deliveries(hook.id, "retenida") == 1, 20, "the delivery to be held")
    entity.api("PATCH", f"{BASE}/{hook.id}", json_body={"activo": True})
    wait_until(lambda: seen(stack, id)[5] == 1, 20, "the cancellation")
    assert receiver.requests(hook.path) == []


def test_a_crowd_that_has_expired_delays_no_other(new_entity, receiver, stack):
    crowd, other = new_entity(), new_entity()
    hook, idle = other.register(), crowd.register()
    stack.sql(f"INSERT INTO notificaciones_pendientes (entidad_id, evento, datos, caduca_en) SELECT {crowd.id}, 'evaluacion.cerrada',"
              " '{\"evaluacionId\": 1, \"titulo\": \"t\"}', UTC_TIMESTAMP(3) FROM JSON_TABLE(CONCAT('[0', REPEAT(',0', 2999), ']'), '$[*]'"
              " COLUMNS (n FOR ORDINALITY)) j")
    id = other.notify()
    wait_until(lambda: seen(stack, id)[2] == 1, 20, "the other entity's delivery")
    wait_until(lambda: stack.count_deliveries(idle.id, "cancelada") == 3000, 60, "all to expire")
    end = "(SELECT MAX(terminada_en) FROM entregas WHERE webhook_id = {})"
    assert stack.value(f"SELECT {end.format(hook.id)} < {end.format(idle.id)}") == "1", "the crowd was not through first"
    assert receiver.requests(idle.path) == [] and len(receiver.requests(hook.path)) == 1


@pytest.mark.parametrize("date", ["0000-00-00", "2026-00-15", "2026-02-31"])
def test_a_date_that_the_calendar_lacks_is_refused(entity, stack, date):
    with pytest.raises(SqlError):
        stack.writer()(f"SET sql_mode = ''; INSERT INTO notificaciones_pendientes (entidad_id, evento, datos, caduca_en) VALUES ({entity.id},"
                         f" 'evaluacion.cerrada', '{{}}', '{date}')")
