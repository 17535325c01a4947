"""Says in Spanish what the schemas of the OpenAPI document allow."""
from __future__ import annotations

import json

WORDS = {"integer": "número entero", "number": "número", "string": "texto", "boolean": "`true` o `false`", "object": "objeto", "null": "`null`"}
FORMATS = {"date": "fecha", "date-time": "fecha y hora"}
NAMED = {"Evento": "nombre de un [evento](que-llega.md#los-once-eventos)"}


def resolve(node: dict, document: dict) -> dict:
    while "$ref" in node:
        found = document
        for part in node["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        node = found
    return node


def kind(schema: dict, document: dict) -> str:
    named = NAMED.get(schema.get("$ref", "").rpartition("/")[2])
    if named:
        return named
    schema = resolve(schema, document)
    if "anyOf" in schema:
        return " o ".join(dict.fromkeys(kind(one, document) for one in schema["anyOf"]))
    if "const" in schema:
        return f"siempre `{json.dumps(schema['const'])}`"
    if "enum" in schema:
        return ", ".join(f"`{'null' if one is None else one}`" for one in schema["enum"])
    kinds = schema.get("type", "object")
    return " o ".join(_word(one, schema, document) for one in ([kinds] if isinstance(kinds, str) else kinds))


def _word(one: str, schema: dict, document: dict) -> str:
    if one == "array":
        return "lista de: " + kind(schema["items"], document)
    if one == "string" and schema.get("format") in FORMATS:
        return FORMATS[schema["format"]]
    return WORDS[one]


def limits(schema: dict, document: dict) -> str:
    """The limits and the default of a value, in words; empty if the schema has neither."""
    schema = resolve(schema, document)
    said = []
    if "maxLength" in schema:
        said.append(f"{schema['maxLength']} caracteres como máximo")
    if 0 <= schema.get("minimum", -1) and schema.get("maximum", 0):
        said.append(f"de {schema['minimum']} a {schema['maximum']}")
    if "default" in schema:
        said.append(f"si se omite, `{json.dumps(schema['default'], ensure_ascii=False).strip(chr(34))}`")
    return "; ".join(said)


def notes(schema: dict, document: dict) -> str:
    own, general = schema.get("description"), resolve(schema, document).get("description")
    named = schema.get("$ref", "").rpartition("/")[2] in NAMED
    description = own or ("" if named else general) or ""
    return " ".join(filter(None, [description, _sentence(limits(schema, document))]))


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}." if text else ""
