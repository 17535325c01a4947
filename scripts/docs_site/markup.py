"""Converts Markdown to HTML with markdown-it-py. Each table and each fenced block of code scrolls by itself where the screen
is too narrow, and can be reached by keyboard. Code within a line breaks after its punctuation, not inside a word."""
from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape
from typing import Callable

from markdown_it import MarkdownIt

LANGUAGES = {"sh": "Órdenes", "powershell": "PowerShell", "json": "JSON", "http": "HTTP", "python": "Python", "javascript": "JavaScript", "java": "Java", "go": "Go",
             "rust": "Rust", "php": "PHP", "csharp": "C#", "toml": "TOML", "xml": "XML", "text": "Texto"}
BREAK = re.compile(r"(?<=[/_?&=:,])(?=\w)")


@dataclass(frozen=True)
class Heading:
    level: int
    anchor: str
    text: str


@dataclass(frozen=True)
class Part:
    """What is below a heading, or above the first one (heading None), as text: for the search. Blocks of code are left out."""
    heading: Heading | None
    text: str


@dataclass(frozen=True)
class Rendered:
    html: str
    headings: list[Heading]
    parts: list[Part]


class Anchors:
    """Anchors as GitHub makes them: lower case, only letters, digits, _ and -, blanks as hyphens, repeated ones
    numbered."""

    def __init__(self):
        self._seen: dict[str, int] = {}

    def of(self, heading: str) -> str:
        anchor = re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
        self._seen[anchor] = self._seen.get(anchor, -1) + 1
        return f"{anchor}-{self._seen[anchor]}" if self._seen[anchor] else anchor


def render(text: str, link: Callable[[str], str]) -> Rendered:
    """`link` turns the target of a link in the Markdown into the address on the site, or raises Problem (Links.address)."""
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(text)
    headings, anchors, place = [], Anchors(), ""
    for number, token in enumerate(tokens):
        if token.type == "heading_open":
            place = plain(tokens[number + 1])
            headings.append(Heading(int(token.tag[1]), anchors.of(place), place))
            token.attrSet("id", headings[-1].anchor)
        elif token.type in ("table_open", "fence", "code_block"):
            token.meta["place"] = place
        elif token.type == "th_open":
            token.attrSet("scope", "col")
        elif token.type == "inline":
            _set_links(token, link)
    for name, rule in (("table_open", _table_open), ("table_close", _table_close), ("fence", _fence), ("code_inline", _code_inline)):
        parser.add_render_rule(name, rule)
    return Rendered(parser.renderer.render(tokens, parser.options, {}), headings, _parts(tokens, headings))


def _parts(tokens, headings: list[Heading]) -> list[Part]:
    texts: list[list[str]] = [[]]
    for number, token in enumerate(tokens):
        if token.type == "heading_open":
            texts.append([])
        elif token.type == "inline" and tokens[number - 1].type != "heading_open":
            texts[-1].append(plain(token))
    return [Part(heading, " ".join(text)) for heading, text in zip([None, *headings], texts)]


def plain(token) -> str:
    return "".join(" " if child.type in ("softbreak", "hardbreak") else child.content for child in token.children
                   if child.type in ("text", "code_inline", "softbreak", "hardbreak"))


def _set_links(token, link: Callable[[str], str]) -> None:
    for child in token.children:
        if child.type == "link_open":
            child.attrSet("href", link(child.attrGet("href")))


def _scrolls(label: str) -> str:
    return f'<div class="scrolls" role="group" tabindex="0" aria-label="{escape(label)}">'


def _table_open(_renderer, tokens, index, _options, _environment) -> str:
    return _scrolls(f"Tabla: {tokens[index].meta['place']}") + "<table>"


def _table_close(_renderer, _tokens, _index, _options, _environment) -> str:
    return "</table></div>\n"


def _fence(_renderer, tokens, index, _options, _environment) -> str:
    token = tokens[index]
    kind = LANGUAGES.get(token.info.strip(), "Texto")
    block = f"{_scrolls(f'{kind}: ' + token.meta['place'])}<pre><code>{escape(token.content, quote=False)}</code></pre></div>"
    return f'<div class="code"><p class="code-head">{kind}</p>{block}</div>\n'


def _code_inline(_renderer, tokens, index, _options, _environment) -> str:
    words = [escape(part, quote=False) for part in BREAK.split(tokens[index].content)]
    return f"<code>{'<wbr>'.join(words)}</code>"
