"""Many different people of one organisation, each signed in; run in the environment of a stack that stands.

    python -m benchmarks.crowd FILE NUMBER

Writes the sessions' keys to FILE as a JSON list. Most are reviewers of finance; every tenth audits too, every seventh
has a zone of their own, so that pages differ as they do where people work.
"""

import json
import sys
from pathlib import Path
from typing import Any

import django

ZONES = ("Australia/Sydney", "Europe/Berlin", "America/New_York")


def made(number: int) -> list[str]:
    """The keys of `number` sessions, a person each."""
    from access.models import Membership, User
    from access.selectors.actors import actor_for_session
    from access.services.people import member_add

    admin = Membership.objects.filter(roles__contains=["admin"], tenant__slug="acme").first()
    actor = actor_for_session(admin.user_id, admin.tenant_id) if admin is not None else None
    if actor is None:
        raise SystemExit("The demo's organisation has no admin.")
    keys = []
    for place in range(number):
        roles = ["reviewer", "auditor"] if place % 10 == 9 else ["reviewer"]
        row = member_add(
            actor=actor,
            email=f"crowd{place}@example.com",
            name=f"Crowd {place}",
            roles=roles,
            groups=["finance"],
            invite=True,
        )
        user = User.objects.get(pk=row.user_id)
        if place % 7 == 6:
            user.time_zone = ZONES[place % 3]
            user.save(update_fields=["time_zone"])
        keys.append(_session(user, actor.tenant_id))
    return keys


def _session(user: Any, tenant_id: str) -> str:
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
    from django.contrib.sessions.backends.db import SessionStore

    from access.web.sessions import TENANT_KEY

    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session[TENANT_KEY] = tenant_id
    session.create()
    return str(session.session_key)


if __name__ == "__main__":
    django.setup()
    Path(sys.argv[1]).write_text(json.dumps(made(int(sys.argv[2]))))
