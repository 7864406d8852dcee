"""An organisation's own sign-in from the command line: try it, or turn it off where nobody gets in any more."""

from typing import Any

from django.core.management import BaseCommand, CommandError
from django.core.management.base import CommandParser

from access.services.provider import provider_end_by_operator, provider_test_by_operator
from audit.core.refusal import Refusal


class Command(BaseCommand):
    help = "Tries an organisation's identity provider and says what is wrong with it, or turns it off."

    def add_arguments(self, parser: CommandParser) -> None:
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("--test", metavar="SLUG", help="the short name of the organisation whose provider is tried")
        what.add_argument("--off", metavar="SLUG", help="passwords open everybody's account there again")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            if options["test"]:
                for sentence in provider_test_by_operator(slug=options["test"]):
                    self.stdout.write(sentence)
            else:
                name = provider_end_by_operator(slug=options["off"])
                self.stdout.write(f"{name}: the provider is off, and passwords are enough. It is in the audit log.")
        except Refusal as refusal:
            raise CommandError(refusal.message) from None
