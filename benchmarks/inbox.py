"""How quick the pages of proposals are with 100,000 pending and 5,000,000 past ones.

    python -m benchmarks.inbox [--scale 0.01] [--no-browser]

Starts a database of its own in a temporary folder (about 14 GB at full scale), fills it by SQL, and opens the pages as
a signed-in reviewer does, through the whole of Django and its templates; then the readings of the live pages, of the
sweep and of the workers; then first paint and transfer in Chromium. 1 if a figure is over its bound.
"""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable
from typing import Any
from uuid import UUID

from benchmarks import first_paint
from benchmarks.ground import Figure, Timed, machine, servers, signed_in, tell, timed

BENCH = "inbox"
PENDING, PAST = 100_000, 5_000_000
BYTES_EACH = 2_700
"""Of a proposal on the disk with all that belongs to it, and the log of writing it."""
WITHIN_MS = 150.0
SWEEP_MS = 50.0
"""The sweep looks every second: a twentieth of that for each question."""


def main(arguments: list[str]) -> int:
    """Prints the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--scale", type=float, default=1.0, help="share of the rows; 1 is what the requirement names")
    parser.add_argument("--no-browser", action="store_true")
    wanted = parser.parse_args(arguments)
    pending, past = max(int(PENDING * wanted.scale), 60), max(int(PAST * wanted.scale), 200)
    free = shutil.disk_usage(tempfile.gettempdir()).free
    if free < 1.5 * (pending + past) * BYTES_EACH:
        print(f"{free / 1e9:.0f} GB free in {tempfile.gettempdir()} are too few for that; use --scale.")
        return 2
    with servers() as (postgres, _):
        from benchmarks.many_proposals import fill

        filled = fill(postgres.owner_url, pending=pending, past=past)
        print(machine())
        fine = report(filled, browser=not wanted.no_browser)
    return 0 if fine else 1


def report(filled: Any, *, browser: bool) -> bool:
    """All figures; whether all hold their bounds."""
    from tests.support.factories import PASSWORD

    people = {
        "many of them mine": signed_in(filled.big.mara.email, PASSWORD),
        "few of them mine": signed_in(filled.rare.email, PASSWORD),
    }
    admin = signed_in(filled.admin.email, PASSWORD)
    peer = signed_in(filled.small.mara.email, PASSWORD)
    fine = True
    queries: set[int] = set()
    for who, client in people.items():
        for view in ("mine", "all", "decided"):
            fine &= page(client, f"inbox, {view}, {who}", f"/?view={view}", queries)
    fine &= tell(
        Figure(bench=BENCH, name="inbox: queries, most of all views and readers", value=max(queries), unit="",
               note=f"fewest {min(queries)}")
    )  # fmt: skip
    client = people["many of them mine"]
    for name, query in searches().items():
        fine &= page(client, f"inbox, {name}", f"/?{query}")
    mine, small = (timed(lambda c=c: c.get("/?view=all")) for c in (client, peer))
    note = f"of another organisation in the same database; {small.queries} queries there, {mine.queries} here"
    tell(Figure(bench=BENCH, name="inbox, all: times the own CPU of a small list", value=mine.own / small.own, unit="×",
                note=note))  # fmt: skip
    ratio = mine.own / bare(client.get("/?view=all").content).own
    tell(Figure(bench=BENCH, name="inbox, all: times the own CPU of a bare Django view", value=ratio,
                unit="×"))  # fmt: skip
    first, last = ids(filled)
    fine &= page(client, "a pending proposal's page", f"/proposals/{first}/")
    fine &= page(client, "a past proposal's page", f"/proposals/{last}/?view=decided")
    fine &= page(admin, "runs", "/runs/")
    for name, (work, bound) in readings(filled).items():
        fine &= reading(name, work, bound)
    if browser:
        from benchmarks.run_page import filled as filled_run

        run = filled_run(filled.big.tenant.id, 1_000)
        addresses = {
            "inbox": "/?view=all", "proposal": f"/proposals/{first}/", "runs": "/runs/", "run": f"/runs/{run}/",
            "audit": "/audit/",
        }  # fmt: skip
        fine &= first_paint.measure(admin, addresses, bench="first paint")
    return fine


def bare(content: bytes) -> Timed:
    """Django without anything of ours."""
    from django.test import Client, override_settings

    from benchmarks.bare import CONTENT

    CONTENT[""] = content
    with override_settings(ROOT_URLCONF="benchmarks.bare", MIDDLEWARE=[]):
        client = Client(SERVER_NAME="localhost")
        return timed(lambda: [client.get("/") for _ in range(20)]).shared(20)


def searches() -> dict[str, str]:
    """Of each kind one that finds much and one that finds little or nothing."""
    return {
        "all, a word in all": "view=all&q=refund",
        "all, one order": "view=all&q=ord_1029",
        "all, a word in none": "view=all&q=zebra",
        "mine, a word in all": "view=mine&q=refund",
        "decided, a word in all": "view=decided&q=refund",
        "decided, a word in none": "view=decided&q=zebra",
        "all, a rare group": "view=all&group=legal",
        "all, a tool of none": "view=all&tool=no_such_tool",
        "decided, a tool of none": "view=decided&tool=no_such_tool",
        "all, by amount": "view=all&from=118&currency=AUD",
        "all, soon": "view=all&within=60",
    }


def page(client: Any, name: str, address: str, queries: set[int] | None = None) -> bool:
    """One page through the whole of Django."""
    took = timed(lambda: client.get(address))
    if queries is not None:
        queries.add(took.queries)
    return tell(Figure(bench=BENCH, name=name, value=took.median, unit="ms", bound=WITHIN_MS, note=took.words()))


def reading(name: str, work: Callable[[], Any], bound: float) -> bool:
    """One reading of the live pages, the sweep or a worker."""
    took = timed(work)
    return tell(Figure(bench=BENCH, name=name, value=took.median, unit="ms", bound=bound, note=took.words()))


def readings(filled: Any) -> dict[str, tuple[Callable[[], Any], float]]:
    """What runs beside the pages: name to work and bound."""
    from approvals.selectors.proposals import inbox
    from approvals.selectors.watch import list_tokens, proposal_tokens
    from approvals.services.proposal import proposals_to_refresh
    from approvals.services.resolution import resolutions_open
    from approvals.store.rows import overdue
    from approvals.web.narrow import asked_for
    from approvals.web.news import ListHas, inbox_changed
    from runs.selectors import watch as runs
    from runs.store import claims, stops

    actor = filled.big.mara.actor
    tenants = [UUID(filled.big.tenant.id), UUID(filled.small.tenant.id)]
    has = ListHas(
        asked=asked_for({"view": "mine"}), rows={row.id: 2 * row.version for row in inbox(actor, view="mine").rows},
        whole=False,
    )  # fmt: skip
    return {
        "nav: counts": (lambda: counts(filled), WITHIN_MS),
        "live: what a list lacks": (lambda: inbox_changed(actor, has), WITHIN_MS),
        "pulse: lists": (lambda: list_tokens(tenants), WITHIN_MS),
        "pulse: 50 proposals": (lambda: proposal_tokens(list(has.rows)), WITHIN_MS),
        "pulse: lists of runs": (lambda: runs.list_tokens(tenants), WITHIN_MS),
        "sweep: time is up": (lambda: overdue(100), SWEEP_MS),
        "sweep: hints lost": (lambda: claims.waiting(older_than_s=1, limit=100), SWEEP_MS),
        "sweep: wishes": (lambda: proposals_to_refresh(limit=100), SWEEP_MS),
        "sweep: decided, not taken up": (lambda: resolutions_open(limit=100), SWEEP_MS),
        "sweep: leases over": (lambda: claims.expired(limit=100), SWEEP_MS),
        "sweep: held back": (lambda: stops.held_back(limit=100), SWEEP_MS),
        "worker: next claim": (lambda: claims.claim_next(worker="bench"), SWEEP_MS),
    }


def counts(filled: Any) -> None:
    """What the navigation counts for somebody who sees all of it."""
    from config.navigation import PLACES

    for place in PLACES:
        if place.count is not None:
            place.count(filled.admin.actor)


def ids(filled: Any) -> tuple[UUID, UUID]:
    """The most urgent pending proposal and the one decided last. Both must be intact, or the pages would be
    quick by showing nothing."""
    from approvals.selectors.proposals import inbox, proposal_detail

    actor = filled.big.mara.actor
    waiting, decided = inbox(actor, view="all").rows[0], inbox(actor, view="decided").rows[0]
    for row in (waiting, decided):
        assert proposal_detail(actor, row.id).content is not None, row
    return waiting.id, decided.id


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
