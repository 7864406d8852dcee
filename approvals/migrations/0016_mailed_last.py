from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('approvals', '0015_customer'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='notice',
            index=models.Index(condition=models.Q(('outcome', 'sent')), fields=['person_id', 'ended_at'], name='approvals_notice_sent'),
        ),
    ]
