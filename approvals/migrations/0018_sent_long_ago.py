from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('approvals', '0017_signing'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='notice',
            index=models.Index(condition=models.Q(('ended_at__isnull', False)), fields=['outcome', 'ended_at'], name='approvals_notice_ended'),
        ),
    ]
