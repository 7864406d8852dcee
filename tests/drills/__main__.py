"""Seeded random schedules of faults over many concurrent refunds; one table at the end; exit 1 when a figure is not 0.

    python -m tests.drills                         three schedules by a seed of the moment
    python -m tests.drills --seed 7 --schedules 20
    python -m tests.drills --minutes 60
    python -m tests.drills --break fence           with a safeguard taken out of the workers: has to be red

The stack is the drills' own, in a temporary folder and on free ports; only its processes are harmed, by their ids.
"""

import argparse
import contextlib
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.drills.plan import LENGTH_S, schedule

if TYPE_CHECKING:  # these need Django, which needs the servers' addresses
    from tests.drills.ground import Ground
    from tests.drills.judge import Figures
    from tests.drills.plan import Schedule

SETTLE_S = 90.0
"""How long everything may take to come to its end after the last fault, before it counts as stuck; more on a machine
that is busy with other things."""


def main(arguments: list[str]) -> int:
    """0 when every figure that has to be 0 is; 1 when not."""
    options = _options().parse_args(arguments)
    seed = options.seed if options.seed is not None else random.randrange(10**6)
    print(f"seed {seed}: replay with  SEED={seed} make drills", flush=True)
    folder = Path(tempfile.mkdtemp(prefix="clr-drill-"))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    until = time.monotonic() + options.minutes * 60 if options.minutes else None
    with _ground(folder, options.broken) as ground:
        from tests.drills.judge import Figures

        figures, number = Figures(), 0
        while time.monotonic() < until if until else number < options.schedules:
            plan = schedule(
                seed,
                number,
                refunds=options.refunds,
                faults=options.faults,
                length_s=options.length,
                broken=options.broken,
            )
            figures.add(one := _drill(ground, plan))
            _line(number, one)
            number += 1
    _table(seed, figures)
    if figures.red and not options.broken:
        print(f"\nLogs of every process: {folder}")
    else:
        shutil.rmtree(folder, ignore_errors=True)
    return int(figures.red)


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.drills", description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--schedules", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=0.0, help="instead of --schedules")
    parser.add_argument("--refunds", type=int, default=24, help="in each schedule")
    parser.add_argument("--faults", type=int, default=6, help="in each schedule")
    parser.add_argument("--length", type=float, default=LENGTH_S, help="seconds of faults in each schedule")
    parser.add_argument("--break", dest="broken", choices=("", "fence", "permit"), default="")
    return parser


@contextlib.contextmanager
def _ground(folder: Path, broken: str) -> "Iterator[Ground]":
    from tests.support import databases

    servers: list[Any] = databases.start_session()
    try:
        import django

        django.setup()
        databases.migrate()
        from tests.drills.ground import Ground
        from tests.support.processes import Between, processes
        from tests.support.stripe import LocalStripe

        with LocalStripe(folder / "payments") as payments, Between(payments) as between:
            with processes(folder) as running:
                ground = Ground(servers[1], payments, between, running, os.environ["DATABASE_OWNER_URL"], broken)
                ground.start()
                try:
                    with ground.watching_leases():
                        yield ground
                finally:
                    with contextlib.suppress(Exception):
                        ground.mend()
    finally:
        databases.stop_session(servers)


def _drill(ground: "Ground", plan: "Schedule") -> "Figures":
    """One schedule from the first request to the last figure."""
    from tests.drills.ground import busy
    from tests.drills.judge import judge, open_calls
    from tests.drills.people import Crowd

    before, ended_before = dict(ground.done), ground.ended_by_timer
    ground.pace = busy()
    crowd = Crowd.gather(ground, plan)
    waiting = list(plan.faults)
    began = time.monotonic()
    crowd.begin()
    while (at_s := time.monotonic() - began) < plan.length_s or (waiting and at_s < plan.length_s + 5):
        while waiting and waiting[0].at_s <= at_s:
            ground.harm(waiting.pop(0))
        ground.tick()
        time.sleep(0.05)
    # Who is frozen for longer than the schedule stays so until the others have done without it.
    while ground.frozen and time.monotonic() - began < plan.length_s + 15 * ground.pace:
        ground.tick()
        time.sleep(0.05)
    ground.mend()
    mended = time.monotonic()
    while crowd.asking() or open_calls(ground, crowd.world.tenant.id):
        ground.tick()  # a process that the kernel's timer ends is started again
        if time.monotonic() - mended > SETTLE_S * ground.pace:
            break
        time.sleep(0.2)
    recovered = time.monotonic() - mended
    crowd.end()
    figures = judge(ground, crowd)
    figures.slowest_recovery_s = recovered
    figures.ended_by_timer = ground.ended_by_timer - ended_before
    figures.faults.update({kind: n - before.get(kind, 0) for kind, n in ground.done.items() if n > before.get(kind, 0)})
    figures.changes.update(lost.kind for lost in crowd.lost)
    return figures


def _line(number: int, one: "Figures") -> None:
    word = "RED " if one.red else "good"
    print(
        f"{number:4} {word} {one.runs} runs, {one.effects} effects, {one.unknown_surfaced} unknown, "
        f"recovered in {one.slowest_recovery_s:.1f} s; " + ", ".join([*one.faults.elements(), *one.changes.elements()]),
        flush=True,
    )
    for reason in one.reasons[:10]:
        print(f"         {reason}", flush=True)


def _table(seed: int, figures: "Figures") -> None:
    rows: list[tuple[str, object]] = [
        ("schedules", figures.schedules),
        ("runs", figures.runs),
        ("decisions", figures.decisions),
        ("effects", figures.effects),
        *((f"fault: {kind}", n) for kind, n in sorted(figures.faults.items())),
        *((f"change: {kind}", n) for kind, n in sorted(figures.changes.items())),
        *((f"calls that ended {end}", n) for end, n in sorted(figures.ends.items())),
        ("processes ended by the kernel's timer", figures.ended_by_timer),
        ("unknown outcomes surfaced", figures.unknown_surfaced),
        ("slowest of them after its lease", f"{figures.slowest_unknown_s:.1f} s"),
        ("slowest recovery after the last fault", f"{figures.slowest_recovery_s:.1f} s"),
        *((f"{name.replace('_', ' ')} (has to be 0)", getattr(figures, name)) for name in figures.MUST_BE_ZERO),
    ]
    width = max(len(name) for name, _ in rows)
    print(f"\n{'seed':{width}}  {seed}")
    for name, value in rows:
        print(f"{name:{width}}  {value}")
    print(f"{'verdict':{width}}  {'RED' if figures.red else 'green'}", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
