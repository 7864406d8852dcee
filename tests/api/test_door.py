"""What every route refuses before any service hears of it: bodies, content types, methods, callers (S83, S87)."""

import json
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client

from audit.core.jsondoor import BODY_LIMIT
from audit.core.refusal import Refusal
from tests.api.client import bearer, browser, error
from tests.support import factories

PATH = "/api/v1/token"
pytestmark = pytest.mark.django_db


def post(body: bytes | str, content_type: str = "application/json", **more: Any) -> Any:
    return Client().post(PATH, body, content_type=content_type, **more)


GOOD = json.dumps({"client_id": "agt_unknown", "client_secret": "x"}).encode()


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{", 422, "JSON_SYNTAX"),
        (b"{'client_id': 1}", 422, "JSON_SYNTAX"),
        (b'{"a":1}{"a":1}', 422, "JSON_SYNTAX"),
        (b'\xef\xbb\xbf{"a":1}', 422, "JSON_SYNTAX"),
        (b'{"client_id":"a","client_id":"b"}', 422, "JSON_DUPLICATE_KEY"),
        (b'{"a":NaN}', 422, "JSON_NOT_FINITE"),
        (b'{"a":Infinity}', 422, "JSON_NOT_FINITE"),
        (b'{"a":9007199254740993}', 422, "JSON_NUMBER_RANGE"),
        (b'{"a":19.99000000000000000001}', 422, "JSON_NUMBER_INEXACT"),
        (b'{"a":1e400}', 422, "JSON_NUMBER_RANGE"),
        (b'{"a":' + b"1" * 100_000 + b"}", 422, "JSON_NUMBER_RANGE"),
        (b'{"a":"\\ud800"}', 422, "JSON_SURROGATE"),
        (b'{"a":"\\u0000"}', 422, "JSON_NUL"),
        (b'{"a":"\xff"}', 422, "JSON_NOT_UTF8"),
        (b'{"a":' + b"[" * 5000 + b"]" * 5000 + b"}", 422, "JSON_DEPTH"),
        (b'{"a":[' + b"0," * 20_000 + b"0]}", 422, "JSON_TOO_MANY_MEMBERS"),
        (b'{"a":"' + b"x" * BODY_LIMIT + b'"}', 413, "BODY_TOO_LARGE"),
        (b" " * (BODY_LIMIT + 1), 413, "BODY_TOO_LARGE"),
        (b"x" * (5 * BODY_LIMIT), 413, "BODY_TOO_LARGE"),
    ],
)
def test_what_the_door_does_not_take_is_a_clean_refusal(body, status, code):
    response = post(body)
    assert (response.status_code, error(response)["code"]) == (status, code)
    if status == 422:
        assert "Place:" in error(response)["message"] or "byte" in error(response)["message"]


def test_a_body_of_exactly_the_limit_is_read():
    padding = BODY_LIMIT - len(GOOD)
    assert error(post(GOOD + b" " * padding))["code"] == "CLIENT_REFUSED"
    assert error(post(GOOD + b" " * (padding + 1)))["code"] == "BODY_TOO_LARGE"


@pytest.mark.parametrize(
    "content_type",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/xml",
     "application/json5", "text/json", "application/octet-stream", "x", "application/json, text/plain"],
)  # fmt: skip
def test_another_content_type_is_refused_in_words(content_type):
    response = post(GOOD, content_type)
    assert response.status_code == 415
    assert "application/json" in error(response)["message"]


@pytest.mark.parametrize(
    "content_type", ["application/json; charset=utf-8", "Application/JSON", "application/json;x=y"]
)
def test_parameters_of_the_content_type_change_nothing(content_type):
    assert error(post(GOOD, content_type))["code"] == "CLIENT_REFUSED"


@pytest.mark.parametrize("accept", ["text/html", "application/xml", "*/*", "nonsense", ""])
def test_the_answer_is_json_whatever_is_accepted(accept):
    assert error(post(GOOD, headers={"Accept": accept}))["code"] == "CLIENT_REFUSED"


@pytest.mark.parametrize(
    "header",
    [
        "Bearer",
        "Bearer ",
        "Basic YTpi",
        "Token x",
        "bearer",
        "x",
        "Bearer a.b.c",
        "Bearer a b",
        "Bearer a.b.c,Bearer d.e.f",
    ],
)
def test_a_bad_authorization_header_is_refused_and_never_overlooked_for_a_session(header):
    client = browser(factories.tenant().admin)
    response = client.post(f"{PATH}/revoke", {}, content_type="application/json", headers={"Authorization": header})
    assert response.status_code == 401
    assert error(response)["code"] == "TOKEN_INVALID"
    assert response.headers["WWW-Authenticate"].startswith("Bearer")


def test_a_token_in_the_address_or_the_body_opens_nothing():
    token = factories.agent(factories.tenant()).token()
    response = Client().post(f"{PATH}/revoke?access_token={token}", {}, content_type="application/json")
    assert response.status_code == 401


def test_a_session_without_its_csrf_token_changes_nothing_and_with_it_does():
    acme = factories.tenant()
    client = browser(acme.admin, csrf=True)
    body = {"session_id": factories.agent(acme).pair().session_id}
    response = client.post(f"{PATH}/revoke", body, content_type="application/json")
    assert (response.status_code, error(response)["code"]) == (403, "CSRF_FAILED")
    client.cookies["csrftoken"] = "a" * 32
    for wrong in ("b" * 32, "", "a"):
        response = client.post(f"{PATH}/revoke", body, content_type="application/json", headers={"X-CSRFToken": wrong})
        assert (response.status_code, error(response)["code"]) == (403, "CSRF_FAILED")
    response = client.post(
        f"{PATH}/revoke", body, content_type="application/json",
        headers={"X-CSRFToken": "a" * 32, "Origin": "https://evil.example"},
    )  # fmt: skip
    assert (response.status_code, error(response)["code"]) == (403, "CSRF_FAILED")
    response = client.post(f"{PATH}/revoke", body, content_type="application/json", headers={"X-CSRFToken": "a" * 32})
    assert response.status_code == 200


def test_a_token_needs_no_csrf_token():
    pair = factories.agent(factories.tenant()).pair()
    client = Client(enforce_csrf_checks=True)
    response = client.post(f"{PATH}/revoke", {}, content_type="application/json", headers=bearer(pair.access_token))
    assert response.status_code == 200


@pytest.mark.parametrize("path", ["/api/", "/api/v2/runs", "/api/v1"])
def test_an_address_beside_the_api_is_answered_in_json_too(path):
    response = Client().get(path, follow=True)
    assert (response.status_code, error(response)["code"]) == (404, "NOT_FOUND")


@pytest.mark.parametrize("path", ["", "nonsense", "token/", "token/nonsense", "runs/nonsense/x/y/z", "../admin"])
def test_an_address_that_no_route_takes_is_answered_in_json(path):
    response = Client().get(f"/api/v1/{path}")
    assert (response.status_code, error(response)["code"]) == (404, "NOT_FOUND")
    assert error(Client().post(f"/api/v1/{path}", b"{", content_type="application/json"))["code"] == "NOT_FOUND"


def break_with(monkeypatch: pytest.MonkeyPatch, fault: Exception) -> Any:
    def broken(**_: Any) -> None:
        raise fault

    monkeypatch.setattr("access.api.views.token_exchange", broken)
    return post(GOOD)


def test_a_fault_of_ours_shows_a_reference_and_nothing_else(monkeypatch, caplog):
    response = break_with(monkeypatch, ZeroDivisionError("the secret is hunter22"))
    assert response.status_code == 500
    found = error(response)
    assert (found["code"], found["outcome"], found["retry_safe"]) == ("INTERNAL", "unknown", False)
    assert "hunter22" not in response.content.decode()
    assert "ZeroDivision" not in response.content.decode()
    assert found["detail"]["reference"] in found["message"]
    assert f"Fault {found['detail']['reference']}" in caplog.text
    assert "ZeroDivisionError" in caplog.text, "the operator's log has the traceback"


def test_a_database_that_is_away_is_said_so(monkeypatch):
    response = break_with(monkeypatch, OperationalError("server closed the connection: password=hunter22"))
    assert response.status_code == 503
    found = error(response)
    assert (found["code"], found["outcome"], found["retry_safe"]) == ("UNAVAILABLE", "unknown", True)
    assert response.headers["Retry-After"] == str(found["retry_after"]) == "5"
    assert "hunter22" not in response.content.decode()


def test_a_refusal_keeps_everything_it_says(monkeypatch):
    refusal = Refusal(
        "The tool rests for a while.", code="CIRCUIT_OPEN", status=503, missing=["x"], retry_after=7,
        alternatives=["get_order"], outcome="committed", retry_safe=True, detail={"a": [1]},
    )  # fmt: skip
    response = break_with(monkeypatch, refusal)
    assert response.status_code == 503
    assert response.headers["Retry-After"] == "7"
    assert error(response) == {
        "code": "CIRCUIT_OPEN", "message": "The tool rests for a while.", "missing": ["x"], "retry_after": 7,
        "alternatives": ["get_order"], "outcome": "committed", "retry_safe": True, "detail": {"a": [1]},
    }  # fmt: skip


def test_no_answer_may_be_kept_by_a_cache():
    acme = factories.tenant()
    agent = factories.agent(acme)
    good = Client().post(
        PATH, {"client_id": agent.client_id, "client_secret": agent.secret}, content_type="application/json"
    )
    for response in (good, post(GOOD), post(b"{"), Client().get("/api/v1/nonsense")):
        assert "no-store" in response.headers["Cache-Control"]
