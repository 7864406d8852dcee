"""The admin's pages at real browsers: from "Add a person" to that person's own password and sessions; the policy."""

import re

from playwright.sync_api import expect

WITH_OTHERS = True

FIRST, SECOND = "correct-horse-battery-staple-one", "correct-horse-battery-staple-two"


def come_in(acting, page, email, password):
    page.goto(acting.url("/sign-in/"))
    page.fill("input[name=username]", email)
    page.fill("input[name=password]", password)
    page.click("main button[type=submit]")
    page.wait_for_url(lambda url: "/sign-in/" not in url)


def add_person(acting, page, email, name):
    """The admin adds somebody to finance; the link of the invitation."""
    acting.sign_in(page, "admin", "/access/people/")
    page.get_by_role("link", name="Add a person").click()
    page.get_by_label("E-mail").fill(email)
    page.get_by_label("Name").fill(name)
    page.get_by_label("reviewer").check()
    page.get_by_label("Finance").check()
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("heading", name=f"{name} has a place here")).to_be_visible()
    link = page.locator("#once").text_content()
    assert re.fullmatch(r"http://localhost:\d+/password/new/\?link=[\w-]{43}", link)
    return link


def test_a_person_is_added_sets_a_password_signs_in_changes_it_and_ends_the_other_sessions(acting, open_page):
    email = "ida@acme.example"
    link = add_person(acting, open_page(), email, "Ida Holm")

    first = open_page(timezone_id="Asia/Tokyo")
    first.goto(link)
    expect(first.get_by_role("heading", name="Set your password")).to_be_visible()
    expect(first.locator("main")).to_contain_text(email)
    first.get_by_label("New password").fill("short")
    first.get_by_label("Once more").fill("short")
    first.get_by_role("button", name="Set the password").click()
    expect(first.get_by_role("alert")).to_contain_text("too short")
    first.get_by_label("New password").fill(FIRST)
    first.get_by_label("Once more").fill(FIRST)
    first.get_by_role("button", name="Set the password").click()
    expect(first.locator("main")).to_contain_text("Your password is set. Sign in with it.")
    come_in(acting, first, email, FIRST)
    expect(first.locator("#list")).to_be_visible()
    first.goto(link)
    expect(first.get_by_role("heading", name="This link does not work")).to_be_visible()

    second = open_page()
    come_in(acting, second, email, FIRST)
    first.goto(acting.url("/account/password/"))
    first.get_by_label("Current password").fill(FIRST)
    first.get_by_label("New password", exact=True).fill(SECOND)
    first.get_by_label("New password once more").fill(SECOND)
    first.get_by_role("button", name="Change the password").click()
    expect(first.locator("main")).to_contain_text("Your password is changed")
    second.goto(acting.url("/runs/"))
    expect(second.get_by_role("heading", name="Sign in")).to_be_visible()

    come_in(acting, second, email, SECOND)
    first.get_by_role("link", name="Sessions").click()
    expect(first.locator("tbody tr")).to_have_count(2)
    expect(first.locator("tbody tr").first).to_contain_text("this one")
    expect(first.locator("tbody tr").first).to_contain_text("JST")
    first.get_by_role("button", name="Sign out all others").click()
    expect(first.locator("main")).to_contain_text("1 other session has ended.")
    expect(first.locator("tbody tr")).to_have_count(1)
    second.goto(acting.url("/runs/"))
    expect(second.get_by_role("heading", name="Sign in")).to_be_visible()


def test_the_theme_and_zone_of_a_person_hold_on_every_page(acting, open_page):
    page = open_page(color_scheme="light", timezone_id="Australia/Sydney")
    acting.sign_in(page, "auditor", "/account/")
    expect(page.locator("[data-zone-offer] b")).to_have_text("Australia/Sydney")
    page.locator("[data-zone-offer] button").click()
    expect(page.get_by_label("Time zone")).to_have_value("Australia/Sydney")
    page.get_by_label("Dark", exact=True).check()
    page.get_by_role("button", name="Save").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.goto(acting.url("/runs/"))
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == dark
    assert page.evaluate("document.body.dataset.zone") == "Australia/Sydney"
    page.goto(acting.url("/account/"))
    page.get_by_label("As the system").check()
    page.get_by_role("button", name="Save").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != dark


def test_an_agents_secret_is_shown_once_copied_and_opens_a_session(acting, open_page):
    page = open_page(permissions=["clipboard-read", "clipboard-write"])
    acting.sign_in(page, "admin", "/access/agents/")
    page.get_by_role("link", name="Register an agent").click()
    page.get_by_label("Name", exact=True).fill("Till agent")
    page.get_by_label("Scopes").fill("orders:read")
    page.get_by_role("button", name="Register").click()
    secret = page.locator("#once").text_content()
    page.get_by_role("button", name="Copy").click()
    expect(page.locator("[data-copy]")).to_contain_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == secret
    client_id = page.locator("dd.mono").first.text_content()
    answer = page.request.post(
        acting.url("/api/v1/token"), data={"client_id": client_id, "client_secret": secret}, headers={}
    )
    assert answer.status == 200
    page.get_by_role("link", name="I have kept it").click()
    expect(page.locator("main")).to_contain_text("Open sessions")
    assert secret not in page.content()
    page.goto(acting.url("/access/tokens/"))
    row = page.locator("tbody tr", has_text="Till agent")
    row.locator("summary").click()
    row.get_by_label("Why").fill("only a try")
    row.get_by_role("button", name="Revoke").click()
    expect(page.locator("main")).to_contain_text("no call with a token of this session is accepted from now on")
    expect(page.locator("tbody tr", has_text="Till agent")).to_have_count(0)


def new_draft(acting, page, name):
    acting.sign_in(page, "admin", "/policies/")
    page.get_by_label("What the new draft is about").fill(name)
    page.get_by_role("button", name="New draft").click()
    expect(page.get_by_role("heading", name=name)).to_be_visible()
    return page.locator("#source")


def test_findings_follow_the_typing_and_lead_to_their_lines(acting, open_page):
    page = open_page()
    source = new_draft(acting, page, "As it is typed")
    text = source.input_value()
    expect(page.locator(".gutter")).to_have_text("\n".join(str(at + 1) for at in range(text.count("\n") + 1)))
    source.fill(text + "  - {id: wrong, tool: get_order, effect: alow}\n")
    expect(page.locator("#findings")).to_contain_text("In the way:")
    expect(page.locator("#unsaved")).to_have_text("Not saved yet.")
    page.locator("#findings").get_by_role("link").first.click()
    chosen = page.evaluate("(() => { const s = document.getElementById('source');"
                           " return s.value.slice(s.selectionStart, s.selectionEnd); })()")  # fmt: skip
    assert chosen.strip() == "alow}"  # from the column on
    source.fill(text + "  - {id: right, tool: get_order, effect: deny}\n")
    expect(page.locator("#rules")).to_contain_text("right")
    expect(page.locator("#findings")).not_to_contain_text("In the way:")


def test_the_second_of_two_who_save_keeps_every_word_and_publishes_it_on_top(acting, open_page):
    """S72."""
    first, second = open_page(), open_page(360, 740)
    source = new_draft(acting, first, "For two")
    text = source.input_value()
    acting.sign_in(second, "admin", first.url.removeprefix(acting.url("")))
    mine, theirs = text + "# mine\n", text + "# theirs\n"
    source.fill(theirs)
    first.get_by_role("button", name="Save", exact=True).click()
    expect(first.get_by_role("status").filter(has_text="Saved.")).to_be_visible()
    second.locator("#source").fill(mine)
    second.get_by_role("button", name="Save", exact=True).click()
    expect(second.get_by_role("alert").first).to_contain_text("your text is still here")
    expect(second.locator(".sides .del")).to_contain_text("# theirs")
    expect(second.locator(".sides .add")).to_contain_text("# mine")
    expect(second.locator("#source")).to_have_value(mine)
    assert second.evaluate("document.documentElement.scrollWidth") <= 360
    second.locator("#p-reason").fill("Ticket 12.")
    second.get_by_role("button", name="Publish as version").click()
    expect(second.get_by_role("status").filter(has_text="is in force")).to_be_visible()
    expect(second.locator("main")).to_contain_text("Ticket 12.")
    second.get_by_role("link", name="Its text").click()
    expect(second.locator("pre.code")).to_contain_text("# mine")


def test_these_pages_fit_a_phone(acting, open_page):
    page = open_page(360, 740)
    acting.sign_in(page, "admin")
    for path in (
        "/access/people/", "/access/people/add/", "/access/groups/", "/access/groups/finance/", "/access/agents/",
        "/access/delegations/", "/access/webhook/", "/access/provider/", "/account/delegations/",
        "/access/tokens/", "/access/credentials/", "/access/mail/", "/account/", "/account/password/",
        "/account/sessions/", "/account/security/", "/account/confirm/",
        "/policies/", "/policies/versions/1/", "/policies/compare/?left=0&right=1",
    ):  # fmt: skip
        page.goto(acting.url(path))
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, path
