"""The audit log for people: who gets to see it, what it shows, what its filters say."""

import re

import pytest
from django.db import transaction

from audit.core.actor import SYSTEM
from audit.core.filters import EntryFilters
from audit.selectors.entries import PAGE, entries_page
from audit.services.record import audit_record
from tests.support import factories

RUN = "6a2f41a3-c54c-4ad7-8d09-6f5d5a7ff2d1"


@pytest.fixture
def auditor(acme):
    return factories.person(acme, roles=["auditor"], name="Sam Okoye")


@pytest.fixture
def browser(auditor, signed_in):
    return signed_in(auditor)


def record(tenant, object_id="r-1", **fields):
    with transaction.atomic():
        entry = {"object_type": "run", "action": "run.opened", **fields}
        audit_record(actor=SYSTEM("worker", tenant.id), object_id=object_id, **entry)


def text(answer, status=200):
    assert answer.status_code == status, answer.content
    return answer.content.decode()


def words(html):
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def numbers(html):
    return [int(number) for number in re.findall(r'href="/audit/(\d+)/"', html)]


# -- who --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", ["auditor", "admin"])
def test_auditors_and_admins_read_it(acme, signed_in, role):
    html = text(signed_in(factories.person(acme, roles=[role])).get("/audit/"))
    assert "<h1>Audit log</h1>" in html
    assert 'aria-current="page"' in html


@pytest.mark.parametrize("role", ["reviewer", "operator"])
@pytest.mark.parametrize("path", ["/audit/", "/audit/1/", f"/audit/path/?run={RUN}&call=c", "/audit/export/"])
def test_others_are_told_why_not_and_the_attempt_is_recorded(acme, signed_in, role, path):
    person = factories.person(acme, roles=[role])
    client = signed_in(person)
    html = text(client.get(path), 403)
    assert "open to auditors and admins" in html
    assert "Ask an admin for the role auditor" in html
    refused = entries_page(acme.id, EntryFilters(actor_id=person.user_id, verdict="refused"))
    assert [row.detail["code"] for row in refused] == ["ROLE_MISSING"]
    assert 'href="/audit/"' not in text(client.get("/runs/")), "no door is shown that does not open"


@pytest.mark.parametrize("path", ["/audit/", "/audit/1/", "/audit/path/", "/audit/export/"])
def test_nobody_is_asked_to_sign_in(client, db, path):
    answer = client.get(path)
    assert answer.status_code == 302
    assert answer["Location"].startswith("/sign-in/?next=")


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete"])
@pytest.mark.parametrize("path", ["/audit/", "/audit/1/", "/audit/path/", "/audit/export/"])
def test_it_can_only_be_read(browser, method, path):
    assert getattr(browser, method)(path).status_code == 405


# -- what it shows ----------------------------------------------------------------------------------------------------


def test_entries_stand_newest_first_in_words(browser, acme):
    record(acme, "r-1")
    record(acme, "c-1", action="call.refused", object_type="call", verdict="refused",
           detail={"code": "NO_RULE", "message": "Nothing allows <this>."})  # fmt: skip
    html = text(browser.get("/audit/"))
    assert numbers(html) == sorted(numbers(html), reverse=True)
    said = words(html)
    assert said.index("A call was refused") < said.index("A run was opened")
    assert "NO_RULE" in said
    assert "Nothing allows &lt;this&gt;." in said
    assert "run.opened" not in re.sub(r"<option.*?</option>", "", html)


def test_times_are_told_in_the_readers_zone_with_utc_beside(browser, acme):
    record(acme)
    html = text(browser.get("/audit/"))
    assert re.search(r'<span class="utc">\d\d:\d\d:\d\d UTC</span>', html)
    assert re.search(r">AED?T<|\bAED?T\b", html)


def test_the_zone_of_an_address_holds_for_whoever_opens_it(browser, acme):
    record(acme)
    html = text(browser.get("/audit/", {"zone": "UTC", "since": "2026-01-01T00:00"}))
    assert 'class="utc"' not in html
    assert '<option value="UTC" selected>' in html
    assert "1 Jan 2026, 00:00:00 UTC" in words(html)


def test_a_page_says_how_much_it_shows_and_never_how_much_there_is(browser, acme):
    for number in range(PAGE + 5):
        record(acme, f"r-{number}")
    first = text(browser.get("/audit/", {"action": "run.opened"}))
    assert f"{PAGE} shown, more below" in words(first)
    assert len(numbers(first)) == PAGE
    more = re.search(r'rel="next" href="([^"]+)"', first).group(1).replace("&amp;", "&")
    second = text(browser.get(more))
    assert "5 shown, the end of the log" in words(second)
    assert len(set(numbers(first)) | set(numbers(second))) == PAGE + 5
    assert 'href="/audit/?action=run.opened">Newest' in second


def test_hidden_characters_are_visible(browser, acme):
    record(acme, "r\u202e-1", detail={"title": "x\u200by"})
    html = text(browser.get("/audit/"))
    assert "\u202e" not in html
    assert "\u200b" not in html
    assert ">U+202E</span>" in html


def test_another_organisations_entries_are_not_there(browser, acme):
    other = factories.tenant("globex")
    record(other, "secret-of-globex")
    assert "secret-of-globex" not in text(browser.get("/audit/"))
    assert "No entry fits" in text(browser.get("/audit/", {"object": "secret-of-globex"}))


# -- filters ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"tool": "refund_order"}, ["b"]),
        ({"verdict": "refused"}, ["b"]),
        ({"run": RUN}, ["b"]),
        ({"call": "c-7"}, ["b"]),
        ({"action": "run.opened"}, ["a"]),
        ({"action": "call.*"}, ["b"]),
        ({"object": "a"}, ["a"]),
        ({"object": "call:b"}, ["b"]),
        ({"object": "run:b"}, []),
        ({"actor": "system:worker", "since": "2020-01-01"}, ["b", "a"]),
        ({"actor": "Worker"}, ["b", "a"]),
        ({"until": "2020-01-01"}, []),
    ],
)
def test_each_filter_narrows_the_page_and_stays_in_the_form(browser, acme, query, found):
    record(acme, "a")
    record(acme, "b", action="call.refused", object_type="call", verdict="refused", run_id=RUN, call_id="c-7",
           tool="refund_order")  # fmt: skip
    html = text(browser.get("/audit/", query))
    shown = [row.object_id for row in (by_number(number) for number in numbers(html)) if row.actor_kind == "system"]
    assert shown == found
    for value in query.values():
        assert value in html


def by_number(number):
    from audit.models import Entry

    return Entry.objects.get(id=number)


def test_an_actor_may_be_named_by_a_part_of_the_name(browser, acme, auditor):
    text(browser.get("/audit/"))
    html = text(browser.get("/audit/", {"actor": "okoye", "action": "audit.read"}))
    assert {by_number(number).actor_id for number in numbers(html)} == {auditor.user_id}


def test_a_name_that_nobody_has_is_told(browser):
    html = text(browser.get("/audit/", {"actor": "Nobody Known"}), 422)
    assert "Nobody of this name has acted here." in words(html)
    assert 'value="Nobody Known"' in html


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"since": "yesterday"}, "From is not a time."),
        ({"since": "2026-11-29", "until": "2026-11-28"}, "To lies before From"),
        ({"tool": "x\0y"}, "holds a character that nothing in the log can hold"),
        ({"tool": "x" * 5000}, "Tool has at most 200 characters; this has 5,000."),
        ({"verdict": "maybe"}, "There is no such verdict."),
        ({"action": "a.b"}, "There is no such action."),
        ({"zone": "Atlantis/Poseidon"}, "There is no such time zone."),
        ({"zone": "../../etc/passwd"}, "There is no such time zone."),
        ({"zone": "Australia"}, "There is no such time zone."),
        ({"before": "garbage"}, "This page mark is not one of ours."),
    ],
)
def test_a_bad_filter_is_told_in_a_sentence_and_kept(browser, acme, query, said):
    record(acme)
    html = text(browser.get("/audit/", query), 422)
    assert said in words(html)
    assert "Nothing was searched." in words(html)
    assert numbers(html) == [], "rows under a wrong filter would be taken for what it finds"
    for name, value in query.items():
        if name != "before":
            assert value in html.replace("&#x27;", "'"), "what was typed is kept"


def test_a_hidden_character_in_a_filter_is_told(browser):
    html = text(browser.get("/audit/", {"tool": "refund\u200b_order"}))
    assert "Tool: Contains a character that does not show" in words(html)
    assert "No entry fits" in html


@pytest.mark.parametrize("name", ["since", "until", "actor", "acting_for", "tool", "run", "call", "object"])
@pytest.mark.parametrize("value", ["%", "_", "'", '"><script>', "\\", "\u202e", "​", "٣", "-1", "null", "x" * 201])
def test_no_text_in_a_filter_is_a_fault(browser, name, value):
    html = browser.get("/audit/", {name: value})
    assert html.status_code in (200, 422)
    assert b"<script>" not in html.content


# -- reading is recorded ----------------------------------------------------------------------------------------------


def reads(acme, action="audit.read"):
    return entries_page(acme.id, EntryFilters(action=action))


def test_reading_is_recorded_once_a_minute_for_the_same_filters(browser, acme, auditor):
    for _ in range(3):
        text(browser.get("/audit/", {"tool": "refund_order"}))
    text(browser.get("/audit/"))
    text(browser.head("/audit/"))
    assert [row.detail for row in reads(acme)] == [{"filters": {}}, {"filters": {"tool": "refund_order"}}]
    assert {row.actor_id for row in reads(acme)} == {auditor.user_id}


def test_two_people_who_read_are_two_entries(browser, acme, signed_in):
    text(browser.get("/audit/"))
    text(signed_in(factories.person(acme, roles=["auditor"])).get("/audit/"))
    assert len(reads(acme)) == 2


def test_a_minute_later_reading_is_recorded_again(browser, acme, monkeypatch):
    from datetime import timedelta

    from audit.services import reading

    text(browser.get("/audit/"))
    monkeypatch.setattr(reading, "AGAIN_AFTER", timedelta(0))
    text(browser.get("/audit/"))
    assert len(reads(acme)) == 2


def test_a_log_that_cannot_record_the_reading_shows_nothing(browser, acme, monkeypatch):
    from audit.services import reading

    def broken(**_):
        raise RuntimeError("no entry")

    record(acme, "unseen")
    monkeypatch.setattr(reading, "audit_record", broken)
    with pytest.raises(RuntimeError):
        browser.get("/audit/")
