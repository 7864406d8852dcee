"""Passkeys, codes of an app, recovery codes, and when somebody last showed anew that it is they."""

import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('access', '0003_delegations'),
    ]

    operations = [
        migrations.CreateModel(
            name='SecondFactor',
            fields=[
                ('user', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='second_factor', serialize=False, to=settings.AUTH_USER_MODEL)),
                ('at_sign_in', models.BooleanField(default=False)),
                ('ciphertext', models.BinaryField(null=True)),
                ('since', models.DateTimeField(null=True)),
                ('last_step', models.BigIntegerField(default=0)),
                ('pending', models.BinaryField(null=True)),
                ('pending_until', models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name='Passkey',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('credential_id', models.BinaryField(unique=True)),
                ('public_key', models.BinaryField()),
                ('sign_count', models.BigIntegerField(default=0)),
                ('name', models.CharField(max_length=100)),
                ('created_at', models.DateTimeField()),
                ('used_at', models.DateTimeField(null=True)),
                ('removed_at', models.DateTimeField(null=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='passkeys', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='Confirmation',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('session_id', models.CharField(max_length=16)),
                ('at', models.DateTimeField()),
                ('by', models.CharField(max_length=16)),
                ('user', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='confirmations', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(models.F('user'), models.F('session_id'), name='access_confirmation_session_once')],
            },
        ),
        migrations.CreateModel(
            name='PasskeyChallenge',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('session_id', models.CharField(max_length=16)),
                ('purpose', models.CharField(max_length=16)),
                ('challenge', models.BinaryField(unique=True)),
                ('expires_at', models.DateTimeField()),
                ('user', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'indexes': [models.Index(fields=['expires_at'], name='access_challenge_stale')],
                'constraints': [models.CheckConstraint(condition=models.Q(('purpose__in', ['add', 'confirm', 'sign-in'])), name='access_challenge_purpose')],
            },
        ),
        migrations.CreateModel(
            name='RecoveryCode',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('code_hash', models.CharField(max_length=64)),
                ('made_at', models.DateTimeField()),
                ('used_at', models.DateTimeField(null=True)),
                ('void_at', models.DateTimeField(null=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='recovery_codes', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(models.F('user'), models.F('code_hash'), name='access_recovery_once')],
            },
        ),
    ]
