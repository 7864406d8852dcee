"""What each label of `record_model` is in the services: refunds of two orders, and a database that is taken back.

How it is taken back stands in `restoring`. What the model does not let start is tried after each label. Of the lost
time the services know only that it ended when the restore was noticed, so they wait for a request that was sent at that
moment; the model waits for those that were, and where it waits no longer, time passes here.
"""

from collections.abc import Callable, Hashable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from audit.store import clock
from runs.selectors.restored import lost_requests_until
from runs.selectors.rows import CallRow
from runs.services.restore import database_restored_if_elsewhere
from runs.services.sweep import sweep_expired_leases
from runs.store import claims
from tests.model import book, record_model
from tests.model.driving import SETTLE_MS, Shown, Stage, shown
from tests.model.record_model import NAMES, RECORDS, All, holds, is_quiet, version
from tests.model.restoring import ALLOWING, BACKUP, TIMEOUT_MS, RestoringDriver

type Left = Callable[[str, All], bool]


def without_operators(label: str, s: All) -> bool:
    """Left out where a and b want one record: c, what operators say, and answers."""
    verb = label.partition(" ")[2]
    return (
        label.startswith("c ")
        or "operator" in label
        or verb in ("gets its answer", "loses its answer")
        or (label == "b is asked for" and s.saved is None and not s.place)
    )


def sent_again(label: str, s: All) -> bool:
    """Left out where a was left to people before the backup and is sent again in the lost time: other beginnings."""
    if label == BACKUP:
        return s.db.calls[0].state != "left"
    early = not s.place and (label == "b is asked for" or label.startswith("request "))
    said = label.startswith("b ") and ("operator" in label or label == "b loses its answer")
    done = label in ("a gets its answer", "b gets its answer", "a did not happen, says an operator")
    return early or said or done or label.startswith("c ")


def another_record(label: str, s: All) -> bool:
    """Left out where c wants another record than a: b, and what is in the backup beside a."""
    if s.saved is None and not s.place:
        return label != BACKUP
    lost = label.endswith(" loses its answer")
    return label.startswith("b ") or "operator" in label or lost or label == "a gets its answer"


class RecordDriver(RestoringDriver[All]):
    """Workers are named after the number of the request that they hold. `rows` has the calls by the model's keys,
    `until` by a request's number when it can arrive no more. `left` says what a walk leaves out."""

    rows: dict[int, CallRow]
    until: dict[int, datetime]
    seen: dict[str, Shown | None]

    def __init__(self, stage: Stage, left: Left) -> None:
        super().__init__(stage, record_model.MACHINE)
        self.left = left
        stage.publish(ALLOWING)

    def is_another_name(self, label: str, s: All) -> bool:
        return self.left(label, s)

    def begin(self, s: All) -> None:
        world, stage = self.stage.world, self.stage
        stage.hands.clear()
        stage.stand_at(clock.now())
        self.orders = {record: world.order(book.WHOLE) for record in sorted(set(RECORDS))}
        self.rows, self.until = {}, {}
        self._asked(0, 1)

    def remembered(self) -> Any:
        return dict(self.rows), dict(self.until)

    def remember(self, memory: Any) -> None:
        self.stage.hands.clear()  # no worker lives through it here
        rows, until = memory
        self.rows, self.until = dict(rows), dict(until)

    # -- the labels ----------------------------------------------------------------------------------------------------

    def do(self, label: str, s: All, after: All) -> bool:
        self.stage.pass_time(None)
        if label == "the epoch is raised":
            assert database_restored_if_elsewhere() is not None
        elif label == "what was sent can arrive no more":
            self.stage.pass_time(max(self.until[number] for number in range(1, len(s.requests) + 1)))
        elif label.startswith("request "):
            one = s.requests[int(label.split(" ")[1]) - 1]
            self.stage.book.arrive(self._charge(one.call), self.rows[one.key].key)
        elif label != BACKUP:
            name, _, verb = label.partition(" ")
            if verb == "has no attempt left":
                return False  # the model's bound, not the contract's
            self._call(verb, NAMES.index(name), s)
        if after.db.epoch and is_quiet(after):
            until = lost_requests_until(TIMEOUT_MS)
            assert until is not None
            self.stage.pass_time(until + timedelta(milliseconds=SETTLE_MS))
        return True

    def _charge(self, number: int) -> str:
        return str(self.stage.world.orders[self.orders[RECORDS[number]]]["charge"])

    def _asked(self, number: int, key: int) -> None:
        world = self.stage.world
        self.rows[key] = world.refund(world.run(), self.orders[RECORDS[number]], book.AMOUNT)
        self.stage.turn(self.rows[key], "evaluate")

    def _call(self, verb: str, number: int, s: All) -> None:
        stage, call = self.stage, s.db.calls[number]
        if verb == "is asked for":
            self._asked(number, s.asked + 1)
            return
        row, name = self.rows[call.key], f"w{call.sent}"
        if verb == "starts":
            self._starts(row, number, s)
        elif verb == "is looked up before it is sent, found":
            stage.claim("next", row)
            assert not stage.begin("next"), "it was started"
        elif verb == "gets its answer":
            stage.record(name)
        elif verb == "loses its answer":
            if call.sent > s.past:
                assert stage.send(name, book.drop).status == "unknown"
                stage.record(name)
            else:
                del stage.hands[name]
                self._swept(row)
        elif verb.startswith("is looked up"):
            stage.turn(row, "look_up")
        else:
            stage.operator(row, "retry" if "again" in verb else "did_not_happen")

    def _starts(self, row: CallRow, number: int, s: All) -> None:
        stage, sent = self.stage, len(s.requests) + 1
        name = f"w{sent}"
        stage.claim(name, row)
        assert stage.begin(name), "nothing was started"
        observed = stage.hands[name].observed
        assert observed is not None
        assert observed.state is not None
        assert observed.state["refunded"] == book.AMOUNT * version(s, number)
        # The answer comes at once; that the effect is there, and when, the book says.
        assert stage.send(name).status == "succeeded"
        self.until[sent] = stage.until_nothing_arrives(row)

    def _swept(self, row: CallRow) -> None:
        """The sweep comes to this call, whose lease is over; to another one with such a lease it has not come yet."""
        self.stage.lease_ends(row)
        [mine] = [found for found in claims.expired(limit=10) if str(found.call_pk) == str(row.id)]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(claims, "expired", lambda **_: [mine])
            assert sweep_expired_leases() == 1

    # -- what stands there ---------------------------------------------------------------------------------------------

    def compared(self, s: All) -> dict[str, tuple[object, object]]:
        pairs: dict[str, tuple[object, object]] = {}
        self.seen = {}
        for number, (name, call) in enumerate(zip(NAMES, s.db.calls, strict=True)):
            seen = self.seen[name] = shown(self.rows[call.key]) if call.key else None
            if seen is not None:
                pairs[name] = (seen.call, "unknown" if call.state == "left" else call.state)
                pairs[f"record of {name}"] = (seen.holds, holds(call) and call.state != "left")
                pairs[f"work of {name}"] = ([kind for kind, _, _ in seen.work], WORK.get(call.state, []))
            keys = [self.rows[one.key].key for one in s.requests if one.done and one.call == number]
            pairs[f"effects of {name}"] = (sorted(self._effects(number, s)), sorted(keys))
        if all(real == modelled for real, modelled in pairs.values()):
            pairs["dares"] = (self._dares(s), [])
        return pairs

    def _effects(self, number: int, s: All) -> list[str]:
        mine = {self.rows[one.key].key for one in s.requests if one.call == number}
        return [key for key in self.stage.book.keys(self._charge(number)) if key in mine]

    def essence(self) -> Hashable:
        # A call that is asked for in another history has another key, and is the same call.
        calls = (None if seen is None else replace(seen, key="") for seen in self.seen.values())
        return tuple(calls), tuple(sorted(self.stage.hands))

    def _dares(self, s: All) -> list[str]:
        """Calls that a worker starts now though no label of the model does; all of it is undone."""
        may = {
            label.partition(" ")[0] for label, _ in record_model.steps(s) if label.endswith(("starts", "attempt left"))
        }
        waiting = [(name, call.key) for name, call in zip(NAMES, s.db.calls, strict=True) if call.state == "ready"]
        return [
            name
            for name, key in waiting
            if name not in may and self.tried(lambda key=key: self.sends(self.rows[key].id))  # type: ignore[misc]
        ]


WORK = {"ready": ["dispatch"], "started": ["dispatch"], "unknown": ["look_up"]}
