"""A reviewer at a real browser: reads, decides, and sees what became of it without loading anything again."""

import re
import time
from urllib.parse import unquote_plus

import pytest
from playwright.sync_api import expect

from config.stack.demo_orders import FIRST_NUMBER, ORDERS
from tests.browser.acting import SECOND

FRESH = 600  # a card that has just appeared ignores clicks for half a second


@pytest.fixture
def mara(acting, open_page):
    """open(asked) is Mara's page of a proposal, live."""

    def open_proposal(asked, script="", **options):
        page = open_page(**options)
        if script:
            page.add_init_script(script)
        acting.sign_in(page, path=f"/proposals/{asked.proposal_id}/")
        expect(page.locator("#p-head [data-word]")).to_have_text("Live")
        page.wait_for_timeout(FRESH)
        page.evaluate("window.loadedOnce = true")
        return page

    return open_proposal


def never_loaded_again(page):
    return page.evaluate("window.loadedOnce === true")


def test_an_approval_is_followed_live_to_the_receipt_and_happens_once(acting, mara):
    asked = acting.refund(1250)
    page = mara(asked)
    expect(page).to_have_title(re.compile(r"^Refund .* · waiting · Clearance$"))
    page.click("#p-approve")
    expect(page.locator("#p-outcome")).to_contain_text("the provider's reference is re_", timeout=15_000)
    expect(page.locator("#p-head .tag")).to_have_text("Succeeded")
    expect(page).to_have_title(re.compile(r"· succeeded · Clearance$"))
    expect(page.locator("#p-head [data-word]")).to_have_text("Live")
    expect(page.locator("#p-act")).to_contain_text("It ran once.")
    assert page.locator("#p-approve").count() == 0
    assert never_loaded_again(page)
    assert [refund["amount"] for refund in acting.stack.charge_refunds(asked.order)] == [1250]


def test_a_rejection_needs_its_reason_and_then_nothing_runs(acting, mara):
    asked = acting.refund()
    page = mara(asked)
    page.click("#p-reject")
    expect(page.locator("[data-problem]")).to_contain_text("Write why you reject it")
    expect(page.locator("#p-reason")).to_be_focused()
    page.fill("#p-reason", "not our parcel")
    page.click("#p-reject")
    expect(page.locator("#p-head .tag")).to_have_text("Rejected")
    expect(page.locator("#p-act")).to_contain_text("Nothing ran, and the agent was told why.")
    assert never_loaded_again(page)
    assert acting.agent.wait_for_call(asked.run_id, asked.call_id, seconds=10)["state"] == "rejected"
    assert acting.stack.charge_refunds(asked.order) == []


def test_reject_has_the_focus_and_enter_alone_decides_nothing(acting, mara):
    page = mara(acting.refund())
    expect(page.locator("#p-reject")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("[data-problem]")).to_be_visible()
    expect(page.locator("#p-head .tag")).to_contain_text("Waiting")


def test_the_second_decider_is_told_live_who_decided_and_keeps_what_they_typed(acting, mara):
    asked = acting.refund()
    page = mara(asked)
    page.fill("#p-reason", "looks right to me")
    acting.decide(asked, "reject", "not our parcel")
    expect(page.locator("#p-act")).to_contain_text("Rejected by Tove Brandt at")
    expect(page.locator("#p-act textarea")).to_have_value("looks right to me")
    expect(page.locator("#p-outcome")).to_contain_text("not our parcel")
    assert page.locator("#p-approve").count() == 0
    assert never_loaded_again(page)


def test_a_click_that_comes_second_gets_a_plain_sentence(acting, mara):
    asked = acting.refund()
    page = mara(asked)
    page.route_web_socket("**/*", lambda socket: socket.close())  # this page hears nothing any more
    page.reload()
    page.wait_for_timeout(FRESH)
    page.fill("#p-reason", "looks right to me")
    acting.decide(asked, "reject", "not our parcel")
    page.click("#p-approve")
    act = page.locator("#p-act")
    expect(act).to_contain_text("Your click came after the decision and changed nothing.")
    expect(act).to_contain_text("Rejected by Tove Brandt at")
    expect(act.locator("textarea")).to_have_value("looks right to me")


TOLD_OF_THE_PAST = """document.addEventListener("htmx:oobBeforeSwap", ({ detail }) => {
  if (detail.fragment.textContent.includes("was rejected by")) document.body.dataset.told = detail.target.id;
})"""


def test_what_went_before_comes_to_the_open_page_and_moves_nothing_that_is_pointed_at(acting, mara):
    first = acting.refund(1290, title="asked once")
    currency = ORDERS["acme"][int(first.order.removeprefix("ord_")) - FIRST_NUMBER].currency.upper()
    arguments = {"order_id": first.order, "amount": 1290, "currency": currency}
    second = acting.held("refund_order", arguments, title="asked twice")
    page = mara(second)
    people, past = page.locator("#p-people"), page.locator("#p-past")
    people.hover()
    before = people.bounding_box()
    page.evaluate(TOLD_OF_THE_PAST)
    acting.decide(first, "reject", "Not plausible.")
    expect(page.locator("body[data-told]")).to_be_attached()
    expect(past).not_to_contain_text("was rejected by")
    assert people.bounding_box() == before
    page.locator("h1").hover()
    expect(past).to_contain_text("This exact call was rejected by Tove Brandt")
    assert never_loaded_again(page)


def test_a_card_that_has_just_appeared_ignores_a_click(acting, open_page):
    asked = acting.refund()
    page = open_page()
    acting.sign_in(page)
    page.goto(acting.url(f"/proposals/{asked.proposal_id}/"), wait_until="domcontentloaded")
    page.evaluate("document.getElementById('p-approve').click()")
    page.wait_for_timeout(1000)
    expect(page.locator("#p-head .tag")).to_contain_text("Waiting")


def test_the_whole_path_goes_by_keyboard_alone(acting, open_page):
    asked = acting.refund(title="keyboard only")
    page = open_page()
    acting.sign_in(page, path="/?q=keyboard+only")
    expect(page.locator("#rows a.strip")).to_have_count(1)
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.locator("#rows a.strip").first.wait_for()
    page.keyboard.press("j")
    expect(page.locator("#rows a.strip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#p-reject")).to_be_focused()
    page.wait_for_timeout(FRESH)
    page.keyboard.press("Shift+Tab")
    expect(page.locator("#p-reason")).to_be_focused()
    page.keyboard.type("jokes aside: checked")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(page.locator("#p-approve")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#p-head .tag")).to_have_text("Succeeded", timeout=15_000)
    expect(page.locator("#p-outcome")).to_contain_text("jokes aside: checked")
    assert len(acting.stack.charge_refunds(asked.order)) == 1


def test_a_session_that_ended_keeps_the_typed_reason_over_signing_in_again(acting, mara):
    asked = acting.refund()
    page = mara(asked, timezone_id="Australia/Sydney")
    page.fill("#p-reason", "typed with care")
    page.context.clear_cookies(name="sessionid")
    page.click("#p-approve")
    act = page.locator("#p-act")
    expect(act).to_contain_text("Your session had ended, so nothing was decided.")
    email, password = acting.stack.person("reviewer")
    page.wait_for_timeout(FRESH)
    act.locator("input[name=username]").fill(email)
    act.locator("input[name=password]").fill(password)
    act.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.locator("#p-reason")).to_have_value("typed with care")
    expect(page.locator("#p-head .tag")).to_contain_text("Waiting")
    assert page.evaluate("document.body.dataset.zone") == "Australia/Sydney"


def test_the_form_to_sign_in_again_stays_while_the_page_is_told_news(acting, mara):
    asked = acting.refund()
    page = mara(asked)
    page.fill("#p-reason", "typed with care")
    page.context.clear_cookies(name="sessionid")
    page.click("#p-approve")
    act = page.locator("#p-act")
    expect(act).to_contain_text("Your session had ended")
    page.wait_for_timeout(FRESH)
    act.locator("input[name=password]").fill("half of a passw")
    acting.decide(asked, "reject", "somebody else was faster")
    expect(page.locator("#p-head .tag")).to_have_text("Rejected", timeout=15_000)
    expect(act.locator("input[name=password]")).to_have_value("half of a passw")


def test_a_rejection_whose_answer_is_slower_than_the_news_of_it_is_not_called_unsent(acting, mara):
    page = mara(acting.refund())

    def late(route):
        answer = route.fetch()
        time.sleep(1.5)  # the socket tells of the decision meanwhile
        route.fulfill(response=answer)

    page.route("**/decide/", late)
    page.fill("#p-reason", "not our parcel")
    page.click("#p-reject")
    expect(page.locator("#p-act")).to_contain_text("Rejected by", timeout=15_000)
    expect(page.locator("#p-outcome")).to_contain_text("not our parcel")
    expect(page.locator("#p-act [data-kept]")).to_be_hidden()


def test_somebody_signed_out_elsewhere_is_told_so(acting, mara):
    page = mara(acting.refund())
    other = page.context.new_page()
    other.goto(acting.url("/"))
    other.click("text=Sign out")
    expect(page.locator("#p-head [data-pulse]")).to_contain_text("you are signed out", timeout=10_000)


def test_the_page_says_expired_at_that_moment_without_a_reload(acting, mara):
    acting.policy(
        "{id: read-orders, tool: get_order, effect: allow}",
        "{id: quick, tool: refund_order, effect: ask, approvers: [{group: finance, count: 1}], expires_in_s: 25}",
    )
    asked = acting.refund()
    # The reader's clock is wrong by an hour; the countdown follows the server's.
    page = mara(asked, "const right = Date.now; Date.now = () => right() + 3600000;")
    page.fill("#p-reason", "still thinking")
    expect(page.locator("#p-head .left")).to_have_text(re.compile(r"^0:\d\d left$"))
    deadline = (
        float(page.evaluate("Date.parse(document.querySelector('#p-head [data-deadline]').dataset.deadline)")) / 1000
    )
    page.wait_for_timeout(max(0, (deadline - time.time() - 2) * 1000))
    expect(page.locator("#p-approve")).to_be_enabled()
    expect(page.locator("#p-head .tag")).to_have_text("Expired", timeout=4_000)
    assert abs(time.time() - deadline) < 1.5
    assert page.locator("#p-approve").count() == 0
    expect(page.locator("#p-act")).to_contain_text("and nobody had decided; it is refused and nothing ran")
    expect(page.locator("#p-act textarea")).to_have_value("still thinking")
    expect(page).to_have_title(re.compile(r"· expired · Clearance$"))
    assert never_loaded_again(page)


ANOTHER_CHALLENGE = """() => {
  const real = navigator.credentials.get.bind(navigator.credentials);
  navigator.credentials.get = (asked) => {
    navigator.credentials.get = real;
    asked.publicKey.challenge = new Uint8Array(32);
    return real(asked);
  };
}"""
REPLAY = """async ([address, nonce, assertion]) => {
  const form = new FormData(document.getElementById("p-decide"));
  for (const [name, value] of Object.entries({ nonce, assertion, verdict: "approve" })) form.set(name, value);
  const answer = await fetch(address, { method: "POST", body: form, headers: { "HX-Request": "true" } });
  return [answer.status, await answer.text()];
}"""


def device_of(page):
    """A device with a fingerprint reader, as the browser sees one."""
    cdp = page.context.new_cdp_session(page)
    cdp.send("WebAuthn.enable")
    options = {
        "protocol": "ctap2", "transport": "internal", "hasResidentKey": True, "hasUserVerification": True,
        "isUserVerified": True, "automaticPresenceSimulation": True,
    }  # fmt: skip
    cdp.send("WebAuthn.addVirtualAuthenticator", {"options": options})


def test_an_approval_is_signed_by_the_reviewers_passkey_and_no_other_answer_is_taken(acting, mara):
    acting.policy(
        "{id: read-orders, tool: get_order, effect: allow}",
        "{id: signed, tool: refund_order, effect: ask, approvers: [{group: finance, count: 1}], "
        "authentication: signed, expires_in_s: 900}",
    )
    first, second = acting.refund(1250), acting.refund(1250)
    page = mara(first)
    device_of(page)
    page.fill("#p-reason", "It arrived broken.")
    page.click("#p-approve")
    expect(page.locator("[data-sign-says]")).to_contain_text("needs that you confirm it is you")
    page.get_by_role("button", name="Confirm it is you").click()
    page.fill("#c-password", acting.stack.person("reviewer")[1])
    page.get_by_role("button", name="Confirm", exact=True).click()
    expect(page.locator("#p-reason")).to_have_value("It arrived broken.")

    page.goto(acting.url("/account/security/"))
    page.fill("#k-new", "Laptop")
    page.get_by_role("button", name="Add a passkey").click()
    expect(page.get_by_role("status").filter(has_text="The passkey was added.")).to_be_visible()

    page.goto(acting.url(f"/proposals/{first.proposal_id}/"))
    page.wait_for_timeout(FRESH)
    with page.expect_request(lambda request: request.url.endswith("/decide/")) as sent:
        page.click("#p-approve")
    expect(page.locator("#p-head .tag")).to_have_text("Succeeded", timeout=15_000)
    assert [refund["amount"] for refund in acting.stack.charge_refunds(first.order)] == [1250]

    used = sent.value.post_data
    nonce, assertion = (re.search(rf"{name}=([^&]*)", used)[1] for name in ("nonce", "assertion"))
    page.goto(acting.url(f"/proposals/{second.proposal_id}/"))
    page.wait_for_timeout(FRESH)
    address = f"/proposals/{second.proposal_id}/decide/"
    status, said = page.evaluate(REPLAY, [address, nonce, unquote_plus(assertion)])
    assert status == 409
    assert "was used already" in said
    page.evaluate(ANOTHER_CHALLENGE)
    page.fill("#p-reason", "Kept.")
    page.click("#p-approve")
    expect(page.locator("#p-act .problem").first).to_contain_text("does not fit what was asked")
    expect(page.locator("#p-reason")).to_have_value("Kept.")
    page.wait_for_timeout(FRESH)
    page.click("#p-approve")
    expect(page.locator("#p-head .tag")).to_have_text("Succeeded", timeout=15_000)


def test_a_delegate_decides_for_their_giver_and_every_ban_is_said_in_words(acting, mara, open_page):
    """Kim, of finance herself, and Lee, of no group, decide for Tove Brandt; two of finance have to approve."""
    acting.policy(
        "{id: read-orders, tool: get_order, effect: allow}",
        "{id: two, tool: refund_order, effect: ask, approvers: [{group: finance, count: 2}], expires_in_s: 900}",
    )
    tove = acting.python(f"""
        from datetime import timedelta
        from access.models import Agent
        from access.services.agents import agent_principal_add
        from access.services.delegation import delegation_give
        from access.services.people import group_add, member_add
        from audit.store import clock
        tove = user_id_of("{SECOND[0]}")
        for name in ("Kim", "Lee"):
            row = member_add(actor=admin, email=name.lower() + "@acme.example", name=name + " Osei",
                             roles=["reviewer"], password="{SECOND[1]}")
            if name == "Kim":
                group_add(actor=admin, group="finance", user_id=row.user_id)
            delegation_give(actor=admin, from_user_id=tove, to_user_id=row.user_id,
                            ends_at=clock.now() + timedelta(hours=5), reason="Away.")
        for agent in Agent.objects.filter(tenant_id=tenant):
            agent_principal_add(actor=admin, agent_id=agent.id, user_id=tove)
        print(tove)
    """).strip()
    kim, lee = open_page(), open_page()
    for page, name in ((kim, "kim"), (lee, "lee")):
        acting.sign_in_as(page, f"{name}@acme.example", SECOND[1])

    asked = acting.refund(1250, title="for a delegate")
    address = acting.url(f"/proposals/{asked.proposal_id}/")
    lee.goto(address)
    expect(lee.locator("#p-act")).to_contain_text("You decide for Tove Brandt, until")
    expect(lee.locator("#p-act")).to_contain_text("It is their one vote.")
    kim.goto(address)
    options = kim.locator('select[name="as"] option')
    expect(options.nth(0)).to_have_text("in your own right")
    expect(options.nth(1)).to_contain_text("for Tove Brandt, until")
    kim.select_option('select[name="as"]', tove)
    kim.wait_for_timeout(FRESH)
    kim.click("#p-approve")
    expect(kim.locator("#p-people .votes")).to_contain_text("Kim Osei for Tove Brandt approved")
    expect(kim.locator("#p-people")).to_contain_text("You approved it; one verdict a round.")
    expect(lee.locator("#p-people")).to_contain_text(
        "Kim Osei for Tove Brandt approved it; giver and delegate have one vote."
    )
    page = mara(asked)
    page.click("#p-approve")
    expect(page.locator("#p-head .tag")).to_have_text("Succeeded", timeout=15_000)
    expect(page.locator("#p-people .votes li")).to_have_count(2)
    expect(page.locator("#p-people .votes")).to_contain_text("Mara Lind approved")

    def banned(proposal_id, because):
        lee.goto(acting.url(f"/proposals/{proposal_id}/"))
        expect(lee.locator("#p-people")).to_contain_text(f"You may not decide this for Tove Brandt, because {because}.")
        expect(lee.locator("#p-approve")).to_have_count(0)

    own, acting.agent = acting.agent, acting.stack.agent(on_behalf_of=tove)
    banned(acting.refund(1260, title="for Tove").proposal_id, "the agent acts for Tove Brandt")
    acting.agent = own
    edited = acting.refund(1270, title="edited by Tove")
    made = acting.python(f"""
        from uuid import UUID
        from approvals.core.digest import parse_call_bytes
        from approvals.models import Proposal
        from approvals.services.edit import proposal_edit, proposal_edit_preview
        tove = actor_for_session(user_id_of("{SECOND[0]}"), tenant)
        before = Proposal.objects.get(pk="{edited.proposal_id}")
        edit = dict(actor=tove, proposal_id=UUID("{edited.proposal_id}"), digest="{edited.digest}", round=1,
                    arguments=dict(parse_call_bytes(before.canonical).arguments) | {{"amount": 900}})
        print(proposal_edit(shown=proposal_edit_preview(**edit).digest, reason="Less.", **edit).proposal_id)
    """).strip()
    banned(made, "Tove Brandt edited it")
    acting.python(f"""
        from access.models import Agent
        from access.services.agents import agent_owner_set
        for agent in Agent.objects.filter(tenant_id=tenant):
            agent_owner_set(actor=admin, agent_id=agent.id, user_id=user_id_of("{SECOND[0]}"))
    """)
    banned(acting.refund(1280, title="of Tove's agent").proposal_id, "the agent that asked is owned by Tove Brandt")
