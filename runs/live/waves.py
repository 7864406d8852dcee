"""Many open pages, one reading: what pages ask at the same time is answered together.

One hint wakes three hundred pages, and each of them needs rows that were read after it. They ask here; all that have
asked by the time a reading begins are answered by it, and who comes while it runs is in the next one. So nobody is
given an answer that is older than their question, nothing is kept between two readings, and there is never more than
one reading of a key at a time, however many pages there are.
"""

import asyncio
import weakref
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from runs.live import hub

_waves: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Waves]" = weakref.WeakKeyDictionary()


async def ask[Q, A](key: Hashable, question: Q, reading: Callable[[Sequence[Q]], Sequence[A]]) -> A:
    """The answer to `question`, from one call of `reading` for all who ask under `key`.

    `reading` runs in a thread of the hub's pool and gives an answer to each question, in their order; all who ask
    under one key must give the same one. What it raises is raised for each of them.
    """
    loop = asyncio.get_running_loop()
    waves = _waves.get(loop)
    if waves is None:
        waves = _waves[loop] = Waves()
    answer: A = await waves.ask(key, question, reading)
    return answer


@dataclass(slots=True)
class _Wave:
    questions: list[Any] = field(default_factory=list)
    answers: list[asyncio.Future[Any]] = field(default_factory=list)


class Waves:
    """The waves of one event loop: by key the one that gathers, and the task that reads for it."""

    def __init__(self) -> None:
        self._gathering: dict[Hashable, _Wave] = {}
        self._reading: dict[Hashable, asyncio.Task[None]] = {}

    async def ask(self, key: Hashable, question: Any, reading: Callable[[Sequence[Any]], Sequence[Any]]) -> Any:
        """See `ask` above."""
        loop = asyncio.get_running_loop()
        wave = self._gathering.setdefault(key, _Wave())
        answer: asyncio.Future[Any] = loop.create_future()
        wave.questions.append(question)
        wave.answers.append(answer)
        if key not in self._reading:
            self._reading[key] = loop.create_task(self._read(key, reading), name="wave")
        return await answer

    async def _read(self, key: Hashable, reading: Callable[[Sequence[Any]], Sequence[Any]]) -> None:
        # A task begins behind all that the loop has to do already: whoever was woken by the same hint has asked.
        try:
            while (wave := self._gathering.pop(key, None)) is not None:
                # Who has closed the page meanwhile needs no answer.
                asked = [
                    (question, answer)
                    for question, answer in zip(wave.questions, wave.answers, strict=True)
                    if not answer.done()
                ]
                if asked:
                    await self._answer(asked, reading)
        finally:
            del self._reading[key]

    async def _answer(
        self, asked: list[tuple[Any, asyncio.Future[Any]]], reading: Callable[[Sequence[Any]], Sequence[Any]]
    ) -> None:
        try:
            given = await hub.read(partial(reading, [question for question, _ in asked]))
            if len(given) != len(asked):
                raise RuntimeError("a reading must answer each question")
        except BaseException as error:
            failure = error if isinstance(error, Exception) else asyncio.CancelledError()
            for _, answer in asked:
                if not answer.done():
                    answer.set_exception(failure)
            if not isinstance(error, Exception):
                raise
            return
        for (_, answer), told in zip(asked, given, strict=True):
            if not answer.done():
                answer.set_result(told)
