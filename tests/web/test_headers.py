"""What every page says to browsers and caches, and what people read when something went wrong."""

import pytest
from django.conf import settings
from django.test import Client

from tests.support import factories

NOBODYS = "6a2f41a3-c54c-4ad7-8d09-6f5d5a7ff2d1"
STRICT = {
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "font-src 'self'",
    "media-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
}


@pytest.fixture
def browser(acme, signed_in):
    return signed_in(factories.person(acme, roles=["reviewer", "operator"]))


@pytest.mark.parametrize("path", ["/", "/sign-in/", "/runs/", "/no/such/page/"])
def test_every_page_has_a_strict_policy_for_scripts_styles_and_frames(browser, path):
    answer = browser.get(path)
    assert set(answer["Content-Security-Policy"].split("; ")) == STRICT
    assert answer["X-Frame-Options"] == "DENY"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Referrer-Policy"] == "same-origin"


@pytest.mark.parametrize("path", ["/", "/sign-in/", "/runs/", "/no/such/page/"])
def test_no_cache_keeps_a_page(browser, path):
    assert {part.strip() for part in browser.get(path)["Cache-Control"].split(",")} >= {"no-store", "private"}


@pytest.mark.parametrize("path", ["/", "/runs/", "/runs/6a2f41a3-c54c-4ad7-8d09-6f5d5a7ff2d1/"])
def test_a_page_needs_somebody(client, db, path):
    answer = client.get(path)
    assert answer.status_code == 302
    assert answer["Location"].startswith("/sign-in/?next=")


@pytest.mark.parametrize("path", ["/", "/runs/"])
def test_a_fragment_without_a_session_sends_the_whole_page_to_sign_in(client, db, path):
    answer = client.get(path, headers={"HX-Request": "true"})
    assert answer.status_code == 401
    assert answer["HX-Redirect"].startswith("/sign-in/?next=")
    assert answer.content == b""


@pytest.mark.parametrize(
    "path", ["/no/such/page/", "/proposals/not-an-id/", "/runs/6a2f41a3-c54c-4ad7-8d09-6f5d5a7ff2d1/"]
)
def test_nothing_there_is_said_in_the_same_words_for_every_address(browser, path):
    answer = browser.get(path)
    assert answer.status_code == 404
    assert "Nothing is at this address for you." in answer.content.decode()


def test_a_refusal_inside_a_page_is_a_fragment_in_its_place_for_problems(browser):
    answer = browser.get("/runs/6a2f41a3-c54c-4ad7-8d09-6f5d5a7ff2d1/", headers={"HX-Request": "true"})
    assert (answer.status_code, answer["HX-Retarget"]) == (404, "#problem")
    assert "<html" not in answer.content.decode()


@pytest.mark.parametrize("path", ["/api/no-such-thing", "/api/v1/no-such-thing/"])
def test_the_api_says_the_same_in_json(client, db, path):
    answer = client.get(path)
    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "NOT_FOUND"


def test_a_host_that_is_not_ours_is_refused_in_words(client, db):
    answer = client.get("/sign-in/", headers={"Host": "evil.example"})
    assert answer.status_code == 400
    assert "cannot be read" in answer.content.decode()


def test_a_fault_of_ours_is_a_sentence_and_never_a_trace(acme, monkeypatch):
    def broken(*args, **kwargs):
        raise RuntimeError("secret detail")

    monkeypatch.setattr("access.web.views.person_sign_in", broken)
    answer = Client(raise_request_exception=False).post("/sign-in/", {"username": "a", "password": "b"})
    assert answer.status_code == 500
    text = answer.content.decode()
    assert "Something broke on our side" in text
    assert "secret detail" not in text
    assert "Traceback" not in text


def test_a_fault_inside_a_page_is_a_sentence_in_its_place_for_problems(acme, browser, monkeypatch):
    def broken(*args, **kwargs):
        raise RuntimeError("secret detail")

    monkeypatch.setattr("approvals.web.views.listed", broken)
    browser.raise_request_exception = False
    answer = browser.get("/", headers={"HX-Request": "true"})
    assert (answer.status_code, answer["HX-Retarget"]) == (500, "#problem")
    assert "<html" not in answer.content.decode()
    assert "secret detail" not in answer.content.decode()


def test_a_form_older_than_the_session_changes_nothing_and_gives_the_typed_text_back(acme, signed_in):
    browser = signed_in(factories.person(acme), enforce_csrf_checks=False)
    browser.handler.enforce_csrf_checks = True
    answer = browser.post(f"/proposals/{NOBODYS}/decide/", {"reason": "not <b>our</b> parcel"})
    assert answer.status_code == 403
    text = answer.content.decode()
    assert "not &lt;b&gt;our&lt;/b&gt; parcel" in text
    assert 'href="/proposals/6a2f41a3-c54c-4ad7-8d09-6f5d5a7ff2d1/"' in text


def test_cookies_of_the_session_are_out_of_reach_of_scripts():
    assert settings.SESSION_COOKIE_HTTPONLY
    assert settings.CSRF_COOKIE_HTTPONLY
