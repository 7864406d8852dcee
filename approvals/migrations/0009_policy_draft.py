"""Texts that may become a policy, why a version was published, and the rule that a second admin publishes (A8)."""

import uuid

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('approvals', '0008_asked_groups'),
    ]

    operations = [
        migrations.AddField(
            model_name='policyhead',
            name='second_admin',
            field=models.BooleanField(db_default=False),
        ),
        migrations.AddField(
            model_name='policyhead',
            name='second_admin_end_by',
            field=models.TextField(db_default=''),
        ),
        migrations.AddField(
            model_name='policyhead',
            name='second_admin_end_by_id',
            field=models.TextField(db_default=''),
        ),
        migrations.AddField(
            model_name='policyversion',
            name='asked_by',
            field=models.TextField(db_default=''),
        ),
        migrations.AddField(
            model_name='policyversion',
            name='reason',
            field=models.TextField(db_default=''),
        ),
        migrations.AddField(
            model_name='policyversion',
            name='taken_from',
            field=models.IntegerField(db_default=0),
        ),
        migrations.CreateModel(
            name='PolicyDraft',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('tenant_id', models.UUIDField()),
                ('name', models.TextField()),
                ('source', models.TextField()),
                ('based_on', models.IntegerField()),
                ('revision', models.IntegerField(default=1)),
                ('status', models.TextField(default='open')),
                ('saved_by', models.TextField()),
                ('saved_by_id', models.TextField()),
                ('saved_at', models.DateTimeField()),
                ('asked_by', models.TextField(default='')),
                ('asked_by_id', models.TextField(default='')),
                ('asked_at', models.DateTimeField(null=True)),
                ('asked_reason', models.TextField(default='')),
                ('taken_from', models.IntegerField(default=0)),
                ('published_number', models.IntegerField(default=0)),
            ],
            options={
                'indexes': [models.Index(models.F('tenant_id'), models.OrderBy(models.F('saved_at'), descending=True), condition=models.Q(('status', 'open')), name='approvals_policy_draft_open')],
                'constraints': [models.CheckConstraint(condition=models.Q(('status__in', ['open', 'published', 'discarded'])), name='approvals_policy_draft_status')],
            },
        ),
    ]
