"""How quick the audit log is with a million entries over a year, and how much memory an export takes.

    python -m benchmarks.audit_log [ENTRIES]

Starts a database of its own in a temporary folder, fills the log by SQL, and opens the auditor's pages as a signed-in
auditor does, through the whole of Django and its templates. Prints one line a figure, then the plan of the first page.
"""

import os
import resource
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import psycopg

from benchmarks.ground import TURNS, Figure, first_admin, servers, tell
from tests.support.audit_rows import INSERT, parameters

ENTRIES = 1_000_000
EXPORTED = 200_000
MONTHS = 12
WITHIN_MS = 150.0
WITHIN_MB = 40.0


def main(arguments: list[str]) -> int:
    """Prints the figures; 1 if one of them is over its bound."""
    entries = int(arguments[0].replace("_", "")) if arguments else ENTRIES
    with servers() as (postgres, _):
        client, tenant = first_admin()
        fill(postgres.owner_url, tenant, entries)
        return report(client, tenant, entries)


def fill(url: str, tenant: str, entries: int) -> None:
    """The log of a year, each month in its own partition."""
    began = time.monotonic()
    with psycopg.connect(url, autocommit=True) as owner:
        [[now]] = owner.execute("SELECT clock_timestamp()").fetchall()
        back = f"SELECT clock_timestamp() - interval '{MONTHS} months'"
        make = "CREATE OR REPLACE FUNCTION clearance_now() RETURNS timestamptz LANGUAGE sql VOLATILE AS $$ {} $$"
        owner.execute(make.format(back))
        owner.execute("SELECT audit_months_ahead(%s)", [MONTHS + 1])
        owner.execute(make.format("SELECT clock_timestamp()"))
        apart = MONTHS * 30 * 86400 / entries
        owner.execute(INSERT, parameters(tenant, entries=entries, until=now, apart=apart))
        owner.execute("ANALYZE audit_entry")
        [[size]] = owner.execute(
            "SELECT sum(pg_total_relation_size(inhrelid)) FROM pg_inherits WHERE inhparent = 'audit_entry'::regclass"
        ).fetchall()
    took = time.monotonic() - began
    each, megabytes = took / entries * 1e6, int(size) // 1_000_000
    print(f"{entries:,} entries written by SQL in {took:.0f} s ({each:.0f} µs each), {megabytes} MB")


def report(client: Any, tenant: str, entries: int) -> int:
    """Each page and its figures."""
    late = False
    print(f"load of the machine: {', '.join(f'{load:.1f}' for load in os.getloadavg())}")
    run, call = tenant_call(tenant)
    person = person_of(tenant)
    for name, address in {
        "first page": "/audit/",
        "first page of a rare tool": "/audit/?tool=close_account",
        "first page of a frequent tool": "/audit/?tool=refund_order",
        "first page of what was refused": "/audit/?verdict=refused",
        "first page of decisions": "/audit/?action=proposal.decided",
        "first page of a group of actions": "/audit/?action=agent.*",
        "first page of one person": f"/audit/?actor={person}",
        "first page of one person by name": "/audit/?actor=Person+17",
        "first page of one person and a rare tool": f"/audit/?actor={person}&tool=close_account",
        "first page of a run": f"/audit/?run={run}",
        "first page of a call": f"/audit/?call={call}",
        "first page of a day": "/audit/?since=2026-06-01&until=2026-06-02",
        "a page half a year down": "/audit/?before=2026-05-15T00:00:00.000000Z~1",
        "nothing found": "/audit/?tool=no_such_tool",
        "one entry": f"/audit/{number_of(tenant)}/",
        "the path of a call": f"/audit/path/?run={run}&call={call}",
    }.items():
        best, ms, cpu, queries, kilobytes = timed(client, address)
        late |= best > WITHIN_MS
        beside = f"median {ms:.0f}, own CPU {cpu:.0f}; {queries} queries, {kilobytes:.0f} kB"
        tell(Figure(bench="audit log", name=name, value=best, unit="ms", bound=WITHIN_MS, note=beside))
    print(explained(tenant))
    late |= not exported(client, min(entries, EXPORTED))
    return int(late)


def timed(client: Any, address: str) -> tuple[float, float, float, int, float]:
    """Best and median milliseconds, median of this process's own (what a busy machine cannot make longer), queries,
    kilobytes."""
    from django.db import connection

    def once() -> tuple[float, float, int, int]:
        sent: list[str] = []

        def remember(execute: Callable[..., Any], statement: str, *rest: Any) -> Any:
            sent.append(statement)
            return execute(statement, *rest)

        with connection.execute_wrapper(remember):
            began, own = time.perf_counter(), time.process_time()
            answer = client.get(address)
            took, used = (time.perf_counter() - began) * 1000, (time.process_time() - own) * 1000
        assert answer.status_code == 200, (address, answer.status_code)
        return took, used, len(sent), len(answer.content)

    once()
    turns = [once() for _ in range(TURNS)]
    walls = [turn[0] for turn in turns]
    own = statistics.median(turn[1] for turn in turns)
    return min(walls), statistics.median(walls), own, turns[-1][2], turns[-1][3] / 1000


def explained(tenant: str) -> str:
    """The plan of the first page's statement."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "EXPLAIN (ANALYZE, BUFFERS OFF, COSTS OFF, TIMING OFF) SELECT at, id, action FROM audit_entry "
            "WHERE tenant_id = %s ORDER BY at DESC, id DESC LIMIT 51",
            [tenant],
        )
        return "\n".join(f"    {line}" for (line,) in cursor.fetchall())


def exported(client: Any, wanted: int) -> bool:
    """Streams an export chunk by chunk and throws it away; the growth of this process tells what it held at once."""
    import asyncio

    from django.db import connection

    from access.selectors.actors import actor_for_session
    from audit.exports.files import content
    from audit.services.reading import audit_export_begin

    actor = actor_for_session(client.session["_auth_user_id"], None)
    assert actor is not None
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT at FROM audit_entry WHERE tenant_id = %s ORDER BY at, id OFFSET %s LIMIT 1",
            [actor.tenant_id, max(0, wanted * 9 // 10)],
        )
        [until] = cursor.fetchone()
    fine = True
    for form in ("jsonl", "csv"):
        from datetime import UTC

        begun = audit_export_begin(actor=actor, given={"until": until.isoformat()}, zone=UTC, form=form)  # type: ignore[arg-type]

        async def drain(begun: Any = begun) -> tuple[int, bytes]:
            size, last = 0, b""
            async for chunk in content(begun):
                size, last = size + len(chunk), chunk
            return size, last

        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        began = time.monotonic()
        size, last = asyncio.run(drain())
        took = time.monotonic() - began
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 - before
        assert b"sha256" in last
        fine &= grown < WITHIN_MB
        count = int(str(last).split("count")[1].strip('\\":').split(",")[0].strip('":'))
        beside = f"{count:,} entries, {size // 1_000_000} MB in {took:.1f} s"
        name = f"export as {form}: memory"
        tell(Figure(bench="audit log", name=name, value=grown, unit="MB", bound=WITHIN_MB, note=beside))
    return fine


def tenant_call(tenant: str) -> tuple[str, str]:
    """Run and call in the middle of the log."""
    return one(
        "SELECT run_id, call_id FROM audit_entry WHERE tenant_id = %s AND action = 'call.succeeded' "
        "ORDER BY at DESC OFFSET 1000 LIMIT 1",
        tenant,
    )


def person_of(tenant: str) -> str:
    """Somebody who decides."""
    return str(
        one("SELECT actor_id FROM audit_entry WHERE tenant_id = %s AND actor_kind = 'person' LIMIT 1", tenant)[0]
    )


def number_of(tenant: str) -> int:
    """An entry."""
    return int(one("SELECT id FROM audit_entry WHERE tenant_id = %s ORDER BY at LIMIT 1", tenant)[0])


def one(statement: str, tenant: str) -> Any:
    """The row that the statement finds."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(statement, [tenant])
        return cursor.fetchone()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
