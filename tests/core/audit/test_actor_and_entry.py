"""The actor, and what an audit entry holds of it (U1, E5)."""

import dataclasses
import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from audit.core.actor import SYSTEM, Actor
from audit.core.canonical import sha256_hex
from audit.core.entry import entry_by, utc_text
from audit.core.refusal import Invalid

ANNA = Actor(
    kind="person",
    id="u1",
    name="Anna",
    tenant_id="t1",
    roles=frozenset({"reviewer"}),
    groups=frozenset({"finance"}),
    scopes=frozenset({"refunds:write"}),
    session_id="s1",
    via="session",
)
AT = datetime(2026, 11, 29, 15, 8, 7, 123, tzinfo=UTC)


def test_an_actor_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        ANNA.roles = frozenset({"admin"})  # type: ignore[misc]
    assert not hasattr(ANNA, "__dict__")


def test_an_actor_has_a_role_if_it_has_any_of_those_asked_for():
    assert ANNA.has_role("admin", "reviewer")
    assert not ANNA.has_role("admin", "operator")
    assert not ANNA.has_role()


def test_the_record_of_an_actor_holds_names_and_nothing_that_grants():
    record = ANNA.as_record()
    assert record == {
        "kind": "person",
        "id": "u1",
        "name": "Anna",
        "on_behalf_of": "",
        "via": "session",
        "session_id": "s1",
    }
    assert json.loads(json.dumps(record)) == record


def test_one_of_our_own_parts_acts_in_one_tenant_without_any_right():
    sweep = SYSTEM("sweep", "t1")
    assert (sweep.kind, sweep.via, sweep.tenant_id) == ("system", "system", "t1")
    assert not (sweep.roles | sweep.groups | sweep.scopes)


def test_an_entry_takes_actor_and_tenant_from_who_acted():
    entry = entry_by(ANNA, at=AT, action="proposal.decided", object_type="proposal", object_id="p1", verdict="granted")
    assert (entry.tenant_id, entry.actor_id, entry.actor_kind, entry.via) == ("t1", "u1", "person", "session")
    assert entry.sha256() == sha256_hex(entry.canonical())


def test_the_same_moment_in_another_zone_gives_the_same_bytes():
    elsewhere = AT.astimezone(timezone(timedelta(hours=9)))
    first = entry_by(ANNA, at=AT, action="a.b", object_type="run", object_id="r")
    second = entry_by(ANNA, at=elsewhere, action="a.b", object_type="run", object_id="r")
    assert first.canonical() == second.canonical()
    assert utc_text(elsewhere) == "2026-11-29T15:08:07.000123Z"


def test_every_field_of_an_entry_is_in_its_bytes():
    entry = entry_by(ANNA, at=AT, action="a.b", object_type="run", object_id="r")
    for field in dataclasses.fields(entry):
        if field.name == "at":
            other: Any = AT + timedelta(microseconds=1)
        elif field.name == "detail":
            other = {"x": 1}
        else:
            other = 7 if field.name in ("result_bytes", "duration_ms") else "changed"
        assert dataclasses.replace(entry, **{field.name: other}).sha256() != entry.sha256(), field.name


def test_a_time_without_a_zone_and_a_value_outside_json_are_refused():
    with pytest.raises(ValueError, match="zone"):
        entry_by(ANNA, at=AT.replace(tzinfo=None), action="a.b", object_type="run", object_id="r")
    with pytest.raises(Invalid):
        entry_by(ANNA, at=AT, action="a.b", object_type="r", object_id="r", detail={"x": float("nan")}).canonical()
