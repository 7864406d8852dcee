"""Rows of a model by SQL of our own, for the few paths that every call walks several times.

Django composes each query anew, and that costs a worker more than PostgreSQL needs for the answer. The columns are the
model's, whatever migrations make of them.

    ENTRIES = RowsOf(Entry)
    cursor.execute(f"SELECT {ENTRIES.columns('e')} FROM audit_entry e WHERE e.id = %s", [entry_id])
    entry = ENTRIES.row(cursor.fetchone())
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from django.db import connection
from django.db.models import Field, Model


class RowsOf[M: Model]:
    """A model's columns for a SELECT, and its instances of what that gives."""

    def __init__(self, model: type[M]) -> None:
        self._model = model

    @cached_property
    def _fields(self) -> "list[Field[Any, Any]]":
        return list(self._model._meta.concrete_fields)

    @cached_property
    def _names(self) -> list[str]:
        return [field.attname for field in self._fields]

    @cached_property
    def _converted(self) -> list[tuple[int, Any, list[Any]]]:
        """(place, expression, converters) of the columns whose value in Python is another one: JSON, for example."""
        found = [
            (place, field.cached_col, field.get_db_converters(connection)) for place, field in enumerate(self._fields)
        ]
        return [each for each in found if each[2]]

    def __len__(self) -> int:
        """How many columns there are."""
        return len(self._fields)

    def columns(self, alias: str) -> str:
        """The columns in the order in which `row` takes them."""
        return ", ".join(f'{alias}."{field.column}"' for field in self._fields)

    def row(self, values: Sequence[Any]) -> M:
        """The instance, as a query of Django's would give it."""
        given = list(values)
        for place, expression, converters in self._converted:
            for convert in converters:
                given[place] = convert(given[place], expression, connection)
        return self._model.from_db(connection.alias, self._names, given)
