"""Describes the notifications, as `webhooks` of the OpenAPI document has them: each event with its fields and an example."""
from __future__ import annotations

import json

from docs_site.directives import code_block
from docs_site.schemas import kind


def table_of_events(document: dict) -> str:
    rows = [f"| [`{name}`](#{name.replace('.', '')}) | {item['post']['summary'].rstrip('.')} |" for name, item in document["webhooks"].items()]
    return "\n".join(["| Evento | Cuándo llega |", "|---|---|", *rows])


def events(document: dict) -> str:
    return "\n\n".join(_event(name, item["post"], document) for name, item in document["webhooks"].items())


def example(document: dict, event: str, which: str) -> str:
    """Returns one of the event's two examples; `which` is `aviso` or `prueba`."""
    value = document["webhooks"][event]["post"]["requestBody"]["content"]["application/json"]["examples"][which]["value"]
    return code_block(json.dumps(value, ensure_ascii=False, indent=2), "json")


def _event(name: str, post: dict, document: dict) -> str:
    real, _ = post["requestBody"]["content"]["application/json"]["schema"]["properties"]["data"]["anyOf"]
    rows = [f"| `{field}` | {'. '.join(filter(None, [kind(one, document), one.get('description')]))} |" for field, one in real["properties"].items()]
    table = "\n".join(["| Campo de `data` | Tipo |", "|---|---|", *rows])
    return f"### `{name}`\n\n{post['summary']}\n\n{example(document, name, 'aviso')}\n\n{table}"
