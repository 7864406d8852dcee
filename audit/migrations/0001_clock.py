"""The one clock that deadlines are judged by (data rule 11). Tests replace the function to stand at T-1 ms, T, T+1 ms."""

from django.db import migrations


class Migration(migrations.Migration):
    initial = True
    dependencies = []
    operations = [
        migrations.RunSQL(
            sql="""
            CREATE FUNCTION clearance_now() RETURNS timestamptz LANGUAGE sql VOLATILE PARALLEL SAFE
            AS $$ SELECT clock_timestamp() $$;
            CREATE FUNCTION clearance_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
              RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'insufficient_privilege';
            END $$;
            """,
            reverse_sql="DROP FUNCTION clearance_refuse_change(); DROP FUNCTION clearance_now();",
        ),
    ]
