"""The first organisation of an installation and its first admin."""

from dataclasses import replace

from django.db import connection, transaction

from access.models import Tenant
from access.services.people import MemberRow, TenantRow, member_add, tenant_create
from audit.core.actor import SYSTEM
from audit.core.refusal import Conflict


def tenant_bootstrap(
    *, slug: str, name: str, email: str, admin_name: str, password: str | None = None, additional: bool = False
) -> tuple[TenantRow, MemberRow]:
    """Make an organisation and its first admin, all or nothing.

    Refuses (Conflict, ALREADY_BOOTSTRAPPED) when there is one already, unless `additional`: run twice by mistake it
    must not leave a second organisation with an admin nobody expects. Raises also what `member_add` raises.
    """
    with transaction.atomic():
        with connection.cursor() as cursor:
            # Two at once would both see an empty installation.
            cursor.execute("SELECT pg_advisory_xact_lock(hashtext('tenant_bootstrap'))")
        if Tenant.objects.exists() and not additional:
            raise Conflict(
                "This installation has an organisation already. Give --additional to add another one.",
                code="ALREADY_BOOTSTRAPPED",
            )
        actor = SYSTEM("bootstrap", "")
        tenant = tenant_create(actor=actor, slug=slug, name=name)
        admin = member_add(
            actor=replace(actor, tenant_id=tenant.id), email=email, name=admin_name, roles=["admin"], password=password
        )
    return tenant, admin
