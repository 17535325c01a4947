"""A newer release runs beside this release, as when hosts are upgraded one after the other. Rows that this release does not
understand are left to the newer release, and delay nothing else."""
import contextlib

from support.stack import EVENTS
from support.wait import wait_until

NEW = "evento.nuevo"
RULE = "evento_no_es_uno_de_los_11"
BEYOND = 9999  # the number of a migration that this release does not have
# So many rows that the dispatcher needs more than 5 s to pass over them. Every 5 s it usually begins at the first row again:
# then it would never reach the rows behind these.
MANY = 8000


def allow_events(stack, names) -> None:
    listed = ", ".join(f"'{name}'" for name in names)
    stack.sql(f"ALTER TABLE notificaciones_pendientes DROP CONSTRAINT {RULE},"
              f" ADD CONSTRAINT {RULE} CHECK (evento NOT LIKE '% ' AND evento IN ({listed}))")


@contextlib.contextmanager
def newer_schema(stack):
    allow_events(stack, [*EVENTS, NEW])
    stack.sql(f"INSERT INTO migraciones (numero, nombre, huella) VALUES ({BEYOND}, 'nueva.sql', '')")
    try:
        yield
    finally:
        stack.sql(f"DELETE FROM migraciones WHERE numero = {BEYOND}")


def test_what_a_newer_version_wrote_is_left_to_it_and_holds_up_nothing(entity, new_entity, receiver, stack):
    hook, neighbour = entity.register(), new_entity()
    other = neighbour.register()
    try:
        with newer_schema(stack):
            rows = ", ".join([f"({entity.id}, '{NEW}', '{{}}')"] * MANY)
            stack.sql(f"INSERT INTO notificaciones_pendientes (entidad_id, evento, datos) VALUES {rows}")
            new = [int(id) for [id] in stack.sql(f"SELECT id FROM notificaciones_pendientes WHERE evento = '{NEW}'")]
            known = [entity.notify(), entity.notify()]
            stack.wait_delivery(stack.delivery_id(neighbour.notify(), other.id), "entregada")
            for id in known:
                stack.wait_delivery(stack.delivery_id(id, hook.id), "entregada")
            # Creates deliveries as the newer release would, of an event that this release does not know.
            ids = ", ".join(map(str, new))
            stack.sql("UPDATE notificaciones_pendientes SET estado = 'procesada', terminada_en = UTC_TIMESTAMP(3)"
                      f" WHERE id IN ({ids}) AND estado = 'pendiente'")
            stack.sql("INSERT INTO entregas (notificacion_id, webhook_id, proximo_intento, creada_en)"
                      f" SELECT id, {hook.id}, UTC_TIMESTAMP(3), UTC_TIMESTAMP(3) FROM notificaciones_pendientes"
                      f" WHERE id IN ({ids})")
            last = entity.notify()
            stack.wait_delivery(stack.delivery_id(last, hook.id), "entregada")
            states = stack.sql(f"SELECT DISTINCT estado, arriendo IS NULL FROM entregas WHERE notificacion_id IN ({ids})")
            assert states == [["pendiente", "1"]], "left as they were, and not leased"
            wait_until(lambda: "left to a newer version" in stack.dev("logs", "dispatcher").stdout, what="the log to say so")
    finally:
        stack.sql(f"DELETE FROM entregas WHERE notificacion_id IN (SELECT id FROM notificaciones_pendientes WHERE evento = '{NEW}')")
        stack.sql(f"DELETE FROM notificaciones_pendientes WHERE evento = '{NEW}'")
        allow_events(stack, EVENTS)
    assert len(receiver.requests(hook.path)) == 3


def test_an_unknown_event_is_rejected_where_the_schema_is_our_own(entity, stack):
    """Outside this test, only a writer that switched off the CHECKs of its session can write a row with an unknown event."""
    try:
        allow_events(stack, [*EVENTS, NEW])
        rejected = stack.wait_notification(stack.notify(entity.id, NEW, "{}"), "rechazada")
        assert rejected["error"].startswith("evento: "), rejected
    finally:
        stack.sql(f"DELETE FROM notificaciones_pendientes WHERE evento = '{NEW}'")
        allow_events(stack, EVENTS)
