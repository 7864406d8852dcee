"""Signing in: throttled by account and by address, recorded either way, by the database's clock."""

from datetime import UTC, datetime, timedelta

import pytest

from access.core.throttle import SIGN_IN_ACCOUNT, SIGN_IN_ADDRESS
from access.models import Throttle
from access.services import people
from access.services.signin import NO_TENANT, WRONG, person_sign_in
from access.store import throttle
from audit.core.refusal import Forbidden, TooMany, Unauthenticated
from audit.selectors.entries import EntryFilters, entries_page
from tests.support import factories

HERE = "192.0.2.7"
T = datetime(2026, 11, 29, 12, tzinfo=UTC)


@pytest.fixture
def acme(db):
    return factories.tenant()


@pytest.fixture
def anna(acme):
    return factories.person(acme, name="Anna")


def attempt(email, password="wrong", address=HERE):
    """The refusal of an attempt, or None for one that opens."""
    try:
        person_sign_in(email=email, password=password, address=address)
    except (TooMany, Unauthenticated, Forbidden) as refusal:
        return refusal
    return None


def refusals(tenant_id):
    return entries_page(tenant_id, EntryFilters(action="person.signed_in", verdict="refused"))


def test_the_right_password_tells_who_and_where(anna):
    found = person_sign_in(email=f" {anna.email.upper()} ", password=anna.password, address=HERE)
    assert (str(found.user.pk), found.actor.id, found.actor.tenant_id) == (anna.user_id, anna.user_id, anna.tenant_id)


def test_a_wrong_password_is_recorded_with_the_address_and_without_the_password(acme, anna):
    assert attempt(anna.email, "hunter2-hunter2").message == WRONG
    (entry,) = refusals(acme.id)
    assert entry.object_id == anna.user_id
    assert entry.detail == {"code": "SIGN_IN_REFUSED", "address": HERE, "email": anna.email}
    assert entry.actor_name == "somebody not signed in"
    assert "hunter2" not in str(entry)


def test_what_was_typed_for_an_unknown_account_is_recorded_as_a_keyed_hash(acme):
    for typed in ("my-secret-password", "my-secret-password", "nobody@example.org"):
        assert attempt(typed).code == "SIGN_IN_REFUSED"
    rows = refusals("")
    assert len({entry.object_id for entry in rows}) == 2, "equal ones are seen to be equal"
    assert all(entry.object_id.startswith("typed:") for entry in rows)
    assert "my-secret" not in str(rows)
    assert "nobody" not in str([entry.detail for entry in rows])
    assert refusals(acme.id) == []


def test_a_person_of_no_organisation_is_told_and_it_is_recorded_where_they_were(acme, anna):
    people.member_change(actor=acme.admin.actor, membership_id=anna.membership_id, active=False)
    refusal = attempt(anna.email, anna.password)
    assert (refusal.code, refusal.message) == ("NO_TENANT", NO_TENANT)
    assert refusals(acme.id)[0].detail["code"] == "NO_TENANT"


def test_after_ten_wrong_passwords_even_the_right_one_waits_and_then_opens(anna, stand_at):
    stand_at(T)
    assert [attempt(anna.email).code for _ in range(10)] == ["SIGN_IN_REFUSED"] * 10
    refusal = attempt(anna.email, anna.password)
    assert (refusal.code, refusal.status, refusal.retry_after) == ("SIGN_IN_THROTTLED", 429, 300)
    assert "Wait 5 minutes" in refusal.message
    stand_at(T + timedelta(seconds=299, milliseconds=999))
    assert attempt(anna.email, anna.password).retry_after == 1
    stand_at(T + timedelta(seconds=300))
    assert attempt(anna.email, anna.password) is None
    assert [attempt(anna.email).code for _ in range(10)] == ["SIGN_IN_REFUSED"] * 10, "the right one cleared it"


def test_an_unknown_account_is_throttled_in_the_same_words(anna, stand_at):
    stand_at(T)
    for email in (anna.email, "nobody@example.org"):
        for _ in range(10):
            attempt(email)
    known, unknown = attempt(anna.email), attempt("nobody@example.org")
    assert known.as_dict() == unknown.as_dict()


def test_one_account_that_is_guessed_at_locks_out_nobody_else(acme, anna):
    other = factories.person(acme)
    for _ in range(12):
        attempt(anna.email, address="198.51.100.1")
    assert attempt(other.email, other.password) is None


def test_one_address_that_guesses_at_many_accounts_is_slowed_and_others_are_not(anna, stand_at):
    stand_at(T)
    codes = [attempt(f"guess-{number}@example.org", address="2001:db8::1").code for number in range(51)]
    assert codes == ["SIGN_IN_REFUSED"] * 50 + ["SIGN_IN_THROTTLED"]
    again = attempt(anna.email, anna.password, address="2001:db8::2")
    assert (again.code, again.retry_after) == ("SIGN_IN_THROTTLED", 10), "the same network moves to another host"
    assert "from your network" in again.message
    assert attempt(anna.email, anna.password) is None, "and the account was not counted for it"


def test_right_passwords_use_nothing_up(anna):
    for _ in range(60):
        assert attempt(anna.email, anna.password) is None


def test_throttled_attempts_are_recorded_once_in_a_quarter_of_an_hour(acme, anna, stand_at):
    stand_at(T)
    for _ in range(40):
        attempt(anna.email)
    assert [entry.detail["code"] for entry in refusals(acme.id)].count("SIGN_IN_THROTTLED") == 1
    stand_at(T + timedelta(minutes=15))
    for _ in range(10):
        attempt(anna.email)
    assert [entry.detail["code"] for entry in refusals(acme.id)].count("SIGN_IN_THROTTLED") == 2


@pytest.mark.parametrize("fields", [("a\0b", "x"), ("a@b.example", "x\0y"), ("", ""), ("\ud800", "x")])
def test_text_that_no_database_takes_opens_nothing(db, fields):
    assert attempt(*fields).code == "SIGN_IN_REFUSED"


def test_twenty_guesses_sent_at_once_are_twenty(committed_db, race):
    """The counter is taken under its lock before the password is looked at: no guess slips between two reads."""
    anna = factories.person(factories.tenant())
    results = race(lambda i: attempt(anna.email, address=f"192.0.2.{i}").code, 20)
    assert sorted(results) == ["SIGN_IN_REFUSED"] * 10 + ["SIGN_IN_THROTTLED"] * 10


def test_stale_counters_are_swept_away_by_new_ones(db, stand_at):
    stand_at(T)
    for number in range(30):
        throttle.take(SIGN_IN_ADDRESS, f"192.0.2.{number}")
    stand_at(T + timedelta(days=2))
    throttle.take(SIGN_IN_ACCOUNT, "a")
    throttle.take(SIGN_IN_ACCOUNT, "b")
    assert Throttle.objects.count() == 2
    assert throttle.wait_of(SIGN_IN_ADDRESS, "192.0.2.1") == 0


def test_no_counter_keeps_what_was_typed(db):
    attempt("my-secret-password")
    assert "my-secret" not in str(list(Throttle.objects.values_list()))
