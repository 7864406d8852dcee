"""What a person prepared and waits is found by an index: their list leaves it out."""

from django.db import migrations, models
from django.db.models.fields.json import KT


class Migration(migrations.Migration):
    dependencies = [("approvals", "0021_alarm_ended")]

    operations = [
        migrations.AddIndex(
            "proposal",
            models.Index(
                KT("why__prepared_by__id"),
                name="approvals_proposal_prepared",
                condition=models.Q(status="pending", why__has_key="prepared_by"),
            ),
        )
    ]
