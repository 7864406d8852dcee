"""People keep views of the list of proposals under names of their own."""

import uuid

from django.db import migrations, models
from django.db.models.functions import Lower


class Migration(migrations.Migration):
    dependencies = [("approvals", "0005_epoch")]
    operations = [
        migrations.CreateModel(
            name="SavedView",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("tenant_id", models.UUIDField()),
                ("user_id", models.UUIDField()),
                ("name", models.TextField()),
                ("query", models.TextField()),
                ("created_at", models.DateTimeField()),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        "tenant_id", "user_id", Lower("name"), name="approvals_saved_view_name_once"
                    )
                ]
            },
        ),
    ]
