"""The run page's socket: rows after the page's own sequence, without a gap, for who may see them (S43, S62, S17)."""

import asyncio
from uuid import UUID

import pytest
from django.contrib.sessions.models import Session

from access.services import people
from runs.core.kinds import EventKind as K
from tests.live.sockets import apart, live, opened, sequence, signed_in
from tests.support import factories
from tests.support.broker import kill, own_broker
from tests.support.histories import add, new_run, propose

NOBODYS = "6a2f41a3-c54c-4ad7-8d09-6f5d5a7ff2d1"
SIGNED_OUT, GONE, UNREADABLE = 4401, 4404, 4400


@pytest.fixture
def acme(committed_db):
    return factories.tenant("acme")


@pytest.fixture
def ola(acme):
    return factories.person(acme, roles=["operator"], name="Ola Brandt")


@pytest.fixture
def client(ola):
    return signed_in(ola)


@pytest.fixture
def run(acme):
    return new_run(tenant_id=UUID(acme.id))


def change(tenant, person, **what):
    people.member_change(actor=tenant.admin.actor, membership_id=person.membership_id, **what)


def join(tenant, person):
    people.member_add(actor=tenant.admin.actor, email=person.email, name=person.name, roles=["operator"])


def steer(run, times=1):
    for _ in range(times):
        add(run, (K.USER_STEERED, {"text": "on"}))


@live
async def test_a_page_gets_the_rows_behind_the_one_it_has(client, run):
    async with opened(f"/ws/runs/{run}/", client) as socket:
        await socket.hello(after=1)
        assert sequence(await socket.news()) == [2]
        await apart(steer, run)
        assert sequence(await socket.news()) == [3]


@live
async def test_a_page_that_has_everything_gets_nothing(client, run):
    async with opened(f"/ws/runs/{run}/", client) as socket:
        await socket.hello(after=2)
        assert await socket.silent()


@live
async def test_a_socket_says_nothing_before_the_page_said_what_it_has(client, run):
    async with opened(f"/ws/runs/{run}/", client) as socket:
        await apart(steer, run, 3)
        assert await socket.silent()


@live
async def test_rows_come_also_when_every_hint_is_lost(client, run, monkeypatch):
    monkeypatch.setattr("runs.live.hints.Hints._put", lambda self, item: True)
    async with opened(f"/ws/runs/{run}/", client) as socket:
        await socket.hello(after=2)
        await apart(steer, run, 2)
        got: list[int] = []
        while len(got) < 2:  # the three seconds may be over between the two
            got += sequence(await socket.news())
        assert got == [3, 4]


@live
async def test_five_hundred_events_reach_a_slow_page_in_order_and_without_a_gap(client, run):
    async with opened(f"/ws/runs/{run}/", client) as socket:
        await socket.hello(after=2)
        await apart(steer, run, 500)
        seen = []
        while not seen or seen[-1] < 502:
            seen += sequence(await socket.news())
        assert seen == list(range(3, 503))


def test_a_broker_that_dies_and_comes_back_leaves_no_gap_for_a_slow_page(client, run, tmp_path):
    async def attempt(valkey):
        async with opened(f"/ws/runs/{run}/", client) as socket:
            await socket.hello(after=2)
            writing = asyncio.create_task(apart(steer, run, 500))
            seen, killed, back = [], False, False
            while not seen or seen[-1] < 502:
                seen += sequence(await socket.news(30))
                await asyncio.sleep(0.05)
                if seen[-1] > 50 and not killed:
                    killed = True
                    await asyncio.to_thread(kill, valkey)
                elif killed and not back:
                    back = True
                    await asyncio.to_thread(valkey.restart)
            await writing
            assert killed
            assert back
            assert seen == list(range(3, 503))

    with own_broker(tmp_path / "valkey") as (valkey, _):
        asyncio.run(attempt(valkey))


@live
async def test_after_a_cut_the_page_goes_on_from_the_row_it_has(client, run):
    async with opened(f"/ws/runs/{run}/", client) as socket:
        await socket.hello(after=0)
        assert sequence(await socket.news()) == [1, 2]
    await apart(steer, run, 4)
    async with opened(f"/ws/runs/{run}/", client) as socket:
        await socket.hello(after=2)
        assert sequence(await socket.news()) == [3, 4, 5, 6]


@live
async def test_a_page_that_asks_again_is_answered_from_there(client, run):
    async with opened(f"/ws/runs/{run}/", client) as socket:
        await socket.hello(after=0)
        await socket.news()
        await socket.hello(after=1)
        assert sequence(await socket.news()) == [2]


@live
async def test_the_head_and_the_calls_come_with_the_rows(client, run):
    async with opened(f"/ws/runs/{run}/", client) as socket:
        await socket.hello(after=2)
        await apart(propose, run)
        html = await socket.news()
        for part in ("run-head", "run-calls", "run-facts", "run-contract", "run-verbs", "run-seq"):
            assert f'id="{part}"' in html
        assert "Being judged" in html


@live
async def test_a_page_that_filters_gets_only_what_passes_and_no_gap_in_what_it_has(client, run):
    async with opened(f"/ws/runs/{run}/", client) as socket:
        await socket.hello(after=2, kind="run")
        await apart(steer, run)
        html = await socket.news()
        assert (sequence(html), 'data-from="3" data-to="3"' in html) == ([], True)
        await apart(add, run, (K.RUN_COMPLETED, {}))
        html = await socket.news()
        assert (sequence(html), 'data-from="4" data-to="4"' in html) == ([4], True)


@live
async def test_a_page_that_filters_by_a_call_gets_what_is_about_it(client, run):
    async with opened(f"/ws/runs/{run}/", client) as socket:
        await socket.hello(after=2, call="call-2")
        await apart(propose, run, "call-1")
        assert sequence(await socket.news()) == []
        await apart(propose, run, "call-2")
        assert sequence(await socket.news()) == [4]


@live
async def test_a_foreign_run_closes_exactly_like_an_unknown_one(client):
    globex = await apart(factories.tenant, "globex")
    foreign = await apart(new_run, tenant_id=UUID(globex.id))
    codes = []
    for run_id in (foreign, NOBODYS):
        async with opened(f"/ws/runs/{run_id}/", client) as socket:
            codes.append(await socket.closed())
    assert codes == [GONE, GONE]


@live
async def test_without_a_session_the_socket_closes(run):
    async with opened(f"/ws/runs/{run}/", None) as socket:
        assert await socket.closed() == SIGNED_OUT


@live
async def test_signing_out_closes_the_socket_although_nothing_happens(client, run):
    async with opened(f"/ws/runs/{run}/", client) as socket:
        await socket.hello(after=2)
        await apart(client.post, "/sign-out/")
        assert await socket.closed() == SIGNED_OUT


@live
async def test_a_session_that_was_removed_closes_the_socket_at_the_next_row(client, run):
    async with opened(f"/ws/runs/{run}/", client) as socket:
        await socket.hello(after=2)
        await apart(Session.objects.all().delete)
        await apart(steer, run)
        assert await socket.closed() == SIGNED_OUT


@live
async def test_a_deactivated_person_sees_not_one_more_row(client, acme, ola, run):
    async with opened(f"/ws/runs/{run}/", client) as socket:
        await socket.hello(after=2)
        await apart(change, acme, ola, active=False)
        await apart(steer, run)
        message = await socket.inner.receive_output(8)
        assert (message["type"], message["code"]) == ("websocket.close", SIGNED_OUT)


@live
async def test_rights_lost_while_the_rows_were_being_read_count_before_they_are_sent(
    client, acme, ola, run, monkeypatch
):
    from runs.live import consumers

    read = consumers.run_changed

    def slow(actor, run_id, *, after, narrowed):
        if after == 2:
            change(acme, ola, active=False)
            steer(run)
        return read(actor, run_id, after=after, narrowed=narrowed)

    async with opened(f"/ws/runs/{run}/", client) as socket:
        monkeypatch.setattr(consumers, "run_changed", slow)
        await socket.hello(after=2)
        message = await socket.inner.receive_output(8)
        assert (message["type"], message["code"]) == ("websocket.close", SIGNED_OUT)


@live
async def test_a_person_whose_last_role_was_taken_loses_the_run(client, acme, ola, run):
    async with opened(f"/ws/runs/{run}/", client) as socket:
        await socket.hello(after=2)
        await apart(change, acme, ola, roles=[])
        assert await socket.closed() == GONE


@live
async def test_changing_the_organisation_closes_the_sockets_of_the_old_one(client, acme, ola, run):
    globex = await apart(factories.tenant, "globex")
    await apart(join, globex, ola)
    async with opened(f"/ws/runs/{run}/", client) as socket:
        await socket.hello(after=1)
        await socket.news()  # from here on the socket belongs to this organisation
        await apart(client.post, "/switch-tenant/", {"tenant": globex.id})
        assert await socket.closed() == SIGNED_OUT


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("https://evil.example", "localhost"),
        ("http://localhost:3000", "localhost:8000"),
        ("http://localhost", "localhost:8000"),
        ("https://localhost", "localhost"),
        ("https://localhost:8000", "localhost:8000"),
        ("http://localhost/", "localhost"),
        ("http://localhost@localhost", "localhost"),
        ("null", "localhost"),
        (None, "localhost"),
        ("", "localhost"),
    ],
)
def test_a_page_of_another_site_opens_no_socket(client, run, origin, host):
    async def attempt():
        async with opened(f"/ws/runs/{run}/", client, origin=origin, host=host) as socket:
            assert socket is None

    live(attempt)()


SAID_BY_A_PROXY = (b"x-forwarded-proto", b"https")


@pytest.mark.parametrize(
    ("scheme", "headers", "origin", "opens"),
    [
        ("wss", (), "https://localhost", True),
        ("wss", (), "http://localhost", False),
        ("ws", (SAID_BY_A_PROXY,), "https://localhost", True),
        ("ws", (SAID_BY_A_PROXY,), "http://localhost", False),
    ],
)
def test_behind_tls_only_a_page_that_came_by_tls_opens_a_socket(client, run, settings, scheme, headers, origin, opens):
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

    async def attempt():
        async with opened(f"/ws/runs/{run}/", client, origin=origin, scheme=scheme, headers=headers) as socket:
            assert (socket is not None) == opens

    live(attempt)()


def test_where_no_proxy_of_ours_says_so_its_header_makes_no_page_one_of_ours(client, run):
    async def attempt():
        async with opened(f"/ws/runs/{run}/", client, origin="https://localhost", headers=(SAID_BY_A_PROXY,)) as socket:
            assert socket is None

    live(attempt)()


@pytest.mark.parametrize(
    "said",
    [
        "",
        "x",
        "{}",
        "[]",
        "null",
        '{"after": -1}',
        '{"after": "1"}',
        '{"after": true}',
        '{"after": 1.5}',
        '{"after": 1e400}',
        '{"after": 99999999999999999999}',
        "[" * 100_000,
        '{"after": 1, "kind": 7}',
        '{"after": 1, "call": ["x"]}',
        '{"after": 1, "pad": "' + "x" * 70_000 + '"}',
    ],
)
def test_what_is_no_hello_closes_the_socket_and_breaks_nothing(client, run, said):
    async def attempt():
        async with opened(f"/ws/runs/{run}/", client) as socket:
            await socket.text(said)
            assert await socket.closed() == UNREADABLE

    live(attempt)()


@live
async def test_bytes_are_no_hello(client, run):
    async with opened(f"/ws/runs/{run}/", client) as socket:
        await socket.bytes(b"\xff")
        assert await socket.closed() == UNREADABLE


@live
async def test_a_reading_that_fails_closes_the_socket_so_that_the_page_says_it_is_not_live(client, run, monkeypatch):
    def broken(*args, **kwargs):
        raise RuntimeError("no database")

    async with opened(f"/ws/runs/{run}/", client) as socket:
        monkeypatch.setattr("runs.live.consumers.run_changed", broken)
        await socket.hello(after=1)
        assert await socket.closed() == 1011


@live
async def test_a_quiet_socket_beats_with_the_servers_time(client, run, monkeypatch):
    monkeypatch.setattr("runs.live.page.BEAT_SECONDS", 0.3)
    async with opened(f"/ws/runs/{run}/", client) as socket:
        await socket.hello(after=2)
        message = await socket.inner.receive_output(3)
        assert message["text"].startswith('<template data-beat data-now="20')


@live
async def test_a_path_that_leads_nowhere_opens_no_socket(client, committed_db):
    async with opened("/ws/no/such/", client) as socket:
        assert socket is None
