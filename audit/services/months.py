"""Partitions of the months to come (data rule 12). A monthly chore of the sweep's."""

from django.db import transaction

from audit.core.actor import Actor
from audit.services.record import audit_record
from audit.store import entries

MONTHS_AHEAD = 3


def audit_months_prepare(*, actor: Actor, months: int = MONTHS_AHEAD) -> int:
    """Make the partitions of this month and the next `months` (0 to 24); returns how many were made, 0 if all exist.

    Should it never run, entries go to the default partition: nothing is refused for want of a month.
    Raises DatabaseError if the owner's function is missing or waits over two seconds for the table.
    """
    with transaction.atomic():
        made = entries.months_ahead(months)
        if made:
            audit_record(
                actor=actor, action="audit.months_made", object_type="audit", object_id="audit_entry",
                detail={"made": made},
            )  # fmt: skip
    return made
