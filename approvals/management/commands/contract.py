"""Tool contracts from files: what an admin admits, and what was admitted."""

import json
from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError
from django.core.management.base import CommandParser

from approvals.management.people import add_as, add_tenant, person, tenant
from approvals.selectors.catalogue import contract_document
from approvals.services.contract import contract_admit
from audit.core.jsondoor import open_json_object
from audit.core.refusal import Refusal


class Command(BaseCommand):
    help = "Admits a tool's contract from a file, or prints one that was admitted."

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        admit = verbs.add_parser("admit", help="admit FILE; the same document is the same version")
        admit.add_argument("file", type=Path)
        add_tenant(admit)
        add_as(admit)
        show = verbs.add_parser("show", help="print the contract of TOOL that is in force, or another version")
        show.add_argument("tool")
        show.add_argument("--number", type=int)
        add_tenant(show)

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            getattr(self, f"_{options['verb']}")(options)
        except Refusal as refusal:
            findings: Any = refusal.detail.get("findings", [])
            lines = [f"  {finding['path'] or '/'}: {finding['message']}" for finding in findings]
            raise CommandError("\n".join([refusal.message, *lines])) from None

    def _admit(self, options: dict[str, Any]) -> None:
        try:
            raw = options["file"].read_bytes()
        except OSError as error:
            raise CommandError(f"{options['file']} cannot be read: {error.strerror}.") from None
        row = contract_admit(actor=person(options), document=open_json_object(raw))
        known = "" if row.created else " (this document was admitted before)"
        self.stdout.write(f"{row.tool} version {row.number} is in force{known}.")

    def _show(self, options: dict[str, Any]) -> None:
        found = contract_document(tenant(options), options["tool"], options["number"])
        if found is None:
            raise CommandError(f"There is no such version of {options['tool']}, or the tool is retired.")
        self.stderr.write(f"Version {found[0]}")
        self.stdout.write(json.dumps(found[1], indent=2, ensure_ascii=False))
