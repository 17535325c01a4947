"""The measured service: a private stack with its entities, their webhooks and their backlog."""
from __future__ import annotations

import hashlib
import http.client
import json
import secrets
import ssl
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

from bench import control, machine
from bench.control import SECRET
from bench.silent import ADDRESS
from support.actors import BASE
from support.sql import GONE, SqlError, numbers
from support.stack import Stack, setting
from support.wait import wait_until

EVENT = "evaluacion.abierta"
REGISTRATIONS_AT_ONCE = 8
ROWS_AT_ONCE = 5_000  # in one INSERT
AWAY = (*GONE, 2002, 1053, 1114, 1021)  # cannot connect, shutting down, table full, disk full
QUEUE = ["intentos_entrega", "entregas", "notificaciones_pendientes", "webhook_ejecuciones"]


def sequence(first: int, last: int) -> str:
    """A table of one column `seq` with these numbers, for MariaDB and MySQL."""
    return f"(SELECT {first - 1} + seq AS seq FROM {numbers(last - first + 1)}) secuencia"


class Service:
    """register() gives entity N (from 1) a webhook at `https://hNNNN.receptor.test`. register() and
    enroll() give each webhook control.py's SECRET."""

    def __init__(self, **settings: str):
        self.entities: list[int] = []
        self.patience = 0.0  # seconds, see patiently()
        self.stack = Stack(setting(delivery_host_overrides=f"*.receptor.test={ADDRESS}",
                                   delivery_allowed_networks=f"{ADDRESS}/32") | setting(**settings))
        # An operator would set these for such a load. With MariaDB's default of 96 MiB of redo log, a backlog written
        # in one go stalls the commits of all sessions for a second while pages are flushed.
        self.stack.environment["DEV_DB_OPTIONS"] = (
            "--innodb-buffer-pool-size=1G --loose-innodb-log-file-size=1G --loose-innodb-redo-log-capacity=1G")

    def __enter__(self) -> "Service":
        self.stack.up()  # a failing up() takes down what it has started
        return self

    def __exit__(self, *_) -> None:
        self.stack.down()

    def sql(self, text: str) -> list[list[str]]:
        """Runs statements as the database's root."""
        return self.patiently(lambda: self.stack.sql(text))

    def patiently(self, act):
        """Calls `act`, again and again while the server is away or full, for `patience` seconds at most."""
        deadline = time.monotonic() + self.patience
        while True:
            try:
                return act()
            except (SqlError, OSError) as error:
                if time.monotonic() > deadline or getattr(error, "code", AWAY[0]) not in AWAY:
                    raise
            time.sleep(0.2)

    # The entities.

    def register(self, ports: list[int]) -> None:
        """Adds an entity for each port, and registers its webhook at that port through the API, which seals the secret."""
        numbered = list(zip(range(1, len(ports) + 1), self.add_entities(len(ports)), ports))
        with ThreadPoolExecutor(REGISTRATIONS_AT_ONCE) as pool:
            list(pool.map(self._register, [numbered[i::REGISTRATIONS_AT_ONCE] for i in range(REGISTRATIONS_AT_ONCE)]))

    def add_entities(self, count: int) -> list[str]:
        """Adds entities 1 to `count`; returns their tokens."""
        self.entities = list(range(1, count + 1))
        self.sql(f"INSERT INTO entidades (id, nombre) SELECT seq, CONCAT('Entidad ', seq) FROM {sequence(1, count)}")
        return self.add_tokens(self.entities)

    def add_tokens(self, entities: list[int]) -> list[str]:
        """Adds a token for each entity; returns the tokens."""
        tokens = [f"apie_{secrets.token_urlsafe(32)}" for _ in entities]
        self.sql("INSERT INTO tokens_acceso (entidad_id, hash) VALUES " + ", ".join(
            f"({number}, 0x{hashlib.sha256(token.encode()).hexdigest()})" for number, token in zip(entities, tokens)))
        return tokens

    def enroll(self, urls: list[list[str]]) -> list[int]:
        """Adds an entity for each list of URLs, with a webhook for each URL; returns the entities' ids. Uses SQL, because the
        API is too slow for many webhooks."""
        first, webhook = self.last("entidades") + 1, self.last("webhooks") + 1
        entities = list(range(first, first + len(urls)))
        self.sql(f"INSERT INTO entidades (id, nombre) SELECT seq, CONCAT('Entidad ', seq) FROM {sequence(first, entities[-1])}")
        places = [(entity, place, url) for entity, own in zip(entities, urls) for place, url in enumerate(own, 1)]
        rows = [f"({id}, {entity}, {place}, '{url}', '{EVENT}', '{key}', 0x{sealed})" for (id, key, sealed), (entity, place, url)
                in zip(control.sealed(self.key_file, webhook, len(places)), places)]
        for start in range(0, len(rows), ROWS_AT_ONCE):
            self.sql("INSERT INTO webhooks (id, entidad_id, plaza, url, eventos, secreto_clave, secreto_sellado) VALUES "
                     + ", ".join(rows[start:start + ROWS_AT_ONCE]))
        self.entities += entities
        return entities

    def _register(self, numbered: list[tuple[int, str, int]]) -> None:
        address = urlsplit(self.stack.env["BASE_URL"])
        connection = http.client.HTTPSConnection(
            address.hostname, address.port, timeout=30,
            context=ssl.create_default_context(cafile=self.stack.env["CA_CERT"]))
        for number, token, port in numbered:
            body = {"url": webhook_url(number, port), "eventos": [EVENT], "secreto": SECRET}
            connection.request("POST", BASE, json.dumps(body), {
                "Authorization": f"Bearer {token}", "Content-Type": "application/json"})
            response = connection.getresponse()
            text = response.read()
            if response.status != 201:
                raise AssertionError(f"registering webhook {number}: {response.status} {text.decode()}")
        connection.close()

    # The work.

    def write(self, count: int, entities: list[int]) -> None:
        """Writes `count` notifications in all, for the entities in turn, in one statement."""
        self.sql(f"""
            INSERT INTO notificaciones_pendientes (entidad_id, evento, datos)
            SELECT ELT(1 + (seq - 1) MOD {len(entities)}, {', '.join(map(str, entities))}), '{EVENT}',
                   CONCAT('{{"evaluacionId": ', seq, ', "titulo": "Convocatoria 2026"}}')
            FROM {sequence(1, count)}""")

    def clear(self) -> None:
        """Removes all notifications and deliveries, so that only the registrations are left. The dispatcher must not run."""
        self.sql("SET lock_wait_timeout = 60, FOREIGN_KEY_CHECKS = 0; " + "; ".join(f"TRUNCATE {table}" for table in QUEUE)
                 + "; SET FOREIGN_KEY_CHECKS = 1")

    def stored_bytes(self) -> int:
        """The size of the queue's tables, as the server reports it."""
        names = ", ".join(f"'{table}'" for table in QUEUE)
        self.sql("ANALYZE TABLE " + ", ".join(QUEUE))
        return int(self.sql(f"""SELECT SUM(data_length + index_length) FROM information_schema.tables
                                WHERE table_schema = DATABASE() AND table_name IN ({names})""")[0][0])

    def last(self, table: str) -> int:
        """The highest id in the table; 0 when the table is empty."""
        return int(self.sql(f"SELECT COALESCE(MAX(id), 0) FROM {table}")[0][0])

    def wait_recorded(self, timeout: float, after: int = 0) -> float:
        """Waits until no notification is pending and no delivery with an id above `after` is left to send or record.
        Returns when that was, by machine.now(), to within 10 ms. Each query looks only for the first such delivery, and
        begins at the delivery that the previous query found. So it costs almost nothing while many deliveries are left.
        """
        first = after

        def recorded() -> bool:
            nonlocal first
            if self.sql("SELECT EXISTS(SELECT 1 FROM notificaciones_pendientes WHERE estado = 'pendiente' AND aplazada_hasta IS NULL)") == [["1"]]:
                return False
            found = self.sql(f"""SELECT id FROM entregas FORCE INDEX (PRIMARY)
                                 WHERE id > {first} AND estado IN ('pendiente', 'en_curso') ORDER BY id LIMIT 1""")
            first = int(found[0][0]) - 1 if found else first
            return not found

        wait_until(recorded, timeout, "everything to be recorded", every=0.01)
        return machine.now()

    def count(self, table: str, condition: str = "TRUE") -> int:
        return int(self.sql(f"SELECT COUNT(*) FROM {table} WHERE {condition}")[0][0])

    # Its processes and settings.

    def stop_dispatcher(self) -> None:
        self.stack.stop("dispatcher")

    def kill_dispatcher(self) -> None:
        """Kills the dispatcher, which does not finish its deliveries in flight."""
        self.stack.stop("dispatcher", "-9")

    def start_dispatcher(self, **settings: str) -> int:
        self.stack.start("dispatcher", **setting(**settings))
        return self.dispatcher()

    def dispatcher(self) -> int:
        return self.stack.pids("dispatcher")[0]

    def database(self) -> int:
        return self.stack.pids("db")[0]

    def facts(self) -> dict:
        """The database's settings as it reports them, and the file system of its files."""
        names = ["version", "innodb_flush_log_at_trx_commit", "innodb_flush_method", "innodb_buffer_pool_size",
                 "innodb_log_file_size", "innodb_redo_log_capacity", "sync_binlog", "log_bin"]
        values = self.sql("SHOW VARIABLES WHERE Variable_name IN (" + ", ".join(f"'{name}'" for name in names) + ")")
        return dict(values) | {"file_system": machine.file_system(self.stack.folder)}

    @property
    def key_file(self) -> Path:
        return Path(self.stack.env["SECRETS_DIR"], "secrets.keys")

    def max_in_flight(self) -> int:
        return int(self.setting("delivery.max_in_flight"))

    def setting(self, key: str, unknown: str | None = None) -> str | None:
        """The value in force; `unknown` if the measured release has no such key."""
        return next((one["valor"] for one in self.stack.admin("config", "show") if one["clave"] == key), unknown)


def webhook_url(number: int, port: int) -> str:
    """Returns a URL on host `number`, which bench/control.cpp names in the same way."""
    return f"https://h{number:04}.receptor.test:{port}/notificaciones"
