"""Listed here so that `manage.py help` names it; manage.py itself calls it before the settings are read."""

import sys
from typing import Any

from django.core.management.base import BaseCommand

from config.doctor.main import main


class Command(BaseCommand):
    help = "Explains what is wrong with this installation, however little of it works. Ends with 1 if anything is."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        sys.exit(main(self.stdout))  # type: ignore[arg-type]
