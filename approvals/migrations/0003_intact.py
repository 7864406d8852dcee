"""Lists ask the database whether a row's bytes are what they were, so that they never load the bytes themselves."""

from django.db import migrations

FORWARD = """
-- True when the bytes still have their digest and can be read as a JSON object (S84, S87). Never raises: one bad row
-- must not blank the list that it stands in.
CREATE FUNCTION approvals_intact(p_canonical bytea, p_digest text) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN encode(sha256(p_canonical), 'hex') = p_digest
    AND jsonb_typeof(convert_from(p_canonical, 'UTF8')::jsonb) = 'object';
EXCEPTION WHEN OTHERS THEN
  RETURN false;
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [("approvals", "0002_append_only")]
    operations = [migrations.RunSQL(sql=FORWARD, reverse_sql="DROP FUNCTION approvals_intact(bytea, text);")]
