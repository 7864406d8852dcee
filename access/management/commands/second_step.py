"""Lets somebody in again who has lost every device and recovery code."""

from typing import Any

from django.core.management import BaseCommand, CommandError
from django.core.management.base import CommandParser

from access.services.second_step import second_step_end
from audit.core.refusal import Refusal


class Command(BaseCommand):
    help = "Ends the second step at the sign-in of one account. Know who asks for it: the password opens it then."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--end", metavar="EMAIL", required=True, help="the account's e-mail address")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            name = second_step_end(email=options["end"])
        except Refusal as refusal:
            raise CommandError(refusal.message) from None
        self.stdout.write(f"{name} signs in with the password alone now. It is in the audit log.")
