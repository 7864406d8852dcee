"""A held call can be edited into a revision, its agent can be asked, and somebody can say that they are looking at it."""

import datetime
import uuid

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
from django.db import migrations, models

FORWARD = """
CREATE TRIGGER approvals_revision_append_only BEFORE UPDATE OR DELETE ON approvals_revision
  FOR EACH ROW EXECUTE FUNCTION clearance_refuse_change();
CREATE FUNCTION approvals_question_bound() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'a question stays as it was asked, and is answered once' USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER approvals_question_bound BEFORE UPDATE ON approvals_question FOR EACH ROW
  WHEN (OLD.id IS DISTINCT FROM NEW.id OR OLD.proposal_id IS DISTINCT FROM NEW.proposal_id
    OR OLD.round IS DISTINCT FROM NEW.round OR OLD.asked_by_id IS DISTINCT FROM NEW.asked_by_id
    OR OLD.asked_by_name IS DISTINCT FROM NEW.asked_by_name OR OLD.text IS DISTINCT FROM NEW.text
    OR OLD.at IS DISTINCT FROM NEW.at OR OLD.clock IS DISTINCT FROM NEW.clock
    OR OLD.allowed IS DISTINCT FROM NEW.allowed
    OR (OLD.told_at IS NOT NULL AND OLD.told_at IS DISTINCT FROM NEW.told_at)
    OR (OLD.answered_at IS NOT NULL
      AND (OLD.answered_at IS DISTINCT FROM NEW.answered_at OR OLD.answer IS DISTINCT FROM NEW.answer)))
  EXECUTE FUNCTION approvals_question_bound();
"""
REVERSE = """
DROP TRIGGER approvals_question_bound ON approvals_question; DROP FUNCTION approvals_question_bound();
DROP TRIGGER approvals_revision_append_only ON approvals_revision;
"""


class Migration(migrations.Migration):
    dependencies = [("approvals", "0011_replays")]
    operations = [
        migrations.AddField("proposal", "revision_number", models.IntegerField(db_default=1, default=1)),
        migrations.AddField(
            "proposal",
            "stopped",
            models.DurationField(db_default=datetime.timedelta(0), default=datetime.timedelta(0)),
        ),
        migrations.AddConstraint(
            "proposal",
            models.CheckConstraint(
                condition=models.Q(stopped__gte=datetime.timedelta(0), stopped__lte=datetime.timedelta(hours=24)),
                name="approvals_proposal_stopped",
            ),
        ),
        migrations.CreateModel(
            name="Claim",
            fields=[
                (
                    "proposal",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="claim",
                        serialize=False,
                        to="approvals.proposal",
                    ),
                ),
                ("person_id", models.UUIDField()),
                ("person_name", models.TextField()),
                ("at", models.DateTimeField()),
                ("until", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="Question",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "proposal",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="questions",
                        to="approvals.proposal",
                    ),
                ),
                ("round", models.IntegerField()),
                ("asked_by_id", models.UUIDField()),
                ("asked_by_name", models.TextField()),
                ("text", models.TextField()),
                ("at", models.DateTimeField()),
                ("clock", models.TextField()),
                ("allowed", models.DurationField(default=datetime.timedelta(0))),
                ("told_at", models.DateTimeField(null=True)),
                ("answer", models.TextField(blank=True)),
                ("answered_at", models.DateTimeField(null=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        "proposal", condition=models.Q(answered_at__isnull=True), name="approvals_question_open_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(clock__in=["runs", "stops"]), name="approvals_question_clock"
                    ),
                ],
                "indexes": [
                    models.Index(
                        fields=["at"], condition=models.Q(told_at__isnull=True), name="approvals_question_untold"
                    ),
                    models.Index(fields=["proposal", "at"], name="approvals_question_of"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Revision",
            fields=[
                (
                    "proposal",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="revision",
                        serialize=False,
                        to="approvals.proposal",
                    ),
                ),
                (
                    "previous",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="revised_by",
                        to="approvals.proposal",
                    ),
                ),
                ("number", models.IntegerField()),
                ("step_id", models.TextField()),
                ("editor_id", models.UUIDField()),
                ("editor_name", models.TextField()),
                ("editor_ids", django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField())),
                ("changes", models.JSONField()),
                ("reason", models.TextField(blank=True)),
                ("at", models.DateTimeField()),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(condition=models.Q(number__gte=2), name="approvals_revision_number")
                ],
                "indexes": [
                    django.contrib.postgres.indexes.GinIndex(fields=["editor_ids"], name="approvals_revision_editors")
                ],
            },
        ),
        migrations.RunSQL(sql=FORWARD, reverse_sql=REVERSE),
    ]
