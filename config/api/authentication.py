"""Who calls the API: an agent by its access token, a person by the session of their browser.

Both give DRF `request.user`, a `Caller`, and `request.auth`, the Actor; views read it with `audit.api.base.actor_of`.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from django.http import HttpRequest, HttpResponse
from rest_framework.authentication import BaseAuthentication, CSRFCheck
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from access.services.token import token_verify
from audit.core.actor import Actor
from audit.core.refusal import Forbidden, Unauthenticated


@dataclass(frozen=True, slots=True)
class Caller:
    """The little that DRF asks of a user."""

    actor: Actor
    is_authenticated: ClassVar[bool] = True
    is_active: ClassVar[bool] = True

    @property
    def pk(self) -> str:
        """The actor's id."""
        return self.actor.id


class TokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer <access token>`. A header that is there decides: a bad token is never overlooked for a
    session that came along with it."""

    def authenticate(self, request: Request) -> tuple[Caller, Actor] | None:
        """The agent, or None without the header. Raises Unauthenticated, Unavailable."""
        header = request.headers.get("Authorization")
        if header is None:
            return None
        scheme, _, raw = header.partition(" ")
        if scheme.lower() != "bearer" or not raw.strip():
            raise Unauthenticated(
                "Send the access token as: Authorization: Bearer <token>. Tokens are issued at /api/v1/token.",
                code="TOKEN_INVALID",
            )
        actor = token_verify(raw=raw.strip())
        return Caller(actor), actor

    def authenticate_header(self, request: Request) -> str:
        """What a 401 asks for."""
        return 'Bearer realm="clearance"'


class PersonAuthentication(BaseAuthentication):
    """The session that Django's middleware found, with CSRF enforced wherever something could change."""

    def authenticate(self, request: Request) -> tuple[Caller, Actor] | None:
        """The person, or None without a session. Raises Forbidden (CSRF_FAILED)."""
        actor = getattr(request._request, "actor", None)
        if not isinstance(actor, Actor):
            return None
        if request.method not in SAFE_METHODS:
            _enforce_csrf(request._request)
        return Caller(actor), actor


class HasActor(BasePermission):
    """Somebody calls. What they may do is the service's business."""

    def has_permission(self, request: Request, view: Any) -> bool:
        """True if a token or a session named an actor."""
        return isinstance(request.auth, Actor)


def _enforce_csrf(request: HttpRequest) -> None:
    def unused(_: HttpRequest) -> HttpResponse:
        return HttpResponse()

    check = CSRFCheck(unused)
    check.process_request(request)
    reason = check.process_view(request, None, (), {})  # type: ignore[arg-type]
    if reason:
        raise Forbidden(
            "A change by a browser session needs its CSRF token in the header X-CSRFToken. Load the page again.",
            code="CSRF_FAILED",
            missing=["X-CSRFToken"],
        )
