"""What each part that can be impaired means for whoever works here. docs/operations.md shows the same table."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Meaning:
    """`title` names the part, `down` the part when it is impaired; `works` is what still works then, `lost` what does
    not."""

    title: str
    down: str
    works: str
    lost: str


MEANINGS: dict[str, Meaning] = {
    "database": Meaning(
        "PostgreSQL",
        "PostgreSQL",
        "nothing; requests are told to come again (503) and lose nothing that was answered",
        "everything, until it is back",
    ),
    "migrations": Meaning(
        "tables",
        "the tables of this version",
        "nothing: this version does not work on older tables",
        "everything, until `manage.py prepare_database` has run",
    ),
    "keys": Meaning(
        "keys",
        "token and credential keys",
        "pages, and whatever is under way without a new token",
        "agents are not let in, and targets are not called",
    ),
    "broker": Meaning(
        "Valkey",
        "Valkey",
        "everything, up to about two seconds later: the sweep finds the work; pages look again every three seconds",
        "news at once",
    ),
    "sweep": Meaning(
        "sweep",
        "sweep",
        "decisions, dispatches (by hints)",
        "lost hints, expiry written down, leases of dead workers",
    ),
    "epoch": Meaning(
        "restores",
        "a restore that nobody has taken note of",
        "reading, and asking for calls",
        "nothing is started until the sweep, or `manage.py restored`, begins a new epoch",
    ),
    "disk": Meaning(
        "disk",
        "little space on the disk",
        "everything",
        "nothing yet; a full disk stops the logs and the database",
    ),
    "audit": Meaning(
        "audit log",
        "audit entries that are owed",
        "stopping things",
        "the log is behind: what could not be written is paid as soon as it can be",
    ),
}
"""In the order in which they are shown."""

ESSENTIAL = ("database", "migrations", "keys")
"""Without one of these a process must not be sent requests: 503."""
