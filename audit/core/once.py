"""What many need, made once: for one round of answers, not for keeping."""

from collections.abc import Callable, Hashable
from typing import Any


class Once:
    """Values by key. The first who needs one makes it; a making that failed fails for each who needs it, and for no
    other. Holds what it made until it is let go itself, so it lives as long as one round of answers."""

    def __init__(self) -> None:
        self._made: dict[Hashable, Any] = {}
        self._failed: dict[Hashable, Exception] = {}

    def __call__[T](self, key: Hashable, make: Callable[[], T]) -> T:
        """The value of `key`. The key must say everything that the value depends on."""
        if key in self._failed:
            raise self._failed[key]
        if key not in self._made:
            try:
                self._made[key] = make()
            except Exception as error:
                self._failed[key] = error
                raise
        made: T = self._made[key]
        return made
