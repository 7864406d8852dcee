"""What holds of the signatures of contracts, verified each time from the bytes that came; and publishers' keys."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import F

from approvals.core.contract_signing import Signed, State, read_envelope
from approvals.models import ContractRule, PublisherKey, ToolCandidate, ToolVersion, VersionSignature
from approvals.selectors.ed25519 import verifies
from approvals.selectors.tool_readers import require_reader
from audit.core.actor import Actor
from audit.core.canonical import canonical_bytes
from audit.core.refusal import Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRow:
    """One publisher's key. `signs` are tools in force that it signed."""

    id: UUID
    publisher: str
    fingerprint: str
    public_key: bytes
    added_by: str
    added_at: datetime
    revoked_by: str = ""
    revoked_at: datetime | None = None
    revoked_because: str = ""
    signs: tuple[tuple[str, int], ...] = ()

    @property
    def revoked(self) -> bool:
        """Whether it is good no more."""
        return self.revoked_at is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class InForce:
    """A tool in force and what holds of its signature."""

    tool: str
    number: int
    signed: Signed


@dataclass(frozen=True, slots=True, kw_only=True)
class KeysShown:
    """The page of publishers' keys. `alarms` are tools in force whose signature holds no more; `unsigned` those that no
    registered key signed, which an organisation that admits only signed contracts has from before."""

    keys: list[KeyRow]
    signed_only: bool
    changed_by: str
    changed_at: datetime | None
    alarms: list[InForce]
    unsigned: list[InForce]


def keys_shown(actor: Actor) -> KeysShown:
    """Every key, the rule, and the tools in force that somebody has to look at. Raises Forbidden."""
    require_reader(actor)
    found = in_force_signed(actor.tenant_id)
    rule = ContractRule.objects.filter(tenant_id=actor.tenant_id).first()
    rows = sorted(
        keys_of(actor.tenant_id).values(), key=lambda row: (row.revoked, row.publisher.casefold(), row.added_at)
    )
    return KeysShown(
        keys=[
            replace(
                row,
                signs=tuple((one.tool, one.number) for one in found if one.signed.fingerprint == row.fingerprint),
            )
            for row in rows
        ],
        signed_only=bool(rule and rule.signed_only),
        changed_by=rule.changed_by if rule else "",
        changed_at=rule.changed_at if rule else None,
        alarms=[one for one in found if one.signed.state in ("revoked", "misfit")],
        unsigned=[one for one in found if one.signed.state in ("none", "unregistered")],
    )


def keys_of(tenant_id: UUID | str) -> dict[str, KeyRow]:
    """A tenant's keys by fingerprint, the revoked ones too."""
    rows = PublisherKey.objects.filter(tenant_id=tenant_id).select_related("end")
    return {row.fingerprint: key_row(row) for row in rows}


def key_row(row: PublisherKey) -> KeyRow:
    """The value of a key's row."""
    end = getattr(row, "end", None)
    return KeyRow(
        id=row.id,
        publisher=row.publisher,
        fingerprint=row.fingerprint,
        public_key=bytes(row.public_key),
        added_by=row.added_by,
        added_at=row.added_at,
        revoked_by=end.ended_by if end else "",
        revoked_at=end.ended_at if end else None,
        revoked_because=end.because if end else "",
    )


def signed_only(tenant_id: UUID | str) -> bool:
    """Whether the tenant admits signed contracts only."""
    return ContractRule.objects.filter(tenant_id=tenant_id, signed_only=True).exists()


def signed_candidate(candidate: ToolCandidate, keys: Mapping[str, KeyRow] | None = None) -> Signed:
    """What holds of a candidate: of the signature that came with it, else of one beside an admitted version that is the
    same document."""
    known = keys_of(candidate.tenant_id) if keys is None else keys
    if candidate.signature is not None:
        signature = (bytes(candidate.signature), candidate.signature_by, None)
        return judged(candidate.document, [signature], known)
    return signed_document(candidate.tenant_id, candidate.document, candidate.digest, known)


def signed_document(
    tenant_id: UUID | str,
    document: dict[str, Any],
    digest: str,
    keys: Mapping[str, KeyRow],
) -> Signed:
    """What holds of a document by the signatures beside versions that have its digest."""
    rows = VersionSignature.objects.filter(version__tool__tenant_id=tenant_id, version__digest=digest)
    found = rows.filter(version__tool__name=document.get("name", "")).order_by("stored_at")
    given = [(bytes(raw), by, at) for raw, by, at in found.values_list("envelope", "stored_by", "stored_at")]
    return judged(document, given, keys)


def signed_version(tenant_id: UUID | str, version: ToolVersion) -> Signed:
    """What holds of an admitted version now."""
    return signed_document(tenant_id, version.document, version.digest, keys_of(tenant_id))


def in_force_signed(tenant_id: UUID | str, tools: Sequence[str] | None = None) -> list[InForce]:
    """What holds of each tool in force, by name. Three queries; the documents of signed versions alone are read."""
    mine = ToolVersion.objects.filter(tool__tenant_id=tenant_id, number=F("tool__active_version"))
    if tools is not None:
        mine = mine.filter(tool__name__in=tools)
    versions = list(
        mine.order_by("tool__name").values_list("id", "tool__name", "number", "document__origin__publisher")
    )
    rows = VersionSignature.objects.filter(version__in=[id_ for id_, *_ in versions]).order_by("stored_at")
    given: dict[UUID, list[VersionSignature]] = {}
    for row in rows.select_related("version"):
        given.setdefault(row.version_id, []).append(row)
    keys = keys_of(tenant_id) if given else {}
    found = []
    for id_, tool, number, publisher in versions:
        mine_too = given.get(id_, [])
        signed = Signed(named=publisher if isinstance(publisher, str) else "")
        if mine_too:
            signatures = [(bytes(row.envelope), row.stored_by, row.stored_at) for row in mine_too]
            signed = judged(mine_too[0].version.document, signatures, keys)
        found.append(InForce(tool=tool, number=number, signed=signed))
    return found


_BEST: tuple[State, ...] = ("valid", "revoked", "misfit", "unregistered", "none")


def judged(
    document: dict[str, Any], given: Sequence[tuple[bytes, str, datetime | None]], keys: Mapping[str, KeyRow]
) -> Signed:
    """The best of what the signatures `given` (bytes, who brought it, when) say of a document."""
    named = document.get("origin", {}).get("publisher", "")
    found = [Signed(named=named)]
    payload = canonical_bytes(document) if given else b""
    for raw, by, at in given:
        found.append(replace(_one(raw, payload, keys), stored_by=by, stored_at=at, named=named))
    return min(found, key=lambda signed: _BEST.index(signed.state))


def _one(raw: bytes, payload: bytes, keys: Mapping[str, KeyRow]) -> Signed:
    shown = raw.decode("ascii", "replace")
    try:
        envelope = read_envelope(raw)
    except Refusal:
        return Signed(state="misfit", envelope=shown)  # judged when it was stored: somebody edited the row
    key = keys.get(envelope.fingerprint)
    known = Signed(state="unregistered", fingerprint=envelope.fingerprint, envelope=shown)
    if key is None:
        return known
    if not verifies(envelope, key.public_key, payload):
        return replace(known, state="misfit")
    if not key.revoked:
        return replace(known, state="valid", publisher=key.publisher)
    return replace(
        known,
        state="revoked",
        publisher=key.publisher,
        revoked_by=key.revoked_by,
        revoked_at=key.revoked_at,
        revoked_because=key.revoked_because,
    )
