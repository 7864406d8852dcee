"""Who gives rights: admins in a session of their own, and our own command line."""

from dataclasses import replace

import pytest

from access.core.rights import is_admin, require_admin
from audit.core.actor import SYSTEM, Actor
from audit.core.refusal import Forbidden

ADMIN = Actor(
    kind="person", id="p", name="Ida", tenant_id="t", roles=frozenset({"admin"}), groups=frozenset(),
    scopes=frozenset(), via="session",
)  # fmt: skip


@pytest.mark.parametrize("actor", [ADMIN, SYSTEM("bootstrap", "t")])
def test_an_admin_and_our_own_process_may(actor):
    require_admin(actor)
    assert is_admin(actor)


@pytest.mark.parametrize(
    "actor",
    [
        replace(ADMIN, roles=frozenset({"reviewer", "operator", "auditor"})),
        replace(ADMIN, roles=frozenset()),
        replace(ADMIN, kind="agent", via="token"),
        replace(ADMIN, via="token"),
    ],
)
def test_nobody_else_may_and_is_told_what_is_missing(actor):
    with pytest.raises(Forbidden) as refusal:
        require_admin(actor)
    assert (refusal.value.code, refusal.value.missing) == ("ROLE_MISSING", ["admin"])
    assert not is_admin(actor)
