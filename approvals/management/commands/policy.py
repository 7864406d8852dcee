"""Policies from files: what an admin publishes, looks at and checks at a command line."""

from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError
from django.core.management.base import CommandParser

from approvals.management.people import add_as, add_tenant, person, tenant
from approvals.selectors.policies import policy_in_force, policy_version
from approvals.services.policy import policy_check, policy_publish
from audit.core.refusal import Refusal


class Command(BaseCommand):
    help = "Publishes a policy from a file, shows one, or checks a file without publishing it."

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        publish = verbs.add_parser("publish", help="publish FILE as the next version")
        publish.add_argument("file", type=Path)
        publish.add_argument("--based-on", type=int, help="the number of the version that FILE was made from")
        add_tenant(publish)
        add_as(publish)
        show = verbs.add_parser("show", help="print the version in force, or another one")
        show.add_argument("--number", type=int)
        add_tenant(show)
        check = verbs.add_parser("check", help="say what stands against FILE; publishes nothing")
        check.add_argument("file", type=Path)
        add_tenant(check)
        add_as(check)

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            getattr(self, f"_{options['verb']}")(options)
        except Refusal as refusal:
            raise CommandError(_words(refusal)) from None

    def _publish(self, options: dict[str, Any]) -> None:
        row = policy_publish(actor=person(options), source=_text(options["file"]), based_on=options["based_on"])
        self.stdout.write(f"Version {row.number} of the policy of {options['tenant']} is in force.")

    def _show(self, options: dict[str, Any]) -> None:
        tenant_id, number = tenant(options), options["number"]
        row = policy_in_force(tenant_id) if number is None else policy_version(tenant_id, number)
        if row is None:
            raise CommandError(
                "There is no such version." if number else "No policy was published: nothing is allowed."
            )
        self.stderr.write(f"Version {row.number}, by {row.published_by} at {row.published_at:%Y-%m-%d %H:%M:%S} UTC")
        self.stdout.write(row.source, ending="" if row.source.endswith("\n") else "\n")

    def _check(self, options: dict[str, Any]) -> None:
        found = policy_check(actor=person(options), source=_text(options["file"]))
        for finding in found:
            self.stdout.write(f"{finding.path}: {finding.message} ({finding.code})")
        if found:
            raise CommandError(f"{len(found)} findings. Nothing was published.")
        self.stdout.write("Nothing stands against it. Nothing was published.")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise CommandError(f"{path} is not UTF-8 text.") from None


def _words(refusal: Refusal) -> str:
    """The refusal with its findings, or with what another admin has changed meanwhile."""
    lines = [refusal.message]
    findings: Any = refusal.detail.get("findings", [])
    lines += [f"  {finding.get('line') or finding['path']}: {finding['message']}" for finding in findings]
    difference: Any = refusal.detail.get("diff", [])
    return "\n".join([*lines, *difference])
