"""What the boundaries share: a contract's adapter with the tenant's own credential and tables. Decides nothing."""

from functools import lru_cache, partial
from pathlib import Path

from django.conf import settings

from access.selectors.actors import tenant_slug
from access.services.credentials import credential_reveal
from approvals.core.contract_types import Contract
from runs.store.connection import release
from runs.tools.registry import Tool, tool_for


def backend_of(contract: Contract, tenant_id: str) -> Tool:
    """The adapter, ready to be used for this tenant. Raises Refusal (ADAPTER_UNKNOWN)."""
    return tool_for(
        contract,
        credential=partial(_credential, tenant_id, contract.adapter.credential),
        reference_dir=Path(settings.REFERENCE_DIR),
        tenant_slug=_slug(tenant_id),
    )


def _credential(tenant_id: str, name: str) -> str:
    """Revealed when the connection to the target stands; ours to the database is given back before the wait."""
    try:
        return credential_reveal(tenant_id=tenant_id, name=name)
    finally:
        release()


@lru_cache(maxsize=1024)
def _slug(tenant_id: str) -> str:
    """A tenant's short name; it never changes, so each process asks once."""
    return tenant_slug(tenant_id)
