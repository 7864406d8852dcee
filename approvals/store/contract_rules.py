"""A tenant's rule about signatures under its lock, and putting a signature beside a version."""

from uuid import UUID, uuid4

from approvals.core.contract_signing import Envelope, Signed, admission_problem
from approvals.models import ContractRule, VersionSignature
from audit.core.actor import Actor
from audit.core.refusal import Conflict
from audit.store import clock


def rule_locked(tenant_id: UUID | str) -> ContractRule:
    """The tenant's rule, locked, made first where there is none. An admission, a revoked key and a change of the rule
    wait for each other here: nothing is admitted by a key that was revoked meanwhile. Taken behind a tool's lock."""
    ContractRule.objects.bulk_create([ContractRule(tenant_id=tenant_id)], ignore_conflicts=True)
    return ContractRule.objects.select_for_update().get(tenant_id=tenant_id)


def check_signed(signed: Signed, rule: ContractRule, *, what: str) -> None:
    """Raises Conflict (SIGNATURE_MISFIT, SIGNATURE_REVOKED, SIGNATURE_REQUIRED) where a contract may not come into
    force as it is signed. `what` begins the sentence: which contract."""
    code, problem = admission_problem(signed, signed_only=rule.signed_only)
    if code:
        raise Conflict(f"{what}: {problem} Nothing was changed.", code=code, detail={"signature": signed.as_dict()})


def keep_signature(*, actor: Actor, version_id: UUID, envelope: Envelope) -> bool:
    """Put a signature beside a version, once; False if it stands there. In the caller's transaction, under the tool's
    lock."""
    known = VersionSignature.objects.filter(version_id=version_id, fingerprint=envelope.fingerprint)
    if any(bytes(raw) == envelope.raw for raw in known.values_list("envelope", flat=True)):
        return False
    VersionSignature.objects.create(
        id=uuid4(),
        version_id=version_id,
        envelope=envelope.raw,
        fingerprint=envelope.fingerprint,
        stored_by=actor.name,
        stored_by_id=actor.id,
        stored_at=clock.now(),
    )
    return True
