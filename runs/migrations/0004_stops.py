"""Kill switches, and the look that a dispatch takes at them in the transaction that records its intent."""

import uuid

from django.db import migrations, models

FORWARD = """
-- The stops that cover a call, the widest first. Called under the run's head, in the transaction that starts a dispatch.
-- The shared locks come first and the look in a later statement: whoever sets a stop holds one of them exclusively from
-- before the stop's time until its commit. So a start either ends before the stop's time, or sees the stop. (Judged in
-- the statement that waits for the lock, the look would be at what was there before; data rules 2 and 11.)
-- The first number of a lock names what it is about ("stop" in ASCII), the second whose: 0 is the installation's.
CREATE FUNCTION runs_stop_look(p_tenant uuid, p_agent uuid, p_tool text) RETURNS SETOF runs_stop
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared(1937010544, 0);
  PERFORM pg_advisory_xact_lock_shared(1937010544, hashtext(p_tenant::text));
  RETURN QUERY SELECT s.* FROM runs_stop s WHERE s.lifted_at IS NULL AND (s.tenant_id IS NULL OR s.tenant_id = p_tenant
    AND (s.kind = 'tenant' OR s.kind = 'agent' AND s.subject = p_agent::text OR s.kind = 'tool' AND s.subject = p_tool))
    ORDER BY array_position(ARRAY['installation', 'tenant', 'agent', 'tool'], s.kind);
END $$;

CREATE FUNCTION runs_stop_bound() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'a stop keeps what was said when it was set and when it was lifted'
    USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER runs_stop_bound BEFORE UPDATE ON runs_stop FOR EACH ROW
  WHEN (OLD.lifted_at IS NOT NULL OR NEW.lifted_at IS NULL OR OLD.id IS DISTINCT FROM NEW.id
    OR OLD.tenant_id IS DISTINCT FROM NEW.tenant_id OR OLD.kind IS DISTINCT FROM NEW.kind
    OR OLD.subject IS DISTINCT FROM NEW.subject OR OLD.subject_name IS DISTINCT FROM NEW.subject_name
    OR OLD.reason IS DISTINCT FROM NEW.reason OR OLD.set_by IS DISTINCT FROM NEW.set_by
    OR OLD.set_by_name IS DISTINCT FROM NEW.set_by_name OR OLD.set_at IS DISTINCT FROM NEW.set_at)
  EXECUTE FUNCTION runs_stop_bound();
"""
REVERSE = """
DROP TRIGGER runs_stop_bound ON runs_stop; DROP FUNCTION runs_stop_bound();
DROP FUNCTION runs_stop_look(uuid, uuid, text);
"""


class Migration(migrations.Migration):
    dependencies = [("runs", "0003_bound_wider")]
    operations = [
        migrations.CreateModel(
            name="Stop",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("tenant_id", models.UUIDField(null=True)),
                ("kind", models.TextField()),
                ("subject", models.TextField(blank=True)),
                ("subject_name", models.TextField(blank=True)),
                ("reason", models.TextField()),
                ("set_by", models.TextField()),
                ("set_by_name", models.TextField()),
                ("set_at", models.DateTimeField()),
                ("lifted_at", models.DateTimeField(null=True)),
                ("lifted_by", models.TextField(blank=True)),
                ("lifted_by_name", models.TextField(blank=True)),
                ("lifted_reason", models.TextField(blank=True)),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(kind__in=("installation", "tenant", "agent", "tool")), name="runs_stop_kind"
                    ),
                    models.UniqueConstraint(
                        fields=["tenant_id", "kind", "subject"],
                        condition=models.Q(lifted_at__isnull=True),
                        nulls_distinct=False,
                        name="runs_stop_in_force_once",
                    ),
                ],
                "indexes": [
                    models.Index(
                        fields=["tenant_id", "-lifted_at"],
                        name="runs_stop_lifted",
                        condition=models.Q(lifted_at__isnull=False),
                    )
                ],
            },
        ),
        migrations.RunSQL(sql=FORWARD, reverse_sql=REVERSE),
    ]
