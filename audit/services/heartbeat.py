"""A lasting process says that it is alive. Not in the audit log: it says nothing about anybody's deed."""

from django.db import connection


def heartbeat_record(*, part: str) -> None:
    """`part` made a turn now, by the database's clock."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO audit_heartbeat (part, beat_at) VALUES (%s, clearance_now()) "
            "ON CONFLICT (part) DO UPDATE SET beat_at = excluded.beat_at",
            [part],
        )
