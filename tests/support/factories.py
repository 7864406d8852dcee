"""Organisations, people and agents for tests, made through the real services."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count

from access.selectors.actors import actor_for_session
from access.services import agents, bootstrap, people, token
from audit.core.actor import Actor
from audit.core.refusal import Conflict

PASSWORD = "correct-horse-battery-staple"
_number = count(1)


@dataclass(frozen=True)
class Person:
    """A member. `actor` is read anew each time, with the rights of that moment."""

    tenant_id: str
    user_id: str
    membership_id: str
    email: str
    name: str
    password: str = PASSWORD

    @property
    def actor(self) -> Actor:
        found = actor_for_session(self.user_id, self.tenant_id)
        assert found is not None, f"{self.name} is no active member"
        return found


@dataclass(frozen=True)
class Tenant:
    """An organisation with its first admin."""

    id: str
    slug: str
    name: str
    admin: Person


@dataclass(frozen=True)
class Agent:
    """A registered agent with its secret."""

    tenant_id: str
    id: str
    name: str
    client_id: str
    secret: str

    def pair(self, *, on_behalf_of: str | None = None, scopes: Sequence[str] | None = None) -> token.TokenPair:
        """A new token session."""
        return token.token_issue(
            client_id=self.client_id, client_secret=self.secret, scopes=scopes, on_behalf_of=on_behalf_of
        )

    def token(self, *, on_behalf_of: str | None = None, scopes: Sequence[str] | None = None) -> str:
        """An access token of a new session."""
        return self.pair(on_behalf_of=on_behalf_of, scopes=scopes).access_token

    def actor(self, *, on_behalf_of: str | None = None, scopes: Sequence[str] | None = None) -> Actor:
        """What the doors make of such a token."""
        return token.token_verify(raw=self.token(on_behalf_of=on_behalf_of, scopes=scopes))


def tenant(slug: str = "") -> Tenant:
    """A new organisation."""
    slug = slug or f"tenant-{next(_number)}"
    made, admin = bootstrap.tenant_bootstrap(
        slug=slug,
        name=slug.title(),
        email=f"admin@{slug}.example",
        admin_name=f"Admin of {slug}",
        password=PASSWORD,
        additional=True,
    )
    return Tenant(made.id, made.slug, made.name, _person(made.id, admin))


def person(
    tenant: Tenant, roles: Iterable[str] = ("reviewer",), groups: Iterable[str] = (), name: str = "", email: str = ""
) -> Person:
    """A new member; groups that do not exist yet are made."""
    number = next(_number)
    row = people.member_add(
        actor=tenant.admin.actor,
        email=email or f"person-{number}@{tenant.slug}.example",
        name=name or f"Person {number}",
        roles=roles,
        password=PASSWORD,
    )
    for slug in groups:
        group(tenant, slug)
        people.group_add(actor=tenant.admin.actor, group=slug, user_id=row.user_id)
    return _person(tenant.id, row)


def group(tenant: Tenant, slug: str) -> None:
    """The group, if it is not there yet."""
    try:
        people.group_create(actor=tenant.admin.actor, slug=slug, name=slug.title())
    except Conflict:
        return


def agent(
    tenant: Tenant,
    *,
    scopes: Iterable[str] = ("orders:read", "refunds:write"),
    acts_for: Iterable[Person] = (),
    owner: Person | None = None,
    name: str = "",
) -> Agent:
    """A new agent that may act for the people given; its owner is the organisation's admin unless said otherwise."""
    row, secret = agents.agent_create(
        actor=tenant.admin.actor,
        name=name or f"Agent {next(_number)}",
        scopes=scopes,
        owner_user_id=(owner or tenant.admin).user_id,
        principals=[human.user_id for human in acts_for],
    )
    return Agent(tenant.id, row.id, row.name, row.client_id, secret)


def _person(tenant_id: str, row: people.MemberRow) -> Person:
    return Person(tenant_id, row.user_id, row.membership_id, row.email, row.name)
