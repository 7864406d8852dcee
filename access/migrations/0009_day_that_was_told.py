"""By when a member was first told to have a second step: it comes nearer and never later."""

from django.db import migrations, models

KEEP = """
UPDATE access_membership m SET step_due_at = want.begins_at
  FROM access_secondstepdemand want
 WHERE want.tenant_id = m.tenant_id
   AND (want.of = 'everybody' OR want.of = 'admins' AND 'admin' = ANY(m.roles)
        OR want.of = 'deciders' AND m.roles && ARRAY['admin', 'reviewer']::varchar[]);
"""


class Migration(migrations.Migration):
    dependencies = [("access", "0008_place_of_a_reviewer")]

    operations = [
        migrations.AddField(
            model_name="membership", name="step_due_at", field=models.DateTimeField(editable=False, null=True)
        ),
        migrations.RunSQL(KEEP, migrations.RunSQL.noop),
    ]
