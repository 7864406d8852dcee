"""The first organisation and admin of a real installation."""

import getpass
import os
import sys
from typing import Any

from django.core.management import BaseCommand, CommandError
from django.core.management.base import CommandParser

from access.services.bootstrap import tenant_bootstrap
from audit.core.refusal import Refusal

PASSWORD_VARIABLE = "CLEARANCE_BOOTSTRAP_PASSWORD"  # noqa: S105 - the name of a variable


class Command(BaseCommand):
    help = (
        "Makes the first organisation and its admin. The password comes from --password-stdin, from the variable "
        f"{PASSWORD_VARIABLE}, from a prompt, or is generated and printed once."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--tenant", required=True, help="the organisation's short name, such as acme")
        parser.add_argument("--tenant-name", default="", help="its name as people read it (default: the short name)")
        parser.add_argument("--email", required=True, help="the admin's e-mail address")
        parser.add_argument("--name", default="", help="the admin's name (default: the address)")
        parser.add_argument("--password-stdin", action="store_true", help="read the password from standard input")
        parser.add_argument("--generate", action="store_true", help="make a password and print it once; no prompt")
        parser.add_argument("--additional", action="store_true", help="add another organisation to an installation")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            tenant, admin = tenant_bootstrap(
                slug=options["tenant"],
                name=options["tenant_name"] or options["tenant"],
                email=options["email"],
                admin_name=options["name"] or options["email"],
                password=self._password(options),
                additional=options["additional"],
            )
        except Refusal as refusal:
            raise CommandError(refusal.message) from None
        self.stdout.write(f"The organisation {tenant.name} ({tenant.slug}) is ready.")
        if admin.password:
            self.stdout.write(f"{admin.email} is its admin. Password, shown only now: {admin.password}")
        elif admin.created:
            self.stdout.write(f"{admin.email} is its admin.")
        else:
            self.stdout.write(f"{admin.email} had an account already and is its admin; the password stays as it was.")

    def _password(self, options: dict[str, Any]) -> str | None:
        """The password given, or None for a generated one. Never an option: options show in the list of processes."""
        if options["password_stdin"]:
            return sys.stdin.readline().rstrip("\r\n")
        if os.environ.get(PASSWORD_VARIABLE):
            return os.environ[PASSWORD_VARIABLE]
        if options["generate"] or not sys.stdin.isatty():
            return None
        first = getpass.getpass("Password for the admin (empty: make one): ")
        if first and getpass.getpass("Once more: ") != first:
            raise CommandError("The two passwords differ. Nothing was made; run the command again.")
        return first or None
