"""Makes the tables as their owner, then gives the application role exactly what it needs."""

from typing import Any

from django.conf import settings
from django.core.management import BaseCommand, call_command
from django.db import connections
from psycopg import sql

# Only rows that the application may add but never change or remove (data rule 12, R1, A4).
APPEND_ONLY = (
    "audit_entry",
    "runs_event",
    "runs_checkpoint",
    "approvals_decision",
    "approvals_signature",
    "approvals_epoch",
    "approvals_revision",
    "approvals_judgement",
    "approvals_toolversion",
    "approvals_policyversion",
    "approvals_publisherkey",
    "approvals_publisherkeyend",
    "approvals_versionsignature",
    "approvals_reminder",
)
# Nothing of the application deletes rows but these: sessions, debts, settled leases, places, stale counters, used
# challenges, rounds through a provider, views, what was sent long ago.
MAY_DELETE = (
    "django_session",
    "audit_owed",
    "runs_resourcelease",
    "access_groupmember",
    "access_agentprincipal",
    "access_throttle",
    "access_passkeychallenge",
    "access_webhookdelivery",
    "access_providerround",
    "approvals_alarm",
    "approvals_notice",
    "approvals_savedview",
    "approvals_claim",
    "approvals_exposurebucket",
    "approvals_exposureentry",
)


class Command(BaseCommand):
    help = "Migrates with DATABASE_OWNER_URL and grants rights to the role of DATABASE_URL. Safe to run again."

    def handle(self, *args: Any, **options: Any) -> None:
        call_command("migrate", database="owner", verbosity=options["verbosity"], interactive=False)
        role = settings.DATABASES["default"]["USER"]
        owner = connections["owner"]
        if role == settings.DATABASES["owner"]["USER"]:
            self.stderr.write("DATABASE_URL uses the owner's role: append-only then rests on triggers alone.")
            return
        with owner.cursor() as cursor:
            cursor.execute(
                "SELECT relname FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace "
                "WHERE nspname = 'public' AND relkind IN ('r', 'p') AND NOT relispartition"
            )
            tables = [row[0] for row in cursor.fetchall()]
            for table in tables:
                rights = "SELECT, INSERT" if table in APPEND_ONLY else "SELECT, INSERT, UPDATE"
                if table in MAY_DELETE:
                    rights += ", DELETE"
                if table == "django_migrations":
                    rights = "SELECT"
                cursor.execute(
                    sql.SQL("REVOKE ALL ON {t} FROM {r}; GRANT " + rights + " ON {t} TO {r}")
                    .format(  # type: ignore[arg-type]
                        t=sql.Identifier(table), r=sql.Identifier(role)
                    )
                    .as_string(cursor.connection)
                )
            cursor.execute(
                sql.SQL(
                    "GRANT USAGE ON SCHEMA public TO {r}; "
                    "GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO {r}; "
                    "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO {r}"
                )
                .format(r=sql.Identifier(role))
                .as_string(cursor.connection)
            )
        if options["verbosity"]:
            self.stdout.write(f"Database ready: {len(tables)} tables, rights given to {role}.")
        # Here, because the doctor reads the tables above where nothing is set up.
        from runs.services.restore import database_restored_if_elsewhere

        made = database_restored_if_elsewhere()
        if made is not None:
            self.stdout.write(f"A backup was restored. {made.sentence}")
