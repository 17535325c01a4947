"""The URL of a webhook is changed during an attempt to the old URL, or while the webhook rests."""
import json

import pytest

from fakes.receiver import Behaviour
from support.actors import BASE
from support.wait import holds_for, wait_until


@pytest.fixture(scope="module", autouse=True)
def patient(stack):
    """Leaves time to change a webhook during an attempt. With waits of 1 h, only the change can bring the next attempt."""
    with stack.dispatcher_with(APIENTIDADES_DELIVERY_TIMEOUT="20s", APIENTIDADES_DELIVERY_LEASE="40s",
                               APIENTIDADES_DELIVERY_RETRY_SCHEDULE="1h,1h"):
        yield


@pytest.mark.parametrize("answer", [Behaviour(410, hold=True), Behaviour(429, {"Retry-After": "3600"}, hold=True),
                                    Behaviour(500, hold=True)], ids=["410", "429", "500"])
def test_the_former_url_says_nothing_of_the_new_one(entity, receiver, stack, answer):
    hook, other = entity.register(["evaluacion.abierta"]), entity.register(["evaluacion.cerrada"])
    receiver.behave(hook.path, answer)
    delivery = stack.delivery_id(entity.notify(), hook.id)
    receiver.wait(hook.path)
    moved = entity.api("PATCH", f"{BASE}/{hook.id}", body=json.dumps({"url": other.url}).encode(),
                       headers={"Content-Type": "application/merge-patch+json"})
    assert moved.status == 200
    wait_until(lambda: not stack.sql(f"SELECT 1 FROM cambios_webhook WHERE webhook_id = {hook.id}"), what="the change to be applied")
    receiver.release(hook.path)
    stack.wait_delivery(delivery, "entregada")
    assert len(receiver.requests(other.path)) == len(receiver.requests(hook.path)) == 1
    now = entity.api("GET", f"{BASE}/{hook.id}").json()
    assert (now["activo"], now["motivo"], now["fallaDesde"]) == (True, None, None)
    assert [attempt["estado_http"] for attempt in stack.attempts(delivery)] == [answer.status, 200]
    assert stack.sql("SELECT fallos, COALESCE(descansa_hasta, '') FROM webhook_ejecuciones"
                     f" WHERE webhook_id = {hook.id}") == [["0", ""]]


def test_a_new_url_need_not_wait_for_the_rest_of_the_former_one(entity, receiver, stack):
    hook, other = entity.register(["evaluacion.abierta"]), entity.register(["evaluacion.cerrada"])
    receiver.behave(hook.path, Behaviour(429, {"Retry-After": "3600"}))
    first = stack.delivery_id(entity.notify(), hook.id)
    wait_until(lambda: stack.delivery(first)["intentos"] == 1, what="the rest to begin")
    second = stack.delivery_id(entity.notify(), hook.id)
    holds_for(2, lambda: len(receiver.requests(hook.path)) == 1, "the second to wait")
    moved = entity.api("PATCH", f"{BASE}/{hook.id}", body=json.dumps({"url": other.url}).encode(),
                       headers={"Content-Type": "application/merge-patch+json"})
    assert moved.status == 200
    for delivery in (first, second):
        stack.wait_delivery(delivery, "entregada")
