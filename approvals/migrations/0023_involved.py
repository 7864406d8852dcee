"""Whether a person is involved in what waits is one look into an index, not a walk through all that waits."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("approvals", "0022_prepared")]

    operations = [
        migrations.AddIndex(
            model_name="proposal",
            index=models.Index(
                fields=["tenant_id", "acting_user_id"],
                name="approvals_proposal_acting",
                condition=models.Q(("acting_user_id__isnull", False), ("status", "pending")),
            ),
        ),
        migrations.AddIndex(
            model_name="proposal",
            index=models.Index(
                fields=["tenant_id", "agent_owner_id"],
                name="approvals_proposal_owner",
                condition=models.Q(("agent_owner_id__isnull", False), ("status", "pending")),
            ),
        ),
        migrations.AddIndex(
            model_name="proposal",
            index=models.Index(
                fields=["tenant_id"],
                include=("id", "round"),
                name="approvals_proposal_moved",
                condition=models.Q(("status", "pending"), ("version__gt", 1)),
            ),
        ),
    ]
