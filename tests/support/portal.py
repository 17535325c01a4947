"""The portal as used by a person of an entity."""
from __future__ import annotations

import json
from urllib.parse import urlsplit

from support.browser import API, Browser

PORTAL = "/apientidades/portal/"


def open_portal(browser: Browser, token: str | None = None, place: str = "", **how):
    """Opens the portal at `place` (such as "#/entregas"), and then logs in with `token` if it is given."""
    page = browser.page(PORTAL + place, **how)
    if token:
        enter(page, token)
    return page


def enter(page, token: str) -> None:
    page.get_by_label("Token de acceso").fill(token)
    page.get_by_role("button", name="Entrar").click()
    page.get_by_role("button", name="Salir").wait_for()


def answer(page, method: str, path: str, status: int, body=None, headers: dict | None = None, times: int | None = None) -> None:
    """Answers the page's requests of `method` to `path` in place of the API, always or `times` times. `path` is below
    /apientidades/v1; * in it stands for anything."""
    def fulfil(route):
        if route.request.method != method:
            return route.fallback()
        text = json.dumps(body if body is not None else {"message": f"Respuesta {status} de la prueba"})
        route.fulfill(status=status, body=text, headers={"Content-Type": "application/json; charset=utf-8", **(headers or {})})

    page.route(f"**{API}{path.lstrip('/')}", fulfil, times=times)


def called(hook) -> str:
    """What the portal calls a webhook without a name, and its URL."""
    return f"{urlsplit(hook.url).netloc} (n.º {hook.id}) · {hook.url}"
