"""What a view asks for when there is no news yet. config/api/longpoll.py does the waiting."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.http import HttpResponseBase


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """`news` is asked at every hint on `keys` and returns None while there is none; it reads rows and decides nothing.

    `answer` is the view that then answers, with the request's own path arguments and `more`. `seconds` caps the wait.
    """

    keys: Sequence[tuple[str, str]]
    news: Callable[[], object | None]
    seconds: float
    answer: Callable[..., HttpResponseBase]
    more: Mapping[str, Any] = field(default_factory=dict)
