"""When each of our own lasting processes was last alive: one row a part, so that its silence is seen."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("audit", "0003_filters")]
    operations = [
        migrations.CreateModel(
            name="Heartbeat",
            fields=[
                ("part", models.TextField(primary_key=True, serialize=False)),
                ("beat_at", models.DateTimeField()),
            ],
            options={"db_table": "audit_heartbeat"},
        ),
    ]
