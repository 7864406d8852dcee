"""`manage.py restored`: says that a backup was restored, where the database cannot know it by itself."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from runs.services.restore import database_restored, database_restored_if_elsewhere


class Command(BaseCommand):
    help = (
        "Begins a new epoch after a restore: approvals that were not executed are void, what was being sent is "
        "unknown. The sweep notices a restored dump, a recovery to a point in time and a promoted standby by itself, "
        "not a copy of the server's files or of its disk: say that here. No harm: people are asked again."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        said = "An operator said that a backup was restored."
        parser.add_argument("--reason", default=said, help="for the audit log")
        parser.add_argument("--if-noticed", action="store_true", help="only if the database itself shows it")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["if_noticed"]:
            made = database_restored_if_elsewhere()
        else:
            made = database_restored(because=options["reason"], always=True)
        self.stdout.write(made.sentence if made else "This database is where it was last used; nothing to do.")
