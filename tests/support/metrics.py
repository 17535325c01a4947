"""Reads what Prometheus would scrape."""
from __future__ import annotations

import contextlib
import re
import urllib.request
from dataclasses import dataclass

from support.stack import free_port, setting

SAMPLE = re.compile(r'^(?P<name>[a-zA-Z_:][\w:]*)(?:\{(?P<labels>.*)\})? (?P<value>\S+)$')
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
PART = re.compile(r"_(bucket|sum|count)$")


@dataclass
class Scrape:
    text: str

    def __post_init__(self):
        self.types = dict(re.findall(r"^# TYPE (\S+) (\S+)$", self.text, re.M))
        self.samples = []
        for line in self.text.splitlines():
            if line and not line.startswith("#"):
                found = SAMPLE.match(line)
                assert found, line
                self.samples.append((found["name"], dict(LABEL.findall(found["labels"] or "")), float(found["value"])))

    def select(self, name: str, **labels) -> list[float]:
        return [value for known, of, value in self.samples if known == name and labels.items() <= of.items()]

    def value(self, name: str, **labels) -> float:
        """Returns the sum of all series with these labels. Fails if there is no such series."""
        found = self.select(name, **labels)
        assert found, (name, labels)
        return sum(found)

    def families(self) -> dict[str, tuple[str, frozenset]]:
        """Maps the name of each metric to its type and the names of its labels, without `le`."""
        result = {}
        for name, kind in self.types.items():
            of = [labels for known, labels, _ in self.samples
                  if known == name or (kind == "histogram" and PART.sub("", known) == name)]
            result[name] = (kind, frozenset(label for labels in of for label in labels) - {"le"})
        return result


def scrape(url: str) -> Scrape:
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=30) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain"), answer.headers
        return Scrape(answer.read().decode())


@contextlib.contextmanager
def observed_dispatcher(stack, **environment):
    """Runs the stack's dispatcher with its metrics served; returns a function that scrapes them."""
    address = f"127.0.0.1:{free_port()}"
    with stack.dispatcher_with(**setting(metrics_listen=address, metrics_queue_interval="200ms"), **environment):
        yield lambda: scrape(f"http://{address}/metrics")
