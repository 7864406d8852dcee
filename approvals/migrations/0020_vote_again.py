"""A vote that counts no more leaves its person and its place a next one in the same round."""

import django.db.models.functions.comparison
from django.db import migrations, models

ONCE, SEAT = "approvals_decision_once", "approvals_decision_seat_once"
PLACE = django.db.models.functions.comparison.Coalesce("for_user_id", "reviewer_id")


class Migration(migrations.Migration):
    dependencies = [("approvals", "0019_signed_contracts")]

    operations = [
        migrations.AddField("decision", "nth", models.SmallIntegerField(db_default=1, default=1)),
        migrations.RemoveConstraint("decision", ONCE),
        migrations.RemoveConstraint("decision", SEAT),
        migrations.AddConstraint(
            "decision", models.UniqueConstraint("proposal", "round", "reviewer_id", "nth", name=ONCE)
        ),
        migrations.AddConstraint("decision", models.UniqueConstraint("proposal", "round", PLACE, "nth", name=SEAT)),
    ]
