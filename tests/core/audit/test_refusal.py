"""Refusals in the form of E3."""

import json
import pickle

import pytest

from audit.core.refusal import (
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    Refusal,
    TooLarge,
    Unauthenticated,
    Unavailable,
)


@pytest.mark.parametrize(
    ("kind", "code", "status"),
    [
        (NotFound, "NOT_FOUND", 404),
        (Forbidden, "PERMISSION_DENIED", 403),
        (Conflict, "CONFLICT", 409),
        (Invalid, "INVALID", 422),
        (Unauthenticated, "UNAUTHENTICATED", 401),
        (TooLarge, "BODY_TOO_LARGE", 413),
        (Unavailable, "UNAVAILABLE", 503),
    ],
)
def test_every_kind_has_its_code_status_and_a_whole_sentence(kind, code, status):
    refusal = kind()
    assert (refusal.code, refusal.status) == (code, status)
    assert refusal.message.endswith(".")
    assert isinstance(refusal, Refusal)


def test_the_form_holds_every_field_that_a_model_reads():
    refusal = Forbidden("You need refunds:write.", missing=["refunds:write"], alternatives=["get_order"])
    assert refusal.as_dict() == {
        "code": "PERMISSION_DENIED",
        "message": "You need refunds:write.",
        "missing": ["refunds:write"],
        "retry_after": None,
        "alternatives": ["get_order"],
        "outcome": "none",
        "retry_safe": False,
    }
    assert json.loads(json.dumps(Invalid(detail={"path": "/a"}).as_dict()))["detail"] == {"path": "/a"}


def test_a_foreign_id_and_an_unknown_id_are_told_in_the_same_words():
    assert NotFound().as_dict() == NotFound().as_dict()
    assert NotFound().message == NotFound.default_message


def test_only_what_is_unavailable_may_be_sent_again_and_says_when():
    assert (Unavailable().retry_safe, Unavailable().retry_after) == (True, 5)
    assert Unavailable(retry_after=30, outcome="unknown", retry_safe=False).as_dict()["outcome"] == "unknown"
    assert not Conflict().retry_safe


def test_a_refusal_does_not_share_its_lists_with_the_caller_or_its_form():
    missing = ["a"]
    refusal = Forbidden(missing=missing)
    missing.append("b")
    refusal.as_dict()["missing"].append("c")
    assert refusal.missing == ["a"]


def test_a_refusal_survives_the_way_between_processes():
    refusal = Unavailable("Later.", code="BROKER", retry_after=7, detail={"a": [1]}, outcome="unknown")
    again = pickle.loads(pickle.dumps(refusal))
    assert type(again) is Unavailable
    assert again.as_dict() == refusal.as_dict()
    assert (again.status, str(again)) == (503, "BROKER: Later.")
