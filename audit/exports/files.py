"""An export as a stream of bytes: any number of entries at constant memory, oldest first (U3, S70).

Each chunk is a short transaction of its own that walks on by keyset, and no connection is held while the reader takes
the bytes. The last line is the manifest: filters, count, first and last entry, and the SHA-256 of every byte before
it. A file without it is not whole. Nothing after the moment at which the export was asked for is in it; the entries of
transactions that were still open at that moment may be missing.
"""

import hashlib
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from asgiref.sync import sync_to_async
from django.db import connections

from audit.core.cells import COLUMNS, csv_line, csv_row, json_line
from audit.core.entry import FORMAT, Entry, utc_text
from audit.selectors.entries import Place, entries_onward
from audit.services.reading import ExportBegun, audit_export_end
from audit.store import clock

CHUNK = 500
"""Entries a chunk: what is in memory at once."""
MEDIA = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson; charset=utf-8"}

_BOM = "\N{BYTE ORDER MARK}"
"""In front of CSV: without it the spreadsheet most in use takes UTF-8 for another encoding and spoils names."""


def headers_of(begun: ExportBegun) -> dict[str, str]:
    """The headers of a download."""
    name = f"clearance-audit-{begun.until:%Y%m%dT%H%M%SZ}.{begun.form}"
    return {
        "Content-Type": MEDIA[begun.form],
        "Content-Disposition": f'attachment; filename="{name}"',
        # A proxy that collects the answer would hold all of it.
        "X-Accel-Buffering": "no",
    }


async def content(begun: ExportBegun) -> AsyncIterator[bytes]:
    """The bytes of the file. Whoever stops reading ends it; the log then says after how many entries."""
    writer = _Writer(begun)
    try:
        if head := writer.head():
            yield head
        while chunk := await sync_to_async(_given_back)(writer.chunk):
            yield chunk
        yield await sync_to_async(_given_back)(writer.tail)
    finally:
        if not writer.whole:
            await sync_to_async(_given_back)(writer.interrupted)


@dataclass(slots=True)
class _Writer:
    """One file under way: where it has got to, and the hash of what was handed out."""

    begun: ExportBegun
    count: int = 0
    first: Place | None = None
    last: Place | None = None
    whole: bool = False
    hash: Any = field(default_factory=hashlib.sha256)

    def head(self) -> bytes:
        """What stands before the first entry."""
        return self._hashed(_BOM + csv_line(COLUMNS) if self.begun.form == "csv" else "")

    def chunk(self) -> bytes:
        """The next entries as lines; empty at the end."""
        filters = replace(self.begun.filters, until=self.begun.until)
        found = entries_onward(self.begun.actor.tenant_id, filters, self.last, CHUNK)
        if not found:
            return b""
        self.count += len(found)
        self.first = self.first or (found[0].at, found[0].id)
        self.last = (found[-1].at, found[-1].id)
        return self._hashed("".join(map(self._line, found)))

    def tail(self) -> bytes:
        """The manifest's line, once the log says that the export ended."""
        manifest = {
            "manifest": FORMAT,
            "complete": True,
            "tenant_id": self.begun.actor.tenant_id,
            "exported_by": {"id": self.begun.actor.id, "name": self.begun.actor.name},
            "exported_at": utc_text(clock.now()),
            "filters": dict(self.begun.given),
            "zone": str(self.begun.zone),
            "until": utc_text(self.begun.until),
            **self._got(),
            "sha256": self.hash.hexdigest(),
        }
        audit_export_end(
            actor=self.begun.actor, begun=self.begun, manifest={**self._got(), "sha256": manifest["sha256"]}, whole=True
        )
        self.whole = True
        text = json_line({"manifest": manifest} if self.begun.form == "jsonl" else manifest)
        if self.begun.form == "jsonl":
            return f"{text}\n".encode()
        return csv_line(["#manifest", text, *[""] * (len(COLUMNS) - 2)]).encode()

    def interrupted(self) -> None:
        """The reader went away, or something failed: the log says how far it got."""
        audit_export_end(actor=self.begun.actor, begun=self.begun, manifest=self._got(), whole=False)

    def _got(self) -> Mapping[str, Any]:
        return {"count": self.count, "first": _place(self.first), "last": _place(self.last)}

    def _line(self, entry: Entry) -> str:
        if self.begun.form == "csv":
            return csv_line(csv_row(entry, self.begun.zone))
        return json_line(entry.as_record()) + "\n"

    def _hashed(self, text: str) -> bytes:
        data = text.encode()
        self.hash.update(data)
        return data


def _place(place: Place | None) -> dict[str, Any] | None:
    return None if place is None else {"at": utc_text(place[0]), "id": place[1]}


def _given_back[T](step: Callable[[], T]) -> T:
    """Run a step and give its database connection back: the reader may take their time with the bytes."""
    try:
        return step()
    finally:
        for connection in connections.all(initialized_only=True):
            # One inside a transaction is a test's, which will want it back.
            if not connection.in_atomic_block:
                connection.close()
