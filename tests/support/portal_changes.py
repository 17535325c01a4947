"""Shared by the tests of the portal's screens that change data."""
from __future__ import annotations

from support.browser import API
from support.portal import open_portal

HOSTILE = "<img src=x onerror=\"document.title='x'\"><b>b</b> \u202eevil\u202c مرحبا ñ " + "x" * 900
HOSTILE_SHOWN = HOSTILE.replace("\u202e", "\\u202e").replace("\u202c", "\\u202c")


def at(browser, entity, place: str, heading: str, token: str | None = None, **how):
    """Opens the portal at `place` (such as "#/entregas"), and waits until the screen under `heading` is complete."""
    page = open_portal(browser, token or entity.token, place, **how)
    arrived(page, heading)
    return page


def arrived(page, heading: str) -> None:
    page.get_by_role("heading", level=1, name=heading).wait_for()
    page.get_by_text("Cargando…").wait_for(state="detached")


def go(page, place: str, heading: str) -> None:
    page.evaluate("place => { location.hash = place }", place)
    arrived(page, heading)


def shown(page):
    """The page without its live region, which repeats some of the text."""
    return page.locator("body > :not(#anuncios)")


def said(page):
    return page.locator("#anuncios")


def lose(page, method: str, path: str, arrives: bool) -> list:
    """Loses the answer to the page's next request of `method` to `path`. The request reaches the API only if `arrives`. Returns
    a list that collects headers and body of this and all later such requests."""
    bodies = []

    def handle(route):
        if route.request.method != method:
            return route.fallback()
        bodies.append((route.request.headers, route.request.post_data))
        if len(bodies) > 1:
            return route.continue_()
        if arrives:
            route.fetch()
        route.abort()

    page.route(f"**{API}{path}", handle)
    return bodies


def count_requests(page, method: str, path: str) -> list:
    seen = []
    page.on("request", lambda request: request.method == method and request.url.endswith(API + path) and seen.append(request.url))
    return seen


def hide(page, hidden: bool) -> None:
    """Tells the page that it is hidden, as if another tab were shown, or that it is visible again."""
    page.evaluate("""hidden => { Object.defineProperty(document, 'hidden', {value: hidden, configurable: true});
        document.dispatchEvent(new Event('visibilitychange')); }""", hidden)


def settle(page) -> None:
    """Makes the page send one more request, and waits for the answer. By then Playwright has told the test of all earlier
    requests."""
    page.evaluate("fetch('tokens.css').then(answer => answer.text())")
