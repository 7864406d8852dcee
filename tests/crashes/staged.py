"""A real worker, sweep or web server with named steps at which it stops or dies. The product itself holds none of this.

    python -m tests.crashes.staged celery -A config.celery worker …
    python -m tests.crashes.staged sweep
    python -m tests.crashes.staged uvicorn config.asgi:application …

The program is the product's own; only the functions below are wrapped in this process before it starts. A wrapped name
that is no longer there ends the process at once, so that no drill passes by a point that does not exist.

STAGED_FOLDER holds the orders (tests/support/stages.py writes them): `<step>.armed`, a JSON object with `signal`
(STOP, KILL; CONT only tells), `call` (a call's row id, "" for any) and `keep` (again at every arrival). Whoever arrives
first takes the order by renaming it, writes `<step>.reached` (with `keep`: `<step>.<pid>.reached`) and sends itself the
signal. STAGED_SKEW_S makes the wall clock of this process wrong by so many seconds. STAGED_BREAK removes a safeguard.
"""

import contextlib
import datetime as datetime_module
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

STEPS = (
    "before_claim",
    "after_claim",
    "after_redeem",
    "before_send",
    "after_answer",
    "before_outcome",
    "before_publish",
    "turn_over",
)
"""Those of a call that is dispatched, in order; before_publish: between a COMMIT and its hint; turn_over: the worker
has folded a run until it waits."""
BREAKS = ("fence", "permit")

_folder = Path(os.environ.get("STAGED_FOLDER", "."))
_own = threading.local()


def arrive(step: str, call: object = "", **seen: Any) -> None:
    """This thread is at `step`; obey the order that waits for it, if there is one."""
    armed = _folder / f"{step}.armed"
    try:
        order = json.loads(armed.read_text())
    except (FileNotFoundError, ValueError):
        return
    if order["call"] and order["call"] != str(call):
        return
    name = f"{step}.{os.getpid()}" if order["keep"] else step
    if not order["keep"]:
        try:
            armed.rename(_folder / f"{step}.taken")
        except FileNotFoundError:
            return  # another thread was first
    told = {"pid": os.getpid(), "call": str(call), "wall": time.time(), "datetime": _wall().isoformat(), **seen}
    aside = _folder / f"{step}.{threading.get_ident()}.aside"
    aside.write_text(json.dumps(told))
    aside.rename(_folder / f"{name}.reached")
    # To this thread: one that is sent to the process may be seen by another thread first, while this one goes on.
    signal.pthread_kill(threading.get_ident(), signal.Signals[f"SIG{order['signal']}"])


def _wall() -> datetime_module.datetime:
    return datetime_module.datetime.now(datetime_module.UTC)


def wrap(owner: Any, name: str, around: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Put `around(original)` in the place of `owner.name`; AttributeError where there is no such name."""
    setattr(owner, name, around(getattr(owner, name)))


def name_the_steps() -> None:
    """Wrap the functions between which the drills stop a process."""
    from runs import tasks
    from runs.boundaries import direct, gateway
    from runs.live import hints
    from runs.models import Dispatch
    from runs.services import recording, sending
    from runs.store import claims

    def claiming(claim_next):
        def claimed(**given):
            if (_folder / "before_claim.armed").exists():
                waiting = Dispatch.objects.filter(run_id=given.get("run_id"), kind="dispatch", status="ready").first()
                if waiting is not None:
                    arrive("before_claim", waiting.call_id)
            claim = claim_next(**given)
            if claim is not None:
                step = "after_claim" if claim.kind == "dispatch" else f"after_claim_{claim.kind}"
                arrive(step, claim.call_pk, worker=claim.worker)
            return claim

        return claimed

    def starting(send):
        def sent(**given):
            _own.claim = given["work"].claim
            arrive("after_redeem", _own.claim.call_pk)
            return send(**given)

        return sent

    def executing(execute):
        def executed(*arguments, before_send, **given):
            def looked() -> None:
                before_send()
                arrive("before_send", _own.claim.call_pk)

            outcome = execute(*arguments, before_send=looked, **given)
            arrive("after_answer", _own.claim.call_pk, status=outcome.status)
            return outcome

        return executed

    def recording_it(end_in):
        def ended(**given):
            end_in(**given)
            arrive("before_outcome", given["work"].claim.call_pk)

        return ended

    def publishing(publish):
        def published(run_id):
            arrive("before_publish", run=str(run_id))
            return publish(run_id)

        return published

    def taking_a_turn(run_wake):
        def turned(*, run_id):
            try:
                return run_wake(run_id=run_id)
            finally:
                arrive("turn_over", run=str(run_id))

        return turned

    wrap(tasks, "run_wake", taking_a_turn)
    wrap(claims, "claim_next", claiming)
    wrap(sending, "dispatch_send", starting)
    wrap(gateway, "execute", executing)
    wrap(direct, "execute", executing)
    wrap(recording, "dispatch_end_in", recording_it)
    wrap(hints, "wake", publishing)


def take_out(safeguard: str) -> None:
    """Remove one safeguard, to see that the drills notice."""
    if safeguard == "fence":
        # What the sender looks at before it arms its timer and before it writes: is it still mine, is it in time?
        from runs.store import claims

        def blind(look):
            def looked(dispatch_id):
                seen = look(dispatch_id)
                later = seen.now + datetime_module.timedelta(seconds=5)
                return claims.Look(seen.now, "started", _own.claim.fence, later, later)

            return looked

        wrap(claims, "look", blind)
    elif safeguard == "permit":
        from approvals.models import Permit
        from approvals.services import permit

        def unconsumed(consume):
            def consumed(check, *given):
                answer = consume(check, *given)
                used = Permit.objects.filter(pk=check.permit.pk, status="redeemed")
                used.update(status="ready", redeemed_at=None, dispatch_id=None)
                return answer

            return consumed

        wrap(permit._Check, "_consume", unconsumed)
    else:
        raise SystemExit(f"There is no safeguard {safeguard!r} to take out; use one of {', '.join(BREAKS)}.")


def skew(seconds: float) -> None:
    """Make `time.time` and `datetime.now` of this process wrong. Before anything imports the names."""
    real, real_time, real_time_ns = datetime_module.datetime, time.time, time.time_ns
    off = datetime_module.timedelta(seconds=seconds)

    class Kind(type):
        # Values made elsewhere (by the database's driver) are datetimes as well.
        def __instancecheck__(cls, value):
            return isinstance(value, real)

        def __subclasscheck__(cls, other):
            return issubclass(other, real)

    class Skewed(real, metaclass=Kind):  # type: ignore[valid-type]
        @classmethod
        def now(cls, tz=None):
            return real.now(tz) + off

        @classmethod
        def utcnow(cls):
            return real.now(datetime_module.UTC).replace(tzinfo=None) + off

    datetime_module.datetime = Skewed
    time.time = lambda: real_time() + seconds
    time.time_ns = lambda: real_time_ns() + round(seconds * 1e9)


def main(program: str, *arguments: str) -> None:
    if wrong_by := float(os.environ.get("STAGED_SKEW_S", "0")):
        skew(wrong_by)
    import django

    django.setup()
    name_the_steps()
    if broken := os.environ.get("STAGED_BREAK", ""):
        take_out(broken)
    sys.argv = [program, *arguments]
    if program == "celery":
        from celery.__main__ import main as run
    elif program == "uvicorn":
        from uvicorn import main as run
    else:
        from django.core.management import execute_from_command_line

        sys.argv = ["manage.py", program, *arguments]
        run = execute_from_command_line
    with contextlib.suppress(KeyboardInterrupt):
        run()


if __name__ == "__main__":
    main(*sys.argv[1:])
