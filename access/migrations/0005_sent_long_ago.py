from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('access', '0004_confirming'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='webhookdelivery',
            index=models.Index(condition=models.Q(('ended_at__isnull', False)), fields=['state', 'ended_at'], name='access_webhook_ended'),
        ),
    ]
