"""A run's page: live without a gap, across cuts, and cancel with what it does."""

import re

import pytest
from playwright.sync_api import expect


def sequence(page):
    return page.evaluate("[...document.querySelectorAll('#timeline li[value]')].map((row) => Number(row.value))")


def assert_gapless(page, until):
    expect(page.locator("#timeline")).to_have_attribute("data-last", str(until), timeout=15_000)
    assert sequence(page) == list(range(until, 0, -1))


def last_event(acting, run):
    return acting.agent.run(run)["seq"]


@pytest.fixture
def ola(acting, open_page):
    def open_run(run, prepare=None, **options):
        page = open_page(**options)
        if prepare:
            prepare(page)
        acting.sign_in(page, "operator", f"/runs/{run}/")
        expect(page.locator("#run-head [data-word]")).to_have_text("Live")
        page.mouse.move(2, 2)  # what is pointed at does not move
        return page

    return open_run


def test_the_history_grows_while_one_looks(acting, ola):
    asked = acting.refund(title="grow while I look")
    page = ola(asked.run_id)
    expect(page.locator("#run-head .tag")).to_have_text("Waiting for people")
    acting.decide(asked, "approve")
    assert acting.agent.wait_for_call(asked.run_id, asked.call_id, seconds=15)["state"] == "succeeded"
    assert_gapless(page, last_event(acting, asked.run_id))
    expect(page.locator("#timeline")).to_contain_text("was approved by Tove Brandt")
    expect(page.locator("#timeline")).to_contain_text("succeeded, reference re_")
    expect(page.locator("#run-calls .tag")).to_have_text("Succeeded")
    expect(page.locator("#run-head [data-word]")).to_have_text("Live")


def test_after_a_cut_the_timeline_goes_on_from_the_row_it_has(acting, ola):
    asked = acting.refund(title="cut in between")
    wires = []
    state = {"down": False}

    def through(socket):
        if state["down"]:
            socket.close(code=1011)
            return
        wires.append((socket, socket.connect_to_server()))

    page = ola(asked.run_id, lambda page: page.route_web_socket(re.compile(r".*/ws/runs/.+"), through))
    before = last_event(acting, asked.run_id)
    state["down"] = True
    for socket, server in wires:
        server.close()
        socket.close(code=1011)
    word = page.locator("#run-head [data-word]")
    expect(word).to_have_text(re.compile(r"^Not live since \d\d:\d\d, reconnecting$"))
    acting.decide(asked, "approve")
    assert acting.agent.wait_for_call(asked.run_id, asked.call_id, seconds=15)["state"] == "succeeded"
    assert sequence(page)[0] == before
    state["down"] = False
    expect(word).to_have_text("Live", timeout=15_000)
    assert_gapless(page, last_event(acting, asked.run_id))


def test_messages_that_are_lost_or_come_twice_leave_no_gap_and_no_double(acting, ola):
    run = acting.agent.open_run("a bad line")["id"]
    count = {"n": 0}
    line = {"bad": True}

    def through(socket):
        server = socket.connect_to_server()

        def to_page(message):
            if "data-from=" in message and line["bad"]:
                count["n"] += 1
                if count["n"] % 3 == 1:
                    return  # lost
                socket.send(message)
                if count["n"] % 3 == 2:
                    socket.send(message)  # twice
                return
            socket.send(message)

        server.on_message(to_page)

    page = ola(run, lambda page: page.route_web_socket(re.compile(r".*/ws/runs/.+"), through))
    for number in range(6):
        acting.agent.call(run, f"read-{number}", "get_order", {"order_id": "ord_1029"})
        acting.agent.wait_for_call(run, f"read-{number}", seconds=15)
        page.wait_for_timeout(100)  # the line's messages pass while Playwright is at work
    assert count["n"] > 2
    # A lost message is noticed by the next one that comes through.
    line["bad"] = False
    acting.agent.complete(run)
    assert_gapless(page, last_event(acting, run))


def test_the_web_server_may_go_away_and_the_page_catches_up(acting, ola):
    run = acting.agent.open_run("server restart")["id"]
    page = ola(run)
    acting.stack.end("web")
    word = page.locator("#run-head [data-word]")
    expect(word).to_have_text(re.compile(r"^Not live since"), timeout=10_000)
    acting.stack.spawn_web()
    expect(word).to_have_text("Live", timeout=40_000)
    acting.agent.complete(run)
    assert_gapless(page, last_event(acting, run))
    expect(page.locator("#run-head .tag")).to_have_text("Completed")


@pytest.fixture(scope="module")
def long_run(acting):
    """The id of a run of 10,000 events: calls that were refused, and words of people between them."""
    acting.python("""
        from django.db import transaction
        from runs.core.kinds import EventKind as K
        from runs.models import Call, Run
        from runs.store.append import append, lock_run
        from audit.store import clock
        from uuid import UUID, uuid4
        at = clock.now()
        run = Run.objects.create(tenant_id=tenant, title="ten thousand events", agent_id=uuid4(), agent_name="Agent",
                                 created_at=at, updated_at=at)
        def told(*facts):
            with transaction.atomic():
                append(lock_run(run.id), facts, actor=admin)
        told((K.RUN_CREATED, {"scope": {}}), (K.RUN_ADMITTED, {}))
        call = {"tool": "get_order", "contract_version": 1, "digest": "d" * 64, "key": "k", "side_effect": "read",
                "retry_class": "never", "read_only": True}
        row = dict(run=run, tenant_id=tenant, tool="get_order", contract_version=1, canonical=b"{}", given=b"{}",
                   digest="d" * 64, key="k", target="", resource="", created_at=at, version=0)
        for part in range(49):
            names = [f"step-{part}-{number}" for number in range(2)]
            Call.objects.bulk_create(Call(call_id=name, **row) for name in names)
            asked = [fact for name in names for fact in (
                (K.CALL_PROPOSED, {"call_id": name, **call}),
                (K.CALL_REFUSED, {"call_id": name, "code": "NO", "message": "Not today."}))]
            told(*asked, *[(K.USER_STEERED, {"text": f"word {number}"}) for number in range(200)])
        told(*[(K.USER_STEERED, {"text": "last words"})] * 2)
    """)
    [run] = re.findall(
        r"[0-9a-f-]{36}",
        acting.python("""
        from runs.models import Run
        print(Run.objects.get(title="ten thousand events").id)
    """),
    )
    return run


def shown(page):
    """How many rows the page holds."""
    return page.evaluate("document.querySelectorAll('#timeline li').length")


def in_view(page, seq):
    return page.evaluate(
        """(seq) => {
          const row = document.getElementById(`event-${seq}`)?.getBoundingClientRect();
          const view = document.getElementById("timeline").getBoundingClientRect();
          return Boolean(row) && row.top >= view.top - 1 && row.bottom <= view.bottom + 1
            && row.top < innerHeight && row.bottom > 0;
        }""",
        seq,
    )


def steer(acting, run, times):
    acting.python(f"""
        from django.db import transaction
        from runs.core.kinds import EventKind as K
        from runs.store.append import append, lock_run
        from uuid import UUID
        with transaction.atomic():
            append(lock_run(UUID("{run}")), [(K.USER_STEERED, {{"text": "news"}})] * {times}, actor=admin)
    """)


def test_thousands_of_events_without_lag_only_the_rows_near_the_view_are_there(ola, long_run):
    page = ola(long_run)
    expect(page.locator("#run-seq")).to_have_text("10000")
    page.locator("#timeline").hover()
    most = 0
    for _ in range(40):
        page.mouse.wheel(0, 2500)
        page.wait_for_timeout(30)
        most = max(most, shown(page))
    page.click("text=Oldest")
    expect(page.locator("#event-1")).to_be_visible()
    assert max(most, shown(page)) < 1000
    page.click("text=Newest")
    expect(page.locator("#event-10000")).to_be_in_viewport()
    page.click("text=Oldest")
    page.click("text=Newest")  # before what lies there has come in
    expect(page.locator("#event-10000")).to_be_in_viewport()
    # Whoever scrolls is held nowhere.
    page.locator("#timeline").hover()
    page.mouse.wheel(0, 900)
    page.wait_for_function("document.getElementById('timeline').scrollTop > 300")
    page.wait_for_timeout(800)
    assert page.evaluate("document.getElementById('timeline').scrollTop") > 300


@pytest.mark.parametrize("seq", [1, 77, 4999, 9851, 10000])
def test_a_link_to_any_of_ten_thousand_events_shows_it(acting, ola, open_page, long_run, seq):
    page = open_page()
    acting.sign_in(page, "operator", f"/runs/{long_run}/#event-{seq}")
    expect(page.locator(f"#event-{seq}.is-here")).to_be_in_viewport()
    page.wait_for_function("(seq) => document.activeElement.hash === `#event-${seq}`", arg=seq)
    page.wait_for_timeout(300)  # what lies around it has come in
    assert in_view(page, seq)


def test_one_jumps_to_a_sequence_number_and_is_told_when_it_is_not_there(ola, long_run):
    page = ola(long_run)
    page.fill("#jump-to", "2500")
    page.click("text=Go to event")
    expect(page.locator("#event-2500.is-here")).to_be_in_viewport()
    assert page.url.endswith("#event-2500")
    page.fill("#jump-to", "123456")
    page.press("#jump-to", "Enter")
    expect(page.locator("#jump-said")).to_have_text(re.compile(r"^There are events 1 to \d+\.$"))


def test_the_history_is_filtered_by_kind_and_by_call(ola, long_run):
    page = ola(long_run)
    page.click("text=Asked and judged")
    expect(page.locator(".timeline-tools [aria-current]")).to_have_text("Asked and judged 196")
    assert page.locator("#timeline li").first.inner_text().find("is refused") > 0
    page.locator("#timeline a.of").first.click()
    expect(page.locator(".chips")).to_contain_text("about the call step-48-1")
    expect(page.locator("#timeline li")).to_have_count(2)
    expect(page.locator("#run-calls tbody tr").first).to_contain_text("step-48-1")


def test_live_without_gaps_while_scrolled_back_says_what_is_new_and_moves_no_row(acting, ola, long_run):
    page = ola(long_run)
    before = int(page.locator("#timeline").get_attribute("data-last"))
    page.fill("#jump-to", "5000")
    page.click("text=Go to event")
    row = page.locator("#event-5000")
    expect(row).to_be_in_viewport()
    page.wait_for_timeout(400)
    place = row.bounding_box()["y"]
    steer(acting, long_run, 12)
    expect(page.locator("#news")).to_have_text("12 new above", timeout=15_000)
    assert row.bounding_box()["y"] == pytest.approx(place, abs=1)
    page.click("#news button")
    expect(page.locator(f"#event-{before + 12}")).to_be_in_viewport()
    expect(page.locator("#news")).to_be_hidden()
    page.wait_for_function("(row) => document.getElementById(row)", arg=f"event-{before - 27}")  # the block behind it
    numbers = sequence(page)
    assert numbers[:40] == list(range(before + 12, before - 28, -1))


def test_live_without_gaps_while_filtered_only_what_passes_comes(acting, ola):
    run = acting.agent.open_run("filtered and live")["id"]
    page = ola(run)
    page.goto(page.url + "?kind=run")
    expect(page.locator("#run-head [data-word]")).to_have_text("Live")
    page.mouse.move(2, 2)
    assert sequence(page) == [2, 1]
    acting.agent.call(run, "read-1", "get_order", {"order_id": "ord_1029"})
    acting.agent.wait_for_call(run, "read-1", seconds=15)
    acting.agent.complete(run)
    last = last_event(acting, run)
    expect(page.locator("#timeline")).to_have_attribute("data-last", str(last), timeout=15_000)
    expect(page.locator('[data-group="run"]')).to_have_text("3")
    assert sequence(page) == [last, 2, 1]


def test_what_is_pointed_at_does_not_move_when_something_new_comes(acting, ola):
    run = acting.agent.open_run("under the pointer")["id"]
    page = ola(run)
    row = page.locator("#event-1")
    row.hover()
    place = row.bounding_box()["y"]
    acting.agent.complete(run)
    expect(page.locator("#news")).to_have_text("1 new above", timeout=15_000)
    assert row.bounding_box()["y"] == pytest.approx(place, abs=1)
    page.click("#news button")
    expect(page.locator("#event-3")).to_be_visible()


def test_calls_in_flight_are_told_with_deadlines_and_attempts(acting, ola):
    run = acting.agent.open_run("in flight")["id"]
    page = ola(run)
    acting.python(f"""
        from django.db import transaction
        from datetime import timedelta
        from uuid import UUID
        from audit.store import clock
        from runs.core.kinds import EventKind as K
        from runs.models import Call
        from runs.store.append import append, lock_run
        run = UUID("{run}")
        Call.objects.create(run_id=run, tenant_id=tenant, call_id="slow-1", tool="get_order", contract_version=1,
            canonical=b"{{}}", given=b"{{}}", digest="ab12cd34" + "0" * 56, key="k", target="", resource="",
            created_at=clock.now(), version=0)
        with transaction.atomic():
            append(lock_run(run), [
                (K.CALL_PROPOSED, {{"call_id": "slow-1", "tool": "get_order", "contract_version": 1, "digest": "d" * 64,
                    "key": "k", "side_effect": "read", "retry_class": "never", "read_only": True}}),
                (K.CALL_ALLOWED, {{"call_id": "slow-1", "rule_id": "reads", "policy_number": 1, "boundary": "direct"}}),
                (K.DISPATCH_STARTED, {{"call_id": "slow-1", "dispatch_id": "x", "fence": 1, "attempt": 1, "key": "k",
                    "deadline": (clock.now() + timedelta(seconds=90)).isoformat()}}),
            ], actor=admin)
    """)
    row = page.locator("#run-calls tbody tr")
    expect(row).to_contain_text("Under way", timeout=15_000)
    expect(row).to_contain_text("answer awaited until")
    expect(row.locator("code").nth(1)).to_have_text("ab12 cd34")
    expect(row.locator(".num")).to_have_text("1")
    left = row.locator("[data-deadline]")
    expect(left).to_have_text(re.compile(r"^1:\d\d left$"))
    seen = left.inner_text()
    expect(left).not_to_have_text(seen, timeout=5_000)
    expect(page.locator("#run-contract")).to_contain_text("digest ab12 cd34, policy v1, rule reads")


def test_from_an_event_one_comes_to_its_call_its_proposal_and_its_path_in_the_log(acting, open_page):
    asked = acting.refund(title="follow the links")
    page = open_page()
    acting.sign_in(page, "admin", f"/runs/{asked.run_id}/")
    page.locator("#timeline a.of").first.click()
    expect(page.locator(".chips")).to_contain_text(f"about the call {asked.call_id}")
    call = page.locator("#run-calls tbody tr").first
    call.locator("text=Path in the log").click()
    expect(page.locator("h1")).to_contain_text(asked.call_id)
    page.go_back()
    page.locator("#run-calls tbody tr").first.locator("text=Proposal").click()
    expect(page).to_have_url(re.compile(f"/proposals/{asked.proposal_id}/"))


def test_the_contract_panel_answers_what_may_run_next_and_what_is_safe_to_retry(acting, ola):
    asked = acting.refund(title="contract panel")
    page = ola(asked.run_id)
    panel = page.locator("#run-contract")
    expect(panel).to_contain_text("reducer 1")
    expect(panel).to_contain_text("1 approval")
    digest = f"{asked.digest[:4]} {asked.digest[4:8]}"
    expect(panel).to_contain_text(f"Waiting for people: refund_order, digest {digest}, policy v")
    expect(panel).to_contain_text("Sent again by a machine only while it is certain that nothing was done.")
    expect(panel).to_contain_text("The target does not check the key")
    expect(panel).to_contain_text("not yet: runs have no budgets")
    panel.locator("summary").click()
    expect(panel).to_contain_text("kept by the server; the agent never has it")


def test_the_run_page_holds_its_tools_at_360_pixels(ola, long_run):
    page = ola(long_run, width=360, height=740)
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    page.locator("#timeline").scroll_into_view_if_needed()
    expect(page.locator("#timeline li").first).to_be_visible()
    page.fill("#jump-to", "321")
    page.click("text=Go to event")
    expect(page.locator("#event-321.is-here")).to_be_in_viewport()


def test_a_raw_event_is_there_on_demand(acting, ola):
    run = acting.agent.open_run("raw on demand")["id"]
    page = ola(run)
    raw = page.locator("#event-1 pre")
    expect(raw).to_have_count(0)
    page.click("#event-1 summary")
    expect(raw).to_contain_text('"kind": "run_created"')


def test_cancel_says_what_it_does_and_then_that_it_is_done(acting, ola):
    asked = acting.refund(title="cancel me")
    page = ola(asked.run_id)
    page.click("text=Cancel…")
    expect(page.locator(".verb form")).to_contain_text("calls that wait for people are taken back and never run")
    page.fill("#cancel-reason", "wrong customer")
    page.click("text=Cancel this run")
    expect(page.locator("#run-head .tag")).to_have_text("Cancelled")
    expect(page.locator("#timeline")).to_contain_text("wrong customer")
    expect(page.locator("#run-calls .tag")).to_have_text("Cancelled")
    page.click("#run-calls >> text=Proposal")
    expect(page.locator("#p-head .tag")).to_have_text("Cancelled, never ran")
