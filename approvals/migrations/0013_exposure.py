"""What was started lately, counted by hour and by day, for limits and for conditions about exposure."""

import uuid

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("approvals", "0012_handling")]
    operations = [
        migrations.CreateModel(
            name="ExposureBucket",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("tenant_id", models.UUIDField()),
                ("tool", models.CharField(max_length=64)),
                ("dimension", models.CharField(max_length=8)),
                ("subject", models.CharField(max_length=64)),
                ("currency", models.CharField(max_length=3)),
                ("unit", models.CharField(max_length=1)),
                ("begins_at", models.DateTimeField()),
                ("calls", models.BigIntegerField(default=0)),
                ("amount", models.BigIntegerField(default=0)),
            ],
            options={
                "indexes": [models.Index(fields=["unit", "begins_at"], name="approvals_exposure_bucket_old")],
                "constraints": [
                    models.UniqueConstraint(
                        models.F("tenant_id"),
                        models.F("tool"),
                        models.F("dimension"),
                        models.F("subject"),
                        models.F("unit"),
                        models.F("begins_at"),
                        models.F("currency"),
                        name="approvals_exposure_bucket_once",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("dimension__in", ["customer", "agent", "tool"]), ("unit__in", ["h", "d"])),
                        name="approvals_exposure_bucket_kind",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("calls__gte", 0), ("amount__gte", 0)),
                        name="approvals_exposure_bucket_positive",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ExposureEntry",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("tenant_id", models.UUIDField()),
                ("key", models.CharField(max_length=80)),
                ("tool", models.CharField(max_length=64)),
                ("agent_id", models.UUIDField()),
                ("customer", models.CharField(blank=True, max_length=64)),
                ("currency", models.CharField(blank=True, max_length=3)),
                ("amount", models.BigIntegerField(default=0)),
                ("at", models.DateTimeField()),
                ("counted", models.BooleanField(default=True)),
            ],
            options={
                "indexes": [models.Index(fields=["at"], name="approvals_exposure_entry_old")],
                "constraints": [
                    models.UniqueConstraint(
                        models.F("tenant_id"), models.F("key"), name="approvals_exposure_entry_once"
                    )
                ],
            },
        ),
    ]
