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
    page.click("text=Proposal")
    expect(page.locator("#p-head .tag")).to_have_text("Cancelled, never ran")
