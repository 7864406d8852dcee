"""The whole round through an organisation's own sign-in in a browser: set by an admin, tried, linked, come in by."""

from playwright.sync_api import expect

from tests.support.oidc_provider import CLIENT, SECRET, Provider

WITH_OTHERS = True


def confirm(acting, page, password, path):
    page.goto(acting.url(f"/account/confirm/?next={path}"))
    page.get_by_label("Password", exact=True).fill(password)
    page.get_by_role("button", name="Confirm", exact=True).click()
    page.wait_for_url(acting.url(path))


def test_an_admin_sets_a_provider_a_reviewer_links_their_account_and_comes_in_through_it(acting, open_page):
    with Provider(form=True) as provider:
        admin = open_page()
        acting.sign_in(admin, "admin", "/access/provider/")
        confirm(acting, admin, acting.stack.person("admin")[1], "/access/provider/")
        admin.get_by_label("Issuer").fill(provider.issuer)
        admin.get_by_label("Client id").fill(CLIENT)
        admin.get_by_label("Client secret").fill(SECRET)
        email, password = acting.stack.person("reviewer")
        admin.get_by_label("Domains of your e-mail addresses").fill(email.split("@")[1])
        admin.get_by_role("button", name="Save").click()
        expect(admin.locator("main")).to_contain_text("Saved.")
        admin.get_by_role("button", name="Try the provider").click()
        expect(admin.locator("main")).to_contain_text("It takes the client id and the secret.")
        assert SECRET not in admin.content()

        page = open_page(360, 740)
        acting.sign_in(page, "reviewer", "/account/security/")
        confirm(acting, page, password, "/account/security/")
        page.get_by_role("button", name="Link my account").click()
        page.get_by_role("link", name="Go on to 127.0.0.1").click()
        page.locator("#agree").click()
        expect(page.locator("main")).to_contain_text("Your account is linked.")
        expect(page.locator("main")).to_contain_text(provider.subject)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360

        door = open_page(360, 740)
        door.goto(acting.url("/sign-in/?next=/runs/"))
        door.fill("input[name=username]", email)
        door.get_by_role("button", name="Use your organisation's own sign-in").click()
        assert door.evaluate("document.documentElement.scrollWidth") <= 360
        door.get_by_role("link", name="Acme").click()
        door.locator("#agree").click()
        door.wait_for_url(acting.url("/runs/"))
        expect(door.locator("#list, main").first).to_be_visible()
        door.goto(acting.url("/account/confirm/?next=/account/sessions/"))
        door.get_by_role("button", name="Confirm at 127.0.0.1").click()
        door.get_by_role("link", name="Go on to 127.0.0.1").click()
        door.locator("#agree").click()
        door.wait_for_url(acting.url("/account/sessions/"))
        expect(door.locator("main")).to_contain_text("You confirmed that it is you.")

        admin.get_by_role("button", name="Turn it off").click()
        expect(admin.locator("main")).to_contain_text("Turned off")
        door.goto(acting.url("/runs/"))
        expect(door.get_by_role("heading", name="Sign in")).to_be_visible()
