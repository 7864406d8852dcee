"""Who has to have a second step in an organisation; and whether a vote in another's place still has its delegation."""

import django.db.models.deletion
from django.db import migrations, models

PLACE_HELD = """
CREATE FUNCTION access_place_held(p_tenant uuid, p_holder uuid, p_giver uuid, p_at timestamptz)
RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT 1 FROM access_delegation d
                  WHERE d.tenant_id = p_tenant AND d.to_user_id = p_holder AND d.from_user_id = p_giver
                    AND d.revoked_at IS NULL AND d.starts_at <= p_at AND p_at < d.ends_at)
$$;
"""


class Migration(migrations.Migration):
    dependencies = [("access", "0006_oidc")]

    operations = [
        migrations.RunSQL(PLACE_HELD, "DROP FUNCTION access_place_held(uuid, uuid, uuid, timestamptz);"),
        migrations.CreateModel(
            name="SecondStepDemand",
            fields=[
                (
                    "tenant",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name="+",
                        serialize=False, to="access.tenant",
                    ),
                ),
                ("of", models.CharField(max_length=16)),
                ("begins_at", models.DateTimeField()),
                ("set_at", models.DateTimeField()),
                ("set_by", models.CharField(max_length=200)),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(of__in=["nobody", "admins", "deciders", "everybody"]),
                        name="access_demand_of",
                    )
                ]
            },
        ),
    ]  # fmt: skip
