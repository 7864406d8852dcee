"""That one of our own lasting processes is alive."""

from django.db import models


class Heartbeat(models.Model):
    """`part` is the process's kind (sweep); `beat_at` the database's time of its last turn, whichever copy made it."""

    part = models.TextField(primary_key=True)
    beat_at = models.DateTimeField()

    class Meta:
        db_table = "audit_heartbeat"
