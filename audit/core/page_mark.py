"""Where the next page of a list begins: behind a time and an id, as one word of an address. It grants nothing."""

import base64
import binascii
from datetime import datetime
from uuid import UUID

from audit.core.refusal import Invalid


def page_mark(at: datetime, last_id: UUID) -> str:
    """The mark of the page behind this row. `at` has a zone."""
    return base64.urlsafe_b64encode(f"{at.isoformat()} {last_id}".encode()).decode().rstrip("=")


def page_mark_read(mark: str) -> tuple[datetime, UUID]:
    """Time and id of `mark`. Raises Invalid (CURSOR_INVALID) for what is not one of ours."""
    try:
        at, _, last_id = base64.urlsafe_b64decode(mark + "=" * (-len(mark) % 4)).decode().partition(" ")
        moment = datetime.fromisoformat(at)
        if moment.tzinfo is None:
            raise ValueError("a time without a zone")
        return moment, UUID(last_id)
    except (ValueError, binascii.Error):
        raise Invalid("This page mark is not one of ours. Start from the first page.", code="CURSOR_INVALID") from None
