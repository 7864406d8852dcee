"""What all live pages share. A message says "look", the rows say what is.

Every socket is one loop: wait for a hint, read, send what the page does not have yet. What no hint tells of, the pulse
finds on behalf of all pages (pulse.py). The reading is the hub's, in its own small pool, so a socket holds no
connection while it waits and a slow client holds nobody up; pages that want to know at the same time are answered by
one reading (waves.py). Origin and rights are looked at when it opens and the rights again before every reading, and
behind it when something is sent: a person who was signed out, deactivated or moved to another organisation loses the
socket within seconds (S17). A foreign id closes exactly like an unknown one (S62).
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from typing import Any

from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.core.handlers.asgi import ASGIRequest

from access.selectors.stamps import Sitting, stamps_of
from access.web.sessions import Person, person_of_key
from audit.core.jsondoor import open_json_object
from audit.core.refusal import Forbidden, NotFound, Refusal
from audit.store.clock import now
from runs.live import hub, waves
from runs.live.pulse import Pulse, pulse, rights_key

log = logging.getLogger(__name__)

SIGNED_OUT = 4401
GONE = 4404
UNREADABLE = 4400
FAILED = 1011

BEAT_SECONDS = 20.0
"""After so long without news a beat tells the page that the line is alive, and what time it is here."""
HELLO_LIMIT = 65_536
"""Bytes of a page's message; a list of a thousand rows with their versions fits."""


@dataclass(frozen=True, slots=True)
class Push:
    """HTML for the page, and what the page has once it has received it."""

    html: str
    has: Any


@dataclass(frozen=True, slots=True)
class Close:
    """Why the socket ends."""

    code: int


class LivePage(AsyncWebsocketConsumer):
    """What all live pages share. A subclass says which rows it follows (`keys`) and what to send (`look`)."""

    # The hub listens once for the whole process; a subscription a socket would be one more connection each.
    channel_layer_alias = "the hub listens"
    rest_seconds = 0.02

    async def connect(self) -> None:
        self.session_key: str = self.scope["cookies"].get(settings.SESSION_COOKIE_NAME, "")
        self.person: Person | None = None
        self.stamp: str | None = None
        self.following: asyncio.Task[None] | None = None
        if not _same_site(self.scope):
            await self.close()
            return
        await self.accept()
        # The hellos that come meanwhile wait: what a list follows depends on the tenant that this look finds.
        try:
            found = await self._look(None)
        except Exception:
            await self._fail()
            return
        if isinstance(found, Close):
            await self.close(code=found.code)
            return
        self._follow_from(None)

    async def disconnect(self, code: int) -> None:
        if self.following is not None:
            self.following.cancel()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """The page's hello: what it has. It may come again at any time and counts from there."""
        try:
            if text_data is None:
                raise ValueError("not a hello")
            has = self.read_hello(open_json_object(text_data.encode(), limit=HELLO_LIMIT))
        except (Refusal, ValueError, TypeError, KeyError):
            await self.close(code=UNREADABLE)
            return
        self._follow_from(has)

    def _follow_from(self, has: Any) -> None:
        if self.following is not None:
            self.following.cancel()
        self.following = asyncio.get_running_loop().create_task(self._follow(has))

    async def _follow(self, has: Any) -> None:
        look = pulse()
        loop = asyncio.get_running_loop()
        spoke_at = loop.time()
        try:
            with (
                hub.listening([*self.keys(), rights_key(self.session_key), *self._stops()]) as waiter,
                hub.listening(self._stops()) as stopped,
                look.following(self.keys(), self.sitting),
            ):
                while True:
                    waiter.clear()
                    if stopped.is_set():
                        stopped.clear()
                        await self.send(text_data=await self._beat(look, " data-stops"))
                    began = loop.time()
                    found = await self._look(has)
                    if isinstance(found, Close):
                        await self.close(code=found.code)
                        return
                    if found is not None:
                        has, spoke_at = found.has, loop.time()
                        await self.send(text_data=found.html)
                    await asyncio.sleep(self.rest_seconds if found is not None else hub.rest_after(loop.time() - began))
                    while not await hub.woken(waiter, spoke_at + BEAT_SECONDS - loop.time()):
                        spoke_at = loop.time()
                        await self.send(text_data=await self._beat(look))
        except asyncio.CancelledError:
            raise
        except OSError:
            return  # the page went away while it was being told; its disconnect follows
        except Exception:
            await self._fail()

    async def _fail(self) -> None:
        # The page says that it is not live and comes back; a socket that stays open and silent would lie.
        log.exception("A live page could not be read.")
        await self.close(code=FAILED)

    @property
    def tenant_id(self) -> str:
        """The organisation that the page is of, "" before the first look."""
        return self.person.actor.tenant_id if self.person else ""

    @property
    def sitting(self) -> Sitting:
        """Whose rights the pulse looks after."""
        return Sitting(self.session_key, self.person.actor.id if self.person else "", self.tenant_id)

    async def _look(self, has: Any) -> Push | Close | None:
        """One reading for the rights of this moment."""
        while True:
            person = self.person if await self._same_rights() else await hub.read(self._person)
            if person is None:
                return Close(SIGNED_OUT)
            try:
                found = await self.answer(person, has)
            except (NotFound, Forbidden):
                return Close(GONE)
            # Rights once more, behind the rows: what was written after somebody lost them is not sent, however slow
            # the reading was.
            if found is None or await self._same_rights():
                return found

    async def _same_rights(self) -> bool:
        """Whether the session's rights are those that `person` has, by a reading that begins now."""
        if self.person is None or self.stamp is None:
            return False
        return await waves.ask("stamps", self.sitting, _stamps) == self.stamp

    def _person(self) -> Person | None:
        """Who the session belongs to; None: nobody, or somebody in another organisation. In a thread."""
        tenant_id = self.tenant_id
        while True:
            person = person_of_key(self.session_key)
            if person is None or tenant_id not in ("", person.actor.tenant_id):
                return None
            self.person = person
            self.stamp = self._own_stamp()
            # The stamp must be of these very rights.
            if person_of_key(self.session_key) == person:
                return person

    def _own_stamp(self) -> str | None:
        return stamps_of([self.sitting]).get(self.sitting)

    def _stops(self) -> list[hub.Key]:
        """The hints that something was stopped or let go: here, or in the whole installation. The page is told only
        that, and asks for its banner."""
        return [(hub.ASKED_ANYWAY, self.tenant_id), (hub.ASKED_ANYWAY, "")]

    async def _beat(self, look: Pulse, more: str = "") -> str:
        await self.attend()
        at = look.clock()
        if at is None:
            at = await hub.read(now)
        return f'<template data-beat{more} data-now="{at.isoformat()}"></template>'

    async def attend(self) -> None:
        """Called about every twenty seconds without news; for what a page wants while it is open."""

    async def answer(self, person: Person, has: Any) -> Push | None:
        """What the page lacks. Raises NotFound or Forbidden for what is not this person's."""
        return await hub.read(partial(self.look, person, has))

    def keys(self) -> list[hub.Key]:
        """The hints that concern this page."""
        raise NotImplementedError

    def read_hello(self, hello: Mapping[str, Any]) -> Any:
        """What the page has, from its hello. ValueError, TypeError or KeyError for anything else."""
        raise NotImplementedError

    def look(self, person: Person, has: Any) -> Push | None:
        """What the page lacks; None when it lacks nothing. `has` is None before the hello: then only rights count."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Question:
    """What one of several pages that are about the same wants to know."""

    about: tuple[Any, ...]
    person: Person
    has: Any


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question, with the sitting whose rights it is asked by and their stamp."""

    question: Question
    sitting: Sitting
    stamp: str


_OTHER_RIGHTS = object()
"""In the place of an answer: whoever asked has not, or no longer, the rights that they asked by."""


class SharedPage(LivePage):
    """A page of which many are open at once: they are read together, those of one tenant and of the same `about`."""

    async def _look(self, has: Any) -> Push | Close | None:
        """The same in one reading where the rights are as they were: three that follow each other in three threads, the
        stamps before and behind among them, take a page's news twice as long."""
        if has is None or self.person is None or self.stamp is None:
            return await super()._look(has)
        about, person = self.about(), self.person
        asked = _Asked(Question(about, person, has), self.sitting, self.stamp)
        found = await waves.ask((type(self), person.actor.tenant_id, about), asked, self._answers_by_rights)
        if found is _OTHER_RIGHTS:
            return await super()._look(has)
        if isinstance(found, NotFound | Forbidden):
            return Close(GONE)
        if isinstance(found, Exception):
            raise found
        return found

    @classmethod
    def _answers_by_rights(cls, asked: Sequence[_Asked]) -> Sequence[Any]:
        """`answers` for those whose rights are the stamped ones now, and, where something is told, behind it too."""
        before = stamps_of({one.sitting for one in asked})
        may = [one for one in asked if before.get(one.sitting) == one.stamp]
        told = dict(zip(map(id, may), cls.answers([one.question for one in may]) if may else (), strict=True))
        pushes = {one.sitting for one in may if isinstance(told[id(one)], Push)}
        behind = stamps_of(pushes)
        gone = {one.sitting for one in may if one.sitting in pushes and behind.get(one.sitting) != one.stamp}
        return [_OTHER_RIGHTS if id(one) not in told or one.sitting in gone else told[id(one)] for one in asked]

    def about(self) -> tuple[Any, ...]:
        """What the page is about, within its tenant."""
        return ()

    async def answer(self, person: Person, has: Any) -> Push | None:
        about = self.about()
        key = (type(self), "by person", person.actor.tenant_id, about)
        found = await waves.ask(key, Question(about, person, has), self.answers)
        if isinstance(found, Exception):
            raise found
        return found

    @classmethod
    def answers(cls, questions: Sequence[Question]) -> Sequence[Push | Exception | None]:
        """What each page lacks, None when it lacks nothing, or why it cannot be told. In a thread."""
        raise NotImplementedError


def _stamps(sittings: Sequence[Sitting]) -> Sequence[str | None]:
    found = stamps_of(set(sittings))
    return [found.get(sitting) for sitting in sittings]


def _same_site(scope: Mapping[str, Any]) -> bool:
    """Whether the page that opens the socket is one of this very site: scheme, host and port, as Django compares them
    for a form (CsrfViewMiddleware), a TLS proxy of ours included.

    Cookies know neither ports nor, where they are not marked so, schemes: without this a page of another program on
    localhost could read the queue, and so could a page that somebody on the way puts in place of our plain one.
    """
    secure = scope.get("scheme") == "wss"
    request = ASGIRequest({**scope, "method": "GET", "scheme": "https" if secure else "http"}, BytesIO())
    origin = request.headers.get("origin", "")
    try:
        return origin == f"{request.scheme}://{request.get_host()}" or origin in settings.CSRF_TRUSTED_ORIGINS
    except DisallowedHost:
        return False
