"""scripts/docs_site: how Markdown becomes pages, and the errors that an author gets."""
import sys
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from docs_site.build import build, site  # noqa: E402
from docs_site.directives import code_block, expand  # noqa: E402
from docs_site.links import Links  # noqa: E402
from docs_site.markup import Anchors, render  # noqa: E402
from docs_site.messages import index_of_messages  # noqa: E402
from docs_site.problem import Problem  # noqa: E402
from docs_site.reference import reference  # noqa: E402
from docs_site.schemas import kind, notes  # noqa: E402
from docs_site.search import search_index  # noqa: E402
from docs_site.source import Page, read_page, read_sections  # noqa: E402

DOCUMENT = {
    "tags": [{"name": "Cosas", "description": "De cosas."}],
    "paths": {"/cosas/{id}": {
        "parameters": [{"name": "id", "in": "path", "required": True, "description": "La cosa.", "schema": {"type": "integer"}}],
        "put": {"tags": ["Cosas"], "summary": "Cambia una cosa",
                "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Cosa"}, "example": {"nombre": "ñ"}}}},
                "responses": {"200": {"description": "Cambiada.", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Cosa"}}}},
                              "404": {"$ref": "#/components/responses/No"}}}}},
    "components": {"responses": {"No": {"description": "No existe."}},
                   "schemas": {"Cosa": {"type": "object", "required": ["nombre"], "properties": {
                       "nombre": {"type": "string", "maxLength": 5, "description": "Cómo se llama."},
                       "partes": {"type": "array", "items": {"type": "object", "properties": {"peso": {"type": ["number", "null"]}}}}}}}},
}


def html(text: str) -> str:
    return render(text, lambda target: target).html


def page(name: str, text: str) -> Page:
    return Page(name, name.title(), name.title(), "Una página.", text)


@pytest.mark.parametrize("heading, anchor", [
    ("Por qué no llegó un aviso", "por-qué-no-llegó-un-aviso"), ("409: lo impide", "409-lo-impide"),
    ("evaluacion.cierre_proximo", "evaluacioncierre_proximo"), ("Un aviso, entero", "un-aviso-entero")])
def test_an_anchor_is_that_of_github(heading, anchor):
    assert Anchors().of(heading) == anchor


def test_anchors_that_repeat_are_numbered():
    anchors = Anchors()
    assert [anchors.of(one) for one in ("A", "A", "B", "A")] == ["a", "a-1", "b", "a-2"]


def test_what_is_wide_scrolls_and_can_be_reached_by_keyboard():
    text = html("## Números\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```json\n{\"a\": \"<b>\"}\n```\n")
    assert '<div class="scrolls" role="group" tabindex="0" aria-label="Tabla: Números"><table>' in text
    assert '<div class="scrolls" role="group" tabindex="0" aria-label="JSON: Números"><pre><code>' in text
    assert '<th scope="col">a</th>' in text and '"&lt;b&gt;"' in text
    assert '<div class="code"><p class="code-head">JSON</p><div class="scrolls"' in text


def test_code_in_a_line_breaks_after_its_punctuation():
    assert html("`a/b_c?d=<e>&f`") == "<p><code>a/<wbr>b_<wbr>c?<wbr>d=&lt;e&gt;&amp;<wbr>f</code></p>\n"
    assert html("`apientidades.ejemplo.es`") == "<p><code>apientidades.ejemplo.es</code></p>\n", "a text that is replaced at installation"


def test_the_search_has_the_text_below_each_heading_without_blocks_of_code():
    text = "Uno\n**dos** `tres`\n\n## A `b`\n\n| c | d |\n|---|---|\n| e | f |\n\n```sh\nno\n```\n\n### G\n"
    parts = render(text, str).parts
    assert [(part.heading and part.heading.text, part.text) for part in parts] == [(None, "Uno dos tres"), ("A b", "c d e f"), ("G", "")]
    index = search_index([(page("uno", ""), part) for part in parts])
    assert '["uno.html","Uno","","Una página. Uno dos tres"],\n["uno.html#a-b","Uno","A b","c d e f"],\n' in index


def test_html_in_a_page_is_text():
    assert "<script" not in html("<script>alert(1)</script>\n\na <img src=x onerror=y> b")


def test_directives_stand_alone_and_outside_of_code():
    text = "@hola a b\n\n```\n@hola no\n```\n\n~~~~\n```\n@hola no\n~~~~\nx @hola no\n@hola"
    expanded = expand(text, {"hola": lambda argument: f"<{argument}>"}, "x.md")
    assert expanded == "<a b>\n\n```\n@hola no\n```\n\n~~~~\n```\n@hola no\n~~~~\nx @hola no\n<>"


def test_a_directive_that_does_not_exist_is_named():
    with pytest.raises(Problem, match=r"x\.md.*@otra.*@hola"):
        expand("@otra", {"hola": str}, "x.md")


def test_code_with_fences_in_it_is_fenced_by_more():
    assert code_block("a\n```\nb\n", "python") == "````python\na\n```\nb\n````"
    assert "<code>a\n```\nb\n</code>" in html(code_block("a\n```\nb\n", "python"))


def test_links_become_pages():
    links = Links("uno", {"descargas/x.py"})
    wanted = {"dos.md": "dos.html", "dos.md#qu%C3%A9": "dos.html#qué", "#aquí": "#aquí", "https://example.org/a": "https://example.org/a",
              "/apientidades/openapi.json": "/apientidades/openapi.json", "../../examples/x.py": "descargas/x.py"}
    assert {target: links.address(target) for target in wanted} == wanted
    links.check({"uno": {"aquí"}, "dos": {"qué"}})


@pytest.mark.parametrize("target", ["tres.md", "dos.md#nada", "#nada", "../../examples/y.py", "http://example.org", "../docs/table.md", "dos.html"])
def test_a_link_that_leads_nowhere_is_named(target):
    links = Links("uno", set())
    with pytest.raises(Problem, match="uno.md.*" + target.replace(".", r"\.")):
        links.address(target)
        links.check({"uno": set(), "dos": {"qué"}})


def test_the_index_of_messages_leads_to_each_heading():
    text = index_of_messages([page("uno", "## Reglas\n\n| `a` | «a: no» |\n\n## Más\n\n«b: no» y «a: no»"), page("dos", "«a: no»")])
    assert text.splitlines()[2:] == ["| a: no | [Reglas](uno.md#reglas), [Más](uno.md#más), [Dos](dos.md) |", "| b: no | [Más](uno.md#más) |"]


@pytest.mark.parametrize("schema, expected", [
    ({"type": "integer"}, "número entero"), ({"type": ["string", "null"], "format": "date-time"}, "fecha y hora o `null`"),
    ({"enum": ["a", None]}, "`a`, `null`"), ({"const": True}, "siempre `true`"), ({"$ref": "#/components/schemas/Cosa"}, "objeto"),
    ({"anyOf": [{"type": "string", "format": "date"}, {"type": "string", "format": "date-time"}]}, "fecha o fecha y hora"),
    ({"type": "array", "items": {"type": "string"}}, "lista de: texto")])
def test_types_are_told_in_the_readers_words(schema, expected):
    assert kind(schema, DOCUMENT) == expected


def test_limits_are_told_beside_what_a_field_is():
    schema = {"type": "integer", "minimum": 0, "maximum": 9, "default": 3, "description": "Cuánto."}
    assert notes(schema, DOCUMENT) == "Cuánto. De 0 a 9; si se omite, `3`."


def test_the_reference_has_parameters_fields_and_answers():
    text = reference(DOCUMENT)
    for line in ("## Cosas", "### Cambia una cosa", "`PUT /apientidades/v1/cosas/{id}`", "| `id` | en la ruta | número entero | La cosa. |",
                 "| `nombre` | texto (obligatorio) | Cómo se llama. 5 caracteres como máximo. |", "| `partes[].peso` | número o `null` |  |",
                 "Responde **200**: Cambiada.", "| 404 | No existe. |", '  "nombre": "ñ"'):
        assert line in text.splitlines(), line


@pytest.mark.parametrize("text", ["Sin cabecera", "---\ntitulo: A\n---\nx", "---\ntitulo: A\ndescripcion: B\notra: C\n---\nx"])
def test_a_page_without_its_heading_is_named(tmp_path, text):
    (tmp_path / "a.md").write_text(text)
    with pytest.raises(Problem, match="a.md"):
        read_page(tmp_path / "a.md")


def test_a_page_in_no_section_is_named(tmp_path):
    (tmp_path / "site.yaml").write_text("secciones: []")
    (tmp_path / "sola.md").write_text("---\ntitulo: A\ndescripcion: B\n---\nx")
    with pytest.raises(Problem, match="sola"):
        read_sections(tmp_path)


def test_a_page_that_is_served_is_there_while_the_site_is_built(tmp_path):
    folder, missing, done = tmp_path / "site", [], threading.Event()
    build(ROOT, folder)

    def read():
        while not done.is_set():
            missing.extend(name for name in ("index.html", "descargas/vectores/vectores.json") if not (folder / name).exists())

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for _ in range(5):
            build(ROOT, folder)
    finally:
        done.set()
        reader.join()
    assert missing == []


def test_what_is_no_longer_of_the_site_goes(tmp_path):
    folder = tmp_path / "site"
    for file in ("antes.html", "descargas/antes/antes.py", "site.css/antes.css"):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text("antes")
    (folder / "index.html").symlink_to("antes.html")
    build(ROOT, folder)
    built = {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if not file.is_dir()}
    assert built == site(ROOT)
    assert {file.stat().st_mode & 0o777 for file in (folder, *folder.rglob("*"))} == {0o755, 0o644}
    assert [file.name for file in tmp_path.iterdir() if file != folder] == ["site.lock"]


def test_a_site_that_cannot_be_built_leaves_the_one_before(tmp_path):
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "index.html").write_text("antes")
    with pytest.raises(OSError):
        build(tmp_path, folder)
    assert (folder / "index.html").read_text() == "antes"
