"""Hands on what other floors say after a commit: to workers ("there is work") and to live pages ("look again").

Everything here is a hint (data rule 5). A receiver that fails is logged by the signal and changes nothing.
"""

from typing import Any
from uuid import UUID

from django.dispatch import receiver

from approvals.signals import policy_published, proposal_changed, replay_waits
from runs.live import hints
from runs.services.replay import replay_run
from runs.signals import run_advanced, stops_changed, work_waits


@receiver(run_advanced)
def run_has_advanced(
    *, run_id: UUID, tenant_id: UUID, seq: int, calls: list[tuple[UUID, int]], work: bool, **_: Any
) -> None:
    """A run's history has grown."""
    if work:
        hints.wake(run_id)
    hints.publish("run", tenant_id, run_id, seq)
    for call_id, version in calls:
        hints.publish("call", tenant_id, call_id, version)


@receiver(work_waits)
def work_has_waited(*, run_id: UUID, **_: Any) -> bool:
    """The sweep has found rows that nobody took; whether workers could be told again."""
    return hints.wake(run_id)


@receiver(proposal_changed)
def proposal_has_changed(
    *, tenant_id: UUID, proposal_id: UUID, version: int, run_id: UUID, for_run: bool = True, **_: Any
) -> None:
    """A proposal was decided, held again, refreshed, …: its run may have a resolution to take up. Where a worker at
    that very run has changed it there is none, and no other worker is called away from what it does."""
    if for_run:
        hints.wake(run_id)
    hints.publish("proposal", tenant_id, proposal_id, version)
    hints.publish("inbox", tenant_id, tenant_id, version)


@receiver(stops_changed)
def stops_have_changed(*, tenant_id: UUID | None, **_: Any) -> None:
    """Something was stopped or let go: pages ask what of it concerns them."""
    hints.publish("stops", tenant_id or "", tenant_id or "", 0)


@receiver(policy_published)
def policy_was_published(*, tenant_id: UUID, **_: Any) -> None:
    """A new version is in force: what waits is judged by it."""
    hints.task("runs.tasks.judge_open", tenant_id)


@receiver(replay_waits)
def replay_has_waited(*, replay_id: UUID, here: bool = False, **_: Any) -> bool:
    """A policy is to be tried on past calls: by a worker, or in this very process for whoever waits for it."""
    return replay_run(replay_id=replay_id) if here else hints.task("runs.tasks.replay", replay_id)
