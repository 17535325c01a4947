"""Builds the whole site into a folder that a server may be reading: makes all files first, and then replaces each file
atomically."""
from __future__ import annotations

import fcntl
import json
import os
import shutil
from pathlib import Path

import jinja2

from docs_site import events, reference
from docs_site.directives import code_block, expand
from docs_site.links import DOWNLOADS, EXAMPLES, Links
from docs_site.markup import render
from docs_site.messages import index_of_messages
from docs_site.problem import Problem
from docs_site.search import search_index
from docs_site.source import UNLISTED, Page, Section, read_page, read_sections

ADDRESS = "/apientidades/docs/"
AS_THEY_ARE = ("icon.svg", "copy.js", "search.js")


def build(root: Path, folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{folder}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        made = folder.with_name(f"{folder.name}.new")
        shutil.rmtree(made, ignore_errors=True)
        for name, content in site(root).items():
            file = made / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
            file.chmod(0o644)
        replace(folder, made)


def replace(folder: Path, made: Path) -> None:
    """Replaces the files of `folder` by those of `made`, and removes `made`. A file that is in both is never missing."""
    for old in sorted(folder.rglob("*"), reverse=True):
        new = made / old.relative_to(folder)
        if old.is_dir() and not old.is_symlink():
            if not new.is_dir():
                old.rmdir()
        elif not new.is_file():
            old.unlink()
    for new in sorted([made, *made.rglob("*")]):
        old = folder / new.relative_to(made)
        if new.is_dir():
            old.mkdir(exist_ok=True)
            old.chmod(0o755)
        else:
            os.replace(new, old)
    shutil.rmtree(made)


def site(root: Path) -> dict[str, bytes]:
    """Returns the content of each file of the site, by the file's name."""
    source = root / "web/docs"
    sections, unlisted = read_sections(source), [read_page(source / f"{name}.md") for name in UNLISTED]
    files = downloads(root)
    pages = [page for section in sections for page in section.pages]
    document = json.loads((root / "web/openapi.json").read_text(encoding="utf-8"))
    directives = directives_of(root, document) | {"mensajes": lambda names: index_of_messages([page for page in pages if page.name in names.split()])}
    anchors, made, links, parts = {}, {}, [], []
    template = template_of(source)
    for number, page in enumerate([*pages, *unlisted]):
        text = expand(page.text, directives, f"{page.name}.md")
        links.append(Links(page.name, set(files)))
        rendered = render(text, links[-1].address)
        anchors[page.name] = {heading.anchor for heading in rendered.headings}
        made[f"{page.name}.html"] = html(template, page, rendered, sections, *neighbours(pages, number)).encode()
        if page not in unlisted:
            made[f"{page.name}.md"] = twin(page, text).encode()
            parts += [(page, part) for part in rendered.parts]
    for one in links:
        one.check(anchors)
    css = "\n".join((root / name).read_text(encoding="utf-8") for name in ("web/style/tokens.css", "web/docs/site.css"))
    copied = {name: (source / name).read_bytes() for name in AS_THEY_ARE}
    return made | files | copied | {"site.css": css.encode(), "search_index.js": search_index(parts).encode()}


def twin(page: Page, text: str) -> str:
    return f"# {page.title}\n\n{page.description}\n\n{text.strip()}\n".replace(f"]({EXAMPLES}", f"]({DOWNLOADS}")


def neighbours(pages: list[Page], number: int) -> tuple[Page | None, Page | None]:
    around = [None, *pages, None]
    return (around[number], around[number + 2]) if number < len(pages) else (None, None)


def directives_of(root: Path, document: dict) -> dict:
    return {
        "codigo": lambda argument: code_block(*_file_and_language(root, argument)),
        "evento": lambda argument: events.example(document, *argument.split()),
        "eventos": lambda _: events.events(document),
        "operaciones": lambda _: reference.table_of_operations(document),
        "referencia": lambda _: reference.reference(document),
        "tablaeventos": lambda _: events.table_of_events(document),
    }


def _file_and_language(root: Path, argument: str) -> tuple[str, str]:
    path, _, language = argument.partition(" ")
    file = (root / path).resolve()
    if not file.is_relative_to(root) or not file.is_file():
        raise Problem(f"@codigo {path}: there is no such file in the checkout")
    return file.read_text(encoding="utf-8"), language


def downloads(root: Path) -> dict[str, bytes]:
    """Reads the files of examples/ that `web/docs/downloads` lists, one a line. The site has them unchanged below
    descargas/."""
    listed = (root / "web/docs/downloads").read_text(encoding="utf-8").split()
    return {DOWNLOADS + path.removeprefix("examples/"): (root / path).read_bytes() for path in listed}


def template_of(source: Path) -> jinja2.Template:
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    return environment.from_string((source / "page.html").read_text(encoding="utf-8"))


def html(template: jinja2.Template, page: Page, rendered, sections: list[Section], before: Page | None, after: Page | None) -> str:
    base = ADDRESS if page.name in UNLISTED else ""  # nginx shows it at other addresses, so that relative ones would be wrong
    contents = [heading for heading in rendered.headings if heading.level == 2]
    if len(contents) < 3:
        contents = [heading for heading in rendered.headings if heading.level <= 3]
    return template.render(page=page, body=rendered.html, contents=contents, sections=sections, before=before, after=after, base=base)
