"""Starts a browser for each file of tests. A test fails if one of its pages has complaints (support.browser.Complaints)."""
import subprocess

import pytest

from support.browser import Browser, launch, playwright_module
from support.stack import ROOT


# The scope is the module, not the session, because while Playwright runs, nothing else in this thread may run asyncio.
@pytest.fixture(scope="module")
def chromium(stack):
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("NODE_EXTRA_CA_CERTS", stack.env["CA_CERT"])  # Playwright's own requests trust this CA
        with playwright_module().sync_playwright() as playwright:
            browser = launch(playwright, stack.env["BASE_URL"])
            yield browser
            browser.close()


@pytest.fixture
def browser(chromium, stack):
    """browser.page(path, …) opens a page of the stack."""
    opened = Browser(chromium, stack.env["BASE_URL"])
    yield opened
    complaints = opened.close_pages()
    assert not complaints, "\n".join(complaints)


@pytest.fixture(scope="module")
def site():
    """Builds the site, in case pytest was not started by `./dev test`, which builds it first."""
    subprocess.run(["/usr/bin/python3", ROOT / "scripts/build_site.py", ROOT / "build/site"], check=True, timeout=300)


@pytest.fixture(scope="session")
def expect():
    return playwright_module().expect
