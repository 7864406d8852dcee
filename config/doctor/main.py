"""The doctor's round. `python manage.py doctor` comes here before Django is set up."""

import logging
import os
import sys
from collections.abc import Iterator, Mapping
from typing import TextIO

from config.doctor import database, surroundings
from config.doctor.lines import Line, Patient, problem

LOOKS = (
    surroundings.look_at_environment,
    surroundings.look_at_keys,
    database.look_at_database,
    database.look_at_tables,
    surroundings.look_at_broker,
    surroundings.look_at_workers,
    surroundings.look_at_disk,
    surroundings.look_at_port,
)


def examine(environment: Mapping[str, str]) -> Iterator[Line]:
    """Every line, in the order in which it makes sense to mend things. A look that fails itself is a line too."""
    patient = Patient(environment)
    try:
        for look in LOOKS:
            try:
                yield from look(patient)
            except Exception as error:
                name = look.__name__.removeprefix("look_at_")
                words = f"It could not be looked at ({type(error).__name__})."
                yield problem(name, words, "Mend what stands above first; then tell the developers.")
    finally:
        patient.close()


def main(out: TextIO | None = None) -> int:
    """Print every line; 1 if there is a problem, else 0."""
    logging.disable(logging.CRITICAL)
    write = (out or sys.stdout).write
    problems = 0
    for line in examine(os.environ):
        write(f"{line}\n")
        problems += line.status == "problem"
    if problems:
        write(f"\n{problems} problem{'s' if problems > 1 else ''}. Mend the first one first.\n")
    else:
        write("\nNothing is wrong.\n")
    return 1 if problems else 0
