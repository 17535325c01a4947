"""The built documentation for entities is complete and small. Each page is there in HTML and, if it is in the list of pages, in Markdown."""
import gzip
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from docs_site.build import site  # noqa: E402

FILES = site(ROOT)
PORTAL = "/apientidades/portal/"
UNLISTED = {"404.html", "servicio.html"}
PAGES = sorted(name for name in FILES if name.endswith(".html"))
PROMISED = ["index", "primeros-pasos", "primeros-pasos-windows", "primeros-pasos-portal", "lista-de-comprobacion", "que-llega", "verificar-la-firma", "vectores", "cambiar-el-secreto", "entregas", "diagnostico", "errores", "limites",
            "referencia", "cambios", "accesibilidad", "que-son", "datos"]


class Found(HTMLParser):
    """The elements of a page, in their order, with their attributes."""

    def __init__(self, name: str):
        super().__init__()
        self.elements: list[tuple[str, dict]] = []
        self.feed(FILES[name].decode())

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def every(self, tag: str) -> list[dict]:
        return [attributes for name, attributes in self.elements if name == tag]

    def values(self, attribute: str) -> list[str]:
        return [attributes[attribute] for _, attributes in self.elements if attribute in attributes]


@pytest.mark.parametrize("name", PROMISED)
def test_the_page_is_there_and_its_twin_in_markdown(name):
    assert f"{name}.html" in FILES
    assert FILES[f"{name}.md"].startswith(b"# ")


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_semantic(name):
    found = Found(name)
    assert found.every("html") == [{"lang": "es"}]
    for once in ("h1", "main", "header", "footer", "title"):
        assert len(found.every(once)) == 1, once
    levels = [int(tag[1]) for tag, attributes in found.elements if re.fullmatch("h[1-6]", tag) and (tag == "h1" or "id" in attributes)]
    assert levels[0] == 1 and all(after <= before + 1 for before, after in zip(levels, levels[1:]))
    assert found.every("a")[0] == {"class": "skip", "href": "#contenido"} and "contenido" in found.values("id")
    assert len(set(found.values("id"))) == len(found.values("id"))
    assert all("aria-label" in one for one in found.every("nav")) and len({one["aria-label"] for one in found.every("nav")}) == len(found.every("nav"))
    assert all(one.get("alt") for one in found.every("img"))


@pytest.mark.parametrize("name", PAGES)
def test_a_page_runs_our_scripts_alone_and_takes_nothing_from_elsewhere(name):
    found = Found(name)
    assert [one["src"].rpartition("/")[2] for one in found.every("script")] == ["copy.js", "search.js"], "ours alone"
    assert not found.every("style") and not found.every("iframe") and not found.values("style")
    assert not [attribute for _, attributes in found.elements for attribute in attributes if attribute.startswith("on")]
    assert not [one for one in found.values("src") + [link["href"] for link in found.every("link")] if "//" in one]


@pytest.mark.parametrize("name", PAGES)
def test_links_and_anchors_lead_somewhere(name):
    served = {"/apientidades/openapi.json", "/apientidades/", PORTAL}
    for target in found_links(name):
        path, _, anchor = target.removeprefix("/apientidades/docs/").partition("#")
        if target.startswith("https://") or target in served:
            continue
        assert (path or name) in FILES, target
        assert not anchor or anchor in Found(path or name).values("id"), target


def found_links(name: str) -> list[str]:
    found = Found(name)
    return [one["href"] for one in found.every("a") + found.every("link")]


def leads_to(name: str) -> set[str]:
    """The pages to which a link of the page leads."""
    targets = {target.removeprefix("/apientidades/docs/").partition("#")[0] for target in found_links(name)}
    return targets & set(PAGES)


@pytest.mark.parametrize("name", PAGES)
def test_every_page_of_the_list_can_be_reached_from_each(name):
    reached, seen = {name}, set()
    while further := reached - seen:
        seen |= further
        reached |= set().union(*map(leads_to, further))
    assert set(PAGES) - UNLISTED <= reached
    assert {f"{promised}.html" for promised in PROMISED} <= leads_to(name) | {name}, "by one link"


def test_links_of_the_markdown_twins_lead_to_twins():
    broken = [(name, target) for name, content in FILES.items() if name.endswith(".md")
              for target in re.findall(r"\]\((?!https:|/|#)([^)#\s]+)", content.decode()) if target not in FILES]
    assert broken == []


def test_the_search_has_every_heading_of_every_page():
    rows = [json.loads(line.rstrip(",")) for line in FILES["search_index.js"].decode().splitlines()[2:-1]]
    for name in set(PAGES) - UNLISTED:
        anchors = [attributes["id"] for tag, attributes in Found(name).elements if re.fullmatch("h[2-6]", tag) and "id" in attributes]
        assert [name, *(f"{name}#{anchor}" for anchor in anchors)] == [address for address, *_ in rows if address.partition("#")[0] == name]
    assert any("El receptor respondió" in text for *_, text in rows), "tables, too"
    assert not any("def " in text or "<" in heading for _, _, heading, text in rows)


def test_no_script_of_the_site_reads_markup_or_keeps_anything():
    for name in ("copy.js", "search.js", "search_index.js"):
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|(local|session)Storage|document\.cookie",
                             FILES[name].decode()), name


def test_the_texts_that_the_operators_values_replace_are_there():
    """admin/output/operator_pages.cpp has these texts."""
    texts = re.findall(r'^ +\{+"(.+?)", ', (ROOT / "admin/output/operator_pages.cpp").read_text(), re.M)
    assert len(texts) == 5
    pages = "\n".join(content.decode() for name, content in FILES.items() if name.endswith(".html"))
    assert [text for text in texts if text not in pages] == []
    assert all("quien le dio el token" in FILES[name].decode() for name in PAGES), "at the foot of each page"
    assert "quien le dio el token" in FILES["index.md"].decode()


def test_one_name_stands_for_the_service_and_one_for_the_readers_server():
    names = {name for file, content in FILES.items() if file.endswith((".html", ".md", ".js")) or "receptor" in file
             for name in re.findall(r"[\w.-]+\.(?:ejemplo|su-entidad)\.es", content.decode())}
    assert names == {"apientidades.ejemplo.es", "integracion.ejemplo.es"}


def test_the_catalogue_of_events_is_that_of_the_portal():
    """A browser's test compares the examples: test_portal_modules.py."""
    meanings = dict(re.findall(r'^  "([a-z._]+)": "(.*)",$', (ROOT / "web/portal/js/events.js").read_text(), re.M))
    table = dict(re.findall(r"^\| \[`([a-z._]+)`\]\(#\w+\) \| (.+) \|$", FILES["que-llega.md"].decode(), re.M))
    assert len(table) == 11 and {event: f"{words}." for event, words in table.items()} == meanings


def test_what_the_portal_is_said_to_show_it_shows():
    shown = "".join(file.read_text() for file in (ROOT / "web/portal").rglob("*") if file.suffix in (".js", ".html"))
    labels = re.findall(r"\*\*(.+?)\*\*", FILES["primeros-pasos-portal.md"].decode())
    assert len(labels) > 12 and [label for label in labels if f'"{label}"' not in shown and f">{label}<" not in shown] == []


def test_the_steps_for_windows_are_those_for_linux():
    def steps(name: str) -> list[str]:
        return re.findall(r"^## (\d\. .+)$", FILES[name].decode(), re.M)

    assert len(steps("primeros-pasos.md")) == 6 and steps("primeros-pasos-windows.md") == steps("primeros-pasos.md")


def test_no_directive_is_left():
    assert not [name for name, content in FILES.items() if name.endswith((".md", ".html")) and re.search(rb"^(<p>)?@[a-z]+( |$)", content, re.M)]


@pytest.mark.parametrize("name", ["index", "cambios", "entregas", "datos", "primeros-pasos", "accesibilidad"])
def test_who_may_need_the_portal_is_told_of_it(name):
    assert PORTAL in found_links(f"{name}.html")


def test_the_accessibility_statement_says_what_was_not_checked():
    statement = FILES["accesibilidad.md"].decode()
    for words in ("axe-core", "lectores de pantalla", "control por voz", "navegadores distintos", "personas con discapacidad", "[fecha]"):
        assert words in statement


@pytest.mark.parametrize("name", PROMISED + ["webhooks", "usar-la-api"])
def test_no_command_to_copy_has_a_secret_of_ours_or_shows_that_of_its_reader(name):
    commands = re.findall(r"```sh\n(.*?)```", FILES[f"{name}.md"].decode(), re.S)
    assert not [command for command in commands if re.search(r"whsec_[\w+/]{8}", command)], "a published secret"
    assert not [command for command in commands if re.search(r"(-H|--header) *['\"]Authorization|-d *'[^']*secreto", command)], "ps shows the secret"
    made = re.findall(r"openssl rand -base64 24\)\" > (\S+?)\)", "".join(commands))
    assert all(f"$(cat {file})" in "".join(commands) for file in made), "each secret that is made is used"


def test_the_program_that_uses_the_vectors_does(tmp_path):
    program = re.search(r"```python\n(.*?)```", FILES["vectores.md"].decode(), re.S).group(1)
    (tmp_path / "vectores.json").write_bytes(FILES["descargas/vectores/vectores.json"])
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=30)
    assert done.returncode == 0 and done.stdout.startswith("Acierta los "), done


def test_the_site_is_small():
    sizes = {name: len(gzip.compress(content, 6)) for name, content in FILES.items()}
    assert sum(sizes.values()) < 340 * 1024
    assert sizes["search_index.js"] < 48 * 1024 and sizes["search.js"] + sizes["copy.js"] < 4 * 1024


def test_how_each_framework_has_the_received_bytes_is_in_its_example():
    page = (ROOT / "web/docs/verificar-la-firma.md").read_text()
    rows = re.findall(r"^\| \[(.+?)\]\(#\w+\) \| (.+?) \| .+ \|$", page, re.M)
    examples = {name: re.search(rf"^### {re.escape(name)}\n.*?^@codigo (\S+)", page, re.M | re.S)[1] for name, _ in rows}
    assert len(set(examples.values())) == 7
    missing = [(name, code) for name, way in rows for code in re.findall("`(.+?)`", way) if code not in (ROOT / examples[name]).read_text()]
    assert missing == []
