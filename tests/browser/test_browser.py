"""Tests that the tools of the browser tests notice what is wrong with a page."""
import pytest

from support.browser import API, assert_no_sideways_scrolling, barriers, tab_to
from support.wait import wait_until

POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; require-trusted-types-for 'script'"
GOOD = '<!doctype html><html lang="es"><title>Prueba</title><main><h1>Prueba</h1><p><button>Uno</button> <button>Dos</button></p></main>'


def show(browser, html: str, **how):
    """Opens a page at the stack's origin with this HTML."""
    page = browser.page(**how)
    page.route("**/prueba", lambda route: route.fulfill(
        body=html, content_type="text/html; charset=utf-8", headers={"Content-Security-Policy": POLICY}))
    page.goto("/prueba")
    return page


def test_a_good_page_has_no_complaints_and_is_used_by_keyboard(browser):
    page = show(browser, GOOD)
    assert barriers(page) == []
    assert_no_sideways_scrolling(page)
    tab_to(page, "Dos")
    page.close()


@pytest.mark.parametrize("wrong, complaint", [
    ("<script>1</script>", "console error: Executing inline script violates"),
    ("<img src='/x.png' alt=''>", "console error: Loading the image"),
    ("<link rel=stylesheet href='https://example.org/a.css'>", "console error: Loading the stylesheet"),
])
def test_what_the_policy_refuses_is_noticed(browser, wrong, complaint):
    page = show(browser, GOOD + wrong)
    wait_until(lambda: page.wait_for_timeout(20) or any(line.startswith(complaint) for line in page.complaints.lines), what=complaint)
    page.complaints.lines.clear()


def test_what_scripts_say_and_leave_uncaught_is_noticed(browser):
    page = show(browser, GOOD)
    page.evaluate("console.log('hola'); setTimeout(() => { throw new Error('ay'); })")
    wait_until(lambda: page.wait_for_timeout(20) or len(page.complaints.lines) == 2, what="two complaints")
    assert [line.split(" (")[0] for line in page.complaints.lines] == ["console log: hola", "uncaught: ay"]
    page.complaints.lines.clear()


def test_an_error_of_the_api_is_no_complaint(browser):
    page = show(browser, GOOD)
    assert page.evaluate(f"fetch('{API}webhooks').then((answer) => answer.status)") == 401
    assert page.evaluate("fetch('/otra').then((answer) => answer.status)") == 404
    wait_until(lambda: page.wait_for_timeout(20) or len(page.complaints.lines) == 1, what="the complaint about the second")
    page.complaints.lines.clear()


def test_a_barrier_is_noticed(browser):
    page = show(browser, GOOD.replace("</main>", "<input><p style='color:#999'>gris</p></main>"))
    assert {line.split(":")[0] for line in barriers(page)} == {"label"}
    page.complaints.lines.clear()  # the complaint about the style attribute


def test_how_a_page_is_read(browser):
    page = show(browser, GOOD, width=320, dark=True, reduced_motion=True, text=2)
    matches = "(query) => matchMedia(query).matches"
    assert page.evaluate(matches, "(prefers-color-scheme: dark)") and page.evaluate(matches, "(prefers-reduced-motion: reduce)")
    assert page.evaluate("[innerWidth, getComputedStyle(document.documentElement).fontSize]") == [320, "32px"]
    assert page.evaluate("Intl.DateTimeFormat().resolvedOptions().timeZone") == "Europe/Madrid"
