"""A real Chromium against the whole product as real processes."""

import os
import shutil
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from tests.browser.acting import Acting

# Of Playwright's `expect`: patience costs nothing where the page is quick.
PATIENCE_MS = 20_000
CHROMIUM = os.environ.get("CLEARANCE_CHROMIUM") or shutil.which("chromium") or ""
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# A refusal is a 4xx on purpose, and a socket that a test cuts says so as well; htmx logs both.
ON_PURPOSE = ("Failed to load resource: the server responded with a status of 4", "WebSocket", "[object Event]")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/browser/" in str(item.path):
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.stack)
            if not CHROMIUM:
                item.add_marker(pytest.mark.skip(reason="no Chromium; `python -m config.stack.browser` says how"))


@pytest.fixture(scope="session", autouse=True)
def patience() -> None:
    from playwright.sync_api import expect

    expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="package")
def with_others() -> "Iterator[Acting]":
    """One running product for the modules that mind nobody else's people, proposals and log entries: a start costs ten
    seconds of a processor."""
    from tests.browser.acting import Acting
    from tests.support.stack import Stack

    with Stack.start() as stack:
        yield Acting(stack)


@pytest.fixture(scope="module")
def acting(request: pytest.FixtureRequest) -> "Iterator[Acting]":
    """The running product with an agent that asks and people who decide; the module's own if it does not say
    WITH_OTHERS."""
    from tests.browser.acting import Acting
    from tests.support.stack import Stack

    if getattr(request.module, "WITH_OTHERS", False):
        yield request.getfixturevalue("with_others")
        return
    with Stack.start() as stack:
        yield Acting(stack)


# Of this package alone: while Playwright is open an event loop runs in this thread, and Django would refuse the
# database to every later test of the session.
@pytest.fixture(scope="package")
def chromium() -> "Iterator[Browser]":
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture
def open_page(chromium: "Browser") -> "Iterator[Callable[..., Page]]":
    """open_page(width, height, …) is a page in a context of its own. After the test its console must be clean: no
    script error and nothing that the Content Security Policy had to stop. `faults` are words that a test provokes."""
    contexts = []
    complaints: list[str] = []

    def make(width: int = 1440, height: int = 900, faults: tuple[str, ...] = (), **options: Any) -> "Page":
        def hear(message: Any) -> None:
            known = any(word in message.text for word in ON_PURPOSE + faults)
            if message.type in ("error", "warning") and not known:
                complaints.append(message.text)

        context = chromium.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", hear)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        return page

    yield make
    for context in contexts:
        context.close()
    assert complaints == []
