"""What counts as the answer: the final status line and the fields that follow it, not lines of other parts of the message
(docs/receivers.md#what-counts-as-an-answer)."""
import pytest

from fakes.receiver import Behaviour
from fakes.scripted import ScriptedReceiver, answer
from support.actors import BASE, Entity
from support.campaign import Campaign
from support.stack import setting
from support.wait import wait_until

CHUNKED = "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n"
DONE = "Content-Length: 0\r\n\r\n"
HOUR = "Retry-After: 3600\r\n"

ANSWERS = {  # name -> bytes; recorded status; least and most seconds until the retry (negative: overdue; None: no retry)
    "an interim answer's field": (f"HTTP/1.1 103 Early Hints\r\n{HOUR}\r\nHTTP/1.1 503 No\r\n{DONE}", 503, -60, 1),
    "an interim answer's field, then a shorter one":
        (f"HTTP/1.1 103 Early Hints\r\n{HOUR}\r\nHTTP/1.1 503 No\r\nRetry-After: 30\r\n{DONE}", 503, 10, 30),
    "an interim answer alone counts for nothing": (f"HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 500 No\r\n{DONE}", 500, -60, 1),
    "a trailer's field": (f"HTTP/1.1 503 No\r\n{CHUNKED}{HOUR}\r\n", 503, -60, 1),
    "a folded field": (f"HTTP/1.1 503 No\r\nRetry-After:\r\n 30\r\n{DONE}", 503, 10, 30),
    "a field folded with a tab": (f"HTTP/1.1 503 No\r\nRetry-After:\r\n\t30\r\n{DONE}", 503, 10, 30),
    "a folded line that looks like a field": (f"HTTP/1.1 503 No\r\nX: y\r\n {HOUR}{DONE}", 503, -60, 1),
    "a field that looks like a status line": (f"HTTP/1.1 500 No\r\nHTTP/1.1 200: x\r\n{DONE}", 500, -60, 1),
    "a folded line that looks like a status line": (f"HTTP/1.1 500 No\r\nX: y\r\n HTTP/1.1 200 OK\r\n{DONE}", 500, -60, 1),
    "a trailer that looks like a status line": (f"HTTP/1.1 500 No\r\n{CHUNKED}HTTP/1.1 200: x\r\n\r\n", 500, -60, 1),
    "a body that looks like an answer": ("HTTP/1.1 500 No\r\nContent-Length: 19\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", 500, -60, 1),
    "a field that looks like 410": (f"HTTP/1.1 200 OK\r\nHTTP/1.1 410: x\r\n{DONE}", 200, None, None),
    "a trailer that looks like 410": (f"HTTP/1.1 200 OK\r\n{CHUNKED}HTTP/1.1 410: x\r\n\r\n", 200, None, None),
    "a trailer that looks like 429": (f"HTTP/1.1 200 OK\r\n{CHUNKED}HTTP/1.1 429: x\r\n{HOUR}\r\n", 200, None, None),
    "two fields: the later time": (f"HTTP/1.1 503 No\r\n{HOUR}Retry-After: 60\r\n{DONE}", 503, 3500, 3600),
    "two fields, the other way round": (f"HTTP/1.1 503 No\r\nRetry-After: 60\r\n{HOUR}{DONE}", 503, 3500, 3600),
    "two fields, one of which says nothing": (f"HTTP/1.1 503 No\r\nRetry-After: 60\r\nRetry-After: x\r\n{DONE}", 503, 35, 60),
}


@pytest.fixture(scope="module")
def outcomes(stack, receiver):
    """name -> (the webhook in the API's listing, status of the first attempt, seconds until the second)."""
    campaign = Campaign(stack, receiver, dict.fromkeys(ANSWERS, receiver.port))
    for name, (_, hook, _) in campaign.hooks.items():
        receiver.behave(hook.path, Behaviour(raw=(ANSWERS[name][0],)), Behaviour())
    campaign.notify()
    campaign.listed()
    rows = campaign.rows("COALESCE(TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(), e.proximo_intento), 0)")
    first = {name: attempts[0].status for name, attempts in campaign.attempts().items()}
    return {name: (campaign.listed()[name], first[name], int(rows[name][0][0])) for name in ANSWERS}


@pytest.mark.parametrize("name", ANSWERS)
def test_lines_of_other_parts_are_not_the_answers(outcomes, name):
    listed, status, wait = outcomes[name]
    _, expected, least, most = ANSWERS[name]
    assert status == expected
    assert listed["activo"]
    if least is not None:
        assert least <= wait <= most


def test_an_answer_counts_though_the_request_was_not_read(stack):
    """The receiver answers after the request's head and closes the connection. This resets the connection while the dispatcher
    sends the body (RFC 9112 section 9.6)."""
    def script(connection, _number, _fields):
        connection.send(b"HTTP/1.1 413 Too large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        return False

    certificate = stack.env["RECEIVER_CERT"], stack.env["RECEIVER_KEY"]
    with ScriptedReceiver(certificate, script) as receiver, stack.dispatcher_with(**setting(delivery_retry_schedule="1h")):
        entity = Entity(stack, receiver)
        hook = entity.register()
        count = 40
        for _ in range(count):
            entity.notify(data={"evaluacionId": 1, "titulo": "x" * 60_000})
        query = ("SELECT i.estado_http, COUNT(*) FROM intentos_entrega i JOIN entregas e ON e.id = i.entrega_id"
                 f" WHERE e.webhook_id = {hook.id} GROUP BY i.estado_http")
        wait_until(lambda: sum(int(n) for _, n in stack.sql(query)) >= count, 30, "an attempt of each")
        assert stack.sql(query) == [["413", str(count)]]
        assert entity.api("DELETE", f"{BASE}/{hook.id}").status == 200


def test_a_417_is_an_answer(stack):
    """If a new connection is reset while the body is sent, the dispatcher sends the request once more, with Expect. After a 417
    libcurl itself would repeat the request without Expect. The receiver would reset the connection again, and so on."""
    def script(connection, _number, fields):
        if "expect" not in fields:
            return False
        connection.send(answer(417))

    certificate = stack.env["RECEIVER_CERT"], stack.env["RECEIVER_KEY"]
    with ScriptedReceiver(certificate, script) as receiver, stack.dispatcher_with(**setting(delivery_retry_schedule="1h")):
        entity = Entity(stack, receiver)
        hook = entity.register()
        # Some deliveries may get no 417: the dispatcher sends Expect only after an error in sending on a new connection.
        for _ in range(5):
            id = stack.delivery_id(entity.notify(data={"evaluacionId": 1, "titulo": "x" * 60_000}), hook.id)
            wait_until(lambda: stack.attempts(id), what="an attempt")
            sent = [fields for fields in receiver.requests(hook.path) if fields["webhook-id"].endswith(f"_{id}")]
            expected = any("expect" in fields for fields in sent)
            assert len(sent) <= 3 and stack.attempts(id)[0]["estado_http"] == (417 if expected else None)
        assert entity.api("DELETE", f"{BASE}/{hook.id}").status == 200
