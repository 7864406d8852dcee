"""What Celery's workers run. A message carries a run's id and is only a hint: the rows say what there is to do."""

from uuid import UUID

from celery import shared_task

from approvals.services.published import open_judge
from approvals.signals import policy_published
from runs.services.replay import replay_run
from runs.services.wake import run_wake

BATCHES = 20


@shared_task(name="runs.tasks.wake", ignore_result=True)
def wake(run_id: str) -> None:
    """Fold the run until it waits."""
    run_wake(run_id=UUID(run_id))


@shared_task(name="runs.tasks.judge_open", ignore_result=True)
def judge_open(tenant_id: str) -> None:
    """Judge what waits in an organisation under the version of its policy that was just published."""
    for _ in range(BATCHES):
        if not open_judge(tenant_id=UUID(tenant_id)):
            return
    # Very many wait: in between, others get their turn.
    policy_published.send_robust(sender=None, tenant_id=UUID(tenant_id))


@shared_task(name="runs.tasks.replay", ignore_result=True)
def replay(replay_id: str) -> None:
    """Try a policy on past calls."""
    replay_run(replay_id=UUID(replay_id))
