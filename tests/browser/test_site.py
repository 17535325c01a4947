"""The documentation for entities in a real browser: every page, as different people read it."""
import os
import re

import pytest

from support.browser import assert_no_barriers, assert_no_sideways_scrolling, focused, picture, tab_to
from support.stack import ROOT
from support.wait import wait_until

DOCS = "/apientidades/docs/"
PAGES = sorted(file.stem for file in (ROOT / "web/docs").glob("*.md"))
WIDE = ["que-llega", "referencia", "errores", "verificar-la-firma"]  # the pages with wide tables and code
CHOSEN = PAGES if os.environ.get("TEST_LONG") else WIDE  # what fits on these fits on the others


pytestmark = pytest.mark.usefixtures("site")


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_no_barriers_in_light_dark_and_on_a_narrow_screen(browser, name):
    page = browser.page(f"{DOCS}{name}.html")
    assert page.locator("h1").count() == 1
    assert_no_barriers(page)
    picture(page, f"{name}-light")
    page.emulate_media(color_scheme="dark")
    assert_no_barriers(page)
    picture(page, f"{name}-dark")
    page.set_viewport_size({"width": 320, "height": 800})
    assert_no_sideways_scrolling(page)
    assert_no_barriers(page)
    picture(page, f"{name}-320")


@pytest.mark.parametrize("name", CHOSEN)
def test_text_of_200_per_cent_fits_and_has_no_barriers(browser, name):
    page = browser.page(f"{DOCS}{name}.html", text=2)
    assert_no_sideways_scrolling(page)
    assert_no_barriers(page)
    page.set_viewport_size({"width": 320, "height": 800})
    assert_no_sideways_scrolling(page)
    assert_no_barriers(page)
    picture(page, f"{name}-320-200")


FOCUSABLE = "[...document.querySelectorAll('a[href], [tabindex=\"0\"], button, input')].filter((e) => e.checkVisibility())"
FOCUS = f"""(() => {{ const e = document.activeElement, box = e.getBoundingClientRect();
    return [{FOCUSABLE}.indexOf(e), getComputedStyle(e).outlineStyle !== 'none' && box.bottom > 0 && box.top < innerHeight]; }})()"""


@pytest.mark.parametrize("name", CHOSEN)
def test_all_of_a_page_is_reached_by_keyboard_in_its_order_and_seen(browser, name):
    page = browser.page(f"{DOCS}{name}.html")
    reached = []
    for _ in range(page.evaluate(f"{FOCUSABLE}.length")):
        page.keyboard.press("Tab")
        reached.append(page.evaluate(FOCUS))
    assert reached == [[number, True] for number in range(len(reached))]


def test_the_first_tab_leads_past_the_list_of_pages(browser):
    page = browser.page(DOCS)
    page.keyboard.press("Tab")
    assert focused(page) == "Ir al contenido" and page.locator(".skip").is_visible()
    assert page.evaluate("document.querySelector('.skip').getBoundingClientRect().top >= 0")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.querySelector('main').contains(document.activeElement)")


def test_pages_are_read_by_keyboard_from_one_to_the_next(browser):
    page = browser.page(DOCS)
    tab_to(page, "Primeros pasos")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{DOCS}primeros-pasos.html")
    assert page.locator("[aria-current=page]").text_content() == "Primeros pasos"
    tab_to(page, "Siguiente Primeros pasos en Windows", key="Shift+Tab")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{DOCS}primeros-pasos-windows.html")


def test_the_focus_is_seen(browser):
    for dark in (False, True):
        page = browser.page(DOCS, dark=dark)
        tab_to(page, "Primeros pasos")
        style = page.evaluate("(({outlineStyle, outlineWidth}) => [outlineStyle, outlineWidth])(getComputedStyle(document.activeElement))")
        assert style == ["solid", "3px"]


@pytest.mark.parametrize("name", WIDE)
def test_what_is_wider_than_the_screen_scrolls_by_keyboard(browser, name):
    page = browser.page(f"{DOCS}{name}.html", width=320)
    wide = page.locator(".scrolls").filter(has=page.locator("table, pre")).nth(
        page.evaluate("[...document.querySelectorAll('.scrolls')].findIndex((e) => e.scrollWidth > e.clientWidth)"))
    wide.focus()
    page.keyboard.press("ArrowRight")
    wait_until(lambda: page.evaluate("document.activeElement.scrollLeft > 0"), what="the table to scroll")
    assert wide.get_attribute("aria-label")


def test_an_anchor_with_accents_leads_to_its_heading(browser):
    page = browser.page(f"{DOCS}errores.html#por-qué-no-llegó-un-aviso")
    top = "document.getElementById('por-qué-no-llegó-un-aviso').getBoundingClientRect().top"
    wait_until(lambda: abs(page.evaluate(top)) < 100, what="the heading to be at the top")


def test_what_is_printed_is_the_page_alone_and_whole(browser):
    page = browser.page(f"{DOCS}verificar-la-firma.html")
    page.emulate_media(media="print")
    assert not page.locator("nav.pages").is_visible() and page.locator("main pre").first.is_visible()
    assert not page.locator(".search").is_visible() and not page.get_by_role("button").first.is_visible()
    assert page.evaluate("[...document.querySelectorAll('.scrolls')].every((e) => e.scrollWidth <= e.clientWidth + 1)")


def test_no_page_needs_a_script(browser):
    page = browser.page(f"{DOCS}verificar-la-firma.html", java_script_enabled=False)
    for language in ("Python", "JavaScript", "Java", "Go", "Rust", "PHP"):
        assert page.get_by_role("heading", name=language, exact=True).is_visible()
    assert not page.locator(".search").is_visible() and not page.get_by_role("button").is_visible(), "what only scripts can do is not offered"
    page.set_viewport_size({"width": 320, "height": 800})
    page.get_by_role("button", name="Páginas").click()
    assert page.get_by_role("link", name="Diagnóstico", exact=True).is_visible()


def test_a_block_of_code_is_copied_by_keyboard(browser, expect):
    page = browser.page(f"{DOCS}webhooks.html", permissions=["clipboard-read", "clipboard-write"])
    buttons = page.get_by_role("button", name="Copiar")
    expect(buttons).to_have_count(page.locator("pre").count())
    buttons.nth(2).focus()
    page.keyboard.press("Enter")
    expect(page.locator("#hecho")).to_have_text("Copiado")
    names = page.evaluate("[...document.querySelectorAll('.code')].map((e) => [e.querySelector('button').textContent, e.querySelector('.scrolls').ariaLabel])")
    assert all(name in (f"Copiar {block}", f"Copiado {block}") for name, block in names)
    assert page.evaluate("navigator.clipboard.readText()") == page.locator("pre").nth(2).text_content().rstrip()
    assert_no_barriers(page)
    page.keyboard.press("Tab")
    expect(page.locator("#hecho")).to_be_empty()


@pytest.mark.parametrize("width", [1280, 320])
def test_the_search_leads_to_a_part_of_a_page_by_keyboard(browser, expect, width):
    page = browser.page(f"{DOCS}a/no-existe.html", width=width)  # of the deepest page the addresses are hardest
    page.complaints.lines[:] = [line for line in page.complaints.lines if "404" not in line]  # the 404 of the page itself
    tab_to(page, "Buscar")
    page.keyboard.type("INCIDENCIAS cerrada")
    status, found = page.locator("#encontrado > p"), page.locator("#encontrado a")
    expect(status).to_contain_text("resultado")
    page.keyboard.press("Control+A")
    page.keyboard.type("secretos filtrado")
    expect(found.first).to_have_text("Cambiar el secreto sin cortes: Si el secreto se ha filtrado")
    assert_no_barriers(page)
    assert_no_sideways_scrolling(page)
    picture(page, f"buscar-{width}", full=False)
    page.keyboard.press("Escape")
    expect(found.first).to_be_hidden()
    expect(page.get_by_label("Buscar")).to_have_value("secretos filtrado")
    page.keyboard.type(" xyzzy")
    expect(status).to_have_text("No se ha encontrado nada: pruebe con menos palabras.")
    page.keyboard.press("Control+A")
    page.keyboard.type("diagnostico de un receptor")
    expect(found.first).to_have_text("Diagnóstico de un receptor")
    tab_to(page, "Diagnóstico de un receptor", most=1)
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{DOCS}diagnostico.html")


def test_the_search_closes_when_the_focus_leaves_it(browser, expect):
    page = browser.page(DOCS)
    page.get_by_label("Buscar").fill("xyzzy")
    expect(page.locator("#encontrado")).to_be_visible()
    page.get_by_label("Buscar").press("Shift+Tab")
    expect(page.locator("#encontrado")).to_be_hidden()


def test_on_a_phone_the_list_of_pages_opens_and_closes_by_keyboard(browser, expect):
    page = browser.page(f"{DOCS}errores.html", width=320, height=640)
    pages = page.get_by_role("navigation", name="Páginas")
    expect(pages).to_be_hidden()
    assert page.evaluate("document.querySelector('h1').getBoundingClientRect().bottom < innerHeight"), "the page begins on the first screen"
    tab_to(page, "Páginas")
    page.keyboard.press("Enter")
    expect(pages).to_be_visible()
    assert_no_barriers(page)
    assert_no_sideways_scrolling(page)
    picture(page, "paginas-320", full=False)
    page.keyboard.press("Escape")
    expect(pages).to_be_hidden()
    assert focused(page) == "Páginas"
    page.keyboard.press("Enter")
    tab_to(page, "Cerrar", most=1)
    page.keyboard.press("Enter")
    expect(pages).to_be_hidden()
    assert focused(page) == "Páginas"
    page.keyboard.press("Enter")
    tab_to(page, "Límites", most=30)
    assert page.evaluate("(({top, bottom}) => top >= 0 && bottom <= innerHeight)(document.activeElement.getBoundingClientRect())")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{DOCS}limites.html")


# The words of code that stand on two lines: each such word has a break that is neither a blank nor after punctuation.
BROKEN = r"""[...document.querySelectorAll('main code')].filter((code) => !code.closest('pre')).flatMap((code) => {
    const texts = [...code.childNodes].filter((node) => node.nodeType === 3), range = document.createRange();
    return texts.flatMap((text) => [...text.data.matchAll(/[\p{L}\p{N}.]+/gu)].filter((word) => {
        range.setStart(text, word.index); range.setEnd(text, word.index + word[0].length);
        return new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size > 1;
    }).map((word) => word[0]));
})"""


@pytest.mark.parametrize("name", WIDE)
def test_code_is_not_broken_inside_a_word(browser, name):
    page = browser.page(f"{DOCS}{name}.html")
    assert page.evaluate(BROKEN) == []
    page.set_viewport_size({"width": 320, "height": 800})
    assert page.evaluate(BROKEN) == []


def test_the_checklist_is_printed_on_one_sheet(browser):
    page = browser.page(f"{DOCS}lista-de-comprobacion.html")
    page.emulate_media(media="print")
    assert_no_barriers(page)
    boxes = page.evaluate("[...document.querySelectorAll('main > ul > li')].map((e) => getComputedStyle(e, '::before').borderTopWidth)")
    assert len(boxes) > 20 and set(boxes) == {"1px"}
    assert len(re.findall(rb"/Type */Page\b", page.pdf(format="A4", margin={side: "15mm" for side in ("top", "right", "bottom", "left")}))) == 1


def test_a_page_that_is_not_there_leads_back(browser):
    page = browser.page(f"{DOCS}a/b/no-existe.html")
    page.complaints.lines[:] = [line for line in page.complaints.lines if "404" not in line]  # the 404 of the page itself
    assert page.evaluate("getComputedStyle(document.body).margin") == "0px", "the style is there"
    page.get_by_role("link", name="inicio", exact=True).click()
    page.wait_for_url(f"**{DOCS}index.html")
