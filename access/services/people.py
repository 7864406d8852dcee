"""Organisations, the people in them, and the groups in which people decide together."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from uuid import UUID, uuid4

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from access.core.names import email_of, name_of, roles_of, slug_of
from access.core.rights import require_admin
from access.models import Group, GroupMember, Membership, Tenant, User
from access.store import browsers, links, secrets, step_days
from audit.core.actor import Actor
from audit.core.refusal import Conflict, Forbidden, Invalid, NotFound
from audit.services.record import audit_record, audit_record_or_owe, audit_refusals
from audit.store import clock


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantRow:
    """One organisation."""

    id: str
    slug: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberRow:
    """A person's place in an organisation.

    `password` is the generated one of an account that has just been made, shown once, else ""; `link` the token of its
    invitation, likewise. `created` is false if the person had an account already: its name and password stay as they
    are.
    """

    membership_id: str
    user_id: str
    email: str
    name: str
    roles: tuple[str, ...]
    active: bool
    created: bool = False
    password: str = field(default="", repr=False)
    link: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRow:
    """People who decide together; policies name the slug."""

    id: str
    slug: str
    name: str


def tenant_create(*, actor: Actor, slug: str, name: str) -> TenantRow:
    """A new organisation, empty. Only our own processes do this: from inside one organisation nobody makes another.

    Raises Forbidden, Invalid (SLUG_INVALID, NAME_INVALID), Conflict (TENANT_EXISTS).
    """
    if actor.kind != "system":
        raise Forbidden("Organisations are made with manage.py bootstrap.", code="ROLE_MISSING")
    tenant = Tenant(id=uuid4(), slug=slug_of(slug), name=name_of(name), created_at=clock.now())
    try:
        with transaction.atomic():
            tenant.save(force_insert=True)
            audit_record(
                actor=replace(actor, tenant_id=str(tenant.id)), action="tenant.created", object_type="tenant",
                object_id=tenant.id, detail={"slug": slug},
            )  # fmt: skip
    except IntegrityError:
        raise Conflict(f"There is an organisation {slug} already. Choose another name.", code="TENANT_EXISTS") from None
    return TenantRow(id=str(tenant.id), slug=tenant.slug, name=tenant.name)


def member_add(
    *,
    actor: Actor,
    email: str,
    name: str,
    roles: Iterable[str],
    password: str | None = None,
    groups: Iterable[str] = (),
    invite: bool = False,
) -> MemberRow:
    """Give a person a place in the actor's organisation and in groups of it (slugs); an admin's right.

    Makes the account if the address has none: with `password`, with a generated one that the row carries once, or, to
    `invite`, without any: the row then carries the token of a single-use link by which the person sets their own. An
    account that exists is left as it is: no admin of one organisation may set the password of somebody in another.
    Raises Forbidden, NotFound (a group), Invalid (EMAIL_INVALID, NAME_INVALID, ROLE_UNKNOWN, PASSWORD_WEAK),
    Conflict (ALREADY_MEMBER).
    """
    with audit_refusals(actor=actor, action="member.added", object_type="membership", object_id=""):
        require_admin(actor)
        address, held = email_of(email), roles_of(roles)
        places = [_group(actor, slug) for slug in dict.fromkeys(groups)]
        user, created, shown = _account(address, name, password, invite=invite)
        try:
            with transaction.atomic():
                membership = Membership.objects.create(
                    tenant_id=UUID(actor.tenant_id), user=user, roles=held, created_at=clock.now()
                )
        except IntegrityError:
            raise Conflict(f"{address} is a member already. Change the roles instead.", code="ALREADY_MEMBER") from None
        step_days.keep(actor.tenant_id, membership.id)
        GroupMember.objects.bulk_create(GroupMember(group=place, membership=membership) for place in places)
        link = links.add(user.id, "invitation", clock.now()) if invite and created else ""
        audit_record(
            actor=actor, action="member.added", object_type="membership", object_id=membership.id,
            detail={"user": user.id, "email": address, "name": user.name, "roles": held, "new_account": created,
                    "invited": bool(link), "groups": [place.slug for place in places]},
        )  # fmt: skip
    return replace(_member(membership, user), created=created, password=shown, link=link)


def invitation_renew(*, actor: Actor, membership_id: str | UUID) -> MemberRow:
    """A new invitation link for a member who has set no password yet; the one before opens nothing. An admin's right.

    Raises Forbidden, NotFound, Conflict: HAS_PASSWORD, or ELSEWHERE for somebody who also belongs to another
    organisation, whose account an admin of this one could otherwise take.
    """
    with audit_refusals(actor=actor, action="member.invited", object_type="membership", object_id=membership_id):
        require_admin(actor)
        membership = _membership(actor, membership_id)
        user = User.objects.select_for_update().get(id=membership.user_id)
        if user.has_usable_password():
            raise Conflict(
                "This person has a password. If it is forgotten, a link by mail is sent from the sign-in page.",
                code="HAS_PASSWORD",
            )
        if Membership.objects.filter(user=user).exclude(tenant_id=actor.tenant_id).exists():
            raise Conflict(
                "This person belongs to another organisation too. They get a link by mail from the sign-in page, "
                "under “Forgotten password”.",
                code="ELSEWHERE",
            )
        link = links.add(user.id, "invitation", clock.now())
        audit_record(
            actor=actor, action="member.invited", object_type="membership", object_id=membership.id,
            detail={"user": user.id},
        )  # fmt: skip
    return replace(_member(membership, user), link=link)


def member_change(
    *, actor: Actor, membership_id: str | UUID, roles: Iterable[str] | None = None, active: bool | None = None
) -> MemberRow:
    """Change a member's roles or switch the membership off or on; an admin's right.

    Switched off, the person's browser sessions in this organisation end in the same transaction. What only takes
    rights away also works while the audit log does not (S69). Raises Forbidden, NotFound,
    Invalid (ROLE_UNKNOWN), Conflict (LAST_ADMIN): an organisation keeps one active admin.
    """
    with audit_refusals(actor=actor, action="member.changed", object_type="membership", object_id=membership_id):
        require_admin(actor)
        admins = step_days.lock_admins(actor.tenant_id)
        membership = _membership(actor, membership_id)
        before = (set(membership.roles), membership.is_active)
        membership.roles = membership.roles if roles is None else roles_of(roles)
        membership.is_active = membership.is_active if active is None else active
        still = membership.is_active and "admin" in membership.roles
        if admins == {membership.id} and not still:
            raise Conflict("This is the last active admin. Make somebody else an admin first.", code="LAST_ADMIN")
        membership.save(update_fields=["roles", "is_active"])
        step_days.keep(actor.tenant_id, membership.id)
        ended = 0
        if not membership.is_active:
            open_here = browsers.of_person(membership.user_id, tenant_id=actor.tenant_id)
            ended = browsers.end(open_here, "the membership was switched off")
        takes_away = set(membership.roles) <= before[0] and membership.is_active <= before[1]
        (audit_record_or_owe if takes_away else audit_record)(
            actor=actor, action="member.changed", object_type="membership", object_id=membership.id,
            detail={"roles": membership.roles, "active": membership.is_active, "sessions_ended": ended,
                    "before": {"roles": before[0], "active": before[1]}},
        )  # fmt: skip
    return _member(membership, membership.user)


def group_create(*, actor: Actor, slug: str, name: str) -> GroupRow:
    """A new, empty group; an admin's right. Raises Forbidden, Invalid, Conflict (GROUP_EXISTS)."""
    with audit_refusals(actor=actor, action="group.created", object_type="group", object_id=slug):
        require_admin(actor)
        try:
            with transaction.atomic():
                group = Group.objects.create(tenant_id=UUID(actor.tenant_id), slug=slug_of(slug), name=name_of(name))
        except IntegrityError:
            raise Conflict(f"There is a group {slug} already.", code="GROUP_EXISTS") from None
        audit_record(
            actor=actor, action="group.created", object_type="group", object_id=group.id, detail={"slug": slug}
        )
    return GroupRow(id=str(group.id), slug=group.slug, name=group.name)


def group_add(*, actor: Actor, group: str, user_id: str | UUID) -> bool:
    """Put a member into the group with slug `group`; an admin's right. False if they were in it already.

    Raises Forbidden, NotFound (group or person of another organisation included).
    """
    with audit_refusals(actor=actor, action="group.joined", object_type="group", object_id=group):
        place = _place(actor, group, user_id)
        _, added = GroupMember.objects.get_or_create(group=place[0], membership=place[1])
        if added:
            audit_record(
                actor=actor, action="group.joined", object_type="group", object_id=place[0].id,
                detail={"slug": group, "user": place[1].user_id},
            )  # fmt: skip
    return added


def group_remove(*, actor: Actor, group: str, user_id: str | UUID) -> bool:
    """Take a member out of the group; an admin's right. False if they were not in it. Raises Forbidden, NotFound.

    Takes rights away, so it works while the audit log does not (S69).
    """
    with audit_refusals(actor=actor, action="group.left", object_type="group", object_id=group):
        place = _place(actor, group, user_id)
        removed, _ = GroupMember.objects.filter(group=place[0], membership=place[1]).delete()
        if removed:
            audit_record_or_owe(
                actor=actor, action="group.left", object_type="group", object_id=place[0].id,
                detail={"slug": group, "user": place[1].user_id},
            )  # fmt: skip
    return bool(removed)


def _account(email: str, name: str, password: str | None, *, invite: bool) -> tuple[User, bool, str]:
    """(account, whether it is new, the password to show once)."""
    user = User.objects.filter(email=email).first()
    if user is not None:
        return user, False, ""
    user = User(id=uuid4(), email=email, name=name_of(name), created_at=clock.now())
    shown = ""
    if invite:
        user.set_unusable_password()
    else:
        shown = "" if password is not None else secrets.new_password()
        try:
            validate_password(password if password is not None else shown, user)
        except ValidationError as error:
            raise Invalid(" ".join(error.messages), code="PASSWORD_WEAK") from None
        user.set_password(password if password is not None else shown)
    try:
        with transaction.atomic():
            user.save(force_insert=True)
    except IntegrityError:  # somebody made the same account a moment ago
        return User.objects.get(email=email), False, ""
    return user, True, shown


def _membership(actor: Actor, membership_id: str | UUID) -> Membership:
    try:
        return (
            Membership.objects.select_for_update(of=("self",))
            .select_related("user")
            .get(id=UUID(str(membership_id)), tenant_id=actor.tenant_id)
        )
    except (ValueError, Membership.DoesNotExist):
        raise NotFound from None


def _place(actor: Actor, slug: str, user_id: str | UUID) -> tuple[Group, Membership]:
    require_admin(actor)
    group = _group(actor, slug)
    try:
        return group, Membership.objects.get(tenant_id=actor.tenant_id, user_id=UUID(str(user_id)))
    except (ValueError, Membership.DoesNotExist):
        raise NotFound from None


def _group(actor: Actor, slug: str) -> Group:
    group = None if "\0" in slug else Group.objects.filter(tenant_id=actor.tenant_id, slug=slug).first()
    if group is None:
        raise NotFound
    return group


def _member(membership: Membership, user: User) -> MemberRow:
    return MemberRow(
        membership_id=str(membership.id),
        user_id=str(user.id),
        email=user.email,
        name=user.name,
        roles=tuple(membership.roles),
        active=membership.is_active,
    )
