"""The actor, and what an audit entry holds of it (U1, E5)."""

import dataclasses
import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from audit.core.actor import SYSTEM, Actor
from audit.core.canonical import sha256_hex
from audit.core.entry import FIELDS, WRITTEN, Entry, utc_text
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


def entry(**fields: Any) -> Entry:
    """An entry of Anna's about a run."""
    plain: dict[str, Any] = dict.fromkeys(FIELDS, "") | {
        "at": AT, "id": 7, "tenant_id": "t1", "action": "a.b", "verdict": "ok", "actor_kind": "person",
        "actor_id": "u1", "actor_name": "Anna", "via": "session", "object_type": "run", "object_id": "r",
        "detail": {}, "result_bytes": None, "duration_ms": None,
    }  # fmt: skip
    return Entry(**(plain | fields))


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


def test_the_hash_of_an_entry_is_over_its_canonical_bytes():
    assert entry().sha256() == sha256_hex(entry().canonical())
    assert entry().canonical().startswith(b'{"action":"a.b","actor_id":"u1"')


def test_the_database_gives_time_and_number_and_the_writer_the_rest():
    assert set(FIELDS) - set(WRITTEN) == {"at", "id"}
    assert {field.name for field in dataclasses.fields(Entry)} == set(FIELDS)


def test_the_same_moment_in_another_zone_gives_the_same_bytes():
    elsewhere = AT.astimezone(timezone(timedelta(hours=9)))
    assert entry(at=elsewhere).canonical() == entry().canonical()
    assert utc_text(elsewhere) == "2026-11-29T15:08:07.000123Z"


@pytest.mark.parametrize("name", FIELDS)
def test_every_field_of_an_entry_is_in_its_bytes(name):
    other: Any = {
        "at": AT + timedelta(microseconds=1), "id": 8, "detail": {"x": 1}, "result_bytes": 7, "duration_ms": 7
    }.get(name, "changed")  # fmt: skip
    assert entry(**{name: other}).sha256() != entry().sha256()


def test_a_time_without_a_zone_and_a_value_outside_json_are_refused():
    with pytest.raises(ValueError, match="zone"):
        entry(at=AT.replace(tzinfo=None))
    with pytest.raises(Invalid):
        entry(detail={"x": float("nan")}).canonical()
