"""Makes an index of the messages that pages quote as «text»: each with the pages and headings that explain it."""
from __future__ import annotations

import re

from docs_site.markup import Anchors
from docs_site.source import Page

MESSAGE = re.compile("«([^»]+)»")


def index_of_messages(pages: list[Page]) -> str:
    places: dict[str, list[str]] = {}
    for message, place in (one for page in pages for one in _messages(page)):
        if place not in places.setdefault(message, []):
            places[message].append(place)
    rows = [f"| {message} | {', '.join(places[message])} |" for message in sorted(places, key=str.lower)]
    return "\n".join(["| Mensaje | Se explica en |", "|---|---|", *rows])


def _messages(page: Page):
    anchors, link = Anchors(), f"[{page.title}]({page.name}.md)"
    for line in page.text.split("\n"):
        heading = re.fullmatch(r"#{2,6} (.+)", line)
        if heading:
            link = f"[{heading.group(1)}]({page.name}.md#{anchors.of(heading.group(1))})"
        yield from ((message, link) for message in MESSAGE.findall(line))
