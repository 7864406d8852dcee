"""`manage.py sweep`: the process that finishes what a lost hint, a dead worker or a passed deadline left behind.

It polls PostgreSQL and needs nothing else: with the broker gone it does the ready work itself, in a few threads. Any
number of sweeps may run beside each other.
"""

import logging
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from django.db import connections

from access.services.webhook import webhook_send, webhooks_due, webhooks_forget_old
from approvals.services.alarm import alarms_forget_old, alarms_look
from approvals.services.exposure import exposure_forget_old
from approvals.services.proposal import proposal_expire_due
from approvals.services.published import open_judge, open_tenants
from approvals.services.reminder import digest_send, digests_due, notices_forget_old, proposals_remind
from approvals.services.replay import replays_left_alone
from audit.services.heartbeat import heartbeat_record
from audit.services.months import audit_months_prepare
from audit.services.record import audit_pay_owed
from runs.services.drain import wake_drain
from runs.services.held_back import sweep_held_back
from runs.services.replay import replay_run
from runs.services.resolution import resolutions_consume
from runs.services.restore import database_restored_if_elsewhere
from runs.services.sweep import (
    sweep_actor,
    sweep_decided,
    sweep_expired_leases,
    sweep_ready,
    sweep_refresh,
    sweep_wishes,
    sweep_work,
)

log = logging.getLogger("clearance.sweep")

THREADS = 4
OUTGOING = 4
QUIET_S = 60.0
"""A chore that keeps failing is told again after so long, not every second."""


@dataclass
class Chore:
    """Something done every so often. A failure is logged in words and tried again at the next turn."""

    name: str
    every_s: float
    do: Callable[[], Any]
    due: float = 0.0
    failing: bool = False
    told_at: float = field(default=-QUIET_S)

    def turn(self) -> None:
        """Do it if it is due."""
        now = time.monotonic()
        if now < self.due:
            return
        self.due = now + self.every_s
        try:
            self.do()
        except Exception as error:
            if now - self.told_at >= QUIET_S:
                self.told_at = now
                log.exception("The sweep could not %s (%s). It tries again.", self.name, type(error).__name__)
            self.failing = True
        else:
            if self.failing:
                log.info("The sweep can %s again.", self.name)
            self.failing, self.told_at = False, -QUIET_S
        finally:
            connections.close_all()


class Sweep:
    """The chores and the few threads that do work themselves."""

    def __init__(self) -> None:
        self.stopping = threading.Event()
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="sweep")
        # Apart, so that a mail server or a receiver that hangs holds up no call.
        self._outgoing = ThreadPoolExecutor(OUTGOING, thread_name_prefix="outgoing")
        self._rights: dict[UUID, str] = {}
        self._busy: set[object] = set()
        self._sending: set[object] = set()
        self._lock = threading.Lock()
        self.chores = [
            Chore("say that it is alive", 0, partial(heartbeat_record, part="sweep")),
            Chore("take note of a restore", 0, database_restored_if_elsewhere),
            Chore("end leases that are over", 0, sweep_expired_leases),
            Chore("expire proposals", 0, partial(proposal_expire_due, limit=200)),
            Chore("take up decisions", 0, self._decided),
            Chore("find work that waits", 0, self._ready),
            Chore("refresh what people look at", 0, self._wishes),
            Chore("carry a new policy to what waits", 0, self._published),
            Chore("take up replays that nobody works on", 0, self._replays),
            Chore("tell calls that are held back of their approval's end", 2, sweep_held_back),
            Chore("remind people of what waits", 1, proposals_remind),
            Chore("look whether people who decide are there", 5, partial(alarms_look, known=self._rights)),
            Chore("mail what people are told", 20, self._mails),
            Chore("send webhooks", 1, self._webhooks),
            Chore("forget counters that no limit reaches", 600, exposure_forget_old),
            Chore("forget webhooks that were sent long ago", 600, webhooks_forget_old),
            Chore("forget mails that were sent long ago", 600, notices_forget_old),
            Chore("forget alarms that were over long ago", 600, alarms_forget_old),
            Chore("pay owed audit entries", 5, audit_pay_owed),
            Chore("prepare the audit log's months", 3600, lambda: audit_months_prepare(actor=sweep_actor())),
        ]

    def run(self, *, once: bool = False) -> None:
        """Until told to stop; `once` does every chore one time and waits for the work it began."""
        while not self.stopping.is_set():
            began = time.monotonic()
            for chore in self.chores:
                chore.turn()
            if once:
                break
            self.stopping.wait(max(settings.SWEEP_SECONDS - (time.monotonic() - began), 0.05))
        self._pool.shutdown(wait=True)
        self._outgoing.shutdown(wait=True, cancel_futures=self.stopping.is_set())

    def _decided(self) -> None:
        late = sweep_decided()
        if not all(self._begin(run_id, partial(sweep_work, run_id=run_id)) for run_id in late):
            # More than our threads can carry out at once: the decisions are taken up, workers are told.
            resolutions_consume(limit=200)

    def _ready(self) -> None:
        for run_id in sweep_ready():
            self._begin(run_id, partial(sweep_work, run_id=run_id))

    def _wishes(self) -> None:
        for wish in sweep_wishes():
            self._begin(wish.proposal_id, partial(sweep_refresh, wish=wish))

    def _published(self) -> None:
        for tenant_id in open_tenants():
            self._begin(tenant_id, partial(open_judge, tenant_id=tenant_id))

    def _replays(self) -> None:
        for replay_id in replays_left_alone():
            self._begin(replay_id, partial(replay_run, replay_id=replay_id))

    def _mails(self) -> None:
        for person_id in digests_due():
            self._send(("mail", person_id), partial(digest_send, person_id=person_id))

    def _webhooks(self) -> None:
        for tenant_id in webhooks_due():
            self._send(("webhook", tenant_id), partial(webhook_send, tenant_id=tenant_id))

    def _send(self, what: object, do: Callable[[], object]) -> None:
        """In a thread of its own kind; not twice at once for the same receiver."""
        with self._lock:
            if what in self._sending:
                return
            self._sending.add(what)
        self._outgoing.submit(self._do, what, do, self._sending)

    def _begin(self, what: UUID, do: Callable[[], object]) -> bool:
        """In a thread; True if one is at it. Not if all are busy: what is not done now is found again in a second."""
        with self._lock:
            if what in self._busy:
                return True
            if len(self._busy) >= THREADS:
                return False
            self._busy.add(what)
        self._pool.submit(self._do, what, do, self._busy)
        return True

    def _do(self, what: object, do: Callable[[], object], busy: set[object]) -> None:
        try:
            do()
        except Exception:
            log.exception("The sweep's own work on %s failed.", what)
        finally:
            connections.close_all()
            with self._lock:
                busy.discard(what)


class Command(BaseCommand):
    help = "Finishes what a lost hint, a dead worker or a passed deadline left behind. Runs until INT or TERM."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--once", action="store_true", help="do every chore one time and end")

    def handle(self, *args: Any, **options: Any) -> None:
        sweep = Sweep()

        def end(*_: object) -> None:
            sweep.stopping.set()
            wake_drain(seconds=settings.DRAIN_SECONDS)

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, end)
        log.info("The sweep looks every %.1f s.", settings.SWEEP_SECONDS)
        sweep.run(once=options["once"])
