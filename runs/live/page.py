"""What all live pages share. A message says "look", the rows say what is.

Every socket is one loop: wait for a hint (or three seconds), read, send what the page does not have yet. The reading is
the hub's, in its own small pool, so a socket holds no connection while it waits and a slow client holds nobody up.
Origin and rights are looked at when it opens and the rights again at every reading, pushed or not: a person who was
signed out, deactivated or moved to another organisation loses the socket within seconds (S17). A foreign id closes
exactly like an unknown one (S62).
"""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings

from access.web.sessions import Person, person_of_key
from audit.core.jsondoor import open_json_object
from audit.core.refusal import Forbidden, NotFound, Refusal
from audit.store.clock import now
from runs.live import hub

log = logging.getLogger(__name__)

SIGNED_OUT = 4401
GONE = 4404
UNREADABLE = 4400
FAILED = 1011

BEAT_SECONDS = 20.0
"""After so long without news a beat tells the page that the line is alive, and what time it is here."""
FULL_SECONDS = 15.0
"""At least so often everything is read although the token is the same: other people's rights stand in no token."""
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
        self.tenant_id = ""
        self.following: asyncio.Task[None] | None = None
        # What the last reading that found nothing new was asked by, and when.
        self.quiet: Any = None
        self.quiet_at = 0.0
        if not _same_site(self.scope):
            await self.close()
            return
        await self.accept()
        # The hellos that come meanwhile wait: what a list follows depends on the tenant that this look finds.
        try:
            found = await hub.wait([], partial(self._look, None), timeout=0)
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
        try:
            while True:
                found: Push | Close | None = await hub.wait(self.keys(), partial(self._look, has), timeout=BEAT_SECONDS)
                if isinstance(found, Close):
                    await self.close(code=found.code)
                    return
                if found is None:
                    found = Push(await hub.wait([], _beat, timeout=0) or "", has)
                has = found.has
                try:
                    await self.send(text_data=found.html)
                except OSError:
                    return  # the page went away while it was being told; its disconnect follows
                await asyncio.sleep(self.rest_seconds)
        except asyncio.CancelledError:
            raise
        except Exception:
            await self._fail()

    async def _fail(self) -> None:
        # The page says that it is not live and comes back; a socket that stays open and silent would lie.
        log.exception("A live page could not be read.")
        await self.close(code=FAILED)

    def _look(self, has: Any) -> Push | Close | None:
        """One reading, in a thread of the hub."""
        person = person_of_key(self.session_key)
        if person is None or self.tenant_id not in ("", person.actor.tenant_id):
            return Close(SIGNED_OUT)
        self.tenant_id = person.actor.tenant_id
        try:
            at, asked = monotonic(), (person, has, self.token(person, has))
            if asked == self.quiet and at - self.quiet_at < FULL_SECONDS:
                return None
            found = self.look(person, has)
        except (NotFound, Forbidden):
            return Close(GONE)
        if found is None:
            self.quiet, self.quiet_at = asked, at
        # Rights once more, behind the rows: what was written after somebody lost them is not sent, however slow the
        # reading was.
        if found is not None and person_of_key(self.session_key) != person:
            return self._look(has)
        return found

    def keys(self) -> list[hub.Key]:
        """The hints that concern this page."""
        raise NotImplementedError

    def read_hello(self, hello: Mapping[str, Any]) -> Any:
        """What the page has, from its hello. ValueError, TypeError or KeyError for anything else."""
        raise NotImplementedError

    def token(self, person: Person, has: Any) -> Any:
        """Something cheap that is another one whenever `look` may find news; asked every three seconds for every open
        page. Raises NotFound like `look`. Without one, every look reads everything."""
        return object()

    def look(self, person: Person, has: Any) -> Push | None:
        """What the page lacks; None when it lacks nothing. `has` is None before the hello: then only rights count."""
        raise NotImplementedError


def _beat() -> str:
    return f'<template data-beat data-now="{now().isoformat()}"></template>'


def _same_site(scope: Mapping[str, Any]) -> bool:
    """Whether the page that opens the socket is one of this very site, port included.

    Cookies know no ports: without this a page of another program on localhost could read the queue.
    """
    headers = {name: value.decode("latin-1") for name, value in scope["headers"] if name in (b"origin", b"host")}
    origin = headers.get(b"origin", "")
    return urlsplit(origin).netloc == headers.get(b"host", "") or origin in settings.CSRF_TRUSTED_ORIGINS
