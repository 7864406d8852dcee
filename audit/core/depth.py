"""How much of something waits."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Depth:
    """`count` things wait, the oldest for `oldest_s` seconds by the database's clock (None: nothing waits)."""

    count: int
    oldest_s: float | None
