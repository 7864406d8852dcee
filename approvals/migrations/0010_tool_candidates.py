"""Contracts wait as candidates until an admin admits them; an agent may be shown fewer tools than its scopes allow."""

import uuid

import django.contrib.postgres.fields
from django.db import migrations, models

FORWARD = """
CREATE FUNCTION approvals_candidate_bound() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the text of a stored contract never changes' USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER approvals_candidate_bound BEFORE UPDATE ON approvals_toolcandidate FOR EACH ROW
  WHEN (OLD.id IS DISTINCT FROM NEW.id OR OLD.tenant_id IS DISTINCT FROM NEW.tenant_id
    OR OLD.tool IS DISTINCT FROM NEW.tool OR OLD.source IS DISTINCT FROM NEW.source
    OR OLD.document IS DISTINCT FROM NEW.document OR OLD.digest IS DISTINCT FROM NEW.digest
    OR OLD.stored_by_id IS DISTINCT FROM NEW.stored_by_id OR OLD.stored_at IS DISTINCT FROM NEW.stored_at
    OR (OLD.status <> 'waiting' AND OLD.status IS DISTINCT FROM NEW.status))
  EXECUTE FUNCTION approvals_candidate_bound();
"""
REVERSE = """
DROP TRIGGER approvals_candidate_bound ON approvals_toolcandidate; DROP FUNCTION approvals_candidate_bound();
"""


class Migration(migrations.Migration):
    dependencies = [("approvals", "0009_policy_draft")]
    operations = [
        migrations.AddField("tool", "change", models.TextField(db_default="")),
        migrations.AddField("tool", "changed_by", models.TextField(db_default="")),
        migrations.AddField("tool", "changed_at", models.DateTimeField(null=True)),
        migrations.CreateModel(
            name="ToolCandidate",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("tenant_id", models.UUIDField()),
                ("tool", models.CharField(max_length=64)),
                ("source", models.TextField()),
                ("document", models.JSONField()),
                ("digest", models.CharField(max_length=64)),
                ("based_on", models.IntegerField(null=True)),
                ("note", models.TextField(blank=True)),
                ("stored_by", models.TextField()),
                ("stored_by_id", models.TextField()),
                ("stored_at", models.DateTimeField()),
                ("status", models.TextField(default="waiting")),
                ("settled_by", models.TextField(blank=True)),
                ("settled_at", models.DateTimeField(null=True)),
                ("settled_because", models.TextField(blank=True)),
                ("number", models.IntegerField(null=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        models.F("tenant_id"),
                        models.F("tool"),
                        models.F("digest"),
                        condition=models.Q(status="waiting"),
                        name="approvals_candidate_waiting_once",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(status__in=["waiting", "admitted", "dropped", "replaced"]),
                        name="approvals_candidate_status",
                    ),
                ],
                "indexes": [
                    models.Index(fields=["tenant_id", "tool", "-stored_at"], name="approvals_candidate_recent")
                ],
            },
        ),
        migrations.CreateModel(
            name="AgentTools",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("tenant_id", models.UUIDField()),
                ("agent_id", models.UUIDField()),
                (
                    "tools",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=64), null=True, size=None
                    ),
                ),
                ("changed_by", models.TextField()),
                ("changed_at", models.DateTimeField()),
                ("version", models.IntegerField(default=1)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        models.F("tenant_id"), models.F("agent_id"), name="approvals_agent_tools_once"
                    )
                ]
            },
        ),
        migrations.RunSQL(sql=FORWARD, reverse_sql=REVERSE),
    ]
