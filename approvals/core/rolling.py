"""What was started in the 24 hours and the 30 days before each of a row of past calls, kept as they go by.

The counters of the present know nothing of the past; here the calls themselves are counted, in their order.
"""

from collections import deque
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from approvals.core.exposure import Subjects

SPANS = {"24h": timedelta(hours=24), "30d": timedelta(days=30)}
LONGEST = max(SPANS.values())


@dataclass(slots=True)
class _Window:
    span: timedelta
    entries: deque[tuple[datetime, str, int]] = field(default_factory=deque)
    sums: dict[str, dict[str, int]] = field(default_factory=dict)

    def add(self, at: datetime, currency: str, amount: int) -> None:
        self.entries.append((at, currency, amount))
        found = self.sums.setdefault(currency, {"amount": 0, "calls": 0})
        found["amount"] += amount
        found["calls"] += 1

    def at(self, moment: datetime) -> dict[str, dict[str, int]]:
        oldest = moment - self.span
        while self.entries and self.entries[0][0] <= oldest:
            _, currency, amount = self.entries.popleft()
            found = self.sums[currency]
            found["amount"] -= amount
            found["calls"] -= 1
            if found["calls"] == 0:
                del self.sums[currency]
        return {currency: dict(found) for currency, found in self.sums.items()}


class Rolling:
    """Sums of each tool by subject. Calls are added, and sums asked for, in the order of their time."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str, str], dict[str, _Window]] = {}

    def add(self, *, tool: str, subjects: Subjects, at: datetime, money: tuple[int | None, str]) -> None:
        """A call that was started; `money` as of `call_money`."""
        amount, currency = money
        for dimension, subject in subjects.items():
            if subject is None:
                continue
            windows = self._kept.setdefault(
                (tool, dimension, subject), {name: _Window(span) for name, span in SPANS.items()}
            )
            for window in windows.values():
                window.add(at, currency, amount or 0)

    def before(self, *, tool: str, subjects: Subjects, at: datetime) -> dict[str, Any]:
        """`Request.exposure` of a call at that moment, without it."""
        found: dict[str, Any] = {}
        for dimension, subject in subjects.items():
            windows = self._kept.get((tool, dimension, subject or ""), {})
            found[dimension] = None if subject is None else {name: one.at(at) for name, one in windows.items()}
        return found
