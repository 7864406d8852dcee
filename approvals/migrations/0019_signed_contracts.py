"""Publishers sign contracts: their keys, what ended them, the signatures beside versions, and what a tenant asks."""

import uuid

import django.db.models.deletion
from django.db import migrations, models

CHANGED = """OLD.id IS DISTINCT FROM NEW.id OR OLD.tenant_id IS DISTINCT FROM NEW.tenant_id
    OR OLD.tool IS DISTINCT FROM NEW.tool OR OLD.source IS DISTINCT FROM NEW.source
    OR OLD.document IS DISTINCT FROM NEW.document OR OLD.digest IS DISTINCT FROM NEW.digest
    OR OLD.stored_by_id IS DISTINCT FROM NEW.stored_by_id OR OLD.stored_at IS DISTINCT FROM NEW.stored_at
    OR (OLD.status <> 'waiting' AND OLD.status IS DISTINCT FROM NEW.status)"""
CANDIDATE = """
DROP TRIGGER approvals_candidate_bound ON approvals_toolcandidate;
CREATE TRIGGER approvals_candidate_bound BEFORE UPDATE ON approvals_toolcandidate FOR EACH ROW
  WHEN ({when}) EXECUTE FUNCTION approvals_candidate_bound();
"""
FORWARD = """
CREATE TRIGGER approvals_publisherkey_append_only BEFORE UPDATE OR DELETE ON approvals_publisherkey
  FOR EACH ROW EXECUTE FUNCTION clearance_refuse_change();
CREATE TRIGGER approvals_publisherkeyend_append_only BEFORE UPDATE OR DELETE ON approvals_publisherkeyend
  FOR EACH ROW EXECUTE FUNCTION clearance_refuse_change();
CREATE TRIGGER approvals_versionsignature_append_only BEFORE UPDATE OR DELETE ON approvals_versionsignature
  FOR EACH ROW EXECUTE FUNCTION clearance_refuse_change();
""" + CANDIDATE.format(
    # What an admitted candidate was signed by stays as it was, as its text does.
    when=CHANGED + "\n    OR (OLD.status <> 'waiting' AND OLD.signature IS DISTINCT FROM NEW.signature)"
)
REVERSE = (
    CANDIDATE.format(when=CHANGED)
    + """
DROP TRIGGER approvals_versionsignature_append_only ON approvals_versionsignature;
DROP TRIGGER approvals_publisherkeyend_append_only ON approvals_publisherkeyend;
DROP TRIGGER approvals_publisherkey_append_only ON approvals_publisherkey;
"""
)


class Migration(migrations.Migration):
    dependencies = [("approvals", "0018_sent_long_ago")]
    operations = [
        migrations.CreateModel(
            name="ContractRule",
            fields=[
                ("tenant_id", models.UUIDField(primary_key=True, serialize=False)),
                ("signed_only", models.BooleanField(db_default=False)),
                ("changed_by", models.TextField(db_default="")),
                ("changed_at", models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="PublisherKey",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("tenant_id", models.UUIDField()),
                ("publisher", models.TextField()),
                ("public_key", models.BinaryField()),
                ("fingerprint", models.CharField(max_length=64)),
                ("added_by", models.TextField()),
                ("added_by_id", models.TextField()),
                ("added_at", models.DateTimeField()),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        models.F("tenant_id"), models.F("fingerprint"), name="approvals_publisher_key_once"
                    )
                ]
            },
        ),
        migrations.CreateModel(
            name="PublisherKeyEnd",
            fields=[
                (
                    "key",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="end",
                        serialize=False,
                        to="approvals.publisherkey",
                    ),
                ),
                ("because", models.TextField()),
                ("ended_by", models.TextField()),
                ("ended_by_id", models.TextField()),
                ("ended_at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="VersionSignature",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("envelope", models.BinaryField()),
                ("fingerprint", models.CharField(max_length=64)),
                ("stored_by", models.TextField()),
                ("stored_by_id", models.TextField()),
                ("stored_at", models.DateTimeField()),
                (
                    "version",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="signatures",
                        to="approvals.toolversion",
                    ),
                ),
            ],
        ),
        migrations.AddField("toolcandidate", "signature", models.BinaryField(null=True)),
        migrations.AddField("toolcandidate", "signature_by", models.TextField(db_default="")),
        migrations.RunSQL(sql=FORWARD, reverse_sql=REVERSE),
    ]
