"""A proposal knows whose call it is, so that what was asked for the same customer is found beside it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("approvals", "0014_who_decides")]
    operations = [
        migrations.AddField(
            "proposal", "customer", models.CharField(blank=True, db_default="", default="", max_length=64)
        ),
        migrations.AddIndex(
            "proposal",
            models.Index(
                fields=["tenant_id", "tool", "customer", "-created_at"],
                condition=~models.Q(customer=""),
                name="approvals_proposal_customer",
            ),
        ),
    ]
