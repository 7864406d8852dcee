"""An event that lacks something cannot be made, so it can be neither appended nor replayed."""

import json
from typing import Any

import pytest

from runs.core.events import BODIES, KEYS, Event, InvalidEvent
from runs.core.kinds import EventKind
from tests.core.runs.story import REFUND, moment

# One right value for each key; the table must know every key that a body names.
RIGHT: dict[str, Any] = {
    "scope": {"tenant": "acme"}, "amount": 45, "approval": "void", "attempt": 1, "before_effect": True,
    "conclusive": True, "contract_version": 3, "deadline": moment(9), "duplicate": True, "duration_ms": 38,
    "epoch": 2, "expires_at": moment(900), "fence": 1, "final": "expired",
    "linked": True, "managed": True, "narrowed": True, "number": 2, "outcome": "happened", "place": 3,
    "policy_number": 8, "read_at": moment(0), "read_only": False, "resolution": "granted", "retry_at": moment(30),
    "retry_class": "never", "round": 1, "side_effect": "irreversible", "tools": ["get_order"],
}  # fmt: skip


def body(kind: EventKind) -> dict[str, Any]:
    required, optional = BODIES[kind]
    return {key: RIGHT.get(key, "text") for key in (required + " " + optional).split()}


def make(kind: EventKind, content: dict[str, Any]) -> Event:
    return Event(kind, 1, moment(1), {"kind": "agent", "id": "a"}, content)


@pytest.mark.parametrize("kind", list(EventKind))
def test_every_kind_has_a_body_whose_keys_are_all_checked(kind: EventKind):
    assert set(body(kind)) <= set(KEYS)
    assert make(kind, body(kind)).kind is kind


@pytest.mark.parametrize("kind", list(EventKind))
def test_every_event_comes_back_from_json_as_it_was(kind: EventKind):
    event = make(kind, body(kind))
    assert Event.from_json(json.dumps(event.to_json())) == event
    assert Event.from_json(event.to_json()) == event


@pytest.mark.parametrize(("kind", "key"), [(kind, key) for kind in EventKind for key in BODIES[kind][0].split()])
def test_a_missing_key_is_named(kind: EventKind, key: str):
    content = body(kind)
    del content[key]
    with pytest.raises(InvalidEvent, match=rf"lacks {key}\."):
        make(kind, content)


@pytest.mark.parametrize(("kind", "key"), [(kind, key) for kind in EventKind for key in body(kind)])
def test_a_value_of_the_wrong_form_is_named(kind: EventKind, key: str):
    with pytest.raises(InvalidEvent, match=key):
        make(kind, body(kind) | {key: [["not", "this"]]})


@pytest.mark.parametrize(("kind", "key"), [(kind, key) for kind in EventKind for key in BODIES[kind][1].split()])
def test_what_may_be_left_out_may_be_null(kind: EventKind, key: str):
    assert make(kind, body(kind) | {key: None}).body[key] is None


def test_a_read_has_a_null_reference_but_not_none_at_all():
    content = body(EventKind.DISPATCH_SUCCEEDED) | {"reference": None}
    assert make(EventKind.DISPATCH_SUCCEEDED, content).body["reference"] is None
    del content["reference"]
    with pytest.raises(InvalidEvent, match="reference"):
        make(EventKind.DISPATCH_SUCCEEDED, content)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("fence", 0), ("fence", -1), ("fence", True), ("attempt", 1.0), ("round", "1"), ("contract_version", 0),
        ("deadline", "2026-03-02T14:00:00"), ("deadline", "soon"), ("expires_at", 1772460000),
        ("resolution", "approved"), ("resolution", ""), ("side_effect", "write"), ("retry_class", "always"),
        ("read_only", "false"), ("before_effect", 0), ("call_id", ""), ("outcome", "maybe"), ("final", "rejected"),
        ("approval", "perhaps"), ("amount", -1), ("amount", 4.5), ("scope", []), ("place", 0),
        ("tools", "get_order"), ("tools", [""]), ("tools", [1]), ("tools", {"get_order": 1}), ("number", 0),
        ("narrowed", 1), ("turn", ""), ("turn_id", ""),
    ],
)  # fmt: skip
def test_nearly_right_is_wrong(key: str, value: Any):
    kind = next(
        kind for kind in EventKind if key in body(kind) and (key, kind) != ("outcome", EventKind.LATE_RESULT_KEPT)
    )
    with pytest.raises(InvalidEvent, match=key):
        make(kind, body(kind) | {key: value})


def test_a_late_result_says_its_outcome_in_its_own_words():
    content = body(EventKind.LATE_RESULT_KEPT) | {"outcome": "failed before effect"}
    assert make(EventKind.LATE_RESULT_KEPT, content).body["outcome"] == "failed before effect"


@pytest.mark.parametrize(("side_effect", "read_only"), [("irreversible", True), ("read", False)])
def test_a_tool_that_reads_only_says_so_twice_alike(side_effect: str, read_only: bool):
    content = {"call_id": "c1", "key": "k", **REFUND, "side_effect": side_effect, "read_only": read_only}
    with pytest.raises(InvalidEvent, match="contradict"):
        make(EventKind.CALL_PROPOSED, content)


@pytest.mark.parametrize(
    "change", [{"kind": "run_exploded"}, {"kind": None}, {"seq": 0}, {"seq": "1"}, {"at": "14:00"}, {"schema": 2},
               {"actor": "ola"}, {"body": []}]
)  # fmt: skip
def test_an_envelope_that_is_wrong_is_refused(change: dict[str, Any]):
    whole = {"kind": "run_admitted", "seq": 1, "at": moment(0), "actor": {}, "body": {}, "schema": 1}
    assert Event.from_json(whole).kind is EventKind.RUN_ADMITTED
    with pytest.raises(InvalidEvent):
        Event.from_json(whole | change)


@pytest.mark.parametrize("key", ["kind", "seq", "at", "actor", "body"])
def test_an_envelope_without_a_part_is_refused(key: str):
    whole = {"kind": "run_admitted", "seq": 1, "at": moment(0), "actor": {}, "body": {}}
    del whole[key]
    with pytest.raises(InvalidEvent, match=key):
        Event.from_json(whole)


def test_a_history_may_say_more_than_the_reducer_reads():
    assert make(EventKind.RUN_ADMITTED, {"queue": "normal"}).body == {"queue": "normal"}


def test_an_event_cannot_be_changed():
    event = make(EventKind.RUN_ADMITTED, {})
    with pytest.raises(AttributeError):
        event.seq = 2  # type: ignore[misc]
