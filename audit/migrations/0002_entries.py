"""Entries, partitioned by month from the first migration with the partition key in the primary key (data rule 12)."""

from django.db import migrations, models

ENTRY_SQL = """
CREATE SEQUENCE audit_entry_id AS bigint;
CREATE TABLE audit_entry (
  at timestamptz NOT NULL,
  id bigint NOT NULL DEFAULT nextval('audit_entry_id'),
  tenant_id text NOT NULL,
  action text NOT NULL,
  verdict text NOT NULL,
  actor_kind text NOT NULL,
  actor_id text NOT NULL,
  actor_name text NOT NULL,
  on_behalf_of text NOT NULL,
  via text NOT NULL,
  object_type text NOT NULL,
  object_id text NOT NULL,
  run_id text NOT NULL,
  call_id text NOT NULL,
  tool text NOT NULL,
  detail jsonb NOT NULL,
  result_bytes bigint,
  duration_ms integer,
  PRIMARY KEY (at, id)
) PARTITION BY RANGE (at);
CREATE INDEX audit_entry_tenant_at ON audit_entry (tenant_id, at DESC);
CREATE INDEX audit_entry_object ON audit_entry (tenant_id, object_type, object_id, at);
CREATE INDEX audit_entry_run ON audit_entry (tenant_id, run_id, at) WHERE run_id <> '';
-- Nothing may fail to be recorded because a month has no partition yet.
CREATE TABLE audit_entry_default PARTITION OF audit_entry DEFAULT;
CREATE TRIGGER audit_entry_append_only BEFORE UPDATE OR DELETE ON audit_entry
  FOR EACH ROW EXECUTE FUNCTION clearance_refuse_change();
-- Row triggers are passed on to partitions, statement triggers are not: each partition gets its own.
CREATE TRIGGER audit_entry_no_truncate BEFORE TRUNCATE ON audit_entry
  FOR EACH STATEMENT EXECUTE FUNCTION clearance_refuse_change();
CREATE TRIGGER audit_entry_no_truncate BEFORE TRUNCATE ON audit_entry_default
  FOR EACH STATEMENT EXECUTE FUNCTION clearance_refuse_change();

-- The application role may not create tables; this function of the owner's makes the months ahead and nothing else.
-- A table of its own first, attached afterwards: CREATE … PARTITION OF would stop every writer until it is done.
CREATE FUNCTION audit_months_ahead(p_months integer) RETURNS integer LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public SET lock_timeout = '2s' AS $$
DECLARE
  v_start date; v_name text; v_made integer := 0;
BEGIN
  IF p_months < 0 OR p_months > 24 THEN RAISE EXCEPTION 'between 0 and 24 months ahead'; END IF;
  PERFORM pg_advisory_xact_lock(hashtext('audit_months_ahead'));
  FOR i IN 0..p_months LOOP
    v_start := (date_trunc('month', public.clearance_now() AT TIME ZONE 'UTC') + make_interval(months => i))::date;
    v_name := 'audit_entry_' || to_char(v_start, 'YYYY_MM');
    CONTINUE WHEN to_regclass('public.' || v_name) IS NOT NULL;
    -- Rows already waiting in the default partition stay there: moving them would rewrite what is append-only.
    CONTINUE WHEN EXISTS (SELECT 1 FROM public.audit_entry_default
      WHERE at >= v_start::timestamp AT TIME ZONE 'UTC' AND at < (v_start + interval '1 month') AT TIME ZONE 'UTC');
    EXECUTE format('CREATE TABLE public.%I (LIKE public.audit_entry INCLUDING DEFAULTS)', v_name);
    EXECUTE format('CREATE TRIGGER audit_entry_no_truncate BEFORE TRUNCATE ON public.%I '
      'FOR EACH STATEMENT EXECUTE FUNCTION public.clearance_refuse_change()', v_name);
    EXECUTE format('ALTER TABLE public.audit_entry ATTACH PARTITION public.%I FOR VALUES FROM (%L) TO (%L)', v_name,
      to_char(v_start, 'YYYY-MM-DD 00:00:00+00'), to_char(v_start + interval '1 month', 'YYYY-MM-DD 00:00:00+00'));
    v_made := v_made + 1;
  END LOOP;
  RETURN v_made;
END $$;
SELECT audit_months_ahead(3);
"""


class Migration(migrations.Migration):
    dependencies = [("audit", "0001_clock")]
    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    sql=ENTRY_SQL,
                    reverse_sql="DROP FUNCTION audit_months_ahead(integer); DROP TABLE audit_entry; DROP SEQUENCE audit_entry_id;",
                )
            ],
            state_operations=[
                migrations.CreateModel(
                    name="Entry",
                    fields=[
                        (
                            "pk",
                            models.CompositePrimaryKey(
                                "at", "id", blank=True, editable=False, primary_key=True, serialize=False
                            ),
                        ),
                        ("at", models.DateTimeField()),
                        ("id", models.BigIntegerField()),
                        ("tenant_id", models.TextField()),
                        ("action", models.TextField()),
                        ("verdict", models.TextField()),
                        ("actor_kind", models.TextField()),
                        ("actor_id", models.TextField()),
                        ("actor_name", models.TextField()),
                        ("on_behalf_of", models.TextField(blank=True)),
                        ("via", models.TextField()),
                        ("object_type", models.TextField()),
                        ("object_id", models.TextField()),
                        ("run_id", models.TextField(blank=True)),
                        ("call_id", models.TextField(blank=True)),
                        ("tool", models.TextField(blank=True)),
                        ("detail", models.JSONField()),
                        ("result_bytes", models.BigIntegerField(null=True)),
                        ("duration_ms", models.IntegerField(null=True)),
                    ],
                    options={
                        "db_table": "audit_entry",
                        "indexes": [
                            models.Index(fields=["tenant_id", "-at"], name="audit_entry_tenant_at"),
                            models.Index(
                                fields=["tenant_id", "object_type", "object_id", "at"], name="audit_entry_object"
                            ),
                            models.Index(
                                fields=["tenant_id", "run_id", "at"],
                                name="audit_entry_run",
                                condition=models.Q(("run_id", ""), _negated=True),
                            ),
                        ],
                    },
                ),
            ],
        ),
        migrations.CreateModel(
            name="Owed",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField()),
                ("entry", models.JSONField()),
                ("reason", models.TextField()),
            ],
            options={"db_table": "audit_owed"},
        ),
    ]
