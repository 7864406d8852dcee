"""What an access token says, written and read (docs/decisions/0003-tokens.md). No signing and no clock here."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from audit.core.refusal import Unauthenticated

AUDIENCE = "clearance"
"""The only audience our doors accept: a token made for another service opens nothing here (B2)."""
ALGORITHM = "EdDSA"
"""Pinned; what a token's own header says never chooses how it is checked."""
TYPE = "at+jwt"
"""The header's `typ` (RFC 9068): another kind of token signed with the same key is no access token."""

ACCESS_SECONDS = 600
"""How long an access token lives (G1)."""
REFRESH_SECONDS = 3600
"""How long a refresh token waits to be used."""
SESSION_SECONDS = 12 * 3600
"""After this a session ends, however often it was refreshed, and the secret must be shown again."""
LONGEST_TOKEN = 8192
"""Characters; longer ones are not looked at."""

REQUIRED = ("iss", "aud", "sub", "tenant", "scopes", "sid", "jti", "iat", "exp")

_AGENT = "agent:"
_PERSON = "user:"


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenClaims:
    """The verified content of one access token. Times are whole seconds since 1970 (UTC).

    `acting_for` is the user id of the person for whom `agent_id` acts, or None.
    """

    issuer: str
    tenant_id: UUID
    agent_id: UUID
    acting_for: UUID | None
    scopes: tuple[str, ...]
    session_id: UUID
    token_id: str
    issued_at: int
    expires_at: int

    def payload(self) -> dict[str, object]:
        """The claims as JSON. With delegation `sub` is the person and `act.sub` the agent that acts (RFC 8693, 4.1)."""
        claims: dict[str, object] = {
            "iss": self.issuer,
            "aud": AUDIENCE,
            "sub": f"{_AGENT}{self.agent_id}",
            "tenant": str(self.tenant_id),
            "scopes": list(self.scopes),
            "sid": str(self.session_id),
            "jti": self.token_id,
            "iat": self.issued_at,
            "exp": self.expires_at,
        }
        if self.acting_for is not None:
            claims["act"] = {"sub": claims["sub"]}
            claims["sub"] = f"{_PERSON}{self.acting_for}"
        return claims


def read_claims(payload: Mapping[str, object]) -> TokenClaims:
    """The claims of a payload whose signature, issuer and audience were verified.

    Raises `Unauthenticated` (TOKEN_INVALID) for anything that we would not have written ourselves.
    """
    try:
        agent, acting_for = _parties(payload)
        scopes = payload["scopes"]
        issued, expires = payload["iat"], payload["exp"]
        # bool is an int to Python and must not pass for a time.
        if type(issued) is not int or type(expires) is not int or not isinstance(scopes, list):
            raise ValueError("a claim has the wrong type")
        if not 0 < expires - issued <= ACCESS_SECONDS or not all(isinstance(scope, str) for scope in scopes):
            raise ValueError("a claim has the wrong value")
        return TokenClaims(
            issuer=_string(payload["iss"]),
            tenant_id=_uuid(payload["tenant"]),
            agent_id=agent,
            acting_for=acting_for,
            scopes=tuple(scopes),
            session_id=_uuid(payload["sid"]),
            token_id=_string(payload["jti"]),
            issued_at=issued,
            expires_at=expires,
        )
    except (KeyError, ValueError):
        raise token_invalid() from None


def token_invalid() -> Unauthenticated:
    """The one answer to a token that is not ours, whatever is wrong with it: no hint for whoever forges."""
    return Unauthenticated(
        "This access token is not valid here. Ask for a new one at /api/v1/token.", code="TOKEN_INVALID"
    )


def _parties(payload: Mapping[str, object]) -> tuple[UUID, UUID | None]:
    subject = _string(payload["sub"])
    if "act" not in payload:
        return _tagged(subject, _AGENT), None
    actor = payload["act"]
    if not isinstance(actor, Mapping) or set(actor) != {"sub"}:
        raise ValueError("act names exactly one actor")
    return _tagged(_string(actor["sub"]), _AGENT), _tagged(subject, _PERSON)


def _tagged(text: str, tag: str) -> UUID:
    if not text.startswith(tag):
        raise ValueError(f"not a {tag}")
    return _uuid(text.removeprefix(tag))


def _uuid(value: object) -> UUID:
    text = _string(value)
    found = UUID(text)
    if str(found) != text:
        raise ValueError("not the one way to write this id")
    return found


def _string(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("not text")
    return value
