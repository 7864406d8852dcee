"""Tool contracts from files: what an admin stores and admits, what differs, going back, and what was admitted."""

from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.management import BaseCommand, CommandError
from django.core.management.base import CommandParser

from approvals.core.contract_diff import contract_changes, loosened
from approvals.core.contract_text import read_contract, written
from approvals.management.people import add_as, add_tenant, person, tenant
from approvals.selectors.candidates import candidate_shown
from approvals.selectors.catalogue import contract_document
from approvals.selectors.tools import tool_shown
from approvals.services.candidate import candidate_admit, candidate_store
from approvals.services.contract import (
    Seen,
    ToolVersionRow,
    contract_admit,
    contract_retire,
    contract_return,
    contract_sign,
)
from audit.core.refusal import Refusal
from audit.core.visible import as_line


class Command(BaseCommand):
    help = "Stores and admits a tool's contract from a file (JSON or YAML), compares, goes back, retires, prints."

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        admit = verbs.add_parser("admit", help="admit FILE; the same document is the same version")
        store = verbs.add_parser("store", help="keep FILE as a candidate, which nobody uses until it is admitted")
        accept = verbs.add_parser("accept", help="admit the candidate CANDIDATE of TOOL")
        diff = verbs.add_parser("diff", help="what FILE would change, in words; ends with 1 if something got looser")
        back = verbs.add_parser("return", help="put version NUMBER of TOOL in force again")
        sign = verbs.add_parser("sign", help="put the publisher's signature in FILE beside version NUMBER of TOOL")
        retire = verbs.add_parser("retire", help="take TOOL out of the catalogue")
        show = verbs.add_parser("show", help="print the contract of TOOL that is in force, or another version")
        for verb in (admit, store, diff):
            verb.add_argument("file", type=Path)
        for verb in (accept, back, sign, retire, show):
            verb.add_argument("tool")
        for verb in (admit, store):
            verb.add_argument("--signature", type=Path, help="a file with the publisher's signature")
        accept.add_argument("candidate", type=UUID)
        for verb in (back, sign):
            verb.add_argument("number", type=int)
        sign.add_argument("file", type=Path)
        show.add_argument("--number", type=int)
        for verb in (store, accept, back, retire):
            verb.add_argument("--reason", default="", help="for the record")
        for verb in (admit, store, accept, back, sign, retire):
            add_as(verb)
        for verb in (admit, store, accept, diff, back, sign, retire, show):
            add_tenant(verb)

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            getattr(self, f"_{options['verb']}")(options)
        except Refusal as refusal:
            findings: Any = refusal.detail.get("findings", [])
            lines = [f"  {_place(finding)}: {finding['message']}" for finding in findings]
            raise CommandError("\n".join([refusal.message, *lines])) from None

    def _admit(self, options: dict[str, Any]) -> None:
        row = contract_admit(
            actor=person(options), document=read_contract(_text(options)), signature=_signature(options)
        )
        self._said(row, "" if row.created else " (this document was admitted before)")

    def _store(self, options: dict[str, Any]) -> None:
        row = candidate_store(
            actor=person(options), source=_text(options), note=options["reason"], signature=_signature(options)
        )
        known = "" if row.created else " (it waited already)"
        self.stdout.write(f"Candidate {row.id} of {row.tool} waits for admission{known}.")

    def _accept(self, options: dict[str, Any]) -> None:
        actor = person(options)
        shown = candidate_shown(actor, options["tool"], options["candidate"])
        seen = Seen(in_force=shown.in_force, waiting=shown.waiting.count)
        self._said(candidate_admit(actor=actor, candidate_id=shown.id, seen=seen, reason=options["reason"]))

    def _diff(self, options: dict[str, Any]) -> None:
        document = read_contract(_text(options))
        found = contract_document(tenant(options), document["name"])
        if found is None:
            raise CommandError(f"There is no {document['name']} in force: everything in the file is new.")
        changes = contract_changes(found[1], document)
        for change in changes:
            values = f" [{change.old or 'nothing'} -> {change.new or 'nothing'}]"
            self.stdout.write(as_line(f"{change.direction}: {change.field}: {change.text}{values}"))
        if not changes:
            self.stdout.write(f"The file says the same as version {found[0]}.")
        if loosened(changes):
            raise CommandError(f"{loosened(changes)} looser than version {found[0]}.", returncode=1)

    def _return(self, options: dict[str, Any]) -> None:
        actor = person(options)
        shown = tool_shown(actor, options["tool"])
        seen = Seen(in_force=shown.in_force, waiting=shown.waiting.count)
        self._said(
            contract_return(actor=actor, tool=shown.name, number=options["number"], seen=seen, reason=options["reason"])
        )

    def _sign(self, options: dict[str, Any]) -> None:
        signed = contract_sign(
            actor=person(options), tool=options["tool"], number=options["number"], signature=_bytes(options["file"])
        )
        self.stdout.write(as_line(f"{options['tool']} version {options['number']}: {signed.words}"))

    def _retire(self, options: dict[str, Any]) -> None:
        done = contract_retire(actor=person(options), tool=options["tool"], reason=options["reason"])
        self.stdout.write(f"{options['tool']} {'is retired' if done else 'was retired before'}.")

    def _show(self, options: dict[str, Any]) -> None:
        found = contract_document(tenant(options), options["tool"], options["number"])
        if found is None:
            raise CommandError(f"There is no such version of {options['tool']}, or the tool is retired.")
        self.stderr.write(f"Version {found[0]}")
        self.stdout.write(written(found[1]))

    def _said(self, row: ToolVersionRow, more: str = "") -> None:
        refused = f" {row.refused} waiting proposals are refused at dispatch." if row.refused else ""
        self.stdout.write(f"{row.tool} version {row.number} is in force{more}.{refused}")


def _text(options: dict[str, Any]) -> str:
    path: Path = options["file"]
    try:
        return _bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CommandError(f"{path} is not UTF-8 text (byte {error.start}).") from None


def _signature(options: dict[str, Any]) -> bytes:
    return _bytes(options["signature"]) if options["signature"] else b""


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}.") from None


def _place(finding: dict[str, Any]) -> str:
    line = f"line {finding['line']}, " if finding.get("line") else ""
    return f"{line}{finding['path'] or '/'}"
