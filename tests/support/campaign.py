"""Tests many webhooks at once, so that a test waits only once. The webhooks must not disturb each other."""
from __future__ import annotations

from dataclasses import dataclass

from support.actors import BASE, Entity
from support.stack import EVENTS
from support.wait import wait_until


@dataclass(frozen=True)
class Evidence:
    duration_ms: int
    status: int | None
    error: str


class Campaign:
    """Has one webhook for each name; the test chooses the names. Each entity of the campaign has up to five of these webhooks,
    each subscribed to another event."""

    def __init__(self, stack, receiver, ports: dict):
        """`ports`: name -> port of its receiver."""
        self.stack, self.hooks, entity = stack, {}, None
        for number, (name, port) in enumerate(ports.items()):
            entity = Entity(stack, receiver) if number % 5 == 0 else entity
            event = EVENTS[number % 5]
            self.hooks[name] = entity, entity.register([event], port=port), event

    def notify(self, times: int = 1) -> None:
        for _ in range(times):
            for entity, _, event in self.hooks.values():
                entity.notify(event)

    def rows(self, columns: str, tables: str = "entregas e", order: str = "e.id") -> dict:
        """name -> the rows of its webhook's deliveries, sorted by `order`."""
        names = {str(hook.id): name for name, (_, hook, _) in self.hooks.items()}
        found = {name: [] for name in self.hooks}
        for webhook, *row in self.stack.sql(f"SELECT e.webhook_id, {columns} FROM {tables}"
                                            f" WHERE e.webhook_id IN ({', '.join(names)}) ORDER BY {order}"):
            found[names[webhook]].append(row)
        return found

    def wait_ended(self, count: int = 1, timeout: float = 90) -> dict:
        """name -> [state, attempts] of each delivery, once each webhook has at least `count` deliveries and all have ended."""
        def ended():
            found = self.rows("e.estado, e.intentos")
            return all(len(rows) >= count and {state for state, _ in rows} <= {"entregada", "fallida"}
                       for rows in found.values()) and found
        return wait_until(ended, timeout, "all deliveries to end", every=0.2)

    def attempts(self) -> dict:
        """name -> the evidence of each attempt, sorted by delivery and attempt."""
        tables = "entregas e JOIN intentos_entrega i ON i.entrega_id = e.id"
        return {name: [Evidence(int(ms), None if status == "NULL" else int(status), error) for ms, status, error in rows]
                for name, rows in self.rows("i.duracion_ms, i.estado_http, i.error", tables, "e.id, i.numero").items()}

    def listed(self) -> dict:
        """name -> its webhook as the API lists it, once every webhook has had an attempt."""
        entities = {entity.id: entity for entity, _, _ in self.hooks.values()}.values()

        def all_tried():
            found = {w["id"]: w for entity in entities for w in entity.api("GET", BASE).json()}
            return all(found[hook.id]["ultimaEjecucion"] for _, hook, _ in self.hooks.values()) and found
        found = wait_until(all_tried, 60, "an attempt of each")
        return {name: found[hook.id] for name, (_, hook, _) in self.hooks.items()}
