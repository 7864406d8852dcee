"""Whose command it is: `--tenant` and `--as`, for the commands of this app."""

import argparse
from typing import Any

from django.core.management import CommandError

from access.selectors.actors import actor_for_session, tenant_id_of, user_id_of
from audit.core.actor import Actor


def add_tenant(parser: argparse.ArgumentParser) -> None:
    """The option that names the organisation."""
    parser.add_argument("--tenant", required=True, help="the organisation's short name")


def add_as(parser: argparse.ArgumentParser) -> None:
    """The option that names who answers for the command; the audit log keeps it."""
    parser.add_argument("--as", dest="email", required=True, help="the e-mail address of the admin who does this")


def tenant(options: dict[str, Any]) -> str:
    """The organisation's id."""
    found = tenant_id_of(options["tenant"])
    if found is None:
        raise CommandError(f"There is no organisation {options['tenant']}.")
    return found


def person(options: dict[str, Any]) -> Actor:
    """The person of `--as` with the rights of now in the organisation of `--tenant`."""
    user_id = user_id_of(options["email"])
    actor = actor_for_session(user_id, tenant(options)) if user_id else None
    if actor is None:
        raise CommandError(f"{options['email']} is no active member of {options['tenant']}.")
    return actor
