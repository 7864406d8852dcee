"""What a call was judged by is kept; how far a new version of the policy was carried to what waits; replays."""

import uuid
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("approvals", "0010_tool_candidates"),
    ]

    operations = [
        migrations.CreateModel(
            name="Judgement",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("tenant_id", models.UUIDField()),
                ("run_id", models.UUIDField()),
                ("call_id", models.TextField()),
                ("at", models.DateTimeField()),
                ("state", models.BinaryField(null=True)),
                ("principal", models.JSONField(default=dict)),
                ("effect", models.TextField()),
                ("code", models.TextField()),
                ("rule_id", models.TextField(blank=True)),
                ("policy_number", models.IntegerField()),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        models.F("run_id"), models.F("call_id"), name="approvals_judgement_call_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="PolicyReach",
            fields=[
                ("tenant_id", models.UUIDField(primary_key=True, serialize=False)),
                ("number", models.IntegerField()),
                ("done", models.BooleanField(default=False)),
                ("granted_after", models.UUIDField(null=True)),
                ("granted_done", models.BooleanField(default=False)),
                ("waiting_after_at", models.DateTimeField(null=True)),
                ("waiting_after_id", models.UUIDField(null=True)),
                ("judged", models.IntegerField(default=0)),
                ("asked_anew", models.IntegerField(default=0)),
                ("refused", models.IntegerField(default=0)),
                ("failed", models.IntegerField(default=0)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("done", False)), fields=["tenant_id"], name="approvals_policy_reach_open"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="PolicyReplay",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("tenant_id", models.UUIDField()),
                ("draft_id", models.UUIDField(null=True)),
                ("source", models.TextField()),
                ("source_digest", models.CharField(max_length=64)),
                ("against_number", models.IntegerField()),
                ("since", models.DateTimeField()),
                ("until", models.DateTimeField()),
                ("status", models.TextField(default="waiting")),
                ("said", models.TextField(blank=True)),
                ("asked_by", models.TextField()),
                ("asked_by_id", models.TextField()),
                ("asked_at", models.DateTimeField()),
                ("total", models.IntegerField(default=0)),
                ("judged", models.IntegerField(default=0)),
                ("result", models.JSONField(default=dict)),
                ("after_at", models.DateTimeField(null=True)),
                ("after_id", models.UUIDField(null=True)),
                ("fence", models.IntegerField(default=0)),
                ("lease_until", models.DateTimeField(null=True)),
                ("started_at", models.DateTimeField(null=True)),
                ("finished_at", models.DateTimeField(null=True)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("status__in", ["waiting", "running"])),
                        fields=["asked_at"],
                        name="approvals_policy_replay_open",
                    ),
                    models.Index(fields=["tenant_id", "draft_id", "-asked_at"], name="approvals_policy_replay_recent"),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("status__in", ("waiting", "running", "done", "cancelled", "failed"))),
                        name="approvals_policy_replay_status",
                    )
                ],
            },
        ),
        migrations.RunSQL(
            sql="""
CREATE TRIGGER approvals_judgement_append_only BEFORE UPDATE OR DELETE ON approvals_judgement
  FOR EACH ROW EXECUTE FUNCTION clearance_refuse_change();
CREATE TRIGGER approvals_judgement_no_truncate BEFORE TRUNCATE ON approvals_judgement
  FOR EACH STATEMENT EXECUTE FUNCTION clearance_refuse_change();
""",
            reverse_sql="DROP TRIGGER approvals_judgement_no_truncate ON approvals_judgement; "
            "DROP TRIGGER approvals_judgement_append_only ON approvals_judgement;",
        ),
    ]
