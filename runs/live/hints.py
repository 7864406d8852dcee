"""Hints: "this run has work", "this row changed". Sent after the commit, by a thread of their own; they may be lost.

No request and no transaction talks to the broker (data rule 5): publishing raises with the broker dead and blocks for
tens of seconds with it frozen. So whoever has something to say puts it into a bounded queue and goes on; one daemon
thread a process sends. A full queue drops. What a lost hint missed is found by the sweep (work) and by the re-read
every few seconds (live pages, long-polls).

Two kinds of message leave here: a Celery task of `runs.tasks` (`wake` with a run's id, others with the id of what they
are about), and the channel-layer message
`{"type": "hint", "kind", "tenant", "id", "seq"}` to the group `hub`, which each web process has joined once for all its
pages and long-polls. They carry ids and numbers only: the receiver reads rows, with its own rights (data rule 6).
"""

import asyncio
import logging
import os
import queue
import threading
import time
from typing import Any, Literal

from celery import Celery, current_app
from channels.layers import get_channel_layer

log = logging.getLogger(__name__)

type Kind = Literal["run", "proposal", "call", "inbox", "stops"]
type _Item = tuple[Literal["task"], tuple[str, str]] | tuple[Literal["live"], tuple[str, str, str], int]

HUB_GROUP = "hub"
WAKE_TASK = "runs.tasks.wake"
QUEUE_LIMIT = 2000
SEND_SECONDS = 1.0
"""How long one message may keep the thread. Nobody waits for it, but the hints behind it grow stale."""
REST_SECONDS = 1.0
"""After a failure nothing is tried for this long, and hints of that time are dropped: the broker is gone."""


class Hints:
    """A queue and the thread that empties it. One a process (`wake`, `publish` below); tests make their own."""

    def __init__(self, *, app: Celery | None = None, limit: int = QUEUE_LIMIT) -> None:
        self._app = app
        self._limit = limit
        self._reset()

    def _reset(self) -> None:
        self._queue: queue.Queue[_Item] = queue.Queue(self._limit)
        self._start = threading.Lock()
        self._thread: threading.Thread | None = None
        self._producer: Any = None
        self._failed_at: float | None = None
        self._busy_since: float | None = None
        self._dropped = 0

    def wake(self, run_id: object) -> bool:
        """Tell a worker that this run has work. False when the hint was dropped or the broker does not answer."""
        return self.task(WAKE_TASK, run_id)

    def task(self, name: str, about: object) -> bool:
        """Tell a worker to run this task on the row with that id. False as above."""
        return self._put(("task", (name, str(about)))) and self.healthy()

    def publish(self, kind: Kind, tenant_id: object, row_id: object, seq: int) -> bool:
        """Tell who watches that a row has reached `seq`. False as above."""
        return self._put(("live", (kind, str(tenant_id), str(row_id)), seq)) and self.healthy()

    def healthy(self) -> bool:
        """Whether hints are getting through: the last one did, and none has been on its way for long."""
        busy_since = self._busy_since
        return self._failed_at is None and (busy_since is None or time.monotonic() - busy_since < SEND_SECONDS)

    def drained(self, timeout: float) -> bool:
        """Wait until everything handed over so far was sent or dropped; for a process that is about to end."""
        until = time.monotonic() + timeout
        while time.monotonic() < until:
            if self._queue.unfinished_tasks == 0:
                return True
            time.sleep(0.005)
        return False

    def _put(self, item: _Item) -> bool:
        if self._thread is None:
            with self._start:
                if self._thread is None:
                    self._thread = threading.Thread(target=self._run, name="hints", daemon=True)
                    self._thread.start()
        try:
            self._queue.put_nowait(item)
        except queue.Full:
            self._dropped += 1
            if self._dropped == 1 or self._dropped % self._limit == 0:
                log.warning(
                    "The hint queue is full; %d dropped so far. The sweep finds what they meant.", self._dropped
                )
            return False
        return True

    def _run(self) -> None:
        # A loop of this thread's own: the channel layer keeps one connection a loop.
        loop = asyncio.new_event_loop()
        while True:
            batch = [self._queue.get()]
            while len(batch) < self._limit:
                try:
                    batch.append(self._queue.get_nowait())
                except queue.Empty:
                    break
            try:
                self._send(loop, batch)
            except Exception as error:
                self._fail(error)
            finally:
                self._busy_since = None
                for _ in batch:
                    self._queue.task_done()

    def _send(self, loop: asyncio.AbstractEventLoop, batch: list[_Item]) -> None:
        if self._failed_at is not None and time.monotonic() - self._failed_at < REST_SECONDS:
            return
        # Ten events of one run are one message: the receiver reads everything behind its own number anyway.
        tasks = dict.fromkeys(item[1] for item in batch if item[0] == "task")
        lives: dict[tuple[str, str, str], int] = {}
        for item in batch:
            if item[0] == "live":
                lives[item[1]] = max(item[2], lives.get(item[1], 0))
        for name, about in tasks:
            self._busy_since = time.monotonic()
            self._send_task_twice(name, about)
        for (kind, tenant_id, row_id), seq in lives.items():
            self._busy_since = time.monotonic()
            message = {"type": "hint", "kind": kind, "tenant": tenant_id, "id": row_id, "seq": seq}
            loop.run_until_complete(_group_send(message))
        if self._failed_at is not None:
            self._failed_at = None
            log.info("Hints get through again.")

    def _send_task_twice(self, name: str, about: str) -> None:
        try:
            self._send_task(name, about)
        except Exception:
            # A connection kept over a restart of the broker fails at its first use and says nothing about the broker.
            self._drop_connection()
            self._send_task(name, about)

    def _send_task(self, name: str, about: str) -> None:
        app: Celery = self._app or current_app._get_current_object()
        if self._producer is None:
            # Of our own, not from Celery's pool: with these limits, and thrown away after a failure.
            options = {
                **(app.conf.broker_transport_options or {}),
                "socket_timeout": SEND_SECONDS,
                "socket_connect_timeout": SEND_SECONDS,
                "max_retries": 0,
            }
            connection = app.connection_for_write(transport_options=options)
            self._producer = app.amqp.Producer(connection, auto_declare=False)
        app.send_task(name, args=[about], producer=self._producer, retry=False, ignore_result=True)

    def _fail(self, error: Exception) -> None:
        if self._failed_at is None:
            log.warning(
                "Hints do not get through (%s: %s). Slower, nothing lost: the sweep does the work meanwhile.",
                type(error).__name__,
                error,
            )
        self._failed_at = time.monotonic()
        self._drop_connection()

    def _drop_connection(self) -> None:
        producer, self._producer = self._producer, None
        if producer is not None:
            try:
                producer.connection.collect(socket_timeout=0.1)
            except Exception as error:
                log.debug("The old broker connection did not close cleanly: %r", error)


async def _group_send(message: dict[str, Any]) -> None:
    layer = get_channel_layer()
    if layer is None:
        return
    async with asyncio.timeout(SEND_SECONDS):
        await layer.group_send(HUB_GROUP, message)


_hints = Hints()
# A forked child has the parent's queue and no thread to empty it.
os.register_at_fork(after_in_child=_hints._reset)
wake = _hints.wake
task = _hints.task
publish = _hints.publish
healthy = _hints.healthy
drained = _hints.drained
