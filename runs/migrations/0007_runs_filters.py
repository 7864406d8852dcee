"""Indexes for the filters of the list of runs: by agent, by whom it acts for, by a tool that it called."""

from django.db import migrations, models
from django.db.models.functions import Upper


class Migration(migrations.Migration):
    dependencies = [("runs", "0006_dispatch_started")]
    operations = [
        migrations.AddIndex(
            "run", models.Index(fields=["tenant_id", "agent_id", "-updated_at"], name="runs_run_agent")
        ),
        migrations.AddIndex(
            "run",
            models.Index("tenant_id", Upper("acting_user_name"), models.F("updated_at").desc(), name="runs_run_acting"),
        ),
        migrations.AddIndex("call", models.Index(fields=["tenant_id", "tool", "run"], name="runs_call_tool")),
    ]
