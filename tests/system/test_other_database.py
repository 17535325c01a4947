"""The chapter of docs/operations.md on the move from MariaDB to MySQL, and back: its commands run on two stacks, one on each
server. Only `./dev test --mysql` has both servers."""
import itertools
import os
import shutil
from pathlib import Path

import pytest

from fakes import verify
from fakes.receiver import Behaviour, Receiver
from support import manual
from support.actors import BASE, Entity
from support.place import SETTINGS, Place
from support.sql import SqlError
from support.stack import Stack, setting
from support.wait import wait_until

pytestmark = pytest.mark.skipif(os.environ.get("DEV_DATABASE") != "mysql", reason="`./dev test --mysql` runs these tests")

CHAPTER = [block for block in manual.blocks() if block.chapter == "From MariaDB to MySQL, or back"]
EXCHANGE, = (block for block in manual.blocks() if block.commands.startswith("! mariadb"))
*ON_OLD, ON_NEW = CHAPTER
DUMP = "apientidades-datos.sql"
TABLES = ("SELECT table_name FROM information_schema.tables WHERE table_schema = 'apientidades' AND table_type = 'BASE TABLE'"
          " ORDER BY table_name")


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """The stack on MySQL has the keys of the other, and trusts its receiver."""
    old = Stack(SETTINGS | {"DEV_DATABASE": "mariadb"})
    new = Stack(SETTINGS | setting(delivery_ca_file=f"{old.folder}/certs/ca.pem") | {"DEV_DATABASE": "mysql"})
    try:
        old.up()
        Path(new.folder, "secrets").mkdir(mode=0o700)
        shutil.copy(Path(old.folder, "secrets/secrets.keys"), Path(new.folder, "secrets"))
        new.up()
        with Receiver(old.env["RECEIVER_CERT"], old.env["RECEIVER_KEY"]) as receiver:
            yield {kind: Place(stack, receiver, tmp_path_factory.mktemp(kind)) for kind, stack in (("mariadb", old), ("mysql", new))}
    finally:
        for stack in (old, new):
            stack.down()


def run(place: Place, block: manual.Block) -> None:
    result = place.run(block.commands)
    assert result.returncode == 0, result.stdout
    assert manual.not_printed(block.shown, result.stdout) == [], result.stdout


def contents(place: Place, schema: str) -> dict[str, list]:
    """Every row of every table, generated columns included; of notifications, those that were not rejected."""
    found = {}
    for table, in place.stack.sql(TABLES):
        columns = sorted(place.stack.sql("SELECT column_name FROM information_schema.columns"
                                         f" WHERE table_schema = 'apientidades' AND table_name = '{table}'"))
        cells = ", ".join(f"CONCAT('{column}=', COALESCE(HEX({column}), '-'))" for column, in columns)
        kept = " WHERE error IS NULL" if table == "notificaciones_pendientes" else ""
        found[table] = sorted(place.stack.sql(f"SELECT {cells} FROM {schema}.{table}{kept}"))
    return found


def differences(before: dict[str, list], after: dict[str, list]) -> list:
    pairs = ((table, pair) for table in before for pair in itertools.zip_longest(before[table], after[table], fillvalue=()))
    return [(table, set(row) ^ set(other)) for table, (row, other) in pairs if row != other]


def next_numbers(place: Place, schema: str) -> list:
    place.stack.sql("/*!80000 SET SESSION information_schema_stats_expiry = 0 */")
    return sorted(place.stack.sql("SELECT table_name, auto_increment FROM information_schema.tables"
                                  f" WHERE table_schema = '{schema}' AND auto_increment IS NOT NULL"))


class Data:
    """What an entity has: a delivery that arrived, and one that waits. Two notifications were rejected, one of them with data
    that only MariaDB lets in."""

    def __init__(self, place: Place):
        self.receiver, stack = place.receiver, place.stack
        self.entity = Entity(stack, place.receiver, "Universidad \\ de 'Ejemplo' ñ 😀")
        self.hook = self.entity.register(secret="s3creto ñ")
        stack.wait_delivery(stack.delivery_id(self.entity.notify(clave="á 1"), self.hook.id), "entregada")
        self.receiver.behave(self.hook.path, Behaviour(status=500))
        self.waiting = stack.delivery_id(self.entity.notify("documento.disponible"), self.hook.id)
        wait_until(lambda: stack.value(f"SELECT paso FROM entregas WHERE id = {self.waiting}") == "1")
        if "MariaDB" in stack.value("SELECT VERSION()"):
            stack.evaluation("SET check_constraint_checks = 0, sql_mode = 'ALLOW_INVALID_DATES'")
            stack.wait_notification(self.entity.notify(data="{", ocurrida_en="2026-02-31"), "rechazada")
        stack.wait_notification(self.entity.notify(data="{}"), "rechazada")
        # A number that was used and is in no row must not be used again.
        stack.sql(f"DELETE FROM notificaciones_pendientes WHERE id = {self.entity.notify(data='{}')}")


@pytest.mark.parametrize("old, new", [("mariadb", "mysql"), ("mysql", "mariadb")])
def test_the_data_move_to_the_other_server(places, old, new):
    old, new = places[old], places[new]
    data, found = Data(old), new.stack.try_admin("config", "check").stdout
    for block in ON_OLD:
        run(old, block)
    shutil.copy(old.folder / DUMP, new.folder)
    run(new, ON_NEW)
    assert differences(contents(old, "apientidades"), contents(new, "apientidades_nueva")) == []
    assert next_numbers(new, "apientidades_nueva") == next_numbers(old, "apientidades")
    run(new, EXCHANGE)
    new.stack.admin("queue", "resume")
    require_all_works(new, data)
    assert new.stack.try_admin("config", "check").stdout == found
    new.stack.sql("DROP DATABASE apientidades_antes")


def require_all_works(place: Place, data: Data) -> None:
    stack = place.stack
    stack.connect_evaluation()
    listed, = stack.api("GET", BASE, data.entity.token).json()
    assert listed["id"] == data.hook.id
    place.receiver.behave(data.hook.path, Behaviour())
    stack.admin("delivery", "retry", data.waiting)
    stack.wait_delivery(data.waiting, "entregada")
    sent = place.receiver.requests(data.hook.path)[-1]
    assert verify.problems(sent.headers, sent.body, data.hook.secret, sent.wall_ns / 1e9) == []
    event = "'evaluacion.abierta'"
    with pytest.raises(SqlError, match="lo pone el servidor"):
        stack.evaluation("INSERT INTO notificaciones_pendientes (id, entidad_id, evento, datos)"
                         f" VALUES (9999, {data.entity.id}, {event}, '{{}}')")
    with pytest.raises(SqlError, match="datos_no_es_json"):
        stack.notify(data.entity.id, "evaluacion.abierta", "{")
    with pytest.raises(SqlError, match="denied"):
        stack.evaluation("DELETE FROM notificaciones_pendientes")
    written = stack.notify(data.entity.id, "evaluacion.abierta", '{"evaluacionId": 1, "titulo": "t"}')
    assert stack.evaluation(f"SELECT estado FROM notificaciones_resultado WHERE notificacion_id = {written}") != []
    stack.wait_delivery(stack.delivery_id(written, data.hook.id), "entregada")
    assert stack.dev("admin", "queue", "status", "--check").stdout.startswith("QUEUE OK")
