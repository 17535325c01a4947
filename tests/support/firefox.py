"""Drives Debian's firefox-esr by Marionette, the protocol of Mozilla's own tests (remote/marionette in Firefox's source): a
command is `LENGTH:[0, ID, NAME, PARAMETERS]`, its answer `LENGTH:[1, ID, ERROR, RESULT]`. Playwright cannot drive a Firefox that it
has not patched."""
from __future__ import annotations

import base64
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path

from support.browser import AXE_RULES, PATIENCE_MS
from support.tools import tool
from support.wait import wait_until

FIREFOX = "/usr/bin/firefox-esr"
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # WebDriver's name for a reference to an element
PREFERENCES = {
    "marionette.port": 0, "intl.accept_languages": "es-ES", "browser.shell.checkDefaultBrowser": False, "datareporting.policy.dataSubmissionEnabled": False,
    "app.update.enabled": False, "browser.startup.page": 0, "network.captive-portal-service.enabled": False, "network.connectivity-service.enabled": False,
    "services.settings.server": "data:,#remote-settings-dummy/v1", "browser.safebrowsing.update.enabled": False, "extensions.systemAddon.update.enabled": False,
}


class Firefox:
    """One window. `errors` are the messages of its console: uncaught errors and violations of the Content-Security-Policy."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="apie-firefox-"))
        (self.folder / "user.js").write_text("".join(f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in PREFERENCES.items()))
        self._log = (self.folder / "log").open("wb")
        self._process = subprocess.Popen(
            [FIREFOX, "--headless", "--no-remote", "--profile", self.folder, "--marionette", "--remote-allow-system-access", "about:blank"],
            env=os.environ | {"HOME": str(self.folder), "TZ": "Europe/Madrid", "MOZ_CRASHREPORTER_DISABLE": "1"}, stdout=self._log, stderr=subprocess.STDOUT, start_new_session=True)
        self._next = 0
        try:
            port = self.folder / "MarionetteActivePort"
            wait_until(lambda: port.exists() and port.read_text().strip(), 60, "Firefox's port")
            self._socket = socket.create_connection(("127.0.0.1", int(port.read_text())), PATIENCE_MS / 1000 * 2)
            self._stream = self._socket.makefile("rb")
            self._receive()
            self.command("WebDriver:NewSession", acceptInsecureCerts=True, pageLoadStrategy="normal")
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _receive(self):
        length = b""
        while (byte := self._stream.read(1)) != b":":
            assert byte, "Firefox has closed the connection"
            length += byte
        return json.loads(self._stream.read(int(length)))

    def command(self, name: str, /, **parameters):
        self._next += 1
        text = json.dumps([0, self._next, name, parameters]).encode()
        self._socket.sendall(f"{len(text)}:".encode() + text)
        _, number, error, result = self._receive()
        assert number == self._next, (number, self._next)
        if error:
            raise FirefoxError(f"{name}: {error['error']}: {error['message']}")
        return result

    def open(self, address: str, width: int = 1280, height: int = 800) -> None:
        self.command("WebDriver:SetWindowRect", width=width, height=height)
        self.command("WebDriver:Navigate", url=address)

    def script(self, code: str, *arguments, sandbox: str | None = None):
        """Runs the body of a function in the page, apart from the page's own scripts and policy; awaits a promise."""
        return self.command("WebDriver:ExecuteScript", script=code, args=list(arguments), sandbox=sandbox or "tests", newSandbox=False)["value"]

    def find(self, xpath: str) -> str:
        """Waits for an element that can be seen."""
        return self._wait(lambda: self._unless_stale(lambda: self._look(xpath)), xpath)

    def _look(self, xpath: str) -> str | None:
        for found in self.command("WebDriver:FindElements", using="xpath", value=xpath):
            if self.command("WebDriver:IsElementDisplayed", id=found[ELEMENT])["value"]:
                return found[ELEMENT]
        return None

    def _press(self, xpath: str) -> bool:
        found = self._look(xpath)
        if found:
            self.command("WebDriver:ElementClick", id=found)
        return bool(found)

    def _unless_stale(self, action):
        """None if the page was drawn anew between two commands."""
        try:
            return action()
        except FirefoxError as error:
            if "stale element" not in str(error):
                raise
            return None

    def _wait(self, condition, what: str):
        try:
            return wait_until(condition, PATIENCE_MS / 1000, what, every=0.05)
        except AssertionError as error:
            raise AssertionError(f"{error}, on {self.text()[:2000]!r}") from error

    def click(self, xpath: str) -> None:
        self._wait(lambda: self._unless_stale(lambda: self._press(xpath)), xpath)

    def type(self, label: str, text: str) -> None:
        """Types into the field with this label."""
        id = self.command("WebDriver:GetElementAttribute", id=self.find(f"//label[normalize-space()={quoted(label)}]"), name="for")["value"]
        field = self.find(f"//*[@id={quoted(id)}]")
        self.command("WebDriver:ElementClear", id=field)
        self.command("WebDriver:ElementSendKeys", id=field, text=text)

    def text(self) -> str:
        return self.script("return document.body.innerText")

    def expect(self, *words: str) -> None:
        """Waits until the page shows all these words."""
        self._wait(lambda: (text := self.text()) and all(one in text for one in words), str(words))

    def barriers(self) -> list[str]:
        """axe's findings, as support.browser.barriers()."""
        return self.script(tool("axe", "node_modules/axe-core/axe.min.js").read_text() + """;
            return axe.run(document, {runOnly: arguments[0], resultTypes: ['violations'], preload: false})
              .then((r) => r.violations.flatMap(({id, help, nodes}) => nodes.map((node) => `${id}: ${help}: ${node.target} ${node.failureSummary}`)));""", AXE_RULES, sandbox="axe")

    def forget_errors(self) -> None:
        self._privileged("Services.console.reset()")

    def errors(self, origin: str) -> list[str]:
        """The console's errors and warnings of pages of `origin` since forget_errors(), without those of the sandbox in which axe runs. The
        portal has no icon, and its policy refuses the one that Firefox asks for by itself."""
        return self._privileged("""return Services.console.getMessageArray().filter((m) => m instanceof Ci.nsIScriptError && (m.sourceName || '').startsWith(arguments[0])
            || /Content-Security-Policy/.test(m.errorMessage || '')).map((m) => `${m.errorMessage} (${m.sourceName}:${m.lineNumber})`)
            .filter((text) => !text.startsWith('XrayWrapper') && !text.includes('/favicon.ico'));""", origin)

    def _privileged(self, code: str, *arguments):
        self.command("Marionette:SetContext", value="chrome")
        try:
            return self.script(code, *arguments, sandbox="system")
        finally:
            self.command("Marionette:SetContext", value="content")

    def picture(self, name: str) -> None:
        """If BROWSER_PICTURES names a folder, writes a picture of the page there."""
        if folder := os.environ.get("BROWSER_PICTURES"):
            Path(folder).mkdir(parents=True, exist_ok=True)
            Path(folder, f"{name}.png").write_bytes(base64.b64decode(self.command("WebDriver:TakeScreenshot", full=True)["value"]))


class FirefoxError(AssertionError):
    pass


def quoted(text: str) -> str:
    """A string of XPath."""
    return f"'{text}'" if "'" not in text else f'"{text}"'


def link(words: str) -> str:
    return f"//a[contains(normalize-space(), {quoted(words)})]"


def button(words: str) -> str:
    return f"//button[contains(normalize-space(), {quoted(words)})]"
