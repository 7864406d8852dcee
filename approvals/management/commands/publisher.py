"""Publishers who sign contracts: their keys, and whether only signed contracts are admitted."""

from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError
from django.core.management.base import CommandParser

from approvals.management.people import add_as, add_tenant, person, tenant
from approvals.selectors.contract_signatures import InForce, in_force_signed, keys_of, signed_only
from approvals.services.publisher import REMEDY, publisher_key_add, publisher_key_revoke, signed_only_set
from audit.core.refusal import Refusal
from audit.core.visible import as_line


class Command(BaseCommand):
    help = "Keys of publishers who sign contracts: lists, adds, revokes; whether only signed contracts are admitted."

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        listed = verbs.add_parser("list", help="every key, and the rule")
        add = verbs.add_parser("add", help="take the public key in FILE (PEM) as one of PUBLISHER")
        revoke = verbs.add_parser("revoke", help="the key with this FINGERPRINT is good no more")
        rule = verbs.add_parser("signed-only", help="whether only signed contracts are admitted")
        check = verbs.add_parser("check", help="ends with 1 if a tool in force is not validly signed")
        add.add_argument("publisher")
        add.add_argument("file", type=Path)
        revoke.add_argument("fingerprint")
        revoke.add_argument("--reason", required=True, help="for the record")
        rule.add_argument("wanted", choices=("on", "off"))
        rule.add_argument("--knowing", action="store_true", help="that tools in force go on without a valid signature")
        for verb in (add, revoke, rule):
            add_as(verb)
        for verb in (listed, add, revoke, rule, check):
            add_tenant(verb)

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            getattr(self, f"_{options['verb'].replace('-', '_')}")(options)
        except Refusal as refusal:
            raise CommandError(refusal.message) from None

    def _list(self, options: dict[str, Any]) -> None:
        for row in keys_of(tenant(options)).values():
            end = (
                f"revoked {row.revoked_at:%Y-%m-%d} by {row.revoked_by}: {row.revoked_because}"
                if row.revoked_at
                else ""
            )
            self.stdout.write(
                as_line(f"{row.fingerprint} {row.publisher}, since {row.added_at:%Y-%m-%d} {end}".rstrip())
            )
        only = signed_only(tenant(options))
        self.stdout.write(
            "Only signed contracts are admitted." if only else "Contracts without a signature are admitted."
        )

    def _add(self, options: dict[str, Any]) -> None:
        path: Path = options["file"]
        try:
            text = path.read_bytes().decode("utf-8-sig")
        except OSError as error:
            raise CommandError(f"{path} cannot be read: {error.strerror}.") from None
        except UnicodeDecodeError:
            raise CommandError(f"{path} is not text. Give the public key as PEM.") from None
        row = publisher_key_add(actor=person(options), publisher=options["publisher"], public_key=text, at_console=True)
        self.stdout.write(as_line(f"{row.publisher} signs with the key {row.fingerprint} from now on."))

    def _revoke(self, options: dict[str, Any]) -> None:
        actor = person(options)
        row = keys_of(actor.tenant_id).get(options["fingerprint"].lower())
        if row is None:
            raise CommandError("There is no key with this fingerprint. `publisher list` shows them whole.")
        hit = publisher_key_revoke(actor=actor, key_id=row.id, because=options["reason"])
        self.stdout.write("The key is revoked.")
        for line in _lines(hit):
            self.stdout.write(line)
        if hit:
            self.stdout.write(REMEDY)

    def _signed_only(self, options: dict[str, Any]) -> None:
        actor, wanted = person(options), options["wanted"] == "on"
        unsigned = [one.tool for one in in_force_signed(actor.tenant_id) if one.signed.state != "valid"]
        if wanted and unsigned and not options["knowing"]:
            raise CommandError(
                f"These would go on without a valid signature: {', '.join(unsigned)}. Say --knowing if they may."
            )
        done = signed_only_set(actor=actor, wanted=wanted, seen=unsigned, at_console=True)
        said = "Only signed contracts are admitted" if wanted else "Contracts without a signature are admitted"
        self.stdout.write(f"{said}{' from now on' if done else ', as before'}.")

    def _check(self, options: dict[str, Any]) -> None:
        bad = [one for one in in_force_signed(tenant(options)) if one.signed.state != "valid"]
        for line in _lines(bad):
            self.stdout.write(line)
        if bad:
            are = "tool in force is" if len(bad) == 1 else "tools in force are"
            raise CommandError(f"{len(bad)} {are} not validly signed.", returncode=1)
        self.stdout.write("Every tool in force is validly signed.")


def _lines(found: list[InForce]) -> list[str]:
    return [as_line(f"{one.tool} version {one.number}: {one.signed.words}") for one in found]
