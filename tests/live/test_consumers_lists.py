"""The sockets of the two lists: changed rows by id and version, new rows as a number, only the reader's own."""

import json
import re
from datetime import timedelta
from html import unescape
from uuid import UUID

import pytest

from audit.store import clock
from runs.core.kinds import EventKind as K
from tests.live.sockets import apart, live, opened, signed_in
from tests.support import factories
from tests.support.approvals import asking, world
from tests.support.histories import add, new_run

NOBODYS = "6a2f41a3-c54c-4ad7-8d09-6f5d5a7ff2d1"
SIGNED_OUT, UNREADABLE = 4401, 4400


@pytest.fixture
def acme(committed_db):
    return world()


@pytest.fixture
def client(acme):
    return signed_in(acme.mara)


def rows(html):
    """Row id → (version, whether it still belongs)."""
    found = re.findall(r'id="row-([0-9a-f-]{36})" data-id="[^"]+" data-version="(\d+)"(?: data-in="(\w+)")?', html)
    return {row: (int(version), within) for row, version, within in found}


def fresh(html):
    return int(re.search(r'data-fresh="(\d+)"', html).group(1))


def counts(html):
    return json.loads(unescape(re.search(r'data-counts="([^"]+)"', html).group(1)))


async def listed(client, address="/"):
    """What the page's list says of itself in its hello."""
    html = (await apart(client.get, address)).content.decode()
    one = lambda name: unescape(re.search(rf'id="list-body"[^>]*data-{name}="([^"]*)"', html).group(1))  # noqa: E731
    return {
        "view": one("view"),
        "q": one("q"),
        **({"query": one("query")} if "data-query" in html else {}),
        "since": one("now"),
        "rows": {row: version for row, (version, _) in rows(html).items()},
        "whole": 'class="more"' not in html,
    }


# -- proposals --------------------------------------------------------------------------------------------------


@live
async def test_a_new_proposal_is_announced_as_a_number_and_pushes_no_row(acme, client):
    first = await apart(acme.hold)
    async with opened("/ws/inbox/", client) as socket:
        await socket.hello(**await listed(client))
        await socket.news()  # the counts, as they stand
        await apart(acme.hold, 5000)
        html = await socket.news()
        assert (rows(html), fresh(html), counts(html)) == ({}, 1, {"mine": 2, "all": 2})
        assert str(first.id) not in html


@live
async def test_a_narrowed_list_hears_of_what_fits_and_of_its_sum(acme, client):
    await apart(acme.hold, 5000)
    async with opened("/ws/inbox/", client) as socket:
        await socket.hello(**await listed(client, "/?from=20&currency=AUD"))
        await socket.news()  # the counts, as they stand
        await apart(acme.hold, 1000)
        html = await socket.news()
        assert (fresh(html), counts(html)) == (0, {"mine": 2, "all": 2})
        await apart(acme.hold, 6000)
        html = await socket.news()
        assert fresh(html) == 1
        assert 'data-sums="2 proposals come to A$110.00."' in html


@live
async def test_a_row_that_was_decided_comes_with_a_word_about_who_and_says_that_it_leaves(acme, client):
    held = await apart(acme.hold)
    async with opened("/ws/inbox/", client) as socket:
        hello = await listed(client)
        await socket.hello(**hello)
        await apart(acme.decide, held, "reject", by=acme.noor)
        html = await socket.news()
        while str(held.id) not in html:
            html = await socket.news()
        version, within = rows(html)[str(held.id)]
        assert within == "no"
        assert version > hello["rows"][str(held.id)]
        assert "rejected by <bdi>Noor Aziz" in html or "rejected by Noor Aziz" in html


@live
async def test_a_row_is_sent_once_for_each_of_its_versions(acme, client):
    await apart(acme.publish, asking(("finance", 2)))
    held = await apart(acme.hold)
    async with opened("/ws/inbox/", client) as socket:
        await socket.hello(**await listed(client, "/?view=all"))
        await socket.news()
        await apart(acme.decide, held, by=acme.noor)
        html = await socket.news()
        assert rows(html)[str(held.id)][1] == "yes"
        assert "1 of 2" in html
        assert await socket.silent(1.0)


@live
async def test_a_row_whose_time_is_up_leaves_although_no_row_changed(acme, client):
    held = await apart(acme.hold, expires_in_s=1.5)
    async with opened("/ws/inbox/", client) as socket:
        await socket.hello(**await listed(client))
        html = await socket.news()
        while str(held.id) not in html:
            html = await socket.news()
        assert rows(html)[str(held.id)][1] == "no"
        assert "expired, refused" in html


@live
async def test_a_proposal_that_is_asked_anew_comes_back_as_new(acme, client):
    from approvals.services.proposal import proposal_observe
    from tests.support.approvals import STATE

    await apart(acme.publish, asking(("finance", 2)))
    held = await apart(acme.hold)
    await apart(acme.decide, held)
    async with opened("/ws/inbox/", client) as socket:
        hello = await listed(client)
        assert hello["rows"] == {}
        await socket.hello(**hello)
        await socket.news()
        changed = STATE | {"refunded": 2000, "left": 10000}
        await apart(
            lambda: proposal_observe(proposal_id=held.id, state=changed, read_at=clock.now() + timedelta(seconds=1))
        )
        assert fresh(await socket.news()) == 1


@live
async def test_a_row_that_only_moved_up_is_not_called_new(acme, client):
    made = [await apart(acme.hold, 1000 + number) for number in range(52)]
    async with opened("/ws/inbox/", client) as socket:
        hello = await listed(client)
        assert (len(hello["rows"]), hello["whole"]) == (50, False)
        await socket.hello(**hello)
        await socket.news()
        await apart(acme.decide, made[0], "reject", by=acme.noor)
        html = await socket.news()
        assert fresh(html) == 0
        assert rows(html)[str(made[0].id)][1] == "no"


@live
async def test_a_foreign_id_in_a_hello_is_answered_like_an_unknown_one(acme, client):
    held = await apart(acme.hold)
    stranger = await apart(lambda: signed_in(factories.person(factories.tenant(), groups=["finance"])))
    async with opened("/ws/inbox/", stranger) as socket:
        await socket.hello(view="all", q="", rows={str(held.id): 0, NOBODYS: 0}, whole=True)
        html = await socket.news()
        assert (rows(html), fresh(html), counts(html)) == ({}, 0, {"mine": 0, "all": 0})


@live
async def test_another_organisations_news_are_no_news(acme, client):
    globex = await apart(world)
    async with opened("/ws/inbox/", client) as socket:
        await socket.hello(**await listed(client))
        await socket.news()
        await apart(globex.hold)
        assert await socket.silent(1.0)


@live
async def test_signing_out_closes_the_list(acme, client):
    async with opened("/ws/inbox/", client) as socket:
        await socket.hello(**await listed(client))
        await apart(client.post, "/sign-out/")
        assert await socket.closed() == SIGNED_OUT


@live
async def test_news_come_also_when_every_hint_is_lost(acme, client, monkeypatch):
    monkeypatch.setattr("runs.live.hints.Hints._put", lambda self, item: True)
    async with opened("/ws/inbox/", client) as socket:
        await socket.hello(**await listed(client))
        await socket.news()
        await apart(acme.hold)
        assert fresh(await socket.news()) == 1


@pytest.mark.parametrize("address", ["/ws/inbox/", "/ws/runs/"])
@pytest.mark.parametrize(
    "said",
    [
        {},
        {"view": "mine"},
        {"view": "mine", "q": "", "rows": []},
        {"view": "mine", "q": "", "rows": {"x": 1}},
        {"view": "mine", "q": "", "rows": {NOBODYS: "1"}},
        {"view": "mine", "q": "", "rows": {NOBODYS: True}},
        {"view": "mine", "q": "\0", "rows": {}},
        {"view": "mine", "q": 1, "rows": {}},
        {"view": "x" * 50, "q": "", "rows": {}},
    ],
)
def test_what_is_no_hello_closes_the_socket(client, address, said):
    async def attempt():
        async with opened(address, client) as socket:
            await socket.hello(**said)
            assert await socket.closed() == UNREADABLE

    live(attempt)()


@pytest.mark.parametrize("since", ["", "yesterday", "2026-11-29T15:00:00", 5, None])
def test_a_list_of_runs_must_say_since_when(client, since):
    async def attempt():
        async with opened("/ws/runs/", client) as socket:
            await socket.hello(view="", q="", rows={}, since=since)
            assert await socket.closed() == UNREADABLE

    live(attempt)()


# -- runs --------------------------------------------------------------------------------------------------------


@live
async def test_a_run_that_changed_is_sent_again_in_its_new_state(acme, client):
    run = await apart(new_run, tenant_id=UUID(acme.tenant.id))
    async with opened("/ws/runs/", client) as socket:
        await socket.hello(**await listed(client, "/runs/"))
        await socket.news()
        await apart(add, run, (K.RUN_COMPLETED, {}))
        html = await socket.news()
        assert list(rows(html)) == [str(run)]
        assert ">Completed</span>" in html
        assert counts(html)["completed"] == 1


@live
async def test_a_new_run_is_announced_as_a_number(acme, client):
    async with opened("/ws/runs/", client) as socket:
        await socket.hello(**await listed(client, "/runs/"))
        await socket.news()
        await apart(new_run, tenant_id=UUID(acme.tenant.id))
        html = await socket.news()
        while not fresh(html):
            html = await socket.news()
        assert (rows(html), fresh(html)) == ({}, 1)


@live
async def test_a_list_gets_only_the_new_runs_that_pass_its_filter(acme, client):
    async with opened("/ws/runs/", client) as socket:
        await socket.hello(**await listed(client, "/runs/?acting=Jon+Hale"))
        await socket.news()
        await apart(new_run, tenant_id=UUID(acme.tenant.id))
        assert fresh(await socket.news()) == 0  # the counts by state have changed
        await apart(new_run, tenant_id=UUID(acme.tenant.id), acting_user_name="Jon Hale")
        html = await socket.news()
        while not fresh(html):
            html = await socket.news()
        assert fresh(html) == 1


@live
async def test_a_run_that_gets_stuck_comes_to_stand_first(acme, client):
    from runs.models import Run

    def needs_reconciliation(run):
        Run.objects.filter(pk=run).update(status="needs_reconciliation", updated_at=clock.now())

    run = await apart(new_run, tenant_id=UUID(acme.tenant.id))
    async with opened("/ws/runs/", client) as socket:
        await socket.hello(**await listed(client, "/runs/"))
        first = await socket.news()
        assert re.search(r'id="stuck"[^>]* hidden', first)
        await apart(needs_reconciliation, run)
        html = await socket.news()
        while "stuck-" + str(run) not in html:
            html = await socket.news()
        assert ">Outcome unknown</span>" in html
        assert counts(html)["stuck"] == 1
