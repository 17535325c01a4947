"""Shows the main job on a running stack (DEV_DIR and DEV_PORT as for ./dev): a row in a table becomes a signed POST.
`./dev demo` makes the stack and runs this. Exit status 0 only if everything shown here happened.
"""
from __future__ import annotations

import argparse
import json
import os
import random
import secrets
import signal
import statistics
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from fakes import verify  # noqa: E402
from fakes.receiver import Behaviour, Receiver, Request  # noqa: E402
from support.actors import BASE, DATA  # noqa: E402
from support.sql import SqlError  # noqa: E402
from support.stack import EVENTS, Stack  # noqa: E402
from support.wait import wait_until  # noqa: E402

ENTITY, NAME, PATH = 7, "Entidad de demostración", "/notificaciones"
LATENCY_ROWS = 30


class Failed(Exception):
    """Something expected did not happen."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=90, help="limit of the whole run (90)")
    limit_time(parser.parse_args().seconds)
    stack = Stack(folder=os.environ.get("DEV_DIR") or str(ROOT / ".dev"), port=os.environ.get("DEV_PORT") or "8443")
    try:
        stack.attach()
        with Receiver(stack.env["RECEIVER_CERT"], stack.env["RECEIVER_KEY"]) as receiver:
            Demo(stack, receiver).run()
    except (Failed, AssertionError, OSError, KeyError, ValueError, SqlError) as error:
        print(f"\nFAILED: {error}", file=sys.stderr)
        return 1
    finally:
        stack.down()
    print("\nThe whole path works: every event was delivered, and every signature verified.")
    show_sites()
    return 0


def show_sites() -> None:
    """Says how to start a lasting stack, because the demo's is gone, and which pages to open."""
    title("To read what entities read, and to enter their portal, in a browser")
    shell("./dev up")
    shell(f"./dev admin entity add --id {ENTITY} --name '{NAME}'")
    shell(f"./dev admin token issue --entity {ENTITY}    # the token that the portal asks for")
    print("   https://localhost:8443/apientidades/docs/      the documentation for entities, in Spanish")
    print("   https://localhost:8443/apientidades/portal/    their portal")


def limit_time(seconds: int) -> None:
    def give_up(*_):
        raise Failed(f"not done within {seconds} s")

    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(seconds)


class Demo:
    def __init__(self, stack: Stack, receiver: Receiver):
        self.stack, self.receiver, self.seen = stack, receiver, 0
        self.url = f"https://demo.receptor.test:{receiver.port}{PATH}"
        self.secret = secrets.token_urlsafe(24)
        self.token = ""

    def run(self) -> None:
        title("From a row in a table to a signed POST")
        print(f"   API       {self.stack.env['BASE_URL']}{BASE.rpartition('/')[0]}")
        print(f"   receiver  {self.url}   (in this program)")
        self.make_entity()
        webhook = self.register()
        try:
            self.deliver_every_event()
            self.deliver_test_event(webhook)
            self.show_listing(webhook)
            self.replay_what_failed(webhook)
            self.rotate_the_secret(webhook)
            self.measure_latency()
        finally:
            self.api("DELETE", f"{BASE}/{webhook}")

    def make_entity(self) -> None:
        title("1. The operator adds an entity and issues its token")
        shell(f"./dev admin entity add --id {ENTITY} --name '{NAME}'")
        self.stack.dev("admin", "entity", "add", "--id", ENTITY, "--name", NAME)
        shell(f"./dev admin token issue --entity {ENTITY}")
        self.token = self.stack.dev("admin", "token", "issue", "--entity", ENTITY, "--label", "demo").stdout.strip()
        print(f"   {self.token[:12]}…")

    def register(self) -> int:
        title("2. The entity registers a webhook, through nginx")
        body = {"url": self.url, "eventos": EVENTS, "secreto": self.secret}
        print(f"   POST {BASE}   all {len(EVENTS)} events, and a secret")
        response = self.expect(201, self.api("POST", BASE, json_body=body))
        webhook = response.json()
        if "secreto" in webhook or self.secret in response.text:
            raise Failed("the answer gives the secret away")
        print(f"   201  id {webhook['id']}, activo {json.dumps(webhook['activo'])}, fechaAlta {webhook['fechaAlta']}")
        return webhook["id"]

    def deliver_every_event(self) -> None:
        title("3. The evaluation system writes a row of each event, and each one arrives")
        shell("INSERT INTO notificaciones_pendientes (entidad_id, evento, datos) VALUES (…)")
        print(f"   {'event':<29}{'after':>8}   X-Webhook-Signature   webhook-signature")
        for event in EVENTS:
            data = json.dumps(DATA[event], ensure_ascii=False)
            started = time.monotonic_ns()
            self.stack.notify(ENTITY, event, data)
            request = self.arrival()
            if not request.body.endswith(b'"data":' + data.encode() + b"}"):
                raise Failed(f"the data of {event} is not what was written: {request.body.decode()}")
            self.show_arrival(request, event, started)

    def deliver_test_event(self, webhook: int) -> None:
        title("4. The entity asks for a test event")
        event = EVENTS[0]
        print(f"   POST {BASE}/test   {event}")
        started = time.monotonic_ns()
        body = self.expect(200, self.api("POST", BASE + "/test", json_body={"evento": event})).json()
        print(f"   200  {body['message']}")
        if [w["id"] for w in body["webhooks"]] != [webhook]:
            raise Failed(f"the answer lists {body['webhooks']}")
        request = self.arrival()
        if request.json()["data"].get("test") is not True:
            raise Failed(f"what arrived is no test event: {request.body.decode()}")
        self.show_arrival(request, event, started)

    def show_listing(self, webhook: int) -> None:
        title("5. The listing tells how the last delivery went")

        def executed():
            listed = next(w for w in self.expect(200, self.api("GET", BASE)).json() if w["id"] == webhook)
            return listed if listed["ultimaEjecucion"] else None

        listed = wait_until(executed, 10, "the result in the listing")
        print(f"   GET {BASE}")
        print(f"   200  ultimoEstado {listed['ultimoEstado']}, ultimoError {json.dumps(listed['ultimoError'])},"
              f" ultimaEjecucion {listed['ultimaEjecucion']}")
        if (listed["ultimoEstado"], listed["ultimoError"]) != (200, ""):
            raise Failed("the listing must show 200 and no error")

    def replay_what_failed(self, webhook: int) -> None:
        title("6. A delivery fails, and the entity finds it in its log and has it sent again")
        self.receiver.behave(PATH, Behaviour(status=500))
        self.stack.notify(ENTITY, EVENTS[0], json.dumps(DATA[EVENTS[0]]))
        refused = self.arrival()
        log = f"{BASE}/{webhook}/entregas"

        def failed():
            deliveries = self.expect(200, self.api("GET", f"{log}?estado=pendiente")).json()["entregas"]
            return next((one for one in deliveries if one["ultimoEstado"] == 500), None)

        delivery = wait_until(failed, 10, "the failure in the log")
        print(f"   GET {log}?estado=pendiente")
        print(f"   200  id {delivery['id']}, ultimoError {json.dumps(delivery['ultimoError'], ensure_ascii=False)}, proximoIntento {delivery['proximoIntento']}")
        self.receiver.behave(PATH, Behaviour())
        print(f"   POST {log}/{delivery['id']}/reenvio")
        started = time.monotonic_ns()
        self.expect(202, self.api("POST", f"{log}/{delivery['id']}/reenvio"))
        again = self.arrival()
        if again.headers["webhook-id"] != refused.headers["webhook-id"] or again.headers.get("x-webhook-reenvio") != "1":
            raise Failed("what arrived is not the replay")
        self.show_arrival(again, EVENTS[0], started)

    def rotate_the_secret(self, webhook: int) -> None:
        title("7. The entity rotates its secret: during the grace the old one and the new one both verify")
        path, old, new = f"{BASE}/{webhook}/secreto", self.secret, secrets.token_urlsafe(24)
        until = self.expect(200, self.api("PUT", path, json_body={"secreto": new})).json()["secretoAnteriorHasta"]
        print(f"   PUT {path}\n   200  secretoAnteriorHasta {until}")
        during = self.notified()
        self.check_signature(during, old, "the old secret", "x-webhook-signature")
        self.check_signature(during, new, "the new secret", "x-webhook-signature-nueva")
        print(f"   DELETE {path}/anterior")
        self.expect(200, self.api("DELETE", f"{path}/anterior"))
        self.secret = new
        self.check_signature(self.notified(), new, "the new secret alone", "x-webhook-signature")

    def notified(self) -> Request:
        self.stack.notify(ENTITY, EVENTS[0], json.dumps(DATA[EVENTS[0]]))
        return self.arrival()

    @staticmethod
    def check_signature(request: Request, secret: str, secret_name: str, header: str) -> None:
        headers = request.headers | {"x-webhook-signature": request.headers.get(header)}
        problems = verify.problems(headers, request.body, secret)
        if problems:
            raise Failed(f"{secret_name}: {'; '.join(problems)}")
        print(f"   {request.json()['evento']:<29}{secret_name:<22} {header} and webhook-signature verified")

    def measure_latency(self) -> None:
        title("8. How long from the row to the receiver, one row at a time on an idle stack")
        milliseconds = []
        for _ in range(LATENCY_ROWS):
            # While the dispatcher still records the last result, it sees a new row at once, which would flatter the
            # figure. After this random pause the row comes at any moment of the idle dispatcher's poll interval.
            time.sleep(random.uniform(0.1, 0.2))
            started = time.monotonic_ns()
            self.stack.notify(ENTITY, EVENTS[0], json.dumps(DATA[EVENTS[0]]))
            milliseconds.append((self.arrival().monotonic_ns - started) / 1e6)
            wait_until(lambda: self.receiver.in_flight(PATH) == 0, what="the response to be sent")
        print(f"   {LATENCY_ROWS} rows, from sending the INSERT to having read the POST:"
              f" median {statistics.median(milliseconds):.1f} ms"
              f" ({min(milliseconds):.1f} to {max(milliseconds):.1f} ms)")

    def arrival(self) -> Request:
        self.seen += 1
        requests = self.receiver.wait(PATH, self.seen, 15)
        if len(requests) != self.seen:
            raise Failed(f"{len(requests)} POSTs arrived where {self.seen} were due")
        return requests[-1]

    def show_arrival(self, request: Request, event: str, started: int) -> None:
        problems = verify.problems(request.headers, request.body, self.secret)
        verdict = lambda header: "NOT VERIFIED" if any(p.startswith(header + " ") for p in problems) else "verified"
        print(f"   {request.json()['evento']:<29}{(request.monotonic_ns - started) / 1e6:>5.0f} ms"
              f"   {verdict('x-webhook-signature'):<19}   {verdict('webhook-signature')}", flush=True)
        if request.json()["evento"] != event or request.headers.get("x-webhook-event") != event:
            problems.append(f"the event is not {event}")
        if problems:
            raise Failed("; ".join(problems))

    def api(self, method, path, **how):
        return self.stack.api(method, path, self.token, **how)

    @staticmethod
    def expect(status: int, response):
        if response.status != status:
            raise Failed(f"{response.status} instead of {status}: {response.text}")
        return response


def title(text: str) -> None:
    print(f"\n{text}", flush=True)


def shell(text: str) -> None:
    print(f"   $ {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
