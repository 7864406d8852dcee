"""Browser sessions: listed to their owner, ended at once, never another person's."""

from uuid import uuid4

import pytest
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.db import DatabaseError

from access.core.words import browser_words
from access.models import BrowserSession
from access.selectors.account import sessions_of
from access.services import people, sessions
from access.store import browsers
from audit.core.refusal import Forbidden, NotFound
from audit.selectors.entries import EntryFilters, entries_page
from tests.support import factories

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"


@pytest.fixture
def acme(db):
    return factories.tenant()


@pytest.fixture
def anna(acme):
    return factories.person(acme, name="Anna")


def begin(person, browser=FIREFOX):
    """A session of the person's; its key."""
    store = SessionStore()
    store["_auth_user_id"] = person.user_id
    store.create()
    sessions.session_open(actor=person.actor, session_key=store.session_key, address="192.0.2.7", browser=browser)
    return store.session_key


def test_a_session_is_listed_with_browser_address_and_times(acme, anna):
    key = begin(anna)
    (row,) = sessions_of(anna.actor, key)
    assert (row.browser, row.address, row.organisation, row.this_one) == (
        "Firefox on Linux", "192.0.2.7", acme.name, True,
    )  # fmt: skip
    assert row.started_at == row.seen_at
    entry = entries_page(acme.id, EntryFilters(action="person.signed_in"))[0]
    assert entry.detail == {"address": "192.0.2.7", "browser": "Firefox on Linux"}
    assert key not in str(entry)


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/130 Safari/537.36 Edg/130.0", "Edge on Windows"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Safari/604.1", "Safari on iPhone"),
        ("Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 Chrome/130.0 Mobile Safari/537.36", "Chrome on Android"),
        ("curl/8.5.0", "curl"),
        ("", "Unknown browser"),
        ("<script>alert(1)</script>" * 100, "Unknown browser"),
    ],
)  # fmt: skip
def test_a_browser_is_told_in_words_and_nothing_of_the_header_is_kept(header, words):
    assert browser_words(header) == words


def test_one_session_is_ended_and_opens_nothing_from_then_on(acme, anna):
    here, there = begin(anna), begin(anna)
    other = next(row for row in sessions_of(anna.actor, here) if not row.this_one)
    assert sessions.session_end(actor=anna.actor, session_id=other.id)
    assert not Session.objects.filter(session_key=there).exists()
    assert [row.this_one for row in sessions_of(anna.actor, here)] == [True]
    assert not sessions.session_end(actor=anna.actor, session_id=other.id), "ended before"
    assert BrowserSession.objects.get(id=other.id).ended_because == "ended from the list of sessions"
    assert entries_page(acme.id, EntryFilters(action="person.session_ended"))[0].detail == {"sessions": [other.id]}


def test_all_others_end_and_this_one_stays(anna):
    here = begin(anna)
    for _ in range(3):
        begin(anna)
    assert sessions.sessions_end_others(actor=anna.actor, session_key=here) == 3
    assert list(Session.objects.values_list("session_key", flat=True)) == [here]
    assert sessions.sessions_end_others(actor=anna.actor, session_key=here) == 0


def test_nobody_ends_another_persons_session_and_cannot_tell_it_from_an_unknown_one(acme, anna):
    key = begin(anna)
    row = sessions_of(anna.actor, key)[0]
    for session_id in (row.id, uuid4(), "x"):
        with pytest.raises(NotFound):
            sessions.session_end(actor=acme.admin.actor, session_id=session_id)
    assert Session.objects.filter(session_key=key).exists()


def test_an_agent_has_no_sessions_of_a_browser(acme, anna):
    agent = factories.agent(acme, acts_for=[anna]).actor(on_behalf_of=anna.email)
    for attempt in (
        lambda: sessions.session_end(actor=agent, session_id=uuid4()),
        lambda: sessions.sessions_end_others(actor=agent, session_key="x"),
    ):
        with pytest.raises(Forbidden):
            attempt()


def test_a_session_that_ran_out_is_not_listed(anna, owner_sql):
    key = begin(anna)
    Session.objects.filter(session_key=key).update(expire_date="2020-01-01T00:00:00Z")
    assert sessions_of(anna.actor, key) == []


def test_deactivation_ends_the_persons_sessions_here_and_leaves_those_elsewhere(acme, anna):
    other = factories.tenant()
    people.member_add(actor=other.admin.actor, email=anna.email, name="Anna", roles=["reviewer"])
    here, there = begin(anna), begin(anna)
    browsers.move(there, other.id)
    people.member_change(actor=acme.admin.actor, membership_id=anna.membership_id, active=False)
    assert list(Session.objects.values_list("session_key", flat=True)) == [there]
    entry = entries_page(acme.id, EntryFilters(action="member.changed"))[0]
    assert entry.detail["sessions_ended"] == 1
    assert BrowserSession.objects.get(session_key=here).ended_because == "the membership was switched off"


def test_ending_sessions_works_without_the_audit_log_and_beginning_one_does_not(committed_db, owner_sql):
    anna = factories.person(factories.tenant())
    key = begin(anna)
    begin(anna)
    owner_sql("REVOKE INSERT ON audit_entry FROM clr_app")
    assert sessions.sessions_end_others(actor=anna.actor, session_key=key) == 1
    with pytest.raises(DatabaseError):
        begin(anna)
    sessions.session_close(actor=anna.actor, session_key=key)
    assert BrowserSession.objects.filter(ended_at=None).count() == 0


def test_when_a_session_was_seen_is_written_rarely(anna, monkeypatch, stand_at, django_assert_num_queries):
    from datetime import UTC, datetime, timedelta

    moment = datetime(2026, 11, 29, 12, tzinfo=UTC)
    stand_at(moment)
    key, actor = begin(anna), anna.actor
    ticks = [100.0]
    monkeypatch.setattr("access.store.browsers.time.monotonic", lambda: ticks[0])
    stand_at(moment + timedelta(minutes=9))
    for second in (100.0, 250.0, 399.0):
        ticks[0] = second
        with django_assert_num_queries(0):
            sessions.session_seen(actor=actor, session_key=key)
    ticks[0] = 401.0
    with django_assert_num_queries(1):
        sessions.session_seen(actor=actor, session_key=key)
    assert BrowserSession.objects.get(session_key=key).seen_at == moment + timedelta(minutes=9)
