"""The calls of a span of time, in their order, for trying a policy on them."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("runs", "0007_runs_filters")]
    operations = [
        migrations.AddIndex("call", models.Index(fields=["tenant_id", "created_at", "id"], name="runs_call_past")),
    ]
