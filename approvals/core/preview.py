"""A past call as a new text of its contract would show it to people, without what the log may not have."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from approvals.core.arguments import effective_arguments
from approvals.core.contract_types import Contract
from approvals.core.present import CompareRow, Piece, argument_rows, compare_rows, money_text, primary_money, sentence
from audit.core.jsondoor import Json
from audit.core.redact import HIDDEN, redact_for_audit
from audit.core.refusal import Refusal


@dataclass(frozen=True, slots=True)
class PreviewRow:
    """One argument. `hidden`: this text keeps it out of the log."""

    label: str
    shown: tuple[Piece, ...]
    hidden: bool


@dataclass(frozen=True, slots=True)
class Preview:
    """The sentence, its money, the arguments and before → after; `problem` says why the text does not take the call."""

    sentence: tuple[Piece, ...] = ()
    money: str = ""
    rows: tuple[PreviewRow, ...] = ()
    compare: tuple[CompareRow, ...] = ()
    problem: str = ""


def preview(
    contract: Contract, given: Json, state: Mapping[str, Any] | None, *, also_redacted: Sequence[str] = ()
) -> Preview:
    """How `contract` shows a call with the arguments `given`.

    Redacted by its own paths and by `also_redacted`, those of the contract in force: a text that is only being written
    must not bring out what is kept back today. Never raises for what the arguments are.
    """
    try:
        effective = effective_arguments(contract, given)
    except Refusal as refusal:
        return Preview(problem=f"This text would refuse the call: {refusal.message}")
    paths = (*contract.redaction, *also_redacted)
    arguments: dict[str, Any] = redact_for_audit(effective, paths)
    seen = None if state is None else redact_for_audit(dict(state), ())
    amount, currency = primary_money(contract, arguments)
    return Preview(
        sentence=tuple(sentence(contract, arguments, seen)),
        money="" if amount is None else money_text(amount, currency),
        rows=tuple(
            PreviewRow(row.label, row.shown, hidden=HIDDEN[:-1] in row.raw)
            for row in argument_rows(contract, redact_for_audit(given, paths), arguments)
        ),
        compare=tuple(compare_rows(contract, arguments, seen)),
    )
