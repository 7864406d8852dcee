"""How quick the page of a run with 10,000 events is: the server's time, what is sent first, and scrolling in Chromium.

    python -m benchmarks.run_page [EVENTS]

Starts a database of its own in a temporary folder, writes the history through the append function, opens the page as a
signed-in operator does, through the whole of Django and its templates, and then scrolls it from end to end in a real
browser, if there is one. Prints one line a figure; 1 if the page is over its bounds.
"""

import gzip
import os
import shutil
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID, uuid4

from benchmarks.ground import TURNS, Figure, first_admin, servers, tell

EVENTS = 10_000
AT_ONCE = 50
BENCH = "run page"
WITHIN_MS = 200.0
WITHIN_KB = 150.0
TOOLS = ("get_order", "refund_order", "add_note")
FORGOTTEN = "first opening in a process, history folded"
WHEEL = 1500
AT_END = "at = document.getElementById('timeline'), at.scrollTop + at.clientHeight >= at.scrollHeight - 2"
WATCH = """() => {
  window.long = [];
  window.most = 0;
  const told = new PerformanceObserver((list) => list.getEntries().forEach((entry) => long.push(entry.duration)));
  told.observe({ type: "longtask" });
  const count = () => {
    most = Math.max(most, document.querySelectorAll("#timeline li").length);
    requestAnimationFrame(count);
  };
  count();
}"""
FIGURES = """({ rows: most, long: long.length, longest: Math.max(0, ...long) })"""


def main(arguments: list[str]) -> int:
    """Prints the figures."""
    events = int(arguments[0].replace("_", "")) if arguments else EVENTS
    with servers():
        client, tenant = first_admin()
        run = filled(tenant, events)
        late = report(client, run)
        scrolled(client, run)
        return late


def filled(tenant: str, events: int) -> UUID:
    """A run of so many events: calls that were judged, sent and answered, the last ones on their way."""
    from django.db import connection

    from tests.support.histories import add, new_run

    began = time.monotonic()
    run = new_run(tenant_id=UUID(tenant))
    number, seq = 0, 2
    while seq < events:
        calls = [f"step-{number + n}" for n in range(min(AT_ONCE, -(-(events - seq) // 5)))]
        put_calls(tenant, run, calls)
        facts = [fact for call in calls for fact in told(call)][: events - seq]
        seq = add(run, *facts).seq
        number += len(calls)
    with connection.cursor() as cursor:
        # Nobody works here; what is open must not look as if it waited for a worker.
        cursor.execute("UPDATE runs_dispatch SET status = 'done' WHERE status = 'ready'")
        cursor.execute("ANALYZE")
    print(f"{seq:,} events of {number:,} calls appended in {time.monotonic() - began:.0f} s")
    return run


def put_calls(tenant: str, run: UUID, calls: list[str]) -> None:
    """The rows of calls."""
    from audit.store import clock
    from runs.models import Call

    at = clock.now()
    Call.objects.bulk_create(
        [
            Call(
                run_id=run, tenant_id=tenant, call_id=call, tool=tool_of(call), contract_version=1, canonical=b"{}",
                given=b"{}", digest="d" * 64, key=f"clr_{call}", target="", resource="", created_at=at, version=0,
            )
            for call in calls
        ]
    )  # fmt: skip


def tool_of(call: str) -> str:
    """A call's tool, by its number."""
    return TOOLS[int(call.rpartition("-")[2]) % len(TOOLS)]


def told(call: str) -> Iterator[tuple[Any, dict[str, Any]]]:
    """What is recorded of one call, from asking to its outcome."""
    from runs.core.kinds import EventKind as K

    tool = tool_of(call)
    effect = {"side_effect": "read" if tool == "get_order" else "irreversible", "read_only": tool == "get_order"}
    dispatch = {"call_id": call, "dispatch_id": str(uuid4()), "fence": 1}
    yield K.CALL_PROPOSED, {
        "call_id": call, "tool": tool, "contract_version": 1, "digest": "d" * 64, "key": f"clr_{call}",
        "retry_class": "before_effect", **effect,
    }  # fmt: skip
    yield K.STATE_OBSERVED, {"call_id": call, "snapshot_hash": "s" * 64, "read_at": "2026-11-29T03:02:00+00:00"}
    yield K.CALL_ALLOWED, {"call_id": call, "rule_id": "small-refunds", "policy_number": 8, "boundary": "gateway"}
    deadline = "2026-11-29T03:12:00+00:00"
    yield K.DISPATCH_STARTED, {**dispatch, "attempt": 1, "deadline": deadline, "key": f"clr_{call}"}
    yield K.DISPATCH_SUCCEEDED, {
        **dispatch, "reference": f"re_{call}", "result_digest": "r" * 64, "duration_ms": 38,
    }  # fmt: skip


def report(client: Any, run: UUID) -> int:
    """The server's figures of each address; 1 if the page is over its bounds."""
    print(f"load of the machine: {', '.join(f'{load:.1f}' for load in os.getloadavg())}")
    late = False
    for name, address in {
        "the page, newest events": f"/runs/{run}/",
        FORGOTTEN: f"/runs/{run}/",
        "the page at event 1": f"/runs/{run}/?at=1",
        "the page, one group of kinds": f"/runs/{run}/?kind=sent",
        "the page, one call": f"/runs/{run}/?call=step-7",
        "a block of 100 events": f"/runs/{run}/events/?first=101&last=200",
        "all its calls, a page": f"/runs/{run}/calls/",
        "the list of runs": "/runs/",
    }.items():
        first, best, wall, own, queries, plain, packed = timed(client, address, forget=name == FORGOTTEN)
        page = name.startswith("the page")
        beside = f"best {best:.0f}, own CPU {own:.0f}, the first time {first:.0f}; {queries} queries"
        tell(Figure(bench=BENCH, name=name, value=wall, unit="ms", bound=WITHIN_MS if page else None, note=beside))
        if page:
            packed_words = f"compressed {packed:.0f}"
            bound = WITHIN_KB
            tell(Figure(bench=BENCH, name=f"{name}: HTML", value=plain, unit="kB", bound=bound, note=packed_words))
            # Whether it is late is judged by what a busy machine cannot make longer.
            late |= own > WITHIN_MS or plain > WITHIN_KB
    return int(late)


def timed(client: Any, address: str, *, forget: bool) -> tuple[float, float, float, float, int, float, float]:
    """Milliseconds: the first time (templates compiled, history folded from its checkpoint), the best, the median, the
    median of this process's own (what a busy machine cannot make longer). Queries; kilobytes plain and packed.
    `forget`: each time as in a process that has not read this run before."""
    from django.db import connection

    from runs.selectors import folded_on

    def once() -> tuple[float, float, int, bytes]:
        sent: list[str] = []
        if forget:
            folded_on.forget()

        def remember(execute: Callable[..., Any], statement: str, *rest: Any) -> Any:
            sent.append(statement)
            return execute(statement, *rest)

        with connection.execute_wrapper(remember):
            began, own = time.perf_counter(), time.process_time()
            answer = client.get(address)
            took, used = (time.perf_counter() - began) * 1000, (time.process_time() - own) * 1000
        assert answer.status_code == 200, (address, answer.status_code)
        return took, used, len(sent), answer.content

    first = once()[0]
    turns = [once() for _ in range(TURNS)]
    walls = [turn[0] for turn in turns]
    content = turns[-1][3]
    return (
        first,
        min(walls),
        statistics.median(walls),
        statistics.median(turn[1] for turn in turns),
        turns[-1][2],
        len(content) / 1000,
        len(gzip.compress(content, 6)) / 1000,
    )


@contextmanager
def served() -> Iterator[str]:
    """The web server as a process of its own; its address."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        port = door.getsockname()[1]
        server = subprocess.Popen(
            [sys.executable, "-m", "config.stack.web", str(door.fileno())], pass_fds=[door.fileno()]
        )
        try:
            yield f"http://localhost:{port}"
        finally:
            server.terminate()
            server.wait(20)


def scrolled(client: Any, run: UUID) -> None:
    """What Chromium spends on scrolling from the newest event to the first."""
    chromium = os.environ.get("CLEARANCE_CHROMIUM") or shutil.which("chromium")
    if not chromium:
        print("no Chromium here: scrolling is not measured")
        return
    from playwright.sync_api import sync_playwright

    with served() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        cookies = [{"name": name, "value": morsel.value, "url": address} for name, morsel in client.cookies.items()]
        context.add_cookies(cookies)  # type: ignore[arg-type]
        page = context.new_page()
        page.goto(f"{address}/runs/{run}/")
        page.wait_for_selector(".pulse.is-live", timeout=60_000)
        wire = context.new_cdp_session(page)
        wire.send("Performance.enable")
        page.evaluate(WATCH)
        before, began = spent(wire), time.monotonic()
        page.locator("#timeline").hover()
        steps = 0
        while not page.evaluate(AT_END):
            page.mouse.wheel(0, WHEEL)
            page.wait_for_timeout(40)
            steps += 1
        page.wait_for_selector("#event-1", timeout=60_000)
        after, took = spent(wire), time.monotonic() - began
        figures = page.evaluate(FIGURES)
        each = {name: (after[name] - before[name]) * 1000 for name in before}
        print(
            f"scrolled end to end in {steps} steps, {took:.0f} s: scripting {each['ScriptDuration']:.0f} ms, layout "
            f"{each['LayoutDuration']:.0f} ms, style {each['RecalcStyleDuration']:.0f} ms, all tasks "
            f"{each['TaskDuration']:.0f} ms; at most {figures['rows']} rows in the page; {figures['long']} tasks over "
            f"50 ms, the longest {figures['longest']:.0f} ms"
        )
        began = time.monotonic()
        page.evaluate("location.hash = 'event-5000'")
        page.wait_for_selector("#event-5000.is-here", timeout=60_000)
        print(f"a link to event 5000 was there after {(time.monotonic() - began) * 1000:.0f} ms")
        browser.close()


def spent(wire: Any) -> dict[str, float]:
    """Seconds of Chromium's main thread so far."""
    metrics = {one["name"]: one["value"] for one in wire.send("Performance.getMetrics")["metrics"]}
    return {name: metrics[name] for name in ("ScriptDuration", "LayoutDuration", "RecalcStyleDuration", "TaskDuration")}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
