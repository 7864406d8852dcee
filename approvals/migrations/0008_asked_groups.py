"""Who is asked for rarely finds the few that wait for them among very many."""

from django.contrib.postgres.indexes import GinIndex
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("approvals", "0007_waiting_at_scale")]
    operations = [
        migrations.AddIndex(
            model_name="proposal",
            index=GinIndex(
                fields=["requires"],
                opclasses=["jsonb_path_ops"],
                name="approvals_proposal_asked",
                condition=models.Q(status="pending"),
            ),
        ),
    ]
