"""`make screenshots`: every page at 1440 and 390 px, light and dark, with data in every state, to be looked at.

    python -m config.stack.screenshots [WORD…]      only pages whose name holds one of the words
    python -m config.stack.screenshots --docs       the pictures of README.md and docs/roles, into docs/images

Into var/screenshots/<width>-<theme>/<page>.png. Pages come from the showcase and from walking the links as each role.
"""

import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from config.stack.browser import ensure
from config.stack.environment import KEPT, ROOT
from config.stack.png import smaller
from config.stack.process import StackError, say
from config.stack.walk import walk

FOLDER = ROOT / "var" / "screenshots"
WIDE, TALL, PHONE = (1280, 800), (1280, 1000), (390, 844)
DOCUMENTS = {
    "inbox": (("inbox", WIDE),),
    "proposal-waiting-warned": (("proposal", WIDE), ("proposal-phone", PHONE)),
    "run-succeeded": (("run", WIDE),),
    "unresolved": (("unresolved", TALL),),
    "health": (("health", WIDE),),
    "agent": (("agent", WIDE),),
    "policy": (("policy", TALL),),
    "tool": (("tool", WIDE),),
    "audit": (("audit", WIDE),),
    "path": (("path", TALL),),
}
"""What is committed: page → its files in docs/images, and the window of each. Small, so that a clone stays small."""
SIZES = ((1440, 900), (390, 844))
THEMES = ("light", "dark")
TALLEST = 2600
PAINTED = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
FLAGS = ["--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-color-profile=srgb"]
# What people have as system-ui; a bare machine would answer with a font that nobody's desktop uses.
FONTS = """<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd"><fontconfig>
<include ignore_missing="yes">/etc/fonts/fonts.conf</include>
<match target="pattern"><test qual="all" name="family" compare="not_contains"><string>ono</string></test>
<edit name="family" mode="prepend" binding="strong"><string>Inter</string>
<string>Noto Sans</string><string>Liberation Sans</string></edit></match></fontconfig>"""


@contextlib.contextmanager
def showcase() -> Iterator[dict[str, Any]]:
    """A running showcase: its address, people and pages. Ends with the block. Raises StackError."""
    environment = {name: value for name, value in os.environ.items() if name in KEPT}
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "config.stack.showcase"],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            for line in process.stdout:
                if line.startswith("{"):
                    yield json.loads(line)
                    return
                said.write(line)
            said.seek(0)
            raise StackError(f"The showcase did not start:\n{said.read()[-2000:]}")
        finally:
            process.stdin.close()
            process.wait(60)


def shoot(show: dict[str, Any], words: list[str], program: Path, *, documents: bool) -> int:
    """Takes the pictures and answers their number."""
    from playwright.sync_api import sync_playwright

    people = {role: tuple(pair) for role, pair in show["people"].items()}
    pages = [tuple(page) for page in show["pages"]]
    if documents:
        pages = [page for page in pages + [tuple(page) for page in show["documents"]] if page[0] in DOCUMENTS]
    else:
        walked, dead = walk(show["address"], people)
        pages += [(found.name, found.role, found.path) for found in walked]
        for sentence in dead:
            say(sentence)
    pages = [page for page in pages if not words or any(word in page[0] for word in words)]
    number = 0
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as fonts, sync_playwright() as playwright:
        fonts.write(FONTS)
        fonts.flush()
        browser = playwright.chromium.launch(
            executable_path=program, args=FLAGS, env={**os.environ, "FONTCONFIG_FILE": fonts.name}
        )
        for role in sorted({page[1] for page in pages}):
            context = browser.new_context(timezone_id="Australia/Sydney", locale="en-AU")
            tab = context.new_page()
            if role:
                sign_in(tab, show["address"], *people[role])
            for name, _, path in (page for page in pages if page[1] == role):
                number += _shoot(tab, show["address"] + path, name, documents)
            context.close()
        browser.close()
    return number


def sign_in(tab: Any, address: str, email: str, password: str) -> None:
    """Signs a Playwright page in through the form."""
    tab.goto(address + "/sign-in/")
    tab.fill("input[name=username]", email)
    tab.fill("input[name=password]", password)
    tab.click("main button[type=submit]")
    tab.wait_for_url(lambda url: "/sign-in/" not in url)


def _shoot(tab: Any, address: str, name: str, documents: bool) -> int:
    """One visit of the page; its pictures in each theme and size."""
    tab.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})
    tab.goto(address)
    if tab.locator("[data-pulse]").count():
        tab.wait_for_selector("[data-pulse].is-live", state="attached")
    if documents:
        for file, size in DOCUMENTS[name]:
            picture = ROOT / "docs" / "images" / f"{file}.png"
            _picture(tab, "light", size, picture, whole=False)
            picture.write_bytes(smaller(picture.read_bytes()))
        return len(DOCUMENTS[name])
    for size in SIZES:
        for theme in THEMES:
            _picture(tab, theme, size, FOLDER / f"{size[0]}-{theme}" / f"{name}.png", whole=True)
    return len(THEMES) * len(SIZES)


def _picture(tab: Any, theme: str, size: tuple[int, int], file: Path, *, whole: bool) -> None:
    tab.emulate_media(color_scheme=theme, reduced_motion="reduce")
    tab.set_viewport_size({"width": size[0], "height": size[1]})
    if whole:
        height = min(TALLEST, max(size[1], tab.evaluate("document.documentElement.scrollHeight")))
        # A taller window and not a picture of the whole page: what lies outside the window is not painted.
        tab.set_viewport_size({"width": size[0], "height": height})
        tab.evaluate(PAINTED)
    file.parent.mkdir(parents=True, exist_ok=True)
    tab.screenshot(path=file)
    if (needed := tab.evaluate("document.documentElement.scrollWidth")) > size[0]:
        say(f"{file.stem} is {needed} px wide in a window of {size[0]} px.")


def main(arguments: list[str]) -> int:
    started = time.monotonic()
    program = ensure(os.environ)
    if program is None:
        return 1
    documents = "--docs" in arguments
    words = [re.sub(r"\.png$", "", word) for word in arguments if not word.startswith("-")]
    try:
        with showcase() as show:
            number = shoot(show, words, program, documents=documents)
    except StackError as error:
        say(str(error))
        return 1
    where = "docs/images" if documents else "var/screenshots"
    say(f"{number} pictures in {where} ({time.monotonic() - started:.0f} s). Look at them.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
