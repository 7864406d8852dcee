#!/usr/bin/env python
"""Django's command line for this project."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.production")
    if sys.argv[1:] == ["doctor"]:
        # Before the settings are read: they may be what is broken.
        from config.doctor.main import main as doctor

        sys.exit(doctor())
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
