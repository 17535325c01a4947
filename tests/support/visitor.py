"""A client that sends one request after another. It keeps the status and the time of each, and what it has registered."""
from __future__ import annotations

import contextlib
import http.client
import itertools
import threading
import time
from dataclasses import dataclass

from support.actors import BASE, Entity
from support.wait import join

AWAY = (502, 503, 504)
BROKEN_OFF = 0  # the status of an answer that was cut short
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Asked:
    method: str
    status: int
    began: float  # time.monotonic()
    seconds: float

    @property
    def refused(self) -> bool:
        return self.status in (BROKEN_OFF, *AWAY)

    def in_course(self, moment: float) -> bool:
        return self.began < moment < self.began + self.seconds


class Visitor:
    """A thread that acts for an entity. Each POST registers a URL of its own, so judge() sees if a POST was carried out twice."""

    def __init__(self, entity: Entity, pause: float = 0.02):
        self.entity = entity
        self.asked: list[Asked] = []
        self.urls: dict[str, int] = {}  # URL of a registration -> its status; 0 if it was refused
        self._unknown: set[int] = set()  # webhooks that a refused DELETE may have deleted
        self._pause, self._stop = pause, threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="visitor", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        join(self._thread, 90)
        self.alive()

    def alive(self) -> bool:
        """Raises the error that ended the thread; returns True if there is none."""
        if self._error:
            raise self._error
        return True

    def refusals(self, since: float = 0) -> list[Asked]:
        """Returns the refused requests that began at `since` or later."""
        return [one for one in list(self.asked) if since <= one.began and one.refused]

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                self._round()
                self._stop.wait(self._pause)
        except BaseException as error:
            self._error = error

    def _round(self) -> None:
        url = f"https://visita-{next(_numbers)}.receptor.test/"
        made = self._ask("POST", BASE, 201, json_body={"url": url, "eventos": ["incidencia.cerrada"]})
        self.urls[url] = made.status if made else 0
        listed = self._listed()
        if listed is not None and made:
            assert [made.json()["id"]] == [one["id"] for one in listed if one["url"] == url], f"{url} is not listed"
        for one in listed or []:
            self._delete(one["id"])

    def _listed(self) -> list | None:
        answer = self._ask("GET", BASE, 200)
        return answer and answer.json()

    def _delete(self, id: int) -> None:
        while not self._stop.is_set():
            if self._ask("DELETE", f"{BASE}/{id}", 200, *([404] if id in self._unknown else [])):
                self._unknown.discard(id)
                return
            self._unknown.add(id)

    def _ask(self, method: str, path: str, *wanted: int, **how):
        """Returns None if the request is refused, or its answer cut short."""
        began, response = time.monotonic(), None
        with contextlib.suppress(http.client.IncompleteRead):
            response = self.entity.api(method, path, **how)
        self.asked.append(Asked(method, response.status if response else BROKEN_OFF, began, time.monotonic() - began))
        if response is None:
            return None
        assert response.status in (*wanted, *AWAY), f"{method} {path}: {response}"
        if response.status in AWAY:
            response.message  # this property asserts that the response has the form of all errors
            return None
        return response


def judge(visitors: list[Visitor], rows: list[list[str]]) -> list[str]:
    """Returns what is wrong. `rows` has each registered URL with the number of its webhooks, deleted webhooks included. A
    visitor without an accepted registration is wrong, too: nothing can be judged by it."""
    counts = {url: int(count) for url, count in rows}
    problems = []
    for number, visitor in enumerate(visitors, 1):
        if 201 not in visitor.urls.values():
            problems.append(f"visitor {number} has registered nothing")
        for url, status in visitor.urls.items():
            count = counts.get(url, 0)
            if count > 1:
                problems.append(f"{url} was registered {count} times")
            if status == 201 and count == 0:
                problems.append(f"{url} was answered 201, and is not in the table")
    return problems
