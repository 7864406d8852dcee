"""Which life of the database this is: one row for the time since it was made and one for each restore of a backup."""

import uuid

from django.db import models


class Epoch(models.Model):
    """An epoch, and the place where it is in force. Append-only.

    The one with the highest number counts, and only while `place` is what the SQL function `clearance_place()` says of
    the server, database, timeline and table that it is read from: a copy of the row is somewhere else.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    number = models.BigIntegerField(unique=True)
    place = models.TextField()
    raised_at = models.DateTimeField()
    because = models.TextField()
