"""People and the organisations that they belong to."""

import uuid
from typing import ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Lower

ROLES = ("reviewer", "operator", "admin", "auditor")
THEMES = ("system", "light", "dark")


class UserManager(BaseUserManager["User"]):
    """Finds people by e-mail address, whatever its case."""

    def get_by_natural_key(self, username: str | None) -> "User":
        # Addresses are kept in lower case; `iexact` would compare capitals, in which different letters can be one.
        return self.get(email=(username or "").strip().lower())


class User(AbstractBaseUser):
    """A person's account: people are accounts, never typed names (S85). No superuser: rights are memberships."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    email = models.EmailField(max_length=254, unique=True)
    name = models.CharField(max_length=200)
    is_active = models.BooleanField(default=True)
    time_zone = models.CharField(max_length=64, blank=True, default="")
    """An IANA name; empty follows the browser."""
    theme = models.CharField(max_length=8, default="system")
    created_at = models.DateTimeField()

    USERNAME_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = ["name"]
    objects = UserManager()

    class Meta:
        constraints = [
            models.UniqueConstraint(Lower("email"), name="access_user_email_once"),
            models.CheckConstraint(condition=models.Q(theme__in=list(THEMES)), name="access_user_known_theme"),
        ]

    def __str__(self) -> str:
        return self.name


class Tenant(models.Model):
    """An organisation. Every other row belongs to exactly one; a foreign id answers like an unknown one (S62)."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    slug = models.SlugField(max_length=63, unique=True)
    name = models.CharField(max_length=200)
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """A person's place in a tenant, with the roles they hold there."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="memberships")
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="memberships")
    roles = ArrayField(models.CharField(max_length=16), default=list)
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField()
    step_due_at = models.DateTimeField(null=True, editable=False)
    """By when they were first told to have a second step here; null where it was never wanted of them. It comes nearer
    and never later, and stays while it is not wanted."""

    class Meta:
        constraints = [
            models.UniqueConstraint("tenant", "user", name="access_membership_once"),
            models.CheckConstraint(
                condition=models.Q(roles__contained_by=list(ROLES)), name="access_membership_known_roles"
            ),
        ]


class Group(models.Model):
    """People who decide together, named by policies ("1 of finance")."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="groups")
    slug = models.SlugField(max_length=63)
    name = models.CharField(max_length=200)

    class Meta:
        constraints = [models.UniqueConstraint("tenant", "slug", name="access_group_slug_once")]


class GroupMember(models.Model):
    """A membership's place in a group."""

    group = models.ForeignKey(Group, on_delete=models.PROTECT, related_name="members")
    membership = models.ForeignKey(Membership, on_delete=models.PROTECT, related_name="group_places")

    class Meta:
        constraints = [models.UniqueConstraint("group", "membership", name="access_group_member_once")]
