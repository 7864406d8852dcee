"""What Celery's workers run. A message carries a run's id and is only a hint: the rows say what there is to do."""

from uuid import UUID

from celery import shared_task

from runs.services.wake import run_wake


@shared_task(name="runs.tasks.wake", ignore_result=True)
def wake(run_id: str) -> None:
    """Fold the run until it waits."""
    run_wake(run_id=UUID(run_id))
