"""An urgent notification goes before its entity's others, and costs no other entity anything."""
from fakes.receiver import Behaviour
from support.wait import wait_until

MANY = "INSERT INTO notificaciones_pendientes (entidad_id, evento, datos, urgente) SELECT {entity}, 'evaluacion.cerrada'," \
       " '{{\"evaluacionId\": 1, \"titulo\": \"t\"}}', {urgent} FROM JSON_TABLE(CONCAT('[0', REPEAT(',0', {count} - 1), ']'), '$[*]'" \
       " COLUMNS (n FOR ORDINALITY)) j"


def done(stack, hook) -> int:
    return stack.count_deliveries(hook.id, "entregada")


def test_one_behind_thousands_of_its_own_goes_first(new_entity, receiver, stack):
    entity = new_entity()
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(delay=0.2))
    stack.sql(MANY.format(entity=entity.id, urgent=0, count=4000))
    wait_until(lambda: done(stack, hook) > 20, 30, "the crowd to be on its way")
    try:
        id = entity.notify(urgente=1)
        wait_until(lambda: stack.value(f"SELECT COUNT(*) FROM entregas WHERE notificacion_id = {id} AND estado = 'entregada'") == "1", 20,
                   "the urgent one", every=0.05)
        assert done(stack, hook) < 400
    finally:
        receiver.behave(hook.path, Behaviour())
        stack.admin("webhook", "disable", hook.id)


def test_a_crowd_of_urgent_ones_delays_no_other_entity(new_entity, receiver, stack):
    crowd, other = new_entity(), new_entity()
    busy, hook = crowd.register(), other.register()
    receiver.behave(busy.path, Behaviour(delay=0.2))
    stack.sql(MANY.format(entity=crowd.id, urgent=1, count=2000))
    wait_until(lambda: done(stack, busy) > 0, 30, "the crowd to be on its way")
    other.notify()
    wait_until(lambda: len(receiver.requests(hook.path)) == 1, 20, "the other entity's delivery")
    assert done(stack, busy) < 1000
    receiver.behave(busy.path, Behaviour())
    stack.admin("webhook", "disable", busy.id)
