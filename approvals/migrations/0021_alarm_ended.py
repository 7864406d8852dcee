"""Alarms that are over are removed after a while, found without reading the others."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("approvals", "0020_vote_again")]

    operations = [
        migrations.AddIndex(
            "alarm",
            models.Index(fields=["ended_at"], name="approvals_alarm_ended", condition=models.Q(ended_at__isnull=False)),
        ),
    ]
