"""A vote in another's place counts no more either once whoever gave it may not decide: the place is free in lists too."""

from django.db import migrations

HEAD = """
CREATE OR REPLACE FUNCTION access_place_held(p_tenant uuid, p_holder uuid, p_giver uuid, p_at timestamptz)
RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT 1 FROM access_delegation d{join}
                  WHERE d.tenant_id = p_tenant AND d.to_user_id = p_holder AND d.from_user_id = p_giver
                    AND d.revoked_at IS NULL AND d.starts_at <= p_at AND p_at < d.ends_at)
$$;
"""
HOLDS = """
                   JOIN access_membership m ON m.tenant_id = d.tenant_id AND m.user_id = d.to_user_id
                        AND m.is_active AND 'reviewer' = ANY(m.roles)
                   JOIN access_user u ON u.id = m.user_id AND u.is_active"""


class Migration(migrations.Migration):
    dependencies = [("access", "0007_second_step_demand")]

    operations = [migrations.RunSQL(HEAD.format(join=HOLDS), HEAD.format(join=""))]
