"""Names to choose from, for pages that act on an agent."""

from uuid import UUID

from access.models import Agent, Group


def agent_names(tenant_id: UUID | str) -> list[tuple[str, str, bool]]:
    """(id, name, active) of every agent of the tenant, by name."""
    rows = Agent.objects.filter(tenant_id=tenant_id).order_by("name", "id").values_list("id", "name", "is_active")
    return [(str(id_), name, active) for id_, name, active in rows]


def agent_rights(tenant_id: UUID | str) -> list[tuple[UUID, str, bool, frozenset[str]]]:
    """(id, name, active, scopes) of every agent of the tenant, by name."""
    rows = Agent.objects.filter(tenant_id=tenant_id).order_by("name", "id")
    found = rows.values_list("id", "name", "is_active", "scopes")
    return [(id_, name, active, frozenset(scopes)) for id_, name, active, scopes in found]


def group_names(tenant_id: UUID | str) -> list[tuple[str, str]]:
    """(slug, name) of every group of the tenant, by name."""
    return list(Group.objects.filter(tenant_id=tenant_id).order_by("name", "slug").values_list("slug", "name"))
