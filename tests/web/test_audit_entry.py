"""One entry as a readable record, and the path of one call on one page."""

import html as escaping
import re
from datetime import timedelta

import pytest
from django.db import transaction

from approvals.services.settling import permit_settle
from audit.core.actor import SYSTEM
from audit.core.filters import EntryFilters
from audit.selectors.entries import entries_page
from audit.services.record import audit_record
from audit.web.shown import duration
from tests.support import factories
from tests.support.approvals import World, world


@pytest.fixture
def acme(db) -> World:
    return world()


@pytest.fixture
def browser(acme, signed_in):
    return signed_in(factories.person(acme.tenant, roles=["auditor"]))


def text(answer, status=200):
    assert answer.status_code == status, answer.content
    return answer.content.decode()


def words(html):
    return escaping.unescape(" ".join(re.sub(r"<[^>]+>", " ", html).split()))


def newest(tenant_id, **filters):
    return entries_page(tenant_id, EntryFilters(**filters))[0]


def record(tenant, **fields):
    with transaction.atomic():
        entry = {"object_type": "call", "object_id": "c-1", "action": "call.failed", **fields}
        audit_record(actor=SYSTEM("worker", tenant.id), **entry)
    return newest(tenant.id, action=entry["action"])


# -- one entry --


def test_every_field_of_an_entry_is_on_its_page(acme, browser):
    acme.hold()
    held = newest(acme.tenant.id, action="proposal.held")
    html = text(browser.get(f"/audit/{held.id}/"))
    said = words(html)
    assert "A call was held for people" in said
    for value in (held.action, held.verdict, held.actor_name, held.actor_id, held.object_id, held.run_id,
                  held.call_id, held.tool, held.detail["digest"], "requires 1 › group finance"):  # fmt: skip
        assert value in said
    assert f'href="/runs/{held.run_id}/"' in html
    assert f'href="/proposals/{held.object_id}/"' in html
    assert f'href="/audit/path/?run={held.run_id}&amp;call={held.call_id}"' in html
    assert "nothing was executed" in said


def test_the_detail_is_there_as_json_too(acme, browser):
    entry = record(acme.tenant, detail={"code": "X", "list": [{"a": None, "b": True, "c": 1.5}]}, duration_ms=12)
    said = words(text(browser.get(f"/audit/{entry.id}/")))
    assert '"duration_ms": 12' in said
    assert "list 1 › a null" in said
    assert "list 1 › b true" in said
    assert "12 ms" in said


def test_hidden_characters_and_markup_are_text(acme, browser):
    entry = record(acme.tenant, call_id="c\u202e1", run_id="not a run", detail={"k\u200by": "<b>bold</b>\u00a0x"})
    html = text(browser.get(f"/audit/{entry.id}/"))
    for char in "\u202e\u200b\u00a0":
        assert char not in re.sub(r"<title>.*?</title>", "", html)
    assert "<b>bold" not in html
    assert "U+202E RIGHT-TO-LEFT OVERRIDE" in words(html)
    assert "U+200B" in html
    assert "/runs/not" not in html, "what is no run's id leads nowhere"


@pytest.mark.parametrize("number", ["0", "999999999", "9223372036854775807", "9" * 30])
def test_an_unknown_number_is_nothing(browser, number):
    assert "There is nothing here" in text(browser.get(f"/audit/{number}/"), 404)


def test_another_organisations_entry_is_nothing(browser, acme):
    foreign = record(factories.tenant("globex"))
    answers = [browser.get(f"/audit/{number}/") for number in (foreign.id, 999_999_999)]
    assert [answer.status_code for answer in answers] == [404, 404]
    assert answers[0].content == answers[1].content


def test_reading_an_entry_is_recorded_once_a_minute(acme, browser):
    entry = record(acme.tenant)
    for _ in range(2):
        text(browser.get(f"/audit/{entry.id}/"))
    reads = entries_page(acme.tenant.id, EntryFilters(action="audit.entry_read"))
    assert [row.detail for row in reads] == [{"entry": str(entry.id)}]


# -- the path of a call --


def path(browser, held, status=200):
    return text(browser.get("/audit/path/", {"run": str(held.run_id), "call": held.call_id}), status)


def test_the_path_of_a_call_is_told_from_the_log(acme, browser, signed_in):
    held = acme.hold()
    signed_in(acme.mara).get(f"/proposals/{held.id}/")
    acme.decide(held, reason="looks <right>", read_to_end=True)
    acme.redeem(held)
    permit_settle(proposal_id=held.id, outcome="succeeded", detail={"reference": "re_51x"})
    record(acme.tenant, action="call.succeeded", run_id=held.run_id, call_id=held.call_id, tool="refund_order",
           detail={"reference": "re_51x"}, duration_ms=212)  # fmt: skip
    html = path(browser, held)
    said = words(html)
    order = [said.index(word) for word in ("Held by rule", "Shown to Mara Lind", "Approved by Mara Lind",
                                           "Checked again bytes, time, policy", "Succeeded the provider")]  # fmt: skip
    assert order == sorted(order)
    assert "looks <right>" in said
    assert "said: read to the end" in said
    assert "waited for people" in said
    assert f'href="/proposals/{held.id}/"' in html
    assert f'href="/runs/{held.run_id}/"' in html
    assert "No entry says who asked for this call." in said, "the fixture holds it without a run"


def test_who_decided_without_the_page_is_told(acme, browser):
    held = acme.hold()
    acme.decide(held)
    assert "No entry says that Mara Lind was shown this before deciding" in words(path(browser, held))


def test_a_click_that_was_refused_is_in_the_path(acme, browser):
    from audit.core.refusal import Refusal

    held = acme.hold()
    with pytest.raises(Refusal):
        acme.decide(held, by=acme.customer_care)
    said = words(path(browser, held))
    assert "Refused to decide a proposal by Jon Hale" in said
    assert "SELF_APPROVAL" in said


def test_a_cancelled_run_is_in_the_path_of_its_calls(acme, browser):
    held = acme.hold()
    record(acme.tenant, action="run.cancelled", object_type="run", object_id=held.run_id, run_id=held.run_id)
    assert "Its run was cancelled" in words(path(browser, held))


@pytest.mark.parametrize(
    "query",
    [{}, {"run": "x"}, {"call": "x"}, {"run": "6a2f41a3-c54c-4ad7-8d09-6f5d5a7ff2d1", "call": "call-1"},
     {"run": "\0", "call": "\0"}, {"run": "x" * 5000, "call": "../.."}],
)  # fmt: skip
def test_a_call_that_nothing_speaks_of_is_nothing(browser, query):
    assert "There is nothing here" in text(browser.get("/audit/path/", query), 404)


def test_another_organisations_call_is_nothing(acme, browser):
    foreign = world().hold()
    assert "There is nothing here" in path(browser, foreign, 404)


@pytest.mark.parametrize("call_id", ["a/b?c=d&e#f", "..", "ü \u202e", "%2F", "x" * 200])
def test_a_call_of_any_name_has_its_path(acme, browser, call_id):
    held = acme.hold(call_id=call_id)
    entry = newest(acme.tenant.id, action="proposal.held")
    link = re.search(r'href="(/audit/path/[^"]+)"', text(browser.get(f"/audit/{entry.id}/"))).group(1)
    assert "Held by rule" in words(text(browser.get(escaping.unescape(link))))
    assert path(browser, held)


def test_reading_a_path_is_recorded_once_a_minute_and_is_no_part_of_it(acme, browser):
    held = acme.hold()
    before = path(browser, held).count("<li class=")
    assert path(browser, held).count("<li class=") == before
    reads = entries_page(acme.tenant.id, EntryFilters(action="audit.path_read"))
    assert [row.detail for row in reads] == [{"run": str(held.run_id), "call": held.call_id}]


def test_auditors_find_the_path_on_the_proposal_and_others_do_not(acme, browser, signed_in):
    held = acme.hold()
    link = f"/audit/path/?run={held.run_id}&amp;call={held.call_id}"
    assert link in text(browser.get(f"/proposals/{held.id}/"))
    assert link not in text(signed_in(acme.mara).get(f"/proposals/{held.id}/"))


@pytest.mark.parametrize(
    ("time", "said"),
    [(timedelta(0), "0 ms"), (timedelta(milliseconds=-3), "0 ms"), (timedelta(milliseconds=12), "12 ms"),
     (timedelta(seconds=3.44), "3.4 s"), (timedelta(seconds=133), "2 min 13 s"),
     (timedelta(hours=4, minutes=2), "4 h 2 min"),
     (timedelta(days=3, hours=5, minutes=59), "3 d 5 h"), (timedelta(seconds=59.99), "60.0 s")],
)  # fmt: skip
def test_a_stretch_of_time_is_told_in_two_units(time, said):
    assert duration(time) == said
