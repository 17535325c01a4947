"""Reads the pages of web/docs: each has a heading of YAML, then Markdown. web/docs/site.yaml has their order."""
from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import yaml

from docs_site.problem import Problem

FRONT_MATTER = re.compile(r"---\n(.*?)\n---\n+(.*)", re.S)
UNLISTED = ("servicio", "404")  # pages that nginx shows at other addresses, outside the list of pages


@dataclass(frozen=True)
class Page:
    name: str         # the file's name, without .md
    title: str        # the page's only h1
    menu: str         # its title in the list of pages
    description: str  # one sentence, for search engines and for the list of pages
    text: str         # Markdown, without the title


@dataclass(frozen=True)
class Section:
    title: str
    pages: list[Page]


def read_page(file: Path) -> Page:
    found = FRONT_MATTER.fullmatch(file.read_text(encoding="utf-8"))
    if not found:
        raise Problem(f"{file.name}: it must begin with a heading of YAML between two lines ---")
    heading = yaml.safe_load(found.group(1))
    if not isinstance(heading, dict) or not {"titulo", "descripcion"} <= set(heading) <= {"titulo", "menu", "descripcion"}:
        raise Problem(f"{file.name}: the heading has titulo and descripcion, and may have menu")
    return Page(file.stem, heading["titulo"], heading.get("menu", heading["titulo"]), heading["descripcion"], found.group(2))


def read_sections(folder: Path) -> list[Section]:
    listed = yaml.safe_load((folder / "site.yaml").read_text(encoding="utf-8"))["secciones"]
    sections = [Section(one["titulo"], [read_page(folder / f"{name}.md") for name in one["paginas"]]) for one in listed]
    names = [page.name for section in sections for page in section.pages]
    forgotten = {file.stem for file in folder.glob("*.md")} - set(names) - set(UNLISTED)
    if forgotten:
        raise Problem(f"site.yaml: these pages are in no section: {', '.join(sorted(forgotten))}")
    return sections
