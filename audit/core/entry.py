"""What one audit entry holds, and the bytes that are hashed for it (U1)."""

from dataclasses import dataclass, fields
from datetime import UTC, datetime

from audit.core.canonical import canonical_bytes, sha256_hex
from audit.core.jsondoor import Json

FORMAT = 1
"""Number of the canonical form; a changed form gets the next number and the old one stays readable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One fact: who did what to what, on whose behalf, and what came of it. The one list of an entry's fields: the
    table, its writer, its readers and every export follow it.

    `at` is the database's time, with zone, `id` its number: together they order the log. `action` is `<entity>.<verb,
    past>`, such as `proposal.decided` or `call.refused` (audit/core/actions.py has the words); `object_type` and
    `object_id` name the thing. All ids are text, and no key refers anywhere (data rule 12). `verdict` is ok, refused,
    duplicate, unknown or failed. `detail` holds what belongs to this action: the refusal's code, redacted arguments
    (E5), what the reviewer saw. `result_bytes` and `duration_ms` are None where nothing was executed.
    """

    at: datetime
    id: int
    tenant_id: str
    action: str
    verdict: str
    actor_kind: str
    actor_id: str
    actor_name: str
    on_behalf_of: str
    via: str
    object_type: str
    object_id: str
    run_id: str
    call_id: str
    tool: str
    detail: dict[str, Json]
    result_bytes: int | None
    duration_ms: int | None

    def __post_init__(self) -> None:
        if self.at.tzinfo is None:
            raise ValueError("the time of an audit entry needs a zone; take it from the database clock")

    def as_record(self) -> dict[str, Json]:
        """Every field as JSON; the time in UTC with microseconds, so that it reads and sorts the same everywhere."""
        record: dict[str, Json] = {name: getattr(self, name) for name in FIELDS}
        record["at"] = utc_text(self.at)
        record["format"] = FORMAT
        return record

    def canonical(self) -> bytes:
        """The RFC 8785 bytes of the entry; raises `Invalid` (NOT_CANONICAL) for a value that has none."""
        return canonical_bytes(self.as_record())

    def sha256(self) -> str:
        """SHA-256 over `canonical()`, in hex."""
        return sha256_hex(self.canonical())


FIELDS: tuple[str, ...] = tuple(field.name for field in fields(Entry))
"""The fields of an entry, in the order of every table and file."""
WRITTEN: tuple[str, ...] = tuple(name for name in FIELDS if name not in ("at", "id"))
"""The fields that whoever records gives; the database gives the other two."""


def utc_text(at: datetime) -> str:
    """A time as `2026-11-29T15:08:07.000123Z`; always six digits, so that text order is time order."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
