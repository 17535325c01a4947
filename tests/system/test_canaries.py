"""Puts secrets, tokens, credentials and datosExtra (the canaries) wherever a request can carry them, during all kinds of
failures. Then no log, answer, process list, output for the operator or table may have any canary. Some texts are stored on
purpose, so no canary is planted in them: the database keeps the evaluation system's data and accepted URLs as written, and
the access log keeps a request's path without its query.
"""
import base64
import contextlib
import hashlib
import json
import subprocess
from pathlib import Path

import pytest

from fakes import verify
from fakes.receiver import Behaviour, Receiver
from support.actors import BASE, Entity
from support.canaries import Canaries, dump
from support.keys import Keys, new_key
from support.stack import Stack, free_port, setting
from support.wait import wait_until

TEST = BASE + "/test"
A, B, C, D = "evaluacion.abierta", "evaluacion.cerrada", "incidencia.cerrada", "incidencia.respuesta"
ENDPOINTS = [("GET", BASE), ("POST", BASE), ("GET", BASE + "/eventos"), ("POST", TEST), ("DELETE", BASE + "/999999"),
             ("PUT", BASE), ("GET", BASE + "/nada"), ("POST", "/otra"), ("TRACE", BASE),
             ("GET", BASE + "/999999"), ("PATCH", BASE + "/999999"), ("PUT", BASE + "/999999/secreto"),
             ("DELETE", BASE + "/999999/secreto/anterior"), ("GET", BASE + "/999999/entregas"), ("GET", BASE + "/999999/entregas/1"),
             ("POST", BASE + "/999999/entregas/1/reenvio"), ("POST", BASE + "/999999/reenvios"), ("GET", BASE + "/999999/reenvios/1"),
             ("DELETE", BASE + "/999999/reenvios/1"), ("GET", BASE + "/999999/estadisticas"),
             ("GET", BASE + "/999999/diagnostico"), ("POST", BASE + "/999999/diagnostico"), ("POST", BASE + "/999999/prueba"),
             *(("GET", BASE.removesuffix("webhooks") + name) for name in ("entidad", "actividad", "entregas?datos=resumen", "reenvios"))]


class Story:
    """The faults and actions on the stack. Answers and output of commands are kept for the search."""

    def __init__(self, stack: Stack, receiver: Receiver, canaries: Canaries):
        self.stack, self.receiver, self.canaries, self.answers, self.outputs = stack, receiver, canaries, [], []
        self.keys = Keys(stack)
        for line in self.keys.lines:
            canaries.add("key", line.split(":")[1])
        for user in ("api", "dispatcher", "admin"):
            canaries.add("password", Path(stack.env["SECRETS_DIR"], f"{user}.password").read_text().strip())
        self.entity = Entity(stack, receiver)
        self.token = canaries.add("token", self.entity.token)
        self.signed = {}

    def send(self, method, path, **how):
        response = self.stack.api(method, path, **how)
        self.answers.append(json.dumps(response.headers) + response.text)
        return response

    def call(self, method, path, body=None, **how):
        return self.send(method, path, token=self.token, json_body=... if body is None else body, **how)

    def admin(self, *arguments):
        for form in ((), ("--json",)):
            result = self.stack.dev("admin", *arguments, *form, check=False)
            self.outputs.append(result.stdout + result.stderr)

    def register(self, event, port=None):
        secret = self.canaries.plant("secreto")
        hook = self.entity.register([event], secret, port)
        self.signed[hook] = secret
        return hook

    def log_statements(self):
        """Makes the database server log every statement."""
        self.stack.sql("SET GLOBAL log_output = 'FILE', GLOBAL general_log_file = 'todo.log', GLOBAL general_log = 1")

    def good_requests(self):
        self.hooks = {event: self.register(event) for event in (A, B)}
        self.register(C, free_port())  # no program listens there
        changed = self.register(D)
        self.changes(changed)
        self.test_events()

    def changes(self, hook):
        """Changes the secret, with a grace period and without, and sends changes that are refused."""
        plant = self.canaries.plant
        secrets = [plant("new secret") for _ in range(3)]
        path = f"{BASE}/{hook.id}"
        for secret, grace, status in zip(secrets, (3600, 3600, 0), (200, 409, 200)):
            assert self.call("PUT", path + "/secreto", {"secreto": secret, "graciaSegundos": grace}).status == status
        for body in ({"secreto": plant("new secret") + "x" * 512}, {"secreto": [plant("new secret")]}, {"secreto": plant("new secret"), "graciaSegundos": -1},
                     {"secreto": plant("new secret"), plant("unknown field"): plant("unknown value")}):
            assert self.call("PUT", path + "/secreto", body).status == 400
        credentials = f"https://{plant('user')}:{plant('password of a URL')}@example.com/"
        for body in ({"secreto": plant("new secret")}, {"url": credentials}, {"eventos": [plant("event")[:7]]}, {plant("unknown field"): plant("unknown value")}):
            assert self.call("PATCH", path, body).status == 400
        assert self.call("PATCH", path, {"activo": False}, headers={"If-Match": plant("If-Match")}).status == 412
        assert self.call("DELETE", path, headers={"If-Match": plant("If-Match")}).status == 412
        assert self.call("PATCH", path, {"eventos": [D]}).status == 200
        self.call("GET", path)
        self.signed[hook] = secrets[-1]

    def test_events(self):
        for event in (A, B, C, D):
            extra = {self.canaries.plant("name in datosExtra"): [self.canaries.plant("datosExtra"), 7.50]}
            assert self.call("POST", TEST, {"evento": event, "datosExtra": extra}).status == 200

    def bodies(self):
        """Returns bodies with canaries: a good one, some with wrong values, and some that cannot be read."""
        plant = self.canaries.plant
        good = {"url": "https://x.receptor.test/", "eventos": [A], "secreto": plant("secreto")}
        credentials = f"https://{plant('user')}:{plant('password of a URL')}@example.com/"
        dicts = [
            good, {**good, "url": credentials}, {**good, "url": credentials.replace("https", "http")},
            {**good, "url": credentials.replace("@", "\\@")}, {**good, "url": f"https://10.0.0.1/{plant('refused URL')}"},
            {**good, "eventos": []}, {**good, "secreto": plant("secreto") + "x" * 512},
            {**good, "secreto": [plant("secreto")]},
            {**good, plant("unknown field"): plant("unknown value"), "id": 1},
            {**good, plant("unknown field"): plant("unknown value"), "eventos": [plant("event")[:7]]},
            {"evento": A, "datosExtra": plant("datosExtra")}, {"evento": "", "datosExtra": {"a": plant("datosExtra")}},
            {"evento": A, "datosExtra": {"a": plant("datosExtra") * 2000}},
            {"evento": A, "datosExtra": [plant("datosExtra")]},
        ]
        texts = [json.dumps(body).encode() for body in dicts]
        text = json.dumps({"secreto": plant("secreto"), "datosExtra": {"a": plant("datosExtra")}})
        broken = [text[:-1], text.replace(":", "", 1), "[" * 40 + text + "]" * 40, text + text, text + "\0",
                  text[:-1] + ', "secreto": "' + plant("secreto") + '"}']
        return texts + [body.encode() for body in broken] + [text.encode("utf-16"), text.encode() + b"\xff"]

    def headers(self):
        plant, token = self.canaries.plant, self.token
        fresh = self.canaries.add("wrong token", "apie_" + plant("wrong token")[:31].ljust(43, "x"))
        basic = base64.b64encode(f"{plant('user')}:{plant('password')}".encode()).decode()
        values = [f"Bearer {token}", f"Bearer {fresh}", f"Bearer {token}x", f"Bearer {token[:-1]}", f"Basic {basic}", token,
                  f"Token {token}", f"Bearer {token} {plant('junk')}"]
        self.canaries.add("cut token", token[:-1])
        return [{"Authorization": value, "Cookie": f"t={token}", "X-Token": plant("header")} for value in values]

    def bad_requests(self):
        bodies, headers = self.bodies(), self.headers()
        for body in bodies:
            for path in (BASE, TEST):
                response = self.send("POST", path, token=self.token, body=body)
                if response.status == 201:
                    self.call("DELETE", f"{BASE}/{response.json()['id']}")
        for method, path in ENDPOINTS:
            for sent in headers:
                # The canaries are in the query, because the access log keeps the path.
                response = self.send(method, f"{path}?access_token={self.token}&secreto={self.canaries.plant('query')}",
                                     body=bodies[2] if method == "POST" else None, headers=sent)
                assert response.status != 201
        plain = json.dumps({"url": "x", "secreto": self.canaries.plant("secreto")}).encode()
        self.send("POST", BASE, token=self.token, body=plain, headers={"Content-Type": "text/plain"})
        long = self.canaries.plant("header") * 1000
        self.send("GET", BASE, headers={"Authorization": f"Bearer {self.token}", "X-Long": long})
        self.half_requests(plain)

    def half_requests(self, body):
        head = f"POST {BASE} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {self.token}\r\n"
        for framing in (f"Content-Length: {len(body) + 9}\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\nzz\r\n",
                        "Content-Length: 5\r\nContent-Length: 6\r\n\r\n",
                        f"Bad Header: {self.canaries.plant('header')}\r\n\r\n"):
            with self.stack.api.wire(head.encode() + framing.encode() + body):
                pass

    def failing_receivers(self):
        """Makes receivers fail. Several answers have a canary, and one also has the secret of its webhook."""
        echo = self.canaries.plant("answer of a receiver")
        failing = {self.hooks[A]: [Behaviour(status=500, body=echo + self.signed[self.hooks[A]]), Behaviour(fault="hang_up"),
                                   Behaviour(status=301, headers={"Location": f"https://{echo}.example.com/"})],
                   self.hooks[B]: [Behaviour(fault="silent"), Behaviour(raw=(f"HTTP/1.1 {echo}\r\n\r\n",)),
                                   Behaviour(status=410, body=echo)]}
        for hook, behaviours in failing.items():
            self.receiver.behave(hook.path, *behaviours, Behaviour())
        self.test_events()
        ended = "SELECT COUNT(*) FROM entregas WHERE estado IN ('pendiente', 'en_curso')"
        wait_until(lambda: self.stack.value(ended) == "0", 60, "everything to have ended", every=0.2)

    def rotation(self):
        for id in ("r1", "r2"):
            line = new_key(id)
            self.canaries.add("key", line.split(":")[1])
            self.keys.write(line, *self.keys.lines)
            self.keys.reload("dispatcher", "fcgi")
            self.admin("secrets", "status")
            self.admin("secrets", "reencrypt")
        self.keys.write(self.keys.lines[0], "mal:" + self.canaries.plant("broken key"))
        self.keys.reload("dispatcher", "fcgi", says="keys not reloaded")
        self.admin("secrets", "status")
        self.keys.write(self.keys.lines[0])
        self.keys.reload("dispatcher", "fcgi")

    def unreadable(self):
        """Damages the sealed secrets for a while, so that they cannot be decrypted."""
        reverse = "UPDATE webhooks SET secreto_sellado = REVERSE(secreto_sellado)"
        self.stack.sql(reverse)
        self.call("POST", TEST, {"evento": A, "datosExtra": {"a": self.canaries.plant("datosExtra")}})
        wait_until(lambda: "cannot be decrypted" in self.keys.log("dispatcher"), 20, "a delivery to be held")
        self.admin("secrets", "reencrypt")
        self.stack.sql(reverse)

    def operator(self):
        shown = self.outputs
        for group in ("entity", "token", "webhook", "notification", "delivery"):
            self.admin(group, "list")
        shows = {"webhooks": "webhook", "notificaciones_pendientes": "notification", "entregas": "delivery"}
        for table, group in shows.items():
            for (id,) in self.stack.sql(f"SELECT id FROM {table} ORDER BY id DESC LIMIT 3"):
                self.admin(group, "show", id)
        for words in (["queue", "status"], ["config", "show"], ["config", "check"], ["db", "status"], ["secrets", "status"],
                      ["token", "revoke", "99999"], ["--nonsense"]):
            self.admin(*words)
        assert len(shown) > 20

    def faults(self):
        bodies, headers = self.bodies(), self.headers()

        def everything():
            for method, path in ENDPOINTS:
                for sent in headers[:2]:
                    self.send(method, path, body=bodies[0] if method == "POST" else None, headers=sent)
            self.call("POST", TEST, {"evento": A, "datosExtra": {"a": self.canaries.plant("datosExtra")}})

        self.stack.sql("RENAME TABLE webhooks TO webhooks_away")
        everything()
        self.stack.sql("RENAME TABLE webhooks_away TO webhooks; SET GLOBAL read_only = 1")
        everything()
        self.stack.sql("SET GLOBAL read_only = 0")
        self.stack.stop("db", "-9")
        everything()
        self.admin("secrets", "status")
        self.stack.start("db")
        self.log_statements()
        self.stack.stop("fcgi", "-9")
        everything()
        self.stack.stop("dispatcher", "-9")
        for part in ("fcgi", "dispatcher"):
            self.stack.start(part)
        wait_until(lambda: self.call("GET", BASE).status == 200, what="the API to be back")


@contextlib.contextmanager
def up(stack):
    try:
        yield stack.up()
    finally:
        stack.down()


@pytest.fixture(scope="module")
def told():
    """Runs the whole story; yields it while the stack is up."""
    stack = Stack(setting(log_level="debug", delivery_retry_schedule="100ms,200ms,300ms", delivery_retry_jitter="0",
                          delivery_connect_timeout="1s", delivery_timeout="1s", delivery_lease="11s",
                          delivery_allowed_networks="127.0.0.0/8"))
    with (up(stack), Canaries() as canaries,
          Receiver(stack.env["RECEIVER_CERT"], stack.env["RECEIVER_KEY"]) as receiver):
        story = Story(stack, receiver, canaries)
        story.log_statements()
        for chapter in (story.good_requests, story.bad_requests, story.failing_receivers, story.rotation, story.operator,
                        story.unreadable, story.faults, story.operator):
            chapter()
        yield story


def test_the_story_went_as_told(told):
    """If the story had not happened, the search would find nothing and prove nothing."""
    for hook, secret in told.signed.items():
        for request in told.receiver.requests(hook.path):
            assert verify.problems(request.headers, request.body, secret, request.wall_ns / 1e9) == []
    sent = b"".join(request.body for request in told.receiver.requests())
    assert any("datosExtra" in form for form in told.canaries.found_in(sent)), "the planted data reach the receivers"
    levels = {line.split(" ")[1] for line in told.keys.log("dispatcher").splitlines()}
    assert {"info", "error"} <= levels
    statements = Path(told.stack.folder, "db", "todo.log").read_text(errors="replace")
    assert "secreto_sellado = UNHEX(" in statements and "'prueba'" in statements


def test_the_search_finds_what_is_there(told):
    """The search finds a canary as it is, in hex and in base64, and finds it in a file, in the database and in a process."""
    canaries, name = Canaries(), "jilguero de control"
    canaries.add("control", name)
    told.stack.admin("entity", "add", "--id", 999, "--name", name)
    in_base64 = (base64.b64encode(b"abc"[:n] + name.encode() + b"xyz").decode() for n in range(3))
    for text in (name, name.encode().hex(), *in_base64):
        assert canaries.found_in(text), text
    assert canaries.found_in(dump(told.stack)) == {"control as it is"}
    assert "db/todo.log" in canaries.found_in_files(Path(told.stack.folder), set())
    sleeper = subprocess.Popen(["sleep", "60"], env={"X": name})
    try:
        wait_until(lambda: canaries.look_at_processes() or canaries.watched, what="the process to be seen")
    finally:
        sleeper.kill()
        sleeper.wait()
    assert hashlib.sha256(told.token.encode()).hexdigest().upper() in dump(told.stack), "bytes are in the dump, in hex"


def test_no_log_and_no_file_has_any(told):
    """Searches the logs of nginx, the programs and the database, and the database's files, but not the secrets' folder."""
    assert told.canaries.found_in_files(Path(told.stack.folder), {"secrets"}) == {}


def test_no_answer_has_any(told):
    assert told.canaries.found_in("\n".join(told.answers)) == set()


def test_no_output_of_the_operator_has_any(told):
    assert told.canaries.found_in("\n".join(told.outputs)) == set()
    for part in ("fcgi", "dispatcher", "nginx", "db"):
        assert told.canaries.found_in(told.stack.dev("logs", part).stdout) == set()


def test_no_dump_of_the_database_has_any(told):
    assert told.canaries.found_in(dump(told.stack)) == set()
    assert told.canaries.found_in(json.dumps(told.stack.sql("SELECT * FROM information_schema.processlist"))) == set()


def test_no_process_list_had_any(told):
    told.canaries.look_at_processes()
    assert told.canaries.watched == set()
