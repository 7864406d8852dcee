"""What happens in one schedule, thrown by a seed: the refunds that are asked for, the faults, who loses which right.

Pure: the same seed and number give the same plan, whatever the machine does with it.
"""

import random
from dataclasses import dataclass
from typing import Literal

STEPS = ("before_claim", "after_claim", "after_redeem", "before_send", "after_answer", "before_outcome")
WORKERS = ("worker0", "worker1", "worker2")
LENGTH_S = 12.0
"""How long things are asked for and broken, unless said otherwise; then everything is mended and has to come to its
end."""
PAST_LEASE_S = (8.0, 10.0)
"""A freeze outlasts the lease of the drills' tools (7 s), the request's deadline (3 s) and the settling time."""

type Verdict = Literal["approve", "reject"]

KINDS = (
    "worker killed at a step",
    "worker frozen at a step past its lease",
    "worker killed",
    "worker frozen past its leases",
    "worker's clock a minute off",
    "sweep killed",
    "sweep frozen",
    "web server killed",
    "web server killed between COMMIT and hint",
    "PostgreSQL crashed (kill -9)",
    "PostgreSQL shut down at once",
    "Valkey killed and started again",
    "Valkey frozen and thawed",
)
CHANGES = (
    "policy tightened: refused",
    "policy tightened: one more approval",
    "reviewer removed from the group",
    "agent deactivated",
    "approval taken back",
)


@dataclass(frozen=True, slots=True)
class Ask:
    """A refund. `order` may be shared with another one: one effect at a time on an order. `settle` is what the operator
    says if its outcome stays unknown."""

    number: int
    agent: int
    order: int
    amount: int
    at_s: float
    verdict: Verdict
    think_s: float
    cancel_s: float | None
    deadline_s: float | None
    settle: Literal["retry", "did_not_happen"]


@dataclass(frozen=True, slots=True)
class Fault:
    """`who` is a process; `step` where it has to come to first; `for_s` how long it lasts."""

    at_s: float
    kind: str
    who: str
    step: str
    for_s: float
    skew_s: int = 0


@dataclass(frozen=True, slots=True)
class Change:
    """Somebody loses a right, or the rules get stricter. `above` is the amount that the stricter policy refuses."""

    at_s: float
    kind: str
    above: int


@dataclass(frozen=True, slots=True)
class Schedule:
    """One schedule: everything in it is begun within `length_s` seconds."""

    seed: int
    number: int
    length_s: float
    asks: tuple[Ask, ...]
    faults: tuple[Fault, ...]
    changes: tuple[Change, ...]


def schedule(
    seed: int, number: int, *, refunds: int, faults: int, length_s: float = LENGTH_S, broken: str = ""
) -> Schedule:
    """The plan with this number. With a safeguard taken out the moment that it is for comes in every schedule."""
    dice = random.Random(f"clearance drill {seed} {number}")
    asks = tuple(_ask(dice, each, refunds, length_s) for each in range(refunds))
    thrown = [_fault(dice, number * faults + each, length_s) for each in range(faults)]
    if broken == "fence":
        thrown += [_frozen_before_sending(dice, name) for name in WORKERS]
    changes = [_change(dice, length_s) for _ in range(dice.choice((0, 1, 1)))] if not broken else []
    return Schedule(seed, number, length_s, asks, tuple(sorted(thrown, key=lambda fault: fault.at_s)), tuple(changes))


def _ask(dice: random.Random, number: int, refunds: int, length_s: float) -> Ask:
    odd = dice.random()
    return Ask(
        number=number,
        agent=dice.randrange(3),
        order=dice.randrange(max(1, refunds * 3 // 4)),
        amount=1_000 + number * 100 + dice.randrange(100),  # tells the refunds of an order apart
        at_s=dice.uniform(0, length_s * 0.7),
        verdict="reject" if dice.random() < 0.12 else "approve",
        think_s=dice.uniform(0, 1.5),
        cancel_s=dice.uniform(0.2, 3.0) if odd < 0.1 else None,
        deadline_s=dice.uniform(2.0, 8.0) if 0.1 <= odd < 0.2 else None,
        settle=dice.choice(("retry", "did_not_happen")),
    )


def _fault(dice: random.Random, turn: int, length_s: float) -> Fault:
    # One after the other from the list, so that a few schedules have seen every kind; the rest is thrown.
    kind = KINDS[turn % len(KINDS)] if dice.random() < 0.7 else dice.choice(KINDS)
    who = dice.choice(WORKERS)
    step, for_s = "", 0.0
    if kind.endswith("at a step"):
        step = dice.choice(STEPS)
    elif kind.startswith("worker frozen"):
        step, for_s = (dice.choice(STEPS) if "step" in kind else ""), dice.uniform(*PAST_LEASE_S)
    elif kind.startswith("web"):
        who, step = "web", "before_publish" if "hint" in kind else ""
    elif kind.startswith("sweep"):
        who, for_s = "sweep", dice.uniform(1.0, 5.0)
    elif kind.startswith(("PostgreSQL", "Valkey")):
        who, for_s = kind.split()[0], dice.uniform(0.0, 3.0)
    return Fault(dice.uniform(0.5, length_s * 0.8), kind, who, step, for_s, dice.choice((60, -60)))


def _frozen_before_sending(dice: random.Random, who: str) -> Fault:
    """Stopped between its intent and its last look, for longer than anybody waits for it."""
    at_s = dice.uniform(0.2, 2.0)
    return Fault(at_s, "worker frozen at a step past its lease", who, "after_redeem", PAST_LEASE_S[1] + 3.0)


def _change(dice: random.Random, length_s: float) -> Change:
    return Change(dice.uniform(1.0, length_s * 0.8), dice.choice(CHANGES), 1_000 + dice.randrange(1_500))
