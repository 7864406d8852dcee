"""The end of a process that works on runs: it claims nothing more, finishes what it has started, and goes in time."""

import logging
import os
import threading
import time

from django.db import connections

from runs.store import claims, draining

log = logging.getLogger(__name__)

STEP_S = 0.05
LEFT_S = 3.0
"""How long the rest of the process (the broker's client, other threads) may take once the work is done."""
CUT_OFF = 1
"""The exit code of a process that could not finish in time. What it had sent becomes unknown and is looked up."""


def wake_drain(*, seconds: float) -> None:
    """Begin the end, and see to it that the process is gone within `seconds`. For a signal handler: returns at once.

    What is claimed and not started is given back at once: another worker may have it. What is started is finished and
    recorded; a target that takes longer than the bound leaves an unknown outcome, which nobody sends again (R7).
    """
    if draining.asked():
        return
    draining.ask()
    for name, do in (("drain", _drain), ("drain-bound", _bound)):
        threading.Thread(target=do, args=(seconds,), name=name, daemon=True).start()


def _drain(seconds: float) -> None:
    until = time.monotonic() + seconds
    _give_back()
    while draining.turns():
        time.sleep(STEP_S)
    _give_back()
    log.info("Nothing is under way any more; this process ends.")
    # Whatever else keeps it (a broker that does not answer, a read that hangs) keeps it no longer.
    time.sleep(min(LEFT_S, max(until - time.monotonic(), 0.0)))
    _go(0)


def _bound(seconds: float) -> None:
    """In a thread of its own: not even a database that does not answer keeps the process longer."""
    time.sleep(seconds)
    under_way = draining.turns()
    if under_way:
        log.error("%d turns were not done after %.0f s. What was sent is looked up.", under_way, seconds)
    _go(CUT_OFF if under_way else 0)


def _give_back() -> None:
    try:
        given = claims.give_back_all(claims.boot_id())
        if given:
            log.info("%d claimed rows were given back.", given)
    except Exception:
        log.exception("What is claimed could not be given back; its leases end by themselves.")
    finally:
        connections.close_all()


def _go(code: int) -> None:
    for handler in logging.getLogger().handlers:
        handler.flush()
    os._exit(code)
