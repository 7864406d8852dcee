"""A restored backup knows that it is one: permits carry the epoch they were made in, and an epoch the place it is of."""

import uuid

from django.db import migrations, models

PLACE = """
-- Where this database lives: server, database, timeline (a promoted standby and a recovery to a point in time begin a
-- new one), and the very table that the epochs stand in (restored into the same database it is another one).
CREATE FUNCTION clearance_place() RETURNS text LANGUAGE sql STABLE AS $$
  SELECT concat_ws('/',
    (SELECT system_identifier FROM pg_control_system()),
    (SELECT oid FROM pg_database WHERE datname = current_database()),
    CASE WHEN pg_is_in_recovery() THEN 'standby' ELSE left(pg_walfile_name(pg_current_wal_lsn()), 8) END,
    (SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname = 'public' AND c.relname = 'approvals_epoch'))
$$;
-- The epoch in force, or NULL where the rows come from another place: nothing may be started until one is raised.
CREATE FUNCTION clearance_epoch() RETURNS uuid LANGUAGE sql STABLE AS $$
  SELECT id FROM (SELECT id, place FROM public.approvals_epoch ORDER BY number DESC LIMIT 1) last
  WHERE place = public.clearance_place()
$$;
-- When the last restore was noticed; NULL where there was none. What is older may have gone on in the time that the
-- backup does not know of.
CREATE FUNCTION clearance_restored_at() RETURNS timestamptz LANGUAGE sql STABLE AS $$
  SELECT raised_at FROM (SELECT raised_at, number FROM public.approvals_epoch ORDER BY number DESC LIMIT 1) last
  WHERE number > 1
$$;
"""
FIRST = """
CREATE TRIGGER approvals_epoch_append_only BEFORE UPDATE OR DELETE ON approvals_epoch
  FOR EACH ROW EXECUTE FUNCTION clearance_refuse_change();
CREATE TRIGGER approvals_epoch_no_truncate BEFORE TRUNCATE ON approvals_epoch
  FOR EACH STATEMENT EXECUTE FUNCTION clearance_refuse_change();
INSERT INTO approvals_epoch (id, number, place, raised_at, because)
  VALUES (gen_random_uuid(), 1, clearance_place(), clearance_now(), 'The database was made.');
UPDATE approvals_permit SET epoch = clearance_epoch();
"""
BOUND = """
DROP TRIGGER approvals_permit_bound ON approvals_permit;
CREATE TRIGGER approvals_permit_bound BEFORE UPDATE ON approvals_permit FOR EACH ROW
  WHEN (OLD.id IS DISTINCT FROM NEW.id OR OLD.proposal_id IS DISTINCT FROM NEW.proposal_id
    OR OLD.round IS DISTINCT FROM NEW.round OR OLD.digest IS DISTINCT FROM NEW.digest
    OR OLD.granted_at IS DISTINCT FROM NEW.granted_at OR OLD.epoch IS DISTINCT FROM NEW.epoch
    OR (OLD.status = 'void' AND NEW.status <> 'void') OR (OLD.status = 'redeemed' AND NEW.status = 'void'))
  EXECUTE FUNCTION approvals_permit_bound();
"""
UNBOUND = """
DROP TRIGGER approvals_permit_bound ON approvals_permit;
CREATE TRIGGER approvals_permit_bound BEFORE UPDATE ON approvals_permit FOR EACH ROW
  WHEN (OLD.id IS DISTINCT FROM NEW.id OR OLD.proposal_id IS DISTINCT FROM NEW.proposal_id
    OR OLD.round IS DISTINCT FROM NEW.round OR OLD.digest IS DISTINCT FROM NEW.digest
    OR OLD.granted_at IS DISTINCT FROM NEW.granted_at
    OR (OLD.status = 'void' AND NEW.status <> 'void') OR (OLD.status = 'redeemed' AND NEW.status = 'void'))
  EXECUTE FUNCTION approvals_permit_bound();
"""


class Migration(migrations.Migration):
    dependencies = [("approvals", "0004_bound_wider"), ("audit", "0001_clock")]
    operations = [
        migrations.CreateModel(
            name="Epoch",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("number", models.BigIntegerField(unique=True)),
                ("place", models.TextField()),
                ("raised_at", models.DateTimeField()),
                ("because", models.TextField()),
            ],
        ),
        migrations.AddField("permit", "epoch", models.UUIDField(null=True)),
        migrations.RunSQL(
            sql=PLACE,
            reverse_sql="DROP FUNCTION clearance_restored_at(); DROP FUNCTION clearance_epoch(); "
            "DROP FUNCTION clearance_place();",
        ),
        migrations.RunSQL(
            sql=FIRST,
            reverse_sql="DROP TRIGGER approvals_epoch_no_truncate ON approvals_epoch; "
            "DROP TRIGGER approvals_epoch_append_only ON approvals_epoch;",
        ),
        migrations.RunSQL(sql=BOUND, reverse_sql=UNBOUND),
    ]
