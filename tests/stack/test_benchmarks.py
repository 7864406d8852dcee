"""Each benchmark still runs: with hardly any rows, so what it measures says nothing here."""

import os
import re
import subprocess
import sys

import pytest

from tests.support.databases import ROOT

FEWEST = {"inbox": 30, "run_page": 2, "audit_log": 15, "policy_evaluation": 2}
"""Figures that a benchmark tells without a browser. live_pages starts the whole stack and rests for a minute: it is
left to `make bench`, and what it drives to tests/live."""


@pytest.mark.parametrize("name", FEWEST)
def test_a_benchmark_runs_and_its_figures_stand_in_the_table(name):
    outside = {"DATABASE_URL", "DATABASE_OWNER_URL", "REDIS_URL", "DJANGO_SETTINGS_MODULE"}
    environment = {key: value for key, value in os.environ.items() if key not in outside}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--scale", "0.0001", name],
        env=environment | {"CLEARANCE_BENCH_TURNS": "1", "CLEARANCE_CHROMIUM": "/none"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    told = re.search(r"(\d+) figures, (\d+) with a bound, \d+ over it\.\n$", done.stdout)
    assert told, done.stdout[-2000:] + done.stderr[-4000:]
    assert int(told[1]) >= FEWEST[name], done.stdout
    assert "broke" not in done.stdout
