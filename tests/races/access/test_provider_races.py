"""Two answers of a provider at once, and a link that ends while its owner comes in."""

from access.core.confirm import session_name
from access.models import BrowserSession, IdentityLink, IdentityProvider, ProviderRound
from access.services.provider import identity_end
from access.services.sessions import session_open
from access.store import provider_rounds
from audit.core.refusal import Forbidden
from audit.store import clock
from tests.support import factories


def provider_of(tenant):
    return IdentityProvider.objects.create(
        tenant_id=tenant.id, issuer="https://login.example.org", client_id="c", ciphertext=b"", changed_at=clock.now(),
        changed_by_name="Ada",
    )  # fmt: skip


def test_of_ten_answers_that_come_at_once_one_is_judged(committed_db, race):
    begun = provider_rounds.make(
        provider_of(factories.tenant()), purpose="sign-in", user_id=None, browser="b", next_path="/"
    )
    found = race(lambda _: provider_rounds.take(begun.state), 10)
    assert sum(isinstance(one, ProviderRound) for one in found) == 1
    assert found.count(None) == 9


def test_a_session_that_begins_while_its_link_ends_has_ended_or_never_began(committed_db, race):
    tenant = factories.tenant()
    issuer = provider_of(tenant).issuer
    person = factories.person(tenant)
    for number in range(5):
        link = IdentityLink.objects.create(
            tenant_id=tenant.id, user_id=person.user_id, issuer=issuer, subject="anna", created_at=clock.now()
        )
        key = session_name(f"session {number}") * 2

        def act(i, link=link, key=key):
            if i:
                return identity_end(actor=tenant.admin.actor, membership_id=person.membership_id)
            return session_open(actor=person.actor, session_key=key, address="", browser="", link_id=str(link.id))

        came, ended = race(act, 2)
        assert ended is True
        if isinstance(came, Exception):
            assert isinstance(came, Forbidden), came
        assert not BrowserSession.objects.filter(link=link, ended_at=None).exists()
