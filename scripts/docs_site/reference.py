"""The reference: every operation of the OpenAPI document, as Markdown."""
from __future__ import annotations

import json

from docs_site.directives import code_block
from docs_site.schemas import kind, notes, resolve

METHODS = ("get", "post", "put", "patch", "delete")
PLACES = {"path": "en la ruta", "query": "en la consulta", "header": "cabecera"}
BASE = "/apientidades/v1"


def reference(document: dict) -> str:
    by_tag: dict[str, list[str]] = {}
    for path, item in document["paths"].items():
        for method in METHODS:
            if method in item:
                text = operation(method, path, item[method], item.get("parameters", []), document)
                by_tag.setdefault(item[method]["tags"][0], []).append(text)
    about = {tag["name"]: tag["description"] for tag in document["tags"]}
    return "\n\n".join(f"## {tag}\n\n{about[tag]}\n\n" + "\n\n".join(texts) for tag, texts in by_tag.items())


def operation(method: str, path: str, what: dict, of_path: list, document: dict) -> str:
    parts = [f"### {what['summary']}", f"`{method.upper()} {BASE}{path}`", what.get("description", ""),
             _parameters(of_path + what.get("parameters", []), document), _request(what, document), _answers(what["responses"], document)]
    return "\n\n".join(filter(None, parts))


def table_of_operations(document: dict) -> str:
    rows = [f"| `{method.upper()} {path}` | {item[method]['summary']} |"
            for path, item in document["paths"].items() for method in METHODS if method in item]
    return "\n".join(["| Método y ruta | Qué hace |", "|---|---|", *rows])


def _parameters(parameters: list, document: dict) -> str:
    if not parameters:
        return ""
    rows = []
    for one in (resolve(parameter, document) for parameter in parameters):
        about = " ".join(filter(None, [one.get("description"), notes(one["schema"] | {"description": " "}, document).strip()]))
        rows.append(f"| `{one['name']}` | {PLACES[one['in']]} | {kind(one['schema'], document)} | {about} |")
    return "\n".join(["| Parámetro | Dónde | Tipo | Qué es |", "|---|---|---|---|", *rows])


def _request(what: dict, document: dict) -> str:
    if "requestBody" not in what:
        return ""
    kinds = what["requestBody"]["content"]
    content = next(iter(kinds.values()))
    types = " o ".join(f"`{one}`" for one in kinds)
    return "\n\n".join([f"Se envía ({types}):", *_example(content), _fields(content["schema"], document, required=True)])


def _answers(responses: dict, document: dict) -> str:
    parts, rows = [], []
    for status, answer in ((status, resolve(answer, document)) for status, answer in responses.items()):
        if status.startswith("2"):
            content = answer.get("content", {}).get("application/json", {})
            parts += [f"Responde **{status}**: {answer['description']}", *_example(content), _fields(content.get("schema", {}), document)]
        else:
            rows.append(f"| {status} | {answer['description']} |")
    table = "\n".join(["| Otra respuesta | Cuándo |", "|---|---|", *rows])
    return "\n\n".join([*filter(None, parts), table])


def _example(content: dict) -> list[str]:
    values = [content["example"]] if "example" in content else [one["value"] for one in content.get("examples", {}).values()]
    return [code_block(json.dumps(value, ensure_ascii=False, indent=2), "json") for value in values[:1]]


def _fields(schema: dict, document: dict, required: bool = False) -> str:
    schema = resolve(schema, document)
    if schema.get("type") == "array":
        schema = resolve(schema["items"], document)
    if not schema.get("properties") or list(schema["properties"]) == ["message"]:
        return ""
    return "\n".join(["| Campo | Tipo | Qué es |", "|---|---|---|", *_rows(schema, document, required)])


def _rows(schema: dict, document: dict, required: bool, within: str = ""):
    """Yields a row for each field. If a field is an object or an array of objects, the rows of its members follow its own row, and
    each member is named by its path, such as `data.id` or `data[].id`."""
    for name, one in schema["properties"].items():
        must = " (obligatorio)" if required and name in schema.get("required", []) else ""
        yield f"| `{within}{name}` | {kind(one, document)}{must} | {notes(one, document)} |"
        one = resolve(one, document)
        inside = resolve(one.get("items", one), document)
        if "properties" in inside:
            yield from _rows(inside, document, required, f"{within}{name}{'[]' if 'items' in one else ''}.")
