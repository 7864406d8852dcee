"""The Celery application. A message carries an id and nothing else: it is a hint, the database is the truth."""

import os

from celery import Celery
from django.conf import settings

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.production")

app = Celery("clearance")
app.conf.update(settings.CELERY)
app.set_default()
