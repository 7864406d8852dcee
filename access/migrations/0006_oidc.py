"""An organisation's identity provider, who is who there, and the browsers that are on their way to it and back."""

import django.contrib.postgres.fields
import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('access', '0005_sent_long_ago'),
    ]

    operations = [
        migrations.CreateModel(
            name='IdentityProvider',
            fields=[
                ('tenant', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='provider', serialize=False, to='access.tenant')),
                ('issuer', models.TextField()),
                ('client_id', models.TextField()),
                ('ciphertext', models.BinaryField()),
                ('domains', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), default=list)),
                ('required', models.BooleanField(default=False)),
                ('active', models.BooleanField(default=True)),
                ('changed_at', models.DateTimeField()),
                ('changed_by_name', models.TextField()),
            ],
        ),
        migrations.AddField(
            model_name='confirmation',
            name='tenant',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='access.tenant'),
        ),
        migrations.CreateModel(
            name='IdentityLink',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('issuer', models.TextField()),
                ('subject', models.TextField()),
                ('created_at', models.DateTimeField()),
                ('used_at', models.DateTimeField(null=True)),
                ('ended_at', models.DateTimeField(null=True)),
                ('ended_because', models.TextField(blank=True)),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='identity_links', to='access.tenant')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='identity_links', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.AddField(
            model_name='browsersession',
            name='link',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='browser_sessions', to='access.identitylink'),
        ),
        migrations.CreateModel(
            name='ProviderRound',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('purpose', models.CharField(max_length=16)),
                ('issuer', models.TextField()),
                ('client_id', models.TextField()),
                ('state_hash', models.CharField(max_length=64, unique=True)),
                ('browser_hash', models.CharField(max_length=64)),
                ('nonce', models.CharField(max_length=64)),
                ('verifier', models.CharField(max_length=128)),
                ('next', models.TextField(blank=True)),
                ('began_at', models.DateTimeField()),
                ('expires_at', models.DateTimeField()),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='access.tenant')),
                ('user', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.AddConstraint(
            model_name='identitylink',
            constraint=models.UniqueConstraint(condition=models.Q(('ended_at__isnull', True)), fields=('tenant', 'issuer', 'subject'), name='access_identity_once'),
        ),
        migrations.AddConstraint(
            model_name='identitylink',
            constraint=models.UniqueConstraint(condition=models.Q(('ended_at__isnull', True)), fields=('tenant', 'user'), name='access_identity_one_each'),
        ),
        migrations.AddIndex(
            model_name='providerround',
            index=models.Index(fields=['expires_at'], name='access_round_stale'),
        ),
        migrations.AddConstraint(
            model_name='providerround',
            constraint=models.CheckConstraint(condition=models.Q(('purpose__in', ['sign-in', 'link', 'confirm'])), name='access_round_purpose'),
        ),
    ]
