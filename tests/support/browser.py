"""Drives Debian's chromium with Playwright: opens pages as different people would read them, collects what goes wrong in
them, and runs axe on them."""
from __future__ import annotations

import base64
import hashlib
import json
import os
import ssl
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from support.tools import tool

# Takes half the processor time of /usr/bin/chromium, which draws a window even without a screen.
CHROMIUM = "/usr/bin/chromium-headless-shell"
PATIENCE_MS = 20_000  # the machine may be busy
API = "/apientidades/v1/"
# The rules of WCAG 2.2 AA that a program can check, and axe's own good practices.
AXE_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def playwright_module():
    """Imports playwright.sync_api from the folder where ./dev installed Playwright."""
    packages = tool("playwright", f"venv/lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages")
    if str(packages) not in sys.path:
        sys.path.append(str(packages))
    import playwright.sync_api as module
    module.expect.set_options(timeout=PATIENCE_MS)
    return module


def launch(playwright, base_url: str):
    """Starts a browser that accepts the certificate of `base_url` as valid. With Playwright's ignore_https_errors each
    connection would fail and begin again, which on a busy machine can end in net::ERR_TOO_MANY_RETRIES."""
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    return playwright.chromium.launch(executable_path=CHROMIUM, args=[
        *sandbox, "--disable-gpu", "--disable-dev-shm-usage", f"--ignore-certificate-errors-spki-list={public_key_hash(base_url)}"])


def public_key_hash(base_url: str) -> str:
    """Returns base64(SHA-256(SubjectPublicKeyInfo)) of the server's certificate."""
    address = urlsplit(base_url)
    certificate = ssl.get_server_certificate((address.hostname, address.port))
    key = subprocess.run(["openssl", "x509", "-pubkey", "-noout"], input=certificate.encode(), capture_output=True, check=True).stdout
    der = base64.b64decode(b"".join(key.splitlines()[1:-1]))
    return base64.b64encode(hashlib.sha256(der).digest()).decode()


@dataclass
class Complaints:
    """A page's console messages (also violations of its Content-Security-Policy), uncaught errors and requests to other hosts."""

    origin: str
    lines: list[str] = field(default_factory=list)

    def watch(self, page) -> None:
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.lines.append(f"uncaught: {error}"))
        page.on("request", self._request)

    # Chromium itself logs each failed request. A failed request to the API is no complaint: the page shows the failure, and
    # the tests check what the page shows.
    def _console(self, message) -> None:
        told_by_chromium = message.text.startswith("Failed to load resource:")
        if not (told_by_chromium and API in message.location.get("url", "")):
            self.lines.append(f"console {message.type}: {message.text} ({message.location.get('url', '')})")

    def _request(self, request) -> None:
        if not request.url.startswith((self.origin + "/", "data:", "blob:", "about:")):
            self.lines.append(f"asks another host: {request.url}")


class Browser:
    """Opens pages of one stack, each in its own context: they share nothing, like pages of different people."""

    def __init__(self, browser, base_url: str):
        self.browser, self.base_url = browser, base_url
        self._open: list = []

    def page(self, path: str | None = None, *, width: int = 1280, height: int = 800, dark: bool = False, reduced_motion: bool = False,
             text: float = 1, timezone: str = "Europe/Madrid", locale: str = "es-ES", init: str | None = None, **context):
        """Opens a page at `path`. `text` multiplies the text's size; `init` is a script that runs before those of the page."""
        opened = self.browser.new_context(
            base_url=self.base_url, viewport={"width": width, "height": height}, locale=locale,
            timezone_id=timezone, color_scheme="dark" if dark else "light",
            reduced_motion="reduce" if reduced_motion else "no-preference", **context)
        opened.set_default_timeout(PATIENCE_MS)
        if init:
            opened.add_init_script(init)
        page = opened.new_page()
        page.complaints = Complaints(self.base_url)
        page.complaints.watch(page)
        if text != 1:
            sizes = {"standard": int(16 * text), "fixed": int(13 * text)}
            opened.new_cdp_session(page).send("Page.setFontSizes", {"fontSizes": sizes})
        self._open.append((opened, page))
        if path:
            page.goto(path)
        return page

    def close_pages(self) -> list[str]:
        """Closes all pages; returns their complaints."""
        complaints = [line for _, page in self._open for line in page.complaints.lines]
        for context, _ in self._open:
            context.close()
        self._open.clear()
        return complaints


def barriers(page) -> list[str]:
    """Returns axe's findings on the page as it is now, one line each. axe runs in an isolated world, because the page's
    Content-Security-Policy allows no foreign code."""
    session = page.context.new_cdp_session(page)
    try:
        frame = session.send("Page.getFrameTree")["frameTree"]["frame"]["id"]
        world = session.send("Page.createIsolatedWorld", {"frameId": frame, "worldName": "axe"})["executionContextId"]
        run = f"axe.run(document, {json.dumps({'runOnly': AXE_RULES, 'resultTypes': ['violations'], 'preload': False})}).then((r) => r.violations)"
        for code in (tool("axe", "node_modules/axe-core/axe.min.js").read_text(), run):
            answer = session.send("Runtime.evaluate", {
                "expression": code, "contextId": world, "awaitPromise": True, "returnByValue": code is run})
            assert "exceptionDetails" not in answer, answer
    finally:
        session.detach()
    return [f"{found['id']}: {found['help']}: {node['target']} {node.get('failureSummary', '')}"
            for found in answer["result"]["value"] for node in found["nodes"]]


def assert_no_barriers(page) -> None:
    found = barriers(page)
    assert not found, "\n".join(found)


def assert_no_sideways_scrolling(page) -> None:
    width = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert width[0] <= width[1], f"{width[0]} px of content in {width[1]} px"


def focused(page) -> str:
    """Returns the accessible name of the focused element."""
    return page.evaluate("""() => { const e = document.activeElement; if (!e || e === document.body) return '';
        return e.getAttribute('aria-label') || (e.labels && e.labels[0] ? e.labels[0].textContent : e.textContent).trim(); }""")


def tab_to(page, words: str, key: str = "Tab", most: int = 80) -> None:
    """Presses `key`, at most `most` times, until an element with `words` in its accessible name has the focus."""
    seen = []
    for _ in range(most):
        page.keyboard.press(key)
        seen.append(focused(page))
        if words in seen[-1]:
            return
    raise AssertionError(f"{words!r} is not reached with {key}: {seen}")


def picture(page, name: str, full: bool = True) -> None:
    """If BROWSER_PICTURES names a folder, writes a picture of the page there."""
    folder = os.environ.get("BROWSER_PICTURES")
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=str(Path(folder, f"{name}.png")), full_page=full)
