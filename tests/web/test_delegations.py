"""Delegations on their pages, and a decision in another's place by its form: every door has the same answer (S7)."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from access.models import Delegation
from approvals.models import Decision
from tests.support import factories
from tests.support.approvals import World, asking, world
from tests.web.test_decide import click, status
from tests.web.test_proposal import text, words

SYDNEY = ZoneInfo("Australia/Sydney")


@pytest.fixture
def acme(db) -> World:
    return world()


@pytest.fixture
def anna(acme):
    return factories.person(acme.tenant, name="Anna Berg")


def later() -> str:
    """As a browser in Sydney sends it."""
    at = datetime.now(SYDNEY).replace(hour=9, minute=0)
    return f"{at.replace(day=1, month=at.month % 12 + 1, year=at.year + at.month // 12):%Y-%m-%dT%H:%M}"


def give(client, to, path="/account/delegations/", **fields):
    form = {"verb": "give", "to": to.user_id, "starts_at": "", "ends_at": later(), "reason": "On leave"}
    return client.post(path, form | fields)


def test_one_gives_ones_place_away_and_both_read_until_when_in_their_zone(acme, anna, signed_in):
    client = signed_in(acme.mara)
    assert give(client, anna).status_code == 302
    given = Delegation.objects.get()
    assert given.ends_at == datetime.fromisoformat(later()).replace(tzinfo=SYDNEY)
    seen = words(text(signed_in(anna).get("/account/delegations/")))
    assert "Anna Berg decides for Mara Lind until " in seen
    assert f"{given.ends_at.astimezone(SYDNEY):%-d %b %Y, 09:00:00}" in seen
    assert "in force" in seen


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"ends_at": ""}, "Say until when"),
        ({"ends_at": "tomorrow"}, "A time is written like"),
        ({"ends_at": "2020-01-01T09:00"}, "would end before it starts"),
        ({"groups": "board"}, "Only groups that the giver is in"),
        ({"verb": "lend"}, "knows no such change"),
    ],
)
def test_a_form_that_is_refused_says_why_and_keeps_what_was_typed(acme, anna, signed_in, fields, word):
    answer = give(signed_in(acme.mara), anna, **fields)
    assert answer.status_code == 422
    assert word in words(text(answer, 422))
    assert 'value="On leave"' in text(answer, 422)
    assert not Delegation.objects.exists()


def test_an_admin_gives_and_ends_anybodys_and_nobody_else_sees_the_page(acme, anna, signed_in):
    admin = signed_in(acme.tenant.admin)
    path = "/access/delegations/"
    assert give(admin, anna, path, **{"from": acme.mara.user_id}).status_code == 302
    assert "Anna Berg decides for Mara Lind" in words(text(admin.get(path)))
    assert signed_in(acme.mara).get(path).status_code == 403
    form = {"verb": "revoke", "delegation": str(Delegation.objects.get().pk)}
    assert admin.post(path, form).status_code == 302
    assert "called back" in words(text(admin.get(path)))


def test_the_account_page_gives_nobody_elses_place_away(acme, anna, signed_in):
    answer = give(signed_in(anna), acme.noor, **{"from": acme.mara.user_id})
    assert answer.status_code == 403
    assert not Delegation.objects.exists()


def test_a_delegate_decides_by_the_form_of_the_page_and_the_decision_says_for_whom(acme, anna, signed_in):
    held = acme.hold()
    give(signed_in(acme.mara), anna)
    client = signed_in(anna)
    page = text(client.get(f"/proposals/{held.id}/"))
    assert f'name="as" value="{acme.mara.user_id}"' in page
    assert "You decide for Mara Lind, until " in words(page)
    assert click(client, held, **{"as": acme.mara.user_id}).status_code == 302
    assert status(held) == "granted"
    assert "Anna Berg for Mara Lind approved" in words(text(client.get(f"/proposals/{held.id}/")))


@pytest.mark.parametrize("giver", ["customer_care", "owner"])
@pytest.mark.parametrize("wanted", ["", "self", "giver"])
def test_a_delegate_of_whoever_asked_decides_by_no_form(acme, anna, signed_in, giver, wanted):
    """S7 at the page's door, with every word that the form could be made to say."""
    held = acme.hold()
    giver = getattr(acme, giver)
    give(signed_in(giver), anna)
    client = signed_in(anna)
    said = {"as": giver.user_id if wanted == "giver" else wanted}
    answer = click(client, held, **said)
    assert answer.status_code == 403
    assert not Decision.objects.exists()


def test_a_page_that_was_open_when_the_delegation_was_called_back_decides_nothing(acme, anna, signed_in):
    """S17 for delegates: the reason that was typed is kept."""
    held = acme.hold()
    mara = signed_in(acme.mara)
    give(mara, anna)
    client = signed_in(anna)
    client.get(f"/proposals/{held.id}/")
    mara.post("/account/delegations/", {"verb": "revoke", "delegation": str(Delegation.objects.get().pk)})
    answer = click(client, held, reason="Parcel was lost.", **{"as": acme.mara.user_id})
    assert answer.status_code == 403
    assert "the delegation has ended, was called back or never was" in words(text(answer, 403))
    assert "Parcel was lost." in text(answer, 403)
    assert not Decision.objects.exists()


def test_whoever_may_decide_twice_over_chooses_as_whom(acme, signed_in):
    acme.publish(asking(("finance", 1), ("leads", 1)))
    held = acme.hold()
    give(signed_in(acme.noor), acme.mara)
    client = signed_in(acme.mara)
    page = text(client.get(f"/proposals/{held.id}/"))
    assert "in your own right" in page
    assert "for Noor Aziz, until " in page
    click(client, held, **{"as": acme.noor.user_id})
    assert str(Decision.objects.get().for_user_id) == acme.noor.user_id


def test_the_page_says_how_many_have_approved_who_is_missing_and_that_nothing_runs_yet(acme, signed_in):
    acme.publish(asking(("finance", 2)))
    held = acme.hold()
    client = signed_in(acme.mara)
    assert "1 of 2, nothing runs yet" in words(text(client.get(f"/proposals/{held.id}/")))
    click(client, held)
    seen = words(text(signed_in(acme.noor).get(f"/proposals/{held.id}/")))
    assert "Mara Lind approved" in seen
    assert "Still missing: 1 of finance (Noor Aziz)." in seen
    assert "runs now" in seen
