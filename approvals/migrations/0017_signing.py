"""Numbers that are good for one signature, and the signatures of passkeys beside the decisions that they are for."""

import uuid

import django.db.models.deletion
from django.db import migrations, models

FORWARD = """
CREATE TRIGGER approvals_signature_append_only BEFORE UPDATE OR DELETE ON approvals_signature
  FOR EACH ROW EXECUTE FUNCTION clearance_refuse_change();
CREATE FUNCTION approvals_nonce_bound() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' OR OLD.used_at IS NOT NULL OR NEW.used_at IS NULL
     OR to_jsonb(OLD) - 'used_at' IS DISTINCT FROM to_jsonb(NEW) - 'used_at'
  THEN
    RAISE EXCEPTION 'a number to sign stays as it was given, and is used once' USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER approvals_nonce_bound BEFORE UPDATE OR DELETE ON approvals_signingnonce
  FOR EACH ROW EXECUTE FUNCTION approvals_nonce_bound();
"""
REVERSE = """
DROP TRIGGER approvals_nonce_bound ON approvals_signingnonce; DROP FUNCTION approvals_nonce_bound();
DROP TRIGGER approvals_signature_append_only ON approvals_signature;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('approvals', '0016_mailed_last'),
    ]

    operations = [
        migrations.CreateModel(
            name='Signature',
            fields=[
                ('decision', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='signature', serialize=False, to='approvals.decision')),
                ('format', models.IntegerField()),
                ('revision', models.IntegerField()),
                ('nonce', models.CharField(max_length=64, unique=True)),
                ('rp_id', models.TextField()),
                ('origin', models.TextField()),
                ('credential_id', models.BinaryField()),
                ('public_key', models.BinaryField()),
                ('authenticator_data', models.BinaryField()),
                ('client_data', models.BinaryField()),
                ('signature', models.BinaryField()),
            ],
        ),
        migrations.CreateModel(
            name='SigningNonce',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('nonce', models.CharField(max_length=64, unique=True)),
                ('round', models.IntegerField()),
                ('person_id', models.UUIDField()),
                ('session_id', models.CharField(max_length=16)),
                ('digest', models.CharField(max_length=64)),
                ('verdict', models.TextField()),
                ('made_at', models.DateTimeField()),
                ('expires_at', models.DateTimeField()),
                ('used_at', models.DateTimeField(null=True)),
                ('proposal', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='approvals.proposal')),
            ],
        ),
        migrations.RunSQL(sql=FORWARD, reverse_sql=REVERSE),
    ]
