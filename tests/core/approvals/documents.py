"""The demo tools' contracts for tests, whole or with one thing changed."""

import copy
from typing import Any

from approvals.core.contract import Contract, parse_contract
from audit.core.pointers import split_pointer
from tests.vectors import load

GONE = object()


def refund_document(changes: dict[str, Any] | None = None) -> dict[str, Any]:
    """The refund tool's document; `changes` maps JSON pointers to new values, or to GONE to remove a member."""
    return changed(load("contract_refund_order"), changes or {})


def read_document(changes: dict[str, Any] | None = None) -> dict[str, Any]:
    """The read-only tool's document, with changes like `refund_document`."""
    return changed(load("contract_get_order"), changes or {})


def refund(changes: dict[str, Any] | None = None) -> Contract:
    return parse_contract(refund_document(changes))


def changed(document: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    document = copy.deepcopy(document)
    for place, value in changes.items():
        *path, last = split_pointer(place)
        holder: Any = document
        for part in path:
            holder = holder[int(part)] if isinstance(holder, list) else holder[part]
        if value is GONE:
            del holder[last]
        elif isinstance(holder, list):
            holder[int(last)] = value
        else:
            holder[last] = value
    return document
