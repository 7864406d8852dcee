"""The Celery application. A message carries an id and nothing else: it is a hint, the database is the truth."""

import os

from celery import Celery
from celery.signals import worker_shutting_down
from django.conf import settings

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.production")

app = Celery("clearance")
app.conf.update(settings.CELERY)
app.set_default()


@worker_shutting_down.connect
def _drain(**_: object) -> None:
    """Celery itself only stops taking messages: a worker in the middle of a run would go on to that run's end."""
    # Not before: this module is imported while Django is being set up.
    from runs.services.drain import wake_drain

    wake_drain(seconds=settings.DRAIN_SECONDS)
