"""Converts Markdown to HTML with markdown-it-py. Each table and each fenced block of code scrolls by itself where the screen
is too narrow, and can be reached by keyboard."""
from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape
from typing import Callable

from markdown_it import MarkdownIt

LANGUAGES = {"sh": "Órdenes", "json": "JSON", "http": "HTTP", "python": "Python", "javascript": "JavaScript", "java": "Java", "go": "Go",
             "rust": "Rust", "php": "PHP", "csharp": "C#", "toml": "TOML", "xml": "XML", "text": "Texto"}


@dataclass(frozen=True)
class Heading:
    level: int
    anchor: str
    text: str


@dataclass(frozen=True)
class Rendered:
    html: str
    headings: list[Heading]


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
    for name, rule in (("table_open", _table_open), ("table_close", _table_close), ("fence", _fence)):
        parser.add_render_rule(name, rule)
    return Rendered(parser.renderer.render(tokens, parser.options, {}), headings)


def plain(token) -> str:
    return "".join(child.content for child in token.children if child.type in ("text", "code_inline"))


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
    return f"{_scrolls(f'{kind}: ' + token.meta['place'])}<pre><code>{escape(token.content, quote=False)}</code></pre></div>\n"
