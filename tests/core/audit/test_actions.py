"""Every action that the code records has words, so that no page of the log speaks in codes."""

import ast
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from audit.core.actions import ACTIONS, GROUPS, TONES, VERDICTS, actions_of, choices, words_for, words_of
from audit.core.entry import FIELDS, Entry

FLOORS = ("services", "store", "exports", "live", "web", "api")
ROOT = Path(__file__).resolve().parents[3]
# Actions that are put together: (file, expression) → what they can be. A new one belongs here.
MADE = {
    ("approvals/store/rounds.py", "f'proposal.{kind}'"): [
        f"proposal.{kind}" for kind in ("expired", "withdrawn", "cancelled", "refused", "superseded")
    ],
    ("approvals/store/admission.py", "f'contract.{change}'"): ["contract.admitted", "contract.returned"],
    ("access/services/provider_round.py", "ACTIONS[purpose]"): [],  # written out in that file, found there
    ("access/services/provider_round.py", "ACTIONS[found.purpose]"): [],
    ("runs/services/recording.py", "ending.action"): [],  # written out in runs/services/outcome.py, found there
}
_CODE = re.compile(rf"({'|'.join(GROUPS)})\.[a-z_]+")


def trees() -> Iterator[tuple[str, ast.Module]]:
    for app in ("access", "approvals", "runs", "audit", "config"):
        for path in sorted((ROOT / app).rglob("*.py")):
            if "migrations" not in path.parts and path.name != "actions.py":
                yield str(path.relative_to(ROOT)), ast.parse(path.read_text())


def constants(tree: ast.Module) -> dict[str, str]:
    return {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def recorded() -> tuple[set[str], list[str]]:
    """The actions that the code records, and the places whose action cannot be read off the code."""
    everywhere: dict[str, str] = {}
    found: set[str] = set()
    unread: list[str] = []
    parsed = list(trees())
    for _, tree in parsed:
        everywhere |= constants(tree)
    for path, tree in parsed:
        names = everywhere | constants(tree)
        if path.split("/")[1] not in FLOORS:
            continue
        handed_on = {
            argument.arg
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef)
            for argument in (*node.args.args, *node.args.kwonlyargs)
        }
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            for value in [word.value for word in call.keywords if word.arg == "action"]:
                if isinstance(value, ast.Constant):
                    found.add(str(value.value))
                elif isinstance(value, ast.Name) and value.id in handed_on:
                    continue  # whoever hands it over wrote it out
                elif isinstance(value, ast.Name) and value.id in names:
                    found.add(names[value.id])
                elif (path, ast.unparse(value)) in MADE:
                    found.update(MADE[path, ast.unparse(value)])
                else:
                    unread.append(f"{path}:{call.lineno} {ast.unparse(value)}")
        literals = (n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str))
        found.update(text for text in literals if _CODE.fullmatch(text))
    return found, unread


def test_every_action_of_the_code_has_words():
    found, unread = recorded()
    assert unread == [], "say in MADE what these can be"
    assert len(found) > 40, "the finder finds them"
    assert found - set(ACTIONS) == set(), "a new action: give it words in audit/core/actions.py"


def test_every_action_belongs_to_a_group_and_every_group_has_some():
    assert {code.split(".")[0] for code in ACTIONS} == set(GROUPS)
    assert sorted(code for _, _, actions in choices() for code, _ in actions) == sorted(ACTIONS)


@pytest.mark.parametrize("code", ACTIONS)
def test_words_are_words_for_every_verdict(code):
    for verdict in VERDICTS:
        words = words_of(code, verdict)
        assert words[0].isupper()
        assert "." not in words
        assert "_" not in words
    assert words_of(code, "refused").startswith("Refused to ") == bool(ACTIONS[code].tried)


def test_an_action_that_nobody_knows_is_shown_as_its_code():
    assert words_of("thing.happened") == "thing.happened"


def test_a_choice_means_one_action_or_a_group_or_nothing():
    assert actions_of("run.opened") == ("run.opened",)
    assert set(actions_of("permit.*")) == {"permit.redeemed", "permit.given_back", "permit.revoked"}
    assert actions_of("nothing.*") == actions_of("") == actions_of("*") == actions_of(".*") == ()


def test_every_verdict_has_a_tone():
    assert set(TONES) == set(VERDICTS)


@pytest.mark.parametrize(
    ("detail", "verdict", "words"),
    [
        ({"verdict": "approve"}, "ok", "A proposal was approved"),
        ({"verdict": "reject"}, "ok", "A proposal was rejected"),
        ({}, "ok", "A proposal was decided"),
        ({"verdict": ["x"]}, "ok", "A proposal was decided"),
        ({"verdict": "approve"}, "refused", "Refused to decide a proposal"),
    ],
)
def test_a_decision_says_which_one(detail, verdict, words):
    entry = Entry(
        **dict.fromkeys(FIELDS, "")
        | {"at": datetime(2026, 11, 29, tzinfo=UTC), "id": 1, "action": "proposal.decided", "verdict": verdict}
        | {"detail": detail, "result_bytes": None, "duration_ms": None}
    )
    assert words_for(entry) == words
