"""What a wrong installation is told before it starts: Django system checks with ids and hints."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register

LEAST_POOL = 8
"""Connections: the hub's readers (4) and the sweep's workers (4), each in a process that does little else."""


@register()
def broker(**_: Any) -> list[CheckMessage]:
    """runs.E001 no Redis address; runs.E002 Celery would run the work inside the request that asks for it."""
    found: list[CheckMessage] = []
    if not str(settings.REDIS_URL).startswith(("redis://", "rediss://", "unix://")):
        found.append(
            Error(
                "REDIS_URL is no address of a Redis or Valkey server.",
                hint="Write redis://:password@host:6379/0. It carries hints only; the database holds everything.",
                id="runs.E001",
            )
        )
    if settings.CELERY.get("task_always_eager"):
        found.append(
            Error(
                "CELERY['task_always_eager'] is on: targets would be called inside requests and transactions.",
                hint="Remove it. Tests start real workers.",
                id="runs.E002",
            )
        )
    return found


@register()
def pool(**_: Any) -> list[CheckMessage]:
    """runs.W001: a pool smaller than the threads of a process starves its requests."""
    size = (settings.DATABASES["default"].get("OPTIONS", {}).get("pool") or {}).get("max_size")
    if size is None or size >= LEAST_POOL:
        return []
    return [
        Warning(
            f"The database pool holds {size} connections; a process needs at least {LEAST_POOL}.",
            hint="Raise CLEARANCE_DATABASE_POOL, and PostgreSQL's max_connections with it.",
            id="runs.W001",
        )
    ]


@register()
def reference_tables(**_: Any) -> list[CheckMessage]:
    """runs.W002: tools that look their target up in a reference table will be refused."""
    folder = Path(settings.REFERENCE_DIR)
    if folder.is_dir():
        return []
    return [
        Warning(
            f"The folder of reference tables, {folder}, does not exist.",
            hint="Create it, or set CLEARANCE_REFERENCE_DIR; tools that use a table are refused until then.",
            id="runs.W002",
        )
    ]


@register()
def sweep_pace(**_: Any) -> list[CheckMessage]:
    """runs.E003: the sweep's pace bounds how long a lost hint costs."""
    if 0 < settings.SWEEP_SECONDS <= 5:
        return []
    return [
        Error(
            f"SWEEP_SECONDS is {settings.SWEEP_SECONDS}; between 0 and 5 is sensible, 1 is the default.",
            hint="A lost hint is found by the sweep; slower than every 5 seconds, people wait for it.",
            id="runs.E003",
        )
    ]
