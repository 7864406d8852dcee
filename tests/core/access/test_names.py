"""The shapes of names: one way to write each, and nobody looks like somebody else."""

import pytest

from access.core.names import email_of, name_of, roles_of, scopes_of, slug_of
from audit.core.refusal import Invalid


@pytest.mark.parametrize("text", ["Ida@Example.ORG", " ida@example.org ", "ida@example.org"])
def test_an_address_has_one_form_whatever_its_case(text):
    assert email_of(text) == "ida@example.org"


@pytest.mark.parametrize(
    "text",
    ["", "ida", "ida@", "@example.org", "i da@example.org", "ıda@example.org", "ida@exämple.org", "a@b@c.org",
     "ida@example..org", "ida\u200b@example.org", "ida@example.org\nBcc: x@y.org", "x" * 65 + "@example.org"],
)  # fmt: skip
def test_what_is_no_plain_address_is_refused(text):
    with pytest.raises(Invalid) as refusal:
        email_of(text)
    assert refusal.value.code == "EMAIL_INVALID"


@pytest.mark.parametrize("text", ["acme", "a", "acme-2", "0", "a" * 63])
def test_a_slug_stays_as_it_is(text):
    assert slug_of(text) == text


@pytest.mark.parametrize("text", ["", "Acme", "-acme", "acme-", "a b", "a/b", "acme\n", "a" * 64, "ä"])
def test_what_is_no_slug_is_refused(text):
    with pytest.raises(Invalid) as refusal:
        slug_of(text)
    assert refusal.value.code == "SLUG_INVALID"


def test_a_name_is_normalised_and_trimmed():
    assert name_of("  Zoe\u0308 ") == "Zoë"


@pytest.mark.parametrize("text", ["", "   ", "a\u202eb", "a\u200bb", "a\nb", "a\0b", "\ud800", "x" * 201])
def test_a_name_that_hides_something_is_refused(text):
    with pytest.raises(Invalid) as refusal:
        name_of(text)
    assert refusal.value.code == "NAME_INVALID"


def test_scopes_are_ordered_and_named_once():
    assert scopes_of(["refunds:write", "orders:read", "refunds:write"]) == ["orders:read", "refunds:write"]
    assert scopes_of([]) == []


@pytest.mark.parametrize("scope", ["", "*", "Refunds:write", "refunds:", ":write", "a:b:c", "a b", "x" * 50, "a\n"])
def test_what_is_no_scope_is_refused(scope):
    with pytest.raises(Invalid) as refusal:
        scopes_of(["orders:read", scope])
    assert refusal.value.code == "SCOPE_INVALID"


def test_roles_come_in_their_order():
    assert roles_of(["auditor", "reviewer", "auditor"]) == ["reviewer", "auditor"]


@pytest.mark.parametrize("role", ["owner", "Admin", "superuser"])
def test_an_unknown_role_is_refused_and_named(role):
    with pytest.raises(Invalid, match=role) as refusal:
        roles_of(["admin", role])
    assert refusal.value.code == "ROLE_UNKNOWN"
