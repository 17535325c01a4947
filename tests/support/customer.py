"""An entity that uses the API all the time. It measures how long it is refused, and checks that it sees its own changes."""
from __future__ import annotations

import threading
import time
from pathlib import Path

from support.actors import BASE, Entity
from support.wait import join


class Customer:
    """A thread that registers and deletes webhooks. Whichever nodes answer, the entity's list must have a webhook once it is
    registered, and must not have it once it is deleted."""

    def __init__(self, entity: Entity):
        self._entity = entity
        self._stop = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="customer", daemon=True)
        self.answered = 0  # requests with a status that the caller of _ask() wanted
        self.refused = 0  # 502, 503 and 504
        self.longest_s = 0.0  # the longest time from a request's first try to its last answer, refusals included

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        join(self._thread, 60)
        if self._error:
            raise self._error

    def report(self) -> str:
        return f"API: {self.answered} answered, {self.refused} refused, {self.longest_s:.1f} s without an answer at most"

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                self._round()
                self._stop.wait(0.05)
        except BaseException as error:
            self._error = error

    def _round(self) -> None:
        for left in self._listed():  # registered although the POST was answered with an error
            self._ask("DELETE", f"{BASE}/{left}", {200, 404})
        body = {"url": "https://cliente.receptor.test/", "eventos": ["incidencia.cerrada"]}
        made = self._ask("POST", BASE, {201}, json_body=body, repeat=False)
        if not made:
            return
        assert made.json()["id"] in self._listed(), "a registered webhook is not listed"
        self._ask("DELETE", f"{BASE}/{made.json()['id']}", {200, 404})
        assert made.json()["id"] not in self._listed(), "a deleted webhook is listed"

    def _listed(self) -> list[int]:
        return [webhook["id"] for webhook in self._ask("GET", BASE, {200}).json()]

    def _logged(self, response) -> list[str]:
        lines = Path(self._entity.stack.folder, "log/fcgi.log").read_text().splitlines()
        return [line for line in lines if f"request={response.headers.get('x-request-id')}" in line]

    def _ask(self, method: str, path: str, wanted: set, repeat: bool = True, **how):
        """Repeats the request while it is refused with 502, 503 or 504. Without `repeat`, returns None if it is refused."""
        began = time.monotonic()
        while True:
            response = self._entity.api(method, path, **how)
            self.longest_s = max(self.longest_s, time.monotonic() - began)
            if response.status in wanted:
                self.answered += 1
                return response
            assert response.status in (502, 503, 504), f"{method} {path}: {response} {self._logged(response)}"
            self.refused += 1
            if not repeat:
                return None
            time.sleep(0.1)
