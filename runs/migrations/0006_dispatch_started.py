"""An index of what has started lately: whoever starts a dispatch asks whether its resource was used since its claim."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("runs", "0005_asked_after_unknown")]
    operations = [
        migrations.AddIndex(
            "dispatch",
            models.Index(
                fields=["started_at"], name="runs_dispatch_started", condition=models.Q(started_at__isnull=False)
            ),
        ),
    ]
