"""What OpenID Connect says that must be checked, as arithmetic on what was received: addresses, metadata, claims, keys.

Sources: OpenID Connect Core 1.0, 3.1.3.7 (ID tokens) and Discovery 1.0, 4.3; RFC 7636, 8725, 9207, 9700.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from access.core.webhook import url_of
from audit.core.refusal import Invalid, Unauthenticated

ALGORITHMS = ("RS256", "ES256", "EdDSA")
"""What an ID token may be signed with. `none` and the symmetric ones are not among them, whatever a header says."""
SKEW = timedelta(seconds=60)
"""How far a provider's clock may be from the database's."""
OLDEST = timedelta(minutes=10)
"""An ID token is made while the browser is on its way back; an older one comes from somewhere else."""
ROUND_LIVES = timedelta(minutes=10)
"""How long a person has at the provider."""
LONGEST_TOKEN = 16_384
LONGEST_STATE = 200
DISCOVERY = "/.well-known/openid-configuration"
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_KINDS = {"RS256": ("RSA", None), "ES256": ("EC", "P-256"), "EdDSA": ("OKP", "Ed25519")}
_SHORT = re.compile(r"[a-z0-9_.-]{1,60}")
_DOMAIN = re.compile(r"(?=.{1,190}\Z)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+")


@dataclass(frozen=True, slots=True)
class Metadata:
    """What a provider says of itself. `by_header`: the client's secret goes into a header (else into the form).
    `names_itself`: each answer carries `iss` (RFC 9207)."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    by_header: bool
    names_itself: bool


def issuer_of(text: str, *, insecure: Collection[str]) -> str:
    """The issuer as it is kept, letter by letter. Raises Invalid (ISSUER_INVALID)."""
    try:
        found = url_of(text, insecure=insecure)
    except Invalid:
        found = ""
    if not found or "?" in found:
        raise Invalid(
            "An issuer is an https address as the provider writes it, such as https://login.example.org/acme: "
            "lower-case host, no user name, no ? and no #.",
            code="ISSUER_INVALID",
            missing=["issuer"],
        )
    return found


def client_id_of(text: str) -> str:
    """The id that the provider gave to this installation. Raises Invalid (CLIENT_ID_INVALID)."""
    found = text.strip()
    if not 0 < len(found) <= 500 or not found.isascii() or not found.isprintable() or " " in found:
        raise Invalid(
            "A client id has 1 to 500 plain characters and no spaces.", code="CLIENT_ID_INVALID", missing=["client_id"]
        )
    return found


def domains_of(text: str) -> list[str]:
    """The domains of a text with one or several, in order. Raises Invalid (DOMAIN_INVALID)."""
    found = sorted(set(text.lower().replace(",", " ").split()))
    wrong = next((one for one in found if not _DOMAIN.fullmatch(one)), None)
    if wrong is not None or len(found) > 50:
        raise Invalid(
            f"{(wrong or text)[:60]!r} is no domain. Write them like example.org, up to 50.",
            code="DOMAIN_INVALID",
            missing=["domains"],
        )
    return found


def read_metadata(document: object, issuer: str, *, insecure: Collection[str]) -> Metadata:
    """What the provider's own description says, checked. Raises Invalid (PROVIDER_METADATA) with what is wrong."""
    if not isinstance(document, Mapping):
        raise metadata_wrong("what it says of itself is no JSON object")
    if document.get("issuer") != issuer:
        told = document.get("issuer")
        raise metadata_wrong(
            f"it calls itself {str(told)[:200]!r}, not {issuer!r}. The two must be the same, letter by letter"
        )
    methods = document.get("code_challenge_methods_supported")
    if methods is not None and "S256" not in _words(methods):
        raise metadata_wrong("it does not know PKCE with S256, which is always used here")
    known = _words(document.get("id_token_signing_alg_values_supported", ["RS256"]))
    if not set(ALGORITHMS) & known:
        raise metadata_wrong(f"it signs with none of {', '.join(ALGORITHMS)}")
    auth = _words(document.get("token_endpoint_auth_methods_supported", ["client_secret_basic"]))
    if not auth & {"client_secret_basic", "client_secret_post"}:
        raise metadata_wrong("it takes a client secret neither by header nor by form")
    return Metadata(
        issuer=issuer,
        authorization_endpoint=_endpoint(document, "authorization_endpoint", insecure),
        token_endpoint=_endpoint(document, "token_endpoint", insecure),
        jwks_uri=_endpoint(document, "jwks_uri", insecure),
        by_header="client_secret_basic" in auth,
        names_itself=document.get("authorization_response_iss_parameter_supported") is True,
    )


def usable_keys(document: object) -> list[dict[str, Any]]:
    """The public signing keys of a JWK set that any algorithm of ours can use. Raises Invalid (PROVIDER_METADATA)."""
    keys = document.get("keys") if isinstance(document, Mapping) else None
    if not isinstance(keys, list):
        raise metadata_wrong("its keys are no JWK set")
    return [key for key in keys[:100] if isinstance(key, dict) and any(_fits(key, one) for one in ALGORITHMS)]


def key_for(keys: Iterable[Mapping[str, Any]], header: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The key that a token's header names; None where there is none. A header may leave `kid` out where one key of its
    kind is there. Raises Unauthenticated (PROVIDER_TOKEN) for an algorithm that is not taken."""
    algorithm, kid = header.get("alg"), header.get("kid")
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        raise token_refused("algorithm", "it is signed in a way that is not taken here")
    fitting = [key for key in keys if _fits(key, algorithm) and (kid is None or key.get("kid") == kid)]
    return fitting[0] if len(fitting) == 1 else None


def check_claims(
    claims: Mapping[str, Any],
    *,
    issuer: str,
    client_id: str,
    nonce: str,
    now: datetime,
    signed_in_since: datetime | None = None,
) -> str:
    """The subject of an ID token whose signature was verified; `now` by the database's clock.

    `signed_in_since`: the person must have shown the provider who they are since then (`auth_time`, for `max_age=0`).
    Raises Unauthenticated (PROVIDER_TOKEN); `detail["because"]` names the claim, for the log.
    """
    if claims.get("iss") != issuer:
        raise token_refused("iss", "it comes from another provider")
    audience = claims.get("aud")
    heard = audience if isinstance(audience, list) else [audience]
    if client_id not in heard or not all(isinstance(one, str) for one in heard):
        raise token_refused("aud", "it was made for another application")
    if claims.get("azp", client_id) != client_id or (len(heard) > 1 and "azp" not in claims):
        raise token_refused("azp", "it was made for another application")
    if _instant(claims, "exp") <= now - SKEW:
        raise token_refused("exp", "it is too old")
    issued = _instant(claims, "iat")
    if issued > now + SKEW:
        raise token_refused("iat", "it is dated in the future; the provider's clock is wrong")
    if issued < now - OLDEST - SKEW:
        raise token_refused("iat", "it is too old")
    if "nbf" in claims and _instant(claims, "nbf") > now + SKEW:
        raise token_refused("nbf", "it does not count yet")
    if not nonce or claims.get("nonce") != nonce:
        raise token_refused("nonce", "it belongs to another attempt")
    if signed_in_since is not None and _instant(claims, "auth_time") < signed_in_since - SKEW:
        raise token_refused("auth_time", "the provider did not ask anew who you are")
    subject = claims.get("sub")
    if (
        not isinstance(subject, str)
        or not 0 < len(subject) <= 255
        or not subject.isascii()
        or not subject.isprintable()
    ):
        raise token_refused("sub", "it does not say whom it is about")
    return subject


def short_code(text: object) -> str:
    """An error code of a provider's as it may be shown and kept: `access_denied`; "unnamed" for anything else."""
    return text if isinstance(text, str) and _SHORT.fullmatch(text) else "unnamed"


def host_of(url: str) -> str:
    """The host of an address that was checked, with its port."""
    return url.split("/")[2]


def token_refused(because: str, words: str) -> Unauthenticated:
    """The refusal of what a provider said about a person. `because` is for the log."""
    return Unauthenticated(
        f"What the provider said about you was not accepted: {words}. You are not signed in by it; begin again, and "
        "tell an admin if it stays so.",
        code="PROVIDER_TOKEN",
        detail={"because": because},
    )


def metadata_wrong(words: str) -> Invalid:
    """The refusal of what a provider says about itself."""
    return Invalid(f"The provider cannot be used: {words}.", code="PROVIDER_METADATA")


def _endpoint(document: Mapping[str, Any], name: str, insecure: Collection[str]) -> str:
    found = document.get(name)
    try:
        return url_of(found, insecure=insecure) if isinstance(found, str) else url_of("", insecure=insecure)
    except Invalid:
        raise metadata_wrong(f"its {name} is no https address") from None


def _fits(key: Mapping[str, Any], algorithm: str) -> bool:
    kind, curve = _KINDS[algorithm]
    return (
        key.get("kty") == kind
        and (curve is None or key.get("crv") == curve)
        and key.get("use", "sig") == "sig"
        and key.get("alg", algorithm) in (algorithm, "Ed25519" if algorithm == "EdDSA" else algorithm)
    )


def _instant(claims: Mapping[str, Any], name: str) -> datetime:
    value = claims.get(name)
    # bool is an int to Python and must not pass for a time.
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise token_refused(name, f"it has no {name}")
    if not 0 <= value < 2**38:  # no NaN either, and no int that no float can hold
        raise token_refused(name, f"its {name} is no time")
    return datetime.fromtimestamp(value, UTC)


def _words(value: object) -> set[str]:
    return {one for one in value if isinstance(one, str)} if isinstance(value, Sequence) else set()
