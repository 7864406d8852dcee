"""docs/lifecycle.md, written from the reducer's tables: `python -m runs.core.lifecycle > docs/lifecycle.md`."""

from collections.abc import Iterator, Mapping
from enum import StrEnum

from runs.core import meanings
from runs.core.kinds import RunStatus
from runs.core.reducer import CALL_TABLE, RUN_TABLE
from runs.core.status import PRECEDENCE
from runs.core.table import Guard, Row

INTRODUCTION = """\
# The lifecycle of a run and of its calls

Generated from the tables of `runs/core/reducer.py` by `python -m runs.core.lifecycle`; a test compares. What stands
in no line is refused and changes nothing.

An event is looked up in the run's table first. An event about a call goes on to the call's table; *cancel*, *kill*
and *failed* reach every call that has a line for them. The first line whose *if* holds is the one; then its *must*
has to hold too. While a run is paused, `read_state`, `evaluate`, `dispatch` and `ask_model` are held back; resuming
repeats them, and a repeat of what was delivered before is the same command.
"""


def document() -> str:
    """The whole file."""
    parts = [
        INTRODUCTION,
        "## One call\n",
        _meanings("state", meanings.CALL_MEANING),
        _diagram(CALL_TABLE, start="-"),
        _table(CALL_TABLE),
        "What is known of the effect outside:\n",
        _meanings("effect", meanings.EFFECT_MEANING),
        "## The run\n",
        "What a run admits depends on its phase:\n",
        _meanings("phase", meanings.PHASE_MEANING),
        _diagram(RUN_TABLE, start="none"),
        _table(RUN_TABLE),
        "What people and clients see is its status: the first line that applies, computed from the run's facts and its "
        "calls.\n",
        _meanings("status", _by_precedence()),
        "## Commands\n",
        _meanings("command", meanings.COMMAND_MEANING),
    ]
    return "\n".join(parts)


def _by_precedence() -> Mapping[RunStatus, str]:
    return {word: meanings.RUN_MEANING[word] for word in PRECEDENCE}


def _meanings[Word: StrEnum](title: str, words: Mapping[Word, str]) -> str:
    lines = [f"| {title} | meaning |", "| --- | --- |", *(f"| `{word}` | {text} |" for word, text in words.items())]
    return "\n".join(lines) + "\n"


def _words(guards: tuple[Guard, ...], before: str) -> str:
    return f"{before} {' and '.join(guard.__doc__ or '' for guard in guards)}" if guards else ""


def _cells(row: Row) -> Iterator[str]:
    yield ", ".join(row.source)
    yield ", ".join(f"`{event}`" for event in row.events)
    yield "; ".join(filter(None, (_words(row.choosers, "if"), _words(row.guards, "must:"))))
    yield ", ".join(row.to) or "stays"
    yield ", ".join(f"`{command}`" for command in row.commands)


def _table(rows: tuple[Row, ...]) -> str:
    lines = ["| from | event | guard | to | commands |", "| --- | --- | --- | --- | --- |"]
    return "\n".join([*lines, *(f"| {' | '.join(_cells(row))} |" for row in rows)]) + "\n"


def _diagram(rows: tuple[Row, ...], start: str) -> str:
    """The moves as a mermaid state diagram; lines that move nothing are left to the table."""
    edges: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        for source, event, target in row.transitions():
            labels = edges.setdefault((source, target), [])
            if source != target and event not in labels:
                labels.append(event)
    leaves = {target for (source, target), labels in edges.items() if labels}
    leaves -= {source for (source, _), labels in edges.items() if labels}
    lines = [
        f"    {'[*]' if source == start else source} --> {target}: {', '.join(labels)}"
        for (source, target), labels in edges.items()
        if labels
    ]
    ends = [f"    {leaf} --> [*]" for leaf in sorted(leaves)]
    return "\n".join(["```mermaid", "stateDiagram-v2", *lines, *ends, "```"]) + "\n"


if __name__ == "__main__":
    print(document(), end="")
