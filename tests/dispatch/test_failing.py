"""`webhook list --failing` shows the webhooks that fail and the time from which a failure deactivates each."""
from datetime import datetime, timedelta

import pytest

from fakes.receiver import Behaviour
from support.actors import BASE, Entity
from support.wait import wait_until

DISABLE_AFTER = timedelta(days=5)  # the default of delivery.disable_after, which applies in the stack
FAILS = Behaviour(status=500)


def time(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def failing(stack, *options) -> list[dict]:
    return stack.admin("webhook", "list", "--failing", *options)


def fail(entity, hook, deliveries: int) -> None:
    """Makes `deliveries` deliveries fail, with four attempts each."""
    made = [entity.stack.delivery_id(entity.notify(), hook.id) for _ in range(deliveries)]
    for delivery in made:
        entity.stack.wait_delivery(delivery, "fallida")


def begin_streak(stack, hook, ago: timedelta) -> None:
    stack.sql(f"UPDATE webhook_ejecuciones SET fallos_desde = UTC_TIMESTAMP(3) - INTERVAL {int(ago.total_seconds())} SECOND"
              f" WHERE webhook_id = {hook.id}")


def test_a_failing_webhook_is_listed_until_it_recovers(stack, entity, receiver):
    hook = entity.register()
    receiver.behave(hook.path, FAILS)
    assert failing(stack, "--entity", entity.id) == []
    fail(entity, hook, 1)
    shown, = failing(stack, "--entity", entity.id)
    assert (shown["id"], shown["entidad_id"], shown["url"]) == (hook.id, entity.id, hook.url)
    assert shown["fallos"] == 4 and shown["desactivacion"] is None, "no deactivation before ten failures"
    assert shown["ultimo_estado"] == 500 and "500" in shown["ultimo_error"]
    fail(entity, hook, 2)
    shown, = failing(stack, "--webhook", hook.id)
    assert shown["fallos"] == 12 and time(shown["desactivacion"]) - time(shown["falla_desde"]) == DISABLE_AFTER
    receiver.behave(hook.path, Behaviour())
    stack.wait_delivery(stack.delivery_id(entity.notify(), hook.id), "entregada")
    assert failing(stack, "--entity", entity.id) == []


def test_the_end_that_is_shown_is_when_a_failure_deactivates(stack, entity, receiver):
    hook = entity.register()
    receiver.behave(hook.path, FAILS)
    fail(entity, hook, 3)
    begin_streak(stack, hook, DISABLE_AFTER + timedelta(hours=1))
    stack.sql("INSERT INTO cortes_envio (despachador, tipo, desde, hasta, visto_en) VALUES ('app1:4711', 'red',"
              " UTC_TIMESTAMP(3) - INTERVAL 4 HOUR, UTC_TIMESTAMP(3) - INTERVAL 2 HOUR, UTC_TIMESTAMP(3) - INTERVAL 2 HOUR)")
    try:
        now = time(stack.value("SELECT CONCAT(UTC_TIMESTAMP(3), 'Z')"))
        left = time(failing(stack, "--webhook", hook.id)[0]["desactivacion"]) - now
        assert timedelta(minutes=50) < left <= timedelta(hours=1), "five days of failures, without the two hours of our own outage"
        fail(entity, hook, 1)
        assert stack.admin("webhook", "show", hook.id)["activo"] is True
    finally:
        stack.sql("DELETE FROM cortes_envio")
    assert time(failing(stack, "--webhook", hook.id)[0]["desactivacion"]) < now
    entity.notify()
    wait_until(lambda: stack.admin("webhook", "show", hook.id)["motivo"] == "fallos", what="the deactivation")
    assert failing(stack, "--webhook", hook.id) == []


@pytest.fixture
def two(stack, entity, receiver):
    """Failing webhooks of two entities; the second webhook has failed for longer."""
    entities = [entity, Entity(stack, receiver)]
    hooks = [one.register() for one in entities]
    for one, hook in zip(entities, hooks):
        receiver.behave(hook.path, FAILS)
        fail(one, hook, 1)
    begin_streak(stack, hooks[0], timedelta(days=400))
    begin_streak(stack, hooks[1], timedelta(days=500))
    yield hooks
    for one, hook in zip(entities, hooks):
        one.api("DELETE", f"{BASE}/{hook.id}")


def test_the_soonest_come_first_and_those_that_are_left_out_are_told(stack, two):
    later, sooner = two
    assert [row["id"] for row in failing(stack)][:2] == [sooner.id, later.id]
    assert [row["id"] for row in failing(stack, "--limit", 1)] == [sooner.id]
    result = stack.try_admin("webhook", "list", "--failing", "--limit", 1)
    assert "--limit N shows more than 1" in result.stderr
    assert result.stdout.split("\n")[0].split() == [
        "id", "entidad_id", "url", "falla_desde", "fallos", "desactivacion", "ultimo_estado", "ultimo_error"]


@pytest.mark.parametrize("option", [("--state", "activo"), ("--since", "1h")])
def test_other_filters_with_failing_are_refused(stack, option):
    result = stack.try_admin("webhook", "list", "--failing", *option)
    assert result.returncode == 2 and option[0] in result.stderr
