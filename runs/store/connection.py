"""Giving the database connection back before a long wait (architecture.md, *Connections*)."""

from django.db import connection, connections


def release() -> None:
    """Return this thread's connection to the pool; the next query takes one again. Inside a transaction: nothing."""
    if not connection.in_atomic_block:
        connection.close()


def release_all() -> None:
    """At the end of a task or a thread's piece of work: whatever this thread holds."""
    for each in connections.all(initialized_only=True):
        if not each.in_atomic_block:
            each.close()
