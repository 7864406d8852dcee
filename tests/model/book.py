"""The target of the driven models: a payment server over real HTTP that honours no key, and a book of what it did.

A request arrives when the model says so. The answer to a request goes out at once, with the effect prepared; the effect
stands in the book, and is found by reading and by looking up, from the moment at which `arrive` is called. So a worker
can be "between its check and the write", or its request on the way, for as long as a history wants.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs

from tests.support.target import Visit

AMOUNT, WHOLE = 4_500, 18_900


@dataclass
class Book:
    """What the target did, by order of arrival: (charge, key). `others` counts what somebody else did to the record."""

    effects: list[tuple[str, str]] = field(default_factory=list)
    others: int = 0
    answer: Callable[[Visit], None] | None = None

    def mark(self) -> tuple[tuple[tuple[str, str], ...], int]:
        """A value to come back to."""
        return tuple(self.effects), self.others

    def reset(self, mark: tuple[tuple[tuple[str, str], ...], int]) -> None:
        """As it was at `mark`."""
        self.effects, self.others = list(mark[0]), mark[1]

    def arrive(self, charge: str, key: str) -> None:
        """A request that was written has its effect."""
        self.effects.append((charge, key))

    def keys(self, charge: str) -> list[str]:
        """The keys of the effects on a charge."""
        return [key for on, key in self.effects if on == charge]

    @contextmanager
    def answering(self, answer: Callable[[Visit], None] | None) -> Iterator[None]:
        """Requests for an effect are answered by `answer` instead, and have none."""
        self.answer = answer
        yield
        self.answer = None

    def __call__(self, visit: Visit) -> None:
        """Answer one request; a worker that was too late has connected and written none."""
        if not visit.raw:
            return
        if visit.line.startswith("POST") and self.answer is not None:
            self.answer(visit)
            return
        path, _, query = visit.line.split(" ")[1].partition("?")
        if visit.line.startswith("POST"):
            form = {name: values[0] for name, values in parse_qs(visit.body).items()}
            effect = self._effect("re_prepared", form["metadata[clearance_key]"])
            visit.answer_json(effect | {"amount": int(form["amount"])})
        elif path == "/v1/refunds":
            charge = parse_qs(query)["charge"][0]
            made = [self._effect(f"re_{at}", key) for at, (on, key) in enumerate(self.effects, 1) if on == charge]
            visit.answer_json({"data": made, "has_more": False})
        else:
            refunded = AMOUNT * len(self.keys(path.rpartition("/")[2])) + self.others
            visit.answer_json({"amount": WHOLE, "amount_refunded": refunded, "currency": "aud", "status": "succeeded"})

    @staticmethod
    def _effect(number: str, key: str) -> dict[str, object]:
        return {
            "id": number, "amount": AMOUNT, "currency": "aud", "status": "succeeded",
            "metadata": {"clearance_key": key},
        }  # fmt: skip


def drop(visit: Visit) -> None:
    """The target's answer never arrives."""
    visit.reset()


def refuse(visit: Visit) -> None:
    """The target says no."""
    visit.answer_json({"error": {"message": "Charge was disputed."}}, status="402 Payment Required")


def turn_away(visit: Visit) -> None:
    """The target says that it did not look at it."""
    visit.answer_json({}, status="429 Too Many Requests")


@dataclass
class Shop:
    """Where the world of tests/support finds its payment server: at the book's address."""

    host: str
    charges: int = 0

    def create_charge(self, amount: int, currency: str) -> str:
        """A paid charge's id."""
        assert (amount, currency) == (WHOLE, "aud")
        self.charges += 1
        return f"ch_{self.charges}"

    def write_orders(self, reference_dir: Path, tenant: str, orders: dict[str, dict[str, object]]) -> None:
        """The table that maps orders to charges."""
        table = reference_dir / tenant / "orders.json"
        table.parent.mkdir(parents=True, exist_ok=True)
        table.write_text(json.dumps(orders))
