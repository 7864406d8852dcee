"""What a browser with an empty cache waits for and fetches: first paint and transfer of pages, in Chromium over CDP."""

import os
import socket
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import psutil

from benchmarks.ground import TURNS, Figure, tell
from config.stack import browser

PAINT_MS = 500.0
TRANSFER_KB = 150.0
SHOTS = min(TURNS, 5)
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
_PAINTED = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime"


def measure(client: Any, pages: Mapping[str, str], *, bench: str, turns: int = SHOTS) -> bool:
    """Opens each page (name to path) as `client`, who is signed in. Tells two figures a page; whether all held."""
    chromium = browser.find(os.environ)
    if chromium is None:
        print("No Chromium here: first paint and transfer are not measured.", flush=True)
        return True
    from playwright.sync_api import sync_playwright

    fine = True
    with served() as (address, server), sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        cookies = [{"name": name, "value": morsel.value, "url": address} for name, morsel in client.cookies.items()]
        for name, path in pages.items():
            once(opened, cookies, address + path)  # templates are read, connections stand
            spent = sum(server.cpu_times()[:2])
            loads = [once(opened, cookies, address + path) for _ in range(turns)]
            spent = (sum(server.cpu_times()[:2]) - spent) / turns * 1000
            paints, kinds = [paint for paint, _ in loads], loads[-1][1]
            told = ", ".join(f"{kind} {size / 1000:.0f}" for kind, size in sorted(kinds.items()))
            median = statistics.median(paints)
            fine &= tell(
                Figure(
                    bench=bench, name=f"{name}: first paint", value=median, unit="ms", bound=PAINT_MS,
                    note=f"best {min(paints):.0f}, worst {max(paints):.0f}; the server's own CPU for all: {spent:.0f}",
                )
            )  # fmt: skip
            total = sum(kinds.values()) / 1000
            fine &= tell(
                Figure(bench=bench, name=f"{name}: transfer", value=total, unit="kB", bound=TRANSFER_KB, note=told)
            )
        opened.close()
    return fine


def once(opened: Any, cookies: Any, address: str) -> tuple[float, dict[str, float]]:
    """One load with nothing in the cache: milliseconds to the first content, bytes on the wire by kind."""
    context = opened.new_context(viewport={"width": 1440, "height": 900})
    context.add_cookies(cookies)
    page = context.new_page()
    wire = context.new_cdp_session(page)
    kinds: dict[str, str] = {}
    sizes: dict[str, float] = {}
    wire.on("Network.responseReceived", lambda event: kinds.update({event["requestId"]: event["type"].lower()}))
    wire.on(
        "Network.loadingFinished", lambda event: sizes.update({event["requestId"]: float(event["encodedDataLength"])})
    )
    wire.send("Network.enable")
    answer = page.goto(address, wait_until="load")
    assert answer is not None, address
    assert answer.status == 200, (address, answer.status)
    page.wait_for_function(_PAINTED)
    page.wait_for_timeout(300)  # an icon may come behind the page
    paint = float(page.evaluate(_PAINTED))
    context.close()
    total: dict[str, float] = {}
    for request, size in sizes.items():
        kind = kinds.get(request, "other")
        total[kind] = total.get(kind, 0.0) + size
    return paint, total


@contextmanager
def served() -> Iterator[tuple[str, psutil.Process]]:
    """The web server as a process of its own, on the environment's database; its address and the process."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        server = subprocess.Popen(
            [sys.executable, "-m", "config.stack.web", str(door.fileno())], pass_fds=[door.fileno()]
        )
        try:
            yield f"http://localhost:{door.getsockname()[1]}", psutil.Process(server.pid)
        finally:
            server.terminate()
            server.wait(20)
