"""Makes the index of the site's search: the text of each page, heading by heading, as a JavaScript module that search.js
imports. As a module, and not as data to be fetched, it needs no right in the Content-Security-Policy beyond that of scripts."""
from __future__ import annotations

import json

from docs_site.markup import Part
from docs_site.source import Page


def search_index(parts: list[tuple[Page, Part]]) -> str:
    rows = [json.dumps(_row(page, part), ensure_ascii=False, separators=(",", ":")) for page, part in parts]
    return "// Each: address, title of the page, heading, text.\nexport const PARTS = [\n" + ",\n".join(rows) + "\n];\n"


def _row(page: Page, part: Part) -> list[str]:
    if part.heading is None:
        return [f"{page.name}.html", page.title, "", f"{page.description} {part.text}"]
    return [f"{page.name}.html#{part.heading.anchor}", page.title, part.heading.text, part.text]
