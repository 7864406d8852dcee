"""The proposal page's socket: the parts of every new state, for who may see it, in their words (S17, S62, S89)."""

import asyncio
import re
import time
from contextlib import AsyncExitStack

import pytest

from access.services import people
from approvals.services.claim import proposal_claim
from approvals.services.settling import permit_settle
from audit.core.actor import SYSTEM
from audit.store.clock import now
from runs.services.stop import stop_lift, stop_set
from tests.live.sockets import apart, live, opened, signed_in
from tests.support import factories
from tests.support.approvals import world

NOBODYS = "6a2f41a3-c54c-4ad7-8d09-6f5d5a7ff2d1"
SIGNED_OUT, GONE, UNREADABLE = 4401, 4404, 4400


@pytest.fixture
def acme(committed_db):
    return world()


@pytest.fixture
def client(acme):
    return signed_in(acme.mara)


@pytest.fixture
def held(acme):
    return acme.hold()


def state_of(html):
    return re.search(r'data-state="([0-9a-f]+)"', html).group(1)


def path(held):
    return f"/ws/proposals/{held.id}/"


async def shown(client, held):
    answer = await apart(client.get, f"/proposals/{held.id}/")
    return state_of(answer.content.decode())


@live
async def test_a_page_that_shows_how_it_stands_is_told_nothing(client, held):
    seen = await shown(client, held)
    async with opened(path(held), client) as socket:
        await socket.hello(seen=seen)
        assert await socket.silent()


@live
async def test_a_page_that_shows_an_older_state_gets_the_parts_that_change(client, held):
    async with opened(path(held), client) as socket:
        await socket.hello(seen="of yesterday")
        html = await socket.news()
        for part in ("p-head", "p-notices", "p-outcome", "p-effect", "p-people", "p-act"):
            assert re.search(rf'id="{part}"[^>]*hx-swap-oob="true"', html)
        assert 'id="p-call"' not in html
        assert state_of(html) == await shown(client, held)


@live
async def test_approved_started_and_succeeded_arrive_one_after_the_other(acme, client, held):
    async with opened(path(held), client) as socket:
        await socket.hello(seen=await shown(client, held))
        await apart(acme.decide, held, by=acme.noor)
        html = await socket.news()
        assert "Approved, about to run" in html
        assert "Noor Aziz" in html
        await apart(acme.redeem, held)
        html = await socket.news()
        while "under way" not in html:
            html = await socket.news()
        await apart(permit_settle, proposal_id=held.id, outcome="succeeded", detail={"reference": "re_51x"})
        assert "re_51x" in await socket.news()


@live
async def test_the_moment_the_time_is_up_is_pushed_although_no_row_changed(acme, client):
    held = await apart(acme.hold, expires_in_s=1.5)
    async with opened(path(held), client) as socket:
        await socket.hello(seen=await shown(client, held))
        html = await socket.news()
        assert "Expired" in html
        assert 'name="verdict"' not in html


@live
async def test_an_earlier_rejection_of_the_same_call_comes_to_the_open_page_and_so_does_the_end_of_a_claim(
    acme, held, stand_at
):
    """Neither is told by a hint of this proposal: the pulse finds it."""
    noor, at = await apart(signed_in, acme.noor), await apart(now)
    await apart(stand_at, at)
    same = await apart(acme.hold)
    until = (await apart(lambda: proposal_claim(actor=acme.mara.actor, proposal_id=held.id))).until
    async with opened(path(held), noor) as socket:
        await socket.hello(seen=await shown(noor, held))
        await apart(acme.decide, same, "reject", by=acme.mara, reason="Twice the same.")
        html = await socket.news()
        while "This exact call was rejected by <bdi>Mara Lind</bdi>" not in html:
            html = await socket.news()
        assert re.search(r'id="p-past"[^>]*hx-swap-oob="true"', html)
        assert "Twice the same." in html
        assert "Claimed by <bdi>Mara Lind</bdi>" in html
        await apart(stand_at, until)
        html = await socket.news()
        while "Claimed by <bdi>Mara Lind</bdi>" in html:
            html = await socket.news()


@live
async def test_a_stop_of_the_organisation_is_said_at_once_and_so_is_its_end_and_another_ones_is_not(acme, client, held):
    reason = {"reason": "Wrong accounts"}
    other = await apart(lambda: factories.tenant().admin.actor)
    async with opened(path(held), client) as socket:
        await socket.hello(seen=await shown(client, held))
        assert await socket.silent()
        await apart(lambda: stop_set(actor=other, kind="tenant", **reason))
        assert await socket.silent()
        stopped = await apart(lambda: stop_set(actor=acme.tenant.admin.actor, kind="tenant", **reason))
        assert await socket.said("data-stops")
        await apart(lambda: stop_lift(actor=acme.tenant.admin.actor, stop_id=stopped.stop.id, **reason))
        assert await socket.said("data-stops")
        await apart(lambda: stop_set(actor=SYSTEM("command line", ""), kind="installation", **reason))
        assert await socket.said("data-stops")


@live
async def test_losing_the_right_to_decide_takes_the_buttons_away(acme, client, held):
    def leave():
        people.group_remove(actor=acme.tenant.admin.actor, group="finance", user_id=acme.mara.user_id)

    async with opened(path(held), client) as socket:
        await socket.hello(seen=await shown(client, held))
        await apart(leave)
        html = await socket.news()
        assert 'name="verdict"' not in html
        assert "you are in none of these" in html


@live
async def test_each_reader_gets_their_own_words(acme, held):
    mine, other = await apart(signed_in, acme.customer_care), await apart(signed_in, acme.noor)
    pages = []
    for client in (mine, other):
        async with opened(path(held), client) as socket:
            await socket.hello(seen="")
            pages.append(await socket.news())
    assert ['name="verdict"' in html for html in pages] == [False, True]


@live
async def test_readers_who_are_told_at_once_each_get_their_own_words_links_and_times(acme, held, stand_at):
    from access.models import User
    from audit.store import clock

    # Two who are not answered by one reading would differ by a second that is left.
    stand_at(await apart(clock.now))

    def seated():
        audits = factories.person(acme.tenant, roles=["reviewer", "auditor"], groups=["finance"])
        abroad = factories.person(acme.tenant, groups=["finance"])
        User.objects.filter(pk=abroad.user_id).update(time_zone="Asia/Tokyo")
        return [signed_in(person) for person in (acme.customer_care, acme.mara, acme.noor, audits, abroad)]

    async with AsyncExitStack() as sockets:
        all_ = [await sockets.enter_async_context(opened(path(held), client)) for client in await apart(seated)]
        for socket in all_:
            await socket.hello(seen="")
        care, mara, noor, audits, abroad = [await socket.news() for socket in all_]
    assert ['name="verdict"' in html for html in (care, mara, noor, audits, abroad)] == [False, True, True, True, True]
    assert ["its path in the log" in html for html in (care, mara, noor, audits, abroad)] == [False] * 3 + [True, False]
    assert [" JST" in html or "UTC+9" in html for html in (mara, noor, abroad)] == [False, False, True]
    # One organisation, the same roles, another group more: alike in every word.
    assert mara == noor


@live
async def test_a_foreign_proposal_closes_exactly_like_an_unknown_one(acme, held):
    stranger = await apart(lambda: signed_in(factories.person(factories.tenant(), groups=["finance"])))
    codes = []
    for address in (path(held), f"/ws/proposals/{NOBODYS}/"):
        async with opened(address, stranger) as socket:
            codes.append(await socket.closed())
    assert codes == [GONE, GONE]


@live
async def test_a_member_without_a_role_is_told_nothing(acme, held):
    nobody = await apart(lambda: signed_in(factories.person(acme.tenant, roles=[], groups=["finance"])))
    async with opened(path(held), nobody) as socket:
        assert await socket.closed() == GONE


@live
async def test_without_a_session_the_socket_closes(held):
    async with opened(path(held), None) as socket:
        assert await socket.closed() == SIGNED_OUT


@live
async def test_somebody_deactivated_is_told_not_one_more_state(acme, client, held):
    def leave():
        people.member_change(actor=acme.tenant.admin.actor, membership_id=acme.mara.membership_id, active=False)

    async with opened(path(held), client) as socket:
        await socket.hello(seen=await shown(client, held))
        await apart(leave)
        await apart(acme.decide, held, by=acme.noor)
        message = await socket.inner.receive_output(8)
        assert (message["type"], message["code"]) == ("websocket.close", SIGNED_OUT)


@pytest.mark.parametrize("said", ["{}", '{"seen": 1}', '{"seen": null}', '{"seen": "' + "x" * 300 + '"}'])
def test_what_is_no_hello_closes_the_socket(client, held, said):
    async def attempt():
        async with opened(path(held), client) as socket:
            await socket.text(said)
            assert await socket.closed() == UNREADABLE

    live(attempt)()


@live
async def test_a_page_where_nothing_happens_costs_little(client, held, monkeypatch):
    from runs.live import consumers

    read, times = consumers.proposal_news, []

    def counted(*args, **kwargs):
        times.append(1)
        return read(*args, **kwargs)

    seen = await shown(client, held)
    monkeypatch.setattr(consumers, "proposal_news", counted)
    async with opened(path(held), client) as socket:
        await socket.hello(seen=seen)
        assert await socket.silent(7.5)
    # When it opens, before the hello, after it, when the hub's subscription stands, when the pulse sees it first.
    assert len(times) <= 5


@live
async def test_while_somebody_looks_the_target_is_wished_to_be_read_anew(client, held, monkeypatch):
    from approvals.models import Proposal

    def wished():
        return Proposal.objects.get(pk=held.id).refresh_asked_at is not None

    monkeypatch.setattr("runs.live.page.BEAT_SECONDS", 1.0)
    monkeypatch.setattr("runs.live.consumers.WISH_SECONDS", 2.5)  # a state of the last two seconds is fresh enough
    async with opened(path(held), client) as socket:
        await socket.hello(seen=await shown(client, held))
        assert not await apart(wished)
        until = time.monotonic() + 20
        while not await apart(wished):
            assert time.monotonic() < until
            await asyncio.sleep(0.2)


@live
async def test_nothing_the_page_sends_decides(client, held):
    async with opened(path(held), client) as socket:
        await socket.hello(seen=await shown(client, held), verdict="approve", digest=held.digest, round=1)
        assert await socket.silent()
    assert "0 so far" in (await apart(client.get, f"/proposals/{held.id}/")).content.decode()
