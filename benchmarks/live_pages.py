"""How live 500 open pages are: idle cost, and the time until each of them shows a new proposal and a decided one.

    python -m benchmarks.live_pages [PAGES]

Starts the whole stack in a temporary folder, opens the pages' sockets from this process (three fifths inboxes, a fifth
lists of runs, a fifth one proposal's page) for a fifth as many different people, and lets an agent ask and a reviewer
decide a few times. Prints one line a figure. On two cores the client's share of the machine is in the figures too.
"""

import asyncio
import json
import os
import re
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import psutil
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Origin

from benchmarks.ground import Figure, tell
from config.stack import process as tools
from config.stack.children import ignore_signals, stop_on_signals
from config.stack.demo_orders import FIRST_NUMBER
from config.stack.environment import Layout
from config.stack.reviewer import Reviewer, data_of
from config.stack.smoke import Drive
from config.stack.timing_proxy import TimingProxy
from config.stack.whole import Stack, demo_note

ROUNDS = 3
IDLE_SECONDS = 70.0
"""Longer than a minute: so often every page is read whole, whether anything happened or not."""
REST_PERCENT = 30.0
TOLD_MS = 1_000.0
"""The bounds for 500 pages on two cores."""
PATIENCE = 60.0
AT_ONCE = 25


class Visitor:
    """Somebody who is signed in, by the key of their session."""

    def __init__(self, address: str, key: str) -> None:
        self.cookies = {"sessionid": key}
        self.http = httpx.Client(base_url=address, cookies=self.cookies, timeout=60, trust_env=False)

    def get(self, path: str) -> str:
        """A page's HTML."""
        answer = self.http.get(path)
        if answer.status_code != 200:
            raise SystemExit(f"The page {path} answered HTTP {answer.status_code}.")
        return answer.text


@dataclass
class OpenPage:
    """One page's socket, when which push came, and why it ended if it did."""

    kind: str
    socket: ClientConnection
    pushes: list[tuple[float, str]] = field(default_factory=list)
    ended: str = ""

    async def read(self) -> None:
        try:
            async for push in self.socket:
                self.pushes.append((time.time(), str(push)))
            self.ended = f"{self.socket.close_code} {self.socket.close_reason}"
        except Exception as error:
            self.ended = f"{type(error).__name__}: {error}"

    def told_at(self, since: float, wanted: Callable[[str], bool]) -> float | None:
        return next((at for at, push in self.pushes if at >= since and wanted(push)), None)


class Bench:
    def __init__(self, stack: Stack, proxy: TimingProxy, number: int) -> None:
        self.work = Drive(stack, proxy)
        self.stack = stack
        self.number = number
        people = demo_note(stack.secrets)["acme"]["people"]
        self.reviewer = Reviewer(stack.address, people["reviewer"], stack.secrets.password("reviewer"))
        keys = stack.layout.run / "crowd.json"
        stack.run_to_end("crowd", "-m", "benchmarks.crowd", str(keys), str(max(number // 5, 3)))
        self.people = [Visitor(stack.address, key) for key in json.loads(keys.read_text())]
        self.web = psutil.Process(self._web_pid())
        self.pages: list[OpenPage] = []
        self.readers: list[asyncio.Task[None]] = []

    def _web_pid(self) -> int:
        here = psutil.Process().children(recursive=True)
        return next(child.pid for child in here if "config.stack.web" in child.cmdline())

    async def open(self, first: str) -> None:
        gate = asyncio.Semaphore(AT_ONCE)
        kinds = ["inbox"] * 3 + ["runs"] + ["proposal"]

        async def one(index: int) -> None:
            async with gate:
                kind = kinds[index % 5]
                self.pages.append(await self._page(kind, self.people[index // 5 % len(self.people)], first))

        began = time.monotonic()
        await asyncio.gather(*(one(index) for index in range(self.number)))
        print(f"{self.number} pages were open after {time.monotonic() - began:.1f} s", flush=True)

    async def _page(self, kind: str, person: Visitor, proposal: str) -> OpenPage:
        path = {"inbox": "/", "runs": "/runs/", "proposal": f"/proposals/{proposal}/"}[kind]
        html = await asyncio.to_thread(person.get, path)
        hello: dict[str, Any]
        if kind == "proposal":
            hello = {"seen": data_of(html, "state")}
        else:
            rows = dict(re.findall(r'data-id="([0-9a-f-]{36})"[^>]*data-version="(\d+)"', html))
            view = data_of(html, "view") if kind == "inbox" else ""
            hello = {"view": view, "q": "", "since": data_of(html, "now"), "rows": {k: int(v) for k, v in rows.items()}}
        cookies = "; ".join(f"{name}={value}" for name, value in person.cookies.items())
        address = self.stack.address
        where = {"inbox": "/ws/inbox/", "runs": "/ws/runs/", "proposal": f"/ws/proposals/{proposal}/"}[kind]
        socket = await connect(
            address.replace("http", "ws", 1) + where,
            additional_headers={"Cookie": cookies},
            origin=Origin(address),
            proxy=None,
            open_timeout=60,
            max_size=None,
            compression=None,
        )
        await socket.send(json.dumps(hello))
        page = OpenPage(kind, socket)
        self.readers.append(asyncio.get_running_loop().create_task(page.read()))
        return page

    async def told(self, what: str, since: float, cpu: float, kind: str, wanted: Callable[[str], bool]) -> None:
        watched = [page for page in self.pages if page.kind == kind]
        until = time.time() + PATIENCE
        while time.time() < until and any(page.told_at(since, wanted) is None for page in watched):
            await asyncio.sleep(0.02)
        waits = sorted(at - since for page in watched if (at := page.told_at(since, wanted)) is not None)
        await asyncio.sleep(1)
        spent = self.cpu() - cpu
        half, last = (statistics.median(waits), waits[-1]) if waits else (float("nan"), float("nan"))
        named = f"{what}, until {len(watched)} {kind} pages tell it"
        note = f"half after {half * 1000:.0f}; {spent:.2f} s of the web server's CPU; load {os.getloadavg()[0]:.1f}"
        bound = TOLD_MS if len(waits) == len(watched) else 0.0
        tell(Figure(bench="live pages", name=named, value=last * 1000, unit="ms", bound=bound, note=note))
        print(
            f"{what}: {len(waits)} of {len(watched)} {kind} pages, half after {half * 1000:.0f} ms, "
            f"all after {last * 1000:.0f} ms, {spent:.2f} s of the web server's time",
            flush=True,
        )

    def cpu(self) -> float:
        return float(sum(self.web.cpu_times()[:2]))

    async def run(self) -> None:
        call = await asyncio.to_thread(self._ask, 0)
        await self.open(str(call["proposal"]["id"]))
        await asyncio.sleep(8)
        before = self.cpu()
        await asyncio.sleep(IDLE_SECONDS)
        share = (self.cpu() - before) / IDLE_SECONDS * 100
        note = f"over {IDLE_SECONDS:.0f} s; load {os.getloadavg()[0]:.1f}"
        name = f"{self.number} pages at rest"
        tell(Figure(bench="live pages", name=name, value=share, unit="% of a core", bound=REST_PERCENT, note=note))
        for turn in range(1, ROUNDS + 1):
            cpu = self.cpu()
            call = await asyncio.to_thread(self._ask, turn)
            # From when the server had accepted the call: judging and holding it is in the figure, asking is not.
            since = datetime.fromisoformat(call["accepted_at"]).timestamp()
            await self.told("a new proposal", since, cpu, "inbox", lambda push: 'data-fresh="' in push)
            await asyncio.sleep(3)
        cpu, since = self.cpu(), time.time()
        await asyncio.to_thread(self._decide_first)
        await self.told("a decision", since, cpu, "proposal", lambda push: "p-act" in push)
        ended = Counter(f"{page.kind}: {page.ended}" for page in self.pages if page.ended)
        tell(
            Figure(bench="live pages", name="sockets that ended by themselves", value=ended.total(), unit="", bound=0.0)
        )
        print(dict(ended), flush=True)
        for page in self.pages:
            await page.socket.close()

    def _ask(self, turn: int) -> dict[str, Any]:
        order = f"ord_{FIRST_NUMBER + turn}"
        run = str(self.work.agent.open_run(f"Bench: {order}")["id"])
        facts = self.work._read(run, order)
        arguments = {"order_id": order, "amount": 100 + turn, "currency": facts["currency"], "note": "bench"}
        call = self.work.agent.call(run, "refund", "refund_order", arguments)
        call = call if call["state"] != "new" else self.work._until_waiting(run)
        self.first = getattr(self, "first", None) or call["proposal"]
        return call

    def _decide_first(self) -> None:
        self.reviewer.decide(self.first["id"], "approve", self.first["digest"])


def main(arguments: list[str]) -> int:
    number = int(arguments[0]) if arguments else 500
    stop_on_signals()
    with tempfile.TemporaryDirectory(prefix="clr-live-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o711)
        stack = Stack(Layout(folder), tools.free_port())
        proxy = TimingProxy(lambda: stack.payments_port)
        stack.payments_front = proxy.port
        try:
            stack.start(agent=False)
            stack.wait_for_worker()
            asyncio.run(Bench(stack, proxy, number).run())
        finally:
            ignore_signals()
            stack.stop()
            proxy.close()
            tools.kill_all()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
