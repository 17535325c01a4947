"""Two sessions want the same rows at the same moment: an entity deletes a webhook, or an operator replays deliveries,
while the dispatcher works on those deliveries."""
import threading

import pytest

from fakes.receiver import Behaviour
from support.actors import BASE
from support.locks import in_background, wait_row_lock
from support.wait import wait_until


@pytest.fixture
def pouring(entity):
    """During the test, writes up to 500 notifications a second for the entity."""
    stop = threading.Event()

    def pour():
        while not stop.wait(0.002):
            entity.notify()

    poured = in_background(pour)
    yield
    stop.set()
    poured.result(10)


def test_a_delete_that_races_fan_out_and_claim(entity, receiver, stack, root, pouring):
    deleted = []
    for _ in range(8):
        hook = entity.register()
        receiver.behave(hook.path, Behaviour(delay=0.02))
        # These 25 requests are more than may be in flight to one webhook at a time. So some of the deliveries were leased by the
        # fan-out that created them, and others by a later claim.
        receiver.wait(hook.path, 25, 20)
        response = entity.api("DELETE", f"{BASE}/{hook.id}")
        rows = root(f"SELECT id, estado FROM entregas WHERE webhook_id = {hook.id}")
        assert response.status == 200, response
        deleted.append((hook, dict(rows)))
    for hook, at_the_answer in deleted:
        left = f"SELECT COUNT(*) FROM entregas WHERE webhook_id = {hook.id} AND estado IN ('pendiente', 'en_curso')"
        wait_until(lambda: root(left) == [["0"]], 20, "what was pending to be cancelled")
        final = dict(root(f"SELECT id, estado FROM entregas WHERE webhook_id = {hook.id}"))
        assert final.keys() == at_the_answer.keys(), "nothing is queued after the answer"
        later = {id for id, state in at_the_answer.items() if state in ("pendiente", "cancelada")}  # some already by now
        assert {final[id] for id in later} <= {"cancelada"}, "nothing is claimed after the answer"
        assert {final[id] for id in final.keys() - later} <= {"entregada"}, "what was claimed before is sent"
        assert len(receiver.requests(hook.path)) == len(final) - len(later)


FAILED = 8


@pytest.mark.parametrize("replay_first", [True, False], ids=["replay first", "purge first"])
def test_a_purge_and_a_replay_that_meet(entity, receiver, stack, root, replay_first):
    """In either order, a delivery is either gone or sent again with all its evidence."""
    hook = entity.register()
    receiver.behave(hook.path, Behaviour(status=500))
    for _ in range(FAILED):
        entity.notify()
    wait_until(lambda: stack.count_deliveries(hook.id, "fallida") == FAILED, 30, "all to fail")
    failed = len(receiver.requests(hook.path))
    receiver.behave(hook.path, Behaviour())
    stack.stop("dispatcher")
    # The purge goes by id and stops at the first row created too recently, so the rows before ours must be old, too.
    root("UPDATE entregas SET creada_en = creada_en - INTERVAL 400 DAY WHERE terminada_en IS NOT NULL")
    root(f"UPDATE entregas SET terminada_en = terminada_en - INTERVAL 400 DAY WHERE webhook_id = {hook.id}")
    rows = f"SELECT id FROM entregas WHERE webhook_id = {hook.id}"
    ids = [row[0] for row in root(rows)]

    def replay():
        return stack.admin("delivery", "retry", "--webhook", hook.id, "--since", "2000-01-01T00:00:00Z")

    root("START TRANSACTION")
    root(f"SELECT id FROM entregas WHERE id = {ids[FAILED // 2]} FOR UPDATE")  # the replay waits for this row, the purge skips it
    if replay_first:
        replayed = in_background(replay)
        wait_row_lock(stack, "admin")
        stack.start("dispatcher")
    else:
        stack.start("dispatcher")
        wait_until(lambda: len(stack.sql(rows)) == 1, 30, "the purge to have removed the others")
        replayed = in_background(replay)
        wait_row_lock(stack, "admin")
    root("COMMIT")
    count = replayed.result(30)["reintentadas"]
    wait_until(lambda: stack.count_deliveries(hook.id, "entregada") == len(root(rows)) == count, 30, "the rest to be sent")
    assert len(receiver.requests(hook.path)) - failed == count
    evidence = ("SELECT COUNT(*) FROM entregas e WHERE webhook_id = {0} AND intentos <>"
                " (SELECT COUNT(*) FROM intentos_entrega i WHERE i.entrega_id = e.id)").format(hook.id)
    assert root(evidence) == [["0"]]
