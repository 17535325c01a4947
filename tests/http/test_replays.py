"""POST …/entregas/{entrega}/reenvio, POST …/reenvios and GET, DELETE …/reenvios/{n}: the replays that an entity asks for."""
import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from fakes.receiver import Behaviour
from support.actors import BASE
from support.wait import wait_until

ALL = {"desde": "2020-01-01T00:00:00Z"}
COUNTS = ["candidatas", "reenviadas", "entregadas", "fallidas", "porReintentar"]


@pytest.fixture
def paused(stack):
    """Stops the dispatcher, so that replays stay pending."""
    stack.stop("dispatcher")
    yield
    stack.start("dispatcher")


def log(entity, hook, query=""):
    return entity.api("GET", f"{BASE}/{hook.id}/entregas{query}").json()["entregas"]


def ended(entity, hook, state, count):
    return wait_until(lambda: len(found := log(entity, hook, f"?estado={state}&limite=100")) == count and found, 30, state)


def fail(entity, receiver, hook, count=1):
    receiver.behave(hook.path, Behaviour(status=500))
    for _ in range(count):
        entity.notify()
    failed = ended(entity, hook, "fallida", count)
    receiver.behave(hook.path, Behaviour())
    return failed


def replay(entity, hook, delivery):
    return entity.api("POST", f"{BASE}/{hook.id}/entregas/{delivery}/reenvio")


def replay_all(entity, hook, **body):
    return entity.api("POST", f"{BASE}/{hook.id}/reenvios", json_body=ALL | body)


def progress(entity, hook, number, method="GET"):
    response = entity.api(method, f"{BASE}/{hook.id}/reenvios/{number}")
    assert response.status == 200, response
    assert list(response.json()) == ["id", "estado", *COUNTS]
    return response.json()


def finished(entity, hook, number, **counts):
    wanted = {"id": number, "estado": "terminado", "porReintentar": 0} | counts
    shown = {}
    try:
        wait_until(lambda: shown.update(progress(entity, hook, number)) or shown == wanted, 30, str(wanted))
    except AssertionError as error:
        raise AssertionError(f"{error}: the replay is {shown}") from None


def accepted(response) -> int:
    assert response.status == 202, response
    assert list(response.json()) == ["message", "reenvio"] and list(response.json()["reenvio"]) == ["id", "estado"]
    return response.json()["reenvio"]["id"]


def test_a_replay_keeps_the_id_and_is_marked(entity, receiver):
    hook = entity.register()
    failed, = fail(entity, receiver, hook)
    number = accepted(replay(entity, hook, failed["id"]))
    ended(entity, hook, "entregada", 1)
    finished(entity, hook, number, candidatas=1, reenviadas=1, entregadas=1, fallidas=0)
    *first, again = receiver.requests(hook.path)
    assert again.headers["webhook-id"] == failed["mensaje"] and again.body == first[0].body
    assert again.headers["x-webhook-reenvio"] == "1" and not any("x-webhook-reenvio" in one.headers for one in first)
    history = entity.api("GET", f"{BASE}/{hook.id}/entregas/{failed['id']}").json()["historial"]
    assert [one["tipo"] for one in history] == ["programado"] * 4 + ["reenvio"]


def test_a_failed_replay_leaves_its_delivery_delivered(entity, receiver, stack):
    hook = entity.register()
    entity.notify()
    before, = ended(entity, hook, "entregada", 1)
    receiver.behave(hook.path, Behaviour(status=503))
    number = accepted(replay(entity, hook, before["id"]))
    receiver.wait(hook.path, 2)
    during, = log(entity, hook)
    assert (during["estado"], during["entregada"]) == ("entregada", before["entregada"])
    finished(entity, hook, number, candidatas=1, reenviadas=1, entregadas=0, fallidas=1)
    after, = log(entity, hook)
    assert (after["estado"], after["entregada"], after["ultimoError"]) == ("entregada", before["entregada"], "")
    assert stack.delivery(before["id"])["estado"] == "entregada"


def test_a_replay_that_waits_for_its_retry_says_so_and_why(entity, receiver):
    hook = entity.register()
    failed, = fail(entity, receiver, hook)
    receiver.behave(hook.path, Behaviour(status=503, headers={"Retry-After": "3600"}))
    number = accepted(replay(entity, hook, failed["id"]))
    wait_until(lambda: progress(entity, hook, number)["porReintentar"], 20, "the failed attempt")
    finished(entity, hook, number, candidatas=1, reenviadas=1, entregadas=0, fallidas=0, porReintentar=1)
    row = listed(entity)["reenvios"][0]
    assert (row["porReintentar"], row["ultimoError"]) == (1, log(entity, hook)[0]["ultimoError"]) and "503" in row["ultimoError"]


def test_a_range_replays_as_many_as_its_simulation_counts(entity, receiver):
    hook = entity.register()
    receiver.behave(hook.path, Behaviour())
    entity.notify()
    ended(entity, hook, "entregada", 1)
    failed = fail(entity, receiver, hook, 12)
    simulated = replay_all(entity, hook, simular=True)
    assert simulated.status == 200 and simulated.text == '{"candidatas":12,"exacto":true}'
    assert replay_all(entity, hook, simular=True, estados=["entregada", "fallida"]).json()["candidatas"] == 13
    assert replay_all(entity, hook, simular=True, eventos=["evaluacion.cerrada"]).json()["candidatas"] == 0
    assert replay_all(entity, hook, simular=True, hasta=failed[-1]["creada"]).json()["candidatas"] == 0
    number = accepted(replay_all(entity, hook))
    ended(entity, hook, "entregada", 13)
    finished(entity, hook, number, candidatas=12, reenviadas=12, entregadas=12, fallidas=0)
    assert accepted(replay_all(entity, hook)) != number, "the first replay is over"


def test_a_repeated_replay_is_the_same_and_a_second_range_is_409(entity, receiver, paused):
    hook = entity.register()
    entity.notify()
    stack = entity.stack
    stack.start("dispatcher")
    delivered, = ended(entity, hook, "entregada", 1)
    stack.stop("dispatcher")
    with ThreadPoolExecutor(8) as threads:
        numbers = {accepted(one) for one in threads.map(lambda _: replay(entity, hook, delivered["id"]), range(8))}
    assert len(numbers) == 1
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda _: replay_all(entity, hook), range(8)))
    assert sorted(one.status for one in answers) == [202] + [409] * 7
    number = next(accepted(one) for one in answers if one.status == 202)
    assert f"el reenvío {number}:" in next(one for one in answers if one.status == 409).json()["message"]
    assert progress(entity, hook, number, "DELETE")["estado"] == "cancelado"
    assert progress(entity, hook, number, "DELETE")["estado"] == "cancelado"
    accepted(replay_all(entity, hook))
    entries = [e for e in entity.stack.admin("audit", "list", "--entity", entity.id) if not e["operador"]]
    # `later`: the second range has an entry of its own if a new hour of the clock has begun since the first range.
    registered, single, first, cancelled, *later = entries
    assert [e["accion"] for e in entries] == ["alta"] + ["reenvio"] * (3 + len(later))
    assert [e["veces"] for e in (registered, single, cancelled)] == [1, 1, 1] and sum(e["veces"] for e in (first, *later)) == 2
    assert json.loads(single["detalle"])["entrega"] == delivered["id"]
    assert json.loads(first["detalle"])["reenvio"] == number and "cancelado" in cancelled["detalle"]
    listed = entity.stack.admin("replay", "list", "--entity", entity.id)
    assert [(one["estado"], one["entrega_id"]) for one in listed] == [
        ("pendiente", delivered["id"]), ("cancelado", None), ("pendiente", None)]
    assert entity.stack.admin("replay", "cancel", listed[0]["id"])["estado"] == "cancelado"
    assert "is over" in entity.stack.try_admin("replay", "cancel", listed[0]["id"]).stderr


@pytest.mark.usefixtures("patient")
def test_what_cannot_be_replayed(entity, new_entity, receiver):
    hook = entity.register()
    failed, = fail(entity, receiver, hook)
    other = new_entity()
    foreign = other.register()
    for path in (f"{hook.id}/entregas/{failed['id']}/reenvio", f"{hook.id}/reenvios", f"{foreign.id}/reenvios"):
        asked = other if path.startswith(str(hook.id)) else entity
        assert asked.api("POST", f"{BASE}/{path}", json_body=ALL).text == entity.api(
            "POST", f"{BASE}/999999999/reenvios", json_body=ALL).text
    assert replay(other, foreign, failed["id"]).status == 404
    assert replay(entity, hook, "0").text == replay(entity, hook, 10**18).text == replay(other, foreign, failed["id"]).text
    number = accepted(replay(entity, hook, failed["id"]))
    for asked, at in ((other, foreign), (entity, hook)):
        for unknown in (number + 10**6, "x") + ((number,) if asked is other else ()):
            assert asked.api("GET", f"{BASE}/{at.id}/reenvios/{unknown}").status == 404
            assert asked.api("DELETE", f"{BASE}/{at.id}/reenvios/{unknown}").status == 404
    receiver.behave(hook.path, Behaviour(hold=True))
    entity.notify()
    flying = wait_until(lambda: [one["id"] for one in log(entity, hook, "?estado=en_curso") if one["id"] != failed["id"]])
    assert replay(entity, hook, flying[0]).status == 409
    receiver.release(hook.path)
    entity.api("PATCH", f"{BASE}/{hook.id}", json_body={"activo": False})
    for refused in (replay(entity, hook, failed["id"]), replay_all(entity, hook)):
        assert refused.status == 409 and "inactivo" in refused.json()["message"]


def test_a_held_delivery_of_an_active_webhook_is_409(entity, receiver, stack, paused):
    hook = entity.register()
    notification = entity.notify()
    stack.start("dispatcher")
    delivery = stack.delivery_id(notification, hook.id)
    stack.wait_delivery(delivery, "entregada")
    stack.stop("dispatcher")
    stack.sql(f"UPDATE entregas SET estado = 'retenida', terminada_en = NULL WHERE id = {delivery}")
    answer = replay(entity, hook, delivery)
    assert (answer.status, answer.json()["message"]) == (409, "La entrega está retenida y se enviará en cuanto sea posible")


@pytest.mark.parametrize("since, until", [("0000-02-29T00:00:00Z", "9999-12-31T23:59:59.999Z"), ("0001-01-01T00:00:00Z", "0001-01-02T00:00:00Z"),
                                          ("9999-12-31T00:00:00Z", "9999-12-31T23:59:59Z")])
def test_times_at_the_ends_of_the_calendar(entity, since, until):
    hook = entity.register()
    entity.notify()
    ended(entity, hook, "entregada", 1)
    candidates = int(until.startswith("9") and since.startswith("0"))
    simulated = replay_all(entity, hook, desde=since, hasta=until, estados=["entregada"], simular=True)
    assert simulated.json() == {"candidatas": candidates, "exacto": True}
    number = accepted(replay_all(entity, hook, desde=since, hasta=until, estados=["entregada"]))
    finished(entity, hook, number, candidatas=candidates, reenviadas=candidates, entregadas=candidates, fallidas=0)
    assert len(log(entity, hook, f"?desde={since}&hasta={until}")) == candidates


@pytest.mark.parametrize("body", [
    b"", b"[]", b"{}", b'{"desde": null}', b'{"desde": "ayer"}', b'{"desde": 5}', b'{"desde": "2026-01-02T00:00:00Z", "hasta": "2026-01-01T00:00:00Z"}',
    b'{"desde": "2026-01-01T00:00:00Z", "estados": []}', b'{"desde": "2026-01-01T00:00:00Z", "estados": ["pendiente"]}',
    b'{"desde": "2026-01-01T00:00:00Z", "estados": "fallida"}', b'{"desde": "2026-01-01T00:00:00Z", "eventos": []}',
    b'{"desde": "2026-01-01T00:00:00Z", "eventos": ["x"]}', b'{"desde": "2026-01-01T00:00:00Z", "simular": 1}',
    b'{"desde": "2026-01-01T00:00:00Z", "otro": 1}'])
def test_bodies_that_say_something_else_are_400(entity, body):
    hook = entity.register()
    answer = entity.api("POST", f"{BASE}/{hook.id}/reenvios", body=body, headers={"Content-Type": "application/json"})
    assert answer.status == 400 and answer.json()["message"], answer


def test_queries_other_methods_and_read_only_tokens_are_refused(entity, stack):
    hook = entity.register()
    assert entity.api("POST", f"{BASE}/{hook.id}/reenvios?simular=true", json_body=ALL).status == 400
    assert entity.api("GET", f"{BASE}/{hook.id}/reenvios").status == 405
    assert entity.api("PUT", f"{BASE}/{hook.id}/entregas/1/reenvio", json_body={}).status == 405
    assert entity.api("POST", f"{BASE}/{hook.id}/reenvios", body=b"{}", headers={"Content-Type": "text/plain"}).status == 415
    reader = entity.issue_token("--read-only")
    assert stack.api("POST", f"{BASE}/{hook.id}/reenvios", reader, json_body=ALL).status == 403
    assert stack.api("DELETE", f"{BASE}/{hook.id}/reenvios/1", reader).status == 403


def test_an_entity_has_so_many_replayed_in_a_day(entity, receiver, stack):
    hook = entity.register()
    failed = fail(entity, receiver, hook, 5)  # the newest first
    stack.sql(f"UPDATE entregas SET creada_en = creada_en - INTERVAL 1 HOUR WHERE webhook_id = {hook.id} AND id < {failed[2]['id']}")
    stack.stop("fcgi")
    stack.start("fcgi", APIENTIDADES_LIMITS_REPLAYED="4")
    try:
        beyond = replay_all(entity, hook)
        assert beyond.status == 429 and beyond.headers["retry-after"] == "86400", "the quota is per day"
        assert "le quedan 4: acote las fechas" in beyond.json()["message"]
        first = accepted(replay_all(entity, hook, desde=failed[2]["creada"]))
        finished(entity, hook, first, candidatas=3, reenviadas=3, entregadas=3, fallidas=0)
        refused = replay_all(entity, hook, estados=["entregada"])
        assert refused.status == 429 and 80000 < int(refused.headers["retry-after"]) <= 86400
        assert "le quedan 1:" in refused.json()["message"]
        nothing = accepted(replay_all(entity, hook, desde="9999-01-01T00:00:00Z"))
        finished(entity, hook, nothing, candidatas=0, reenviadas=0, entregadas=0, fallidas=0)
        for refused in (replay(entity, hook, failed[1]["id"]), replay_all(entity, hook, estados=["entregada"])):
            assert refused.status == 429 and "no le queda ninguna:" in refused.json()["message"], "a request costs one at least"
        assert replay_all(entity, hook, simular=True).json() == {"candidatas": 2, "exacto": True}
    finally:
        stack.stop("fcgi")
        stack.start("fcgi")


def test_ranges_and_simulations_of_an_entity_are_so_many_in_an_hour(entity, new_entity, stack, paused):
    hook, other = entity.register(), new_entity()
    foreign = other.register()
    with stack.part_with("fcgi", APIENTIDADES_LIMITS_REPLAY_REQUESTS="3"):
        assert replay_all(entity, foreign).status == 404
        assert [replay_all(entity, hook, simular=True).status for _ in range(2)] == [200, 200]
        number = accepted(replay_all(entity, hook))
        assert replay_all(entity, hook).status == 409, "the replay that runs is looked at first, so this request does not count"
        progress(entity, hook, number, "DELETE")
        for refused in (replay_all(entity, hook), replay_all(entity, hook, simular=True)):
            assert refused.status == 429 and 1100 < int(refused.headers["retry-after"]) <= 1200, refused
            assert "el máximo es 3 por hora" in refused.message
        assert replay_all(other, foreign, simular=True).status == 200
        assert replay(entity, hook, 1).status == 404, "single deliveries are not counted"


def test_replays_asked_for_and_stopped_in_a_loop_are_two_rows_of_the_audit(entity, stack, paused):
    hook = entity.register()
    for _ in range(20):
        progress(entity, hook, accepted(replay_all(entity, hook)), "DELETE")
    entries = stack.admin("audit", "list", "--action", "reenvio", "--entity", entity.id, "--since", "1h")
    assert len(entries) <= 4 and sum(one["veces"] for one in entries) == 40, "two rows for each hour of the clock"
    assert all(one["ultima_vez"] >= one["cuando"] and one["objeto"] == f"webhook {hook.id}" for one in entries)
    assert [one["accion"] for one in stack.admin("audit", "list", "--entity", entity.id, "--action", "alta")] == ["alta"]
    refused = stack.try_admin("audit", "list", "--action", "altas")
    assert refused.returncode == 2 and "--action must be one of alta, cambio" in refused.stderr


ROW = ["id", "webhook", "entrega", "evento", "estado", *COUNTS, "ultimoError", "pedido", "terminado"]


def listed(entity, query=""):
    response = entity.api("GET", f"/apientidades/v1/reenvios{query}")
    assert response.status == 200, response
    assert list(response.json()) == ["reenvios", "siguiente"] and all(list(one) == ROW for one in response.json()["reenvios"])
    return response.json()


def test_the_entity_sees_all_its_replays(entity, new_entity, receiver):
    first, second = entity.register(), entity.register()
    assert listed(entity) == {"reenvios": [], "siguiente": None}
    failed = fail(entity, receiver, first, 2)
    made = [replay(entity, first, failed[0]["id"]).json()["reenvio"]["id"], replay_all(entity, first).json()["reenvio"]["id"]]
    for number in made:
        wait_until(lambda number=number: progress(entity, first, number)["estado"] == "terminado", 30, "the replay")
    made.append(replay_all(entity, second, estados=["entregada"]).json()["reenvio"]["id"])
    newest, range_, single = listed(entity)["reenvios"]
    assert [newest["id"], range_["id"], single["id"]] == made[::-1]
    assert (newest["webhook"], range_["webhook"], single["webhook"]) == (second.id, first.id, first.id)
    assert (single["evento"], range_["evento"]) == ("evaluacion.abierta", None)
    assert (single["entrega"], range_["entrega"]) == (failed[0]["id"], None) and range_["terminado"] > range_["pedido"]
    assert {name: range_[name] for name in ("id", "estado", *COUNTS)} == progress(entity, first, made[1])
    page = listed(entity, "?limite=2")
    assert [one["id"] for one in page["reenvios"]] == made[:0:-1]
    rest = listed(entity, f"?limite=2&cursor={page['siguiente']}")
    assert [one["id"] for one in rest["reenvios"]] == made[:1] and rest["siguiente"] is None
    link = entity.api("GET", "/apientidades/v1/reenvios?limite=2").headers["link"]
    assert link == f"<?limite=2&cursor={page['siguiente']}>; rel=\"next\""
    assert entity.api("DELETE", f"{BASE}/{second.id}").status == 200
    assert len(listed(entity)["reenvios"]) == 3, "those of a deleted webhook, too"
    stranger = new_entity()
    assert listed(stranger)["reenvios"] == []
    assert stranger.api("GET", f"/apientidades/v1/reenvios?cursor={page['siguiente']}").status == 400


@pytest.mark.parametrize("query", ["?limite=0", "?limite=101", "?limite=1&limite=1", "?estado=terminado", "?cursor=", "?cursor=1.x"])
def test_another_query_of_the_list_is_400(entity, query):
    assert entity.api("GET", f"/apientidades/v1/reenvios{query}").status == 400
