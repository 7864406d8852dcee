"""People and groups of an organisation, as its admins see them."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery

from access.core.needs import GroupNeed, loss_words, need_words
from access.core.rights import require_admin
from access.models import Agent, AgentPrincipal, BrowserSession, Group, GroupMember, Membership
from access.signals import needs_of
from audit.core.actor import Actor
from audit.core.refusal import NotFound

PAGE = 100
DECIDER = "reviewer"
"""The role without which a member of a group decides nothing."""
UNKNOWN_NEEDS = "What waits for groups cannot be read now, so it is not known whether something waits for theirs."


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonRow:
    """One member. `invited`: has never set a password. `signed_in_at` is their last sign-in to this organisation."""

    membership_id: str
    user_id: str
    name: str
    email: str
    roles: tuple[str, ...]
    groups: tuple[tuple[str, str], ...]
    active: bool
    invited: bool
    signed_in_at: datetime | None
    added_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonDetail:
    """One member with what hangs on them. `owns` and `acted_for_by` are (agent id, name) pairs.

    `if_off` says what switching the membership off, or taking the role reviewer, would mean; `if_left` what leaving
    each group would (by slug).
    """

    row: PersonRow
    is_last_admin: bool
    open_sessions: int
    owns: tuple[tuple[str, str], ...]
    acted_for_by: tuple[tuple[str, str], ...]
    other_groups: tuple[tuple[str, str], ...]
    if_off: tuple[str, ...]
    if_left: dict[str, str]
    elsewhere: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSummary:
    """One group. `deciders` of its `members` are active reviewers; `needed` says what depends on it, `lacking` why that
    cannot be decided now ("" if it can)."""

    slug: str
    name: str
    members: int
    deciders: int
    needed: str
    lacking: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupDetail:
    """One group with its people, those who could join, and what losing each would mean (by membership id)."""

    summary: GroupSummary
    people: tuple[PersonRow, ...]
    others: tuple[tuple[str, str], ...]
    if_left: dict[str, str]


def people_page(actor: Actor, *, q: str = "", page: int = 1) -> tuple[list[PersonRow], bool]:
    """(members whose name or address contains `q`, active ones first, by name; whether there are more pages).

    Raises Forbidden to whoever is no admin.
    """
    require_admin(actor)
    found = _members(actor)
    if q.strip():
        words = q.strip().replace("\0", "")[:200]
        found = found.filter(Q(user__name__icontains=words) | Q(user__email__icontains=words))
    start = (max(page, 1) - 1) * PAGE
    rows = list(found.order_by("-is_active", "user__name", "id")[start : start + PAGE + 1])
    return [_person(row) for row in rows[:PAGE]], len(rows) > PAGE


def person_detail(actor: Actor, membership_id: UUID) -> PersonDetail:
    """One member. Raises Forbidden, NotFound."""
    require_admin(actor)
    member = _members(actor).filter(id=membership_id).first()
    if member is None:
        raise NotFound
    row = _person(member)
    admins = Membership.objects.filter(
        tenant_id=actor.tenant_id, is_active=True, roles__contains=["admin"], user__is_active=True
    ).values_list("id", flat=True)[:2]
    needs, known = needs_of(UUID(actor.tenant_id))
    decides = DECIDER in row.roles and row.active
    deciders = _deciders(actor)
    losses = {
        slug: loss_words(slug, deciders.get(slug, 0) - 1, needs.get(slug, GroupNeed())) if decides else ""
        for slug, _ in row.groups
    }
    unknown = () if known or not row.groups else (UNKNOWN_NEEDS,)
    owns = Agent.objects.filter(owner=member).order_by("name").values_list("id", "name")
    acted = AgentPrincipal.objects.filter(membership=member).order_by("agent__name")
    mine = {slug for slug, _ in row.groups}
    groups = Group.objects.filter(tenant_id=actor.tenant_id).order_by("name").values_list("slug", "name")
    warnings = tuple(words for words in losses.values() if words) + unknown
    return PersonDetail(
        row=row,
        is_last_admin=list(admins) == [member.id],
        open_sessions=BrowserSession.objects.filter(
            user_id=member.user_id, tenant_id=actor.tenant_id, ended_at=None
        ).count(),
        owns=tuple((str(key), name) for key, name in owns),
        acted_for_by=tuple((str(key), name) for key, name in acted.values_list("agent_id", "agent__name")),
        other_groups=tuple((slug, name) for slug, name in groups if slug not in mine),
        if_off=warnings,
        if_left=losses,
        elsewhere=Membership.objects.filter(user_id=member.user_id).exclude(id=member.id).exists(),
    )


def groups_of(actor: Actor) -> list[GroupSummary]:
    """The organisation's groups, by name. Raises Forbidden."""
    require_admin(actor)
    needs, _ = needs_of(UUID(actor.tenant_id))
    deciders = _deciders(actor)
    groups = Group.objects.filter(tenant_id=actor.tenant_id).annotate(number=Count("members")).order_by("name", "slug")
    rows = [_summary(group, deciders, needs.get(group.slug, GroupNeed())) for group in groups]
    known = {row.slug for row in rows}
    # A rule may name a group that nobody has made: nothing that it holds could ever be granted.
    rows += [
        GroupSummary(
            slug=slug, name="", members=0, deciders=0, needed=need_words(need),
            lacking="There is no such group. Make it and put people into it, or change the policy.",
        )
        for slug, need in sorted(needs.items()) if slug not in known
    ]  # fmt: skip
    return rows


def group_detail(actor: Actor, slug: str) -> GroupDetail:
    """One group. Raises Forbidden, NotFound."""
    require_admin(actor)
    groups = Group.objects.filter(tenant_id=actor.tenant_id).annotate(number=Count("members"))
    group = groups.filter(slug=slug).first()
    if group is None:
        raise NotFound
    needs, _ = needs_of(UUID(actor.tenant_id))
    need = needs.get(slug, GroupNeed())
    deciders = _deciders(actor)
    inside = [_person(row) for row in _members(actor).filter(group_places__group=group).order_by("user__name", "id")]
    outside = _members(actor).filter(is_active=True).exclude(group_places__group=group).order_by("user__name", "id")
    left = deciders.get(slug, 0)
    return GroupDetail(
        summary=_summary(group, deciders, need),
        people=tuple(inside),
        others=tuple((str(row.user_id), f"{row.user.name} ({row.user.email})") for row in outside[:1000]),
        if_left={
            row.membership_id: loss_words(slug, left - 1, need) if row.active and DECIDER in row.roles else ""
            for row in inside
        },
    )


def group_choices(actor: Actor) -> list[tuple[str, str]]:
    """(slug, name) of every group, by name. Raises Forbidden."""
    require_admin(actor)
    return list(Group.objects.filter(tenant_id=actor.tenant_id).order_by("name", "slug").values_list("slug", "name"))


def member_choices(actor: Actor) -> list[tuple[str, str]]:
    """(user id, name and address) of the active members, by name. Raises Forbidden."""
    require_admin(actor)
    found = Membership.objects.filter(tenant_id=actor.tenant_id, is_active=True, user__is_active=True)
    rows = found.order_by("user__name", "user__email").values_list("user_id", "user__name", "user__email")
    return [(str(user_id), f"{name} ({email})") for user_id, name, email in rows]


def _members(actor: Actor) -> "QuerySet[Membership]":
    # Only sign-ins to this organisation: when somebody works in another one is not this one's affair.
    last = (
        BrowserSession.objects.filter(user_id=OuterRef("user_id"), tenant_id=OuterRef("tenant_id"))
        .order_by("-started_at")
        .values("started_at")[:1]
    )
    return (
        Membership.objects.filter(tenant_id=actor.tenant_id)
        .select_related("user")
        .prefetch_related("group_places__group")
        .annotate(signed_in_at=Subquery(last))
    )


def _deciders(actor: Actor) -> dict[str, int]:
    """How many active reviewers each group has."""
    active = GroupMember.objects.filter(
        group__tenant_id=actor.tenant_id, membership__is_active=True, membership__user__is_active=True,
        membership__roles__contains=[DECIDER],
    )  # fmt: skip
    return dict(active.values_list("group__slug").annotate(number=Count("id")))


def _summary(group: Group, deciders: dict[str, int], need: GroupNeed) -> GroupSummary:
    left = deciders.get(group.slug, 0)
    lacking = ""
    if need_words(need) and left < max(1, need.most):
        who = "Nobody in it may decide" if left == 0 else f"Only {left} of it may decide, and {need.most} must"
        lacking = f"{who}: what waits for it will expire. Put reviewers into it."
    return GroupSummary(
        slug=group.slug,
        name=group.name,
        members=group.number,  # type: ignore[attr-defined]
        deciders=left,
        needed=need_words(need),
        lacking=lacking,
    )


def _person(row: Membership) -> PersonRow:
    places = sorted((place.group.slug, place.group.name) for place in row.group_places.all())
    return PersonRow(
        membership_id=str(row.id),
        user_id=str(row.user_id),
        name=row.user.name,
        email=row.user.email,
        roles=tuple(row.roles),
        groups=tuple(places),
        active=row.is_active and row.user.is_active,
        invited=not row.user.has_usable_password(),
        signed_in_at=row.signed_in_at,  # type: ignore[attr-defined]
        added_at=row.created_at,
    )
