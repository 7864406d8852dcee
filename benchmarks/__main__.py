"""Every benchmark, one after the other, and one table of their figures with the bound beside each.

    python -m benchmarks [--scale 0.01] [NAME …]

Each runs in a process of its own with servers of its own. `--scale` shrinks all of them in step; the bounds stay, so
only the full scale answers for the requirement. 1 if a figure is over its bound or a benchmark broke.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.ground import FIGURES, Figure, machine

type Arguments = Callable[[float], list[str]]

BENCHES: dict[str, Arguments] = {
    "run_page": lambda scale: [str(max(int(10_000 * scale), 60))],
    "policy_replay": lambda scale: ["--calls", str(max(int(100_000 * scale), 2_000))],
    "live_pages": lambda scale: [str(max(int(500 * scale), 5))],
    "policy_evaluation": lambda scale: [str(max(int(2_000 * scale), 20))],
    "audit_log": lambda scale: [str(max(int(1_000_000 * scale), 8_000))],
    "inbox": lambda scale: ["--scale", str(scale)],
}
"""Modules of this package, in the order in which they run (the longest last), and what each is given."""


def main(arguments: list[str]) -> int:
    """Runs what is wanted and prints the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHES))
    wanted = parser.parse_args(arguments)
    names = wanted.names or list(BENCHES)
    if unknown := set(names) - set(BENCHES):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    loads, broken = [os.getloadavg()[0]], []
    with tempfile.TemporaryDirectory(prefix="clr-figures-") as folder:
        kept = Path(folder) / "figures.jsonl"
        kept.touch()
        for name in names:
            print(f"\n== {name}", flush=True)
            command = [sys.executable, "-m", f"benchmarks.{name}", *BENCHES[name](wanted.scale)]
            before = len(figures(kept))
            subprocess.run(command, env=os.environ | {FIGURES: str(kept)}, check=False)
            if len(figures(kept)) == before:
                broken.append(name)
            loads.append(os.getloadavg()[0])
        found = figures(kept)
    print(f"\n{table(found)}\n")
    words = ", ".join(f"{load:.1f}" for load in loads)
    print(f"{machine()}; load before and after each: {words}; scale {wanted.scale:g}")
    over = [figure for figure in found if figure.over]
    for name in broken:
        print(f"{name} gave no figure: it broke.")
    bound = [figure for figure in found if figure.bound is not None]
    print(f"{len(found)} figures, {len(bound)} with a bound, {len(over)} over it.")
    return int(bool(over or broken))


def figures(kept: Path) -> list[Figure]:
    """What the benchmarks told so far."""
    return [Figure(**json.loads(line)) for line in kept.read_text().splitlines()]


def table(found: list[Figure]) -> str:
    """One line a figure: what, how much, the bound, and whether it holds."""
    rows = [("", "figure", "value", "bound", "", "beside it")]
    for at, figure in enumerate(found):
        first = at == 0 or found[at - 1].bench != figure.bench
        rows.append(
            (
                figure.bench if first else "", figure.name, f"{figure.value:,.1f} {figure.unit}".strip(),
                "" if figure.bound is None else f"{figure.bound:,.0f}",
                "" if figure.bound is None else "OVER" if figure.over else "ok", figure.note,
            )
        )  # fmt: skip
    widths = [max(len(row[at]) for row in rows) for at in range(5)]
    return "\n".join(
        "  ".join(row[at].rjust(width) if at in (2, 3) else row[at].ljust(width) for at, width in enumerate(widths))
        + f"  {row[5]}"
        for row in rows
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
