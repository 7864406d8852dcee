"""What the doctor says of one thing."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import psycopg

type Status = Literal["ok", "problem", "skipped"]


@dataclass(frozen=True, slots=True)
class Line:
    """One thing: how it is, and what to do about it where it is not as it should be."""

    status: Status
    subject: str
    words: str
    remedy: str = ""

    def __str__(self) -> str:
        remedy = f"\n         → {self.remedy}" if self.remedy else ""
        return f"{self.status:<8} {self.subject}: {self.words}{remedy}"


def ok(subject: str, words: str) -> Line:
    """It is as it should be."""
    return Line("ok", subject, words)


def problem(subject: str, words: str, remedy: str) -> Line:
    """It is not."""
    return Line("problem", subject, words, remedy)


def skipped(subject: str, because: str) -> Line:
    """Nothing can be said about it until something above is mended."""
    return Line("skipped", subject, because)


@dataclass
class Patient:
    """What the looks have found so far, for those that come after them.

    `addresses` are Django's DATABASES entries by variable, `databases` the open connections by variable.
    """

    environment: Mapping[str, str]
    addresses: dict[str, dict[str, Any]] = field(default_factory=dict)
    databases: dict[str, "psycopg.Connection[Any]"] = field(default_factory=dict)
    broker: bool = False

    def close(self) -> None:
        """Give the connections back."""
        for connection in self.databases.values():
            connection.close()

    def value(self, name: str) -> str:
        """An environment variable, or ""."""
        return self.environment.get(name, "")
