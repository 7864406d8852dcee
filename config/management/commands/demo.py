"""`manage.py demo`: two organisations with people, an agent, tools and policies, made through the real services."""

import json
import os
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand, CommandError
from django.db import transaction

from access.selectors.actors import actor_for_session, tenant_id_of, user_id_of
from access.services.agents import agent_create
from access.services.bootstrap import tenant_bootstrap
from access.services.credentials import credential_store
from access.services.people import group_add, group_create, member_add
from approvals.selectors.policies import policy_in_force
from approvals.services.contract import contract_admit
from approvals.services.policy import policy_publish
from audit.core.actor import Actor

DATA = settings.BASE_DIR / "config" / "demo_data"
# The address in the contracts as they lie in the repository; the demo's payment server listens on a port of its own.
PLACEHOLDER = "127.0.0.1:12111"
# Slug, name, and who works there: role → name. The reviewer is in the group that the demo's policies ask.
TENANTS: dict[str, tuple[str, dict[str, str]]] = {
    "acme": ("Acme Homewares", {"reviewer": "Mara Lind", "operator": "Ola Brandt", "auditor": "Ines Kaur"}),
    "globex": ("Globex Supply", {"reviewer": "Ruth Adler", "operator": "Sam Ortiz", "auditor": "Piet Vos"}),
}
ADMINS = {"acme": "Ada Okoye", "globex": "Gil Navarro"}
# The person for whom the agent acts; they may not approve what is asked on their behalf (A9).
ACTED_FOR = {"acme": "Jon Hale", "globex": "Lea Brook"}


class Command(BaseCommand):
    help = (
        "Makes the demo's organisations acme and globex; run again, it only brings tools and credentials up to date. "
        "Reads CLEARANCE_DEMO_DIR (passwords in, demo.json and the agent's secret out) and CLEARANCE_DEMO_PAYMENTS_URL."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            folder = Path(os.environ["CLEARANCE_DEMO_DIR"])
            payments = os.environ["CLEARANCE_DEMO_PAYMENTS_URL"]
        except KeyError as missing:
            raise CommandError(f"{missing.args[0]} is not set. `make up` sets it and runs this command.") from None
        note = folder / "demo.json"
        known = json.loads(note.read_text()) if note.exists() else {}
        for slug in TENANTS:
            with transaction.atomic():
                if tenant_id_of(slug) is None:
                    known[slug] = self._make(slug, folder)
                    # Before the commit: a crash in between leaves a note that the next run replaces, never a tenant
                    # whose agent's secret nobody has.
                    _write(note, json.dumps(known, indent=1))
                elif slug not in known:
                    raise CommandError(
                        f"The database has an organisation {slug} that {note} knows nothing of. "
                        "Use another database, or remove this one's data and start anew."
                    )
                self._bring_up_to_date(slug, folder, payments)
        if options["verbosity"]:
            self.stdout.write("The demo's organisations are ready.")

    def _make(self, slug: str, folder: Path) -> dict[str, Any]:
        name, staff = TENANTS[slug]
        tenant, admin = tenant_bootstrap(
            slug=slug,
            name=name,
            email=_email("admin", slug),
            admin_name=ADMINS[slug],
            password=_password(folder, "admin"),
            additional=True,
        )
        actor = _person(admin.user_id, tenant.id)
        people = {"admin": admin.email}
        group_create(actor=actor, slug="finance", name="Finance")
        for role, person in staff.items():
            member = member_add(
                actor=actor, email=_email(role, slug), name=person, roles=[role], password=_password(folder, role)
            )
            people[role] = member.email
            if role == "reviewer":
                group_add(actor=actor, group="finance", user_id=member.user_id)
        acted_for = member_add(actor=actor, email=_email("support", slug), name=ACTED_FOR[slug], roles=["operator"])
        agent, secret = agent_create(
            actor=actor,
            name="support-agent",
            version="12",
            scopes=["orders:read", "refunds:write"],
            principals=[acted_for.user_id],
        )
        _write(folder / ("agent.secret" if slug == "acme" else f"agent-{slug}.secret"), secret + "\n")
        return {
            "tenant_id": tenant.id,
            "people": {role: people[role] for role in ("reviewer", "operator", "admin", "auditor")},
            "agent": {"client_id": agent.client_id, "acts_for": acted_for.email},
        }

    def _bring_up_to_date(self, slug: str, folder: Path, payments: str) -> None:
        tenant_id, admin_id = tenant_id_of(slug), user_id_of(_email("admin", slug))
        assert tenant_id is not None
        assert admin_id is not None
        actor = _person(admin_id, tenant_id)
        credential_store(actor=actor, name="payments", secret=(folder / "payments.key").read_text().strip())
        for path in sorted((DATA / "contracts").glob("*.json")):
            text = path.read_text().replace(PLACEHOLDER, payments.removeprefix("http://"))
            contract_admit(actor=actor, document=json.loads(text))
        # Only the first: what an admin of the demo has published since then stands.
        if policy_in_force(tenant_id) is None:
            policy_publish(actor=actor, source=(DATA / "policies" / f"{slug}.yaml").read_text(), based_on=None)


def _person(user_id: str, tenant_id: str) -> Actor:
    actor = actor_for_session(user_id, tenant_id)
    if actor is None:
        raise CommandError("The demo's admin is no longer an active member. Make them one again, or start anew.")
    return actor


def _email(role: str, slug: str) -> str:
    return f"{role}@{slug}.example.test"


def _password(folder: Path, role: str) -> str:
    return (folder / f"{role}.password").read_text().strip()


def _write(path: Path, text: str) -> None:
    """Mode 0600 from the first byte on."""
    aside = path.with_name(path.name + ".new")
    aside.unlink(missing_ok=True)
    with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    aside.replace(path)
