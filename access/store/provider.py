"""Talking to an identity provider: what it says of itself, its keys, and a code for an ID token. In no transaction.

What it says of itself and its keys are kept for a while in this process, a bounded number of them; keys are asked for
anew when a token names one that is not there, at most twice a minute (docs/decisions/0017-oidc.md).
"""

import base64
import json
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any
from urllib.parse import quote_plus, urlencode

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from django.conf import settings

from access.core import oidc
from access.core.oidc import Metadata
from access.store import outbound
from audit.core.refusal import Invalid, Unavailable

KEPT_S = 600.0
_AGAIN_S = 30.0
_KEPT = 64
_MOST = 256 * 1024
_SMALLEST_RSA = 2048


@dataclass(slots=True)
class _Known:
    metadata: Metadata
    keys: list[dict[str, Any]]
    at: float


_known: OrderedDict[str, _Known] = OrderedDict()
_lock = Lock()


def insecure() -> frozenset[str]:
    """Hosts that may be spoken to without TLS: this machine, where the settings allow it."""
    return oidc.LOOPBACK if settings.OIDC_LOOPBACK else frozenset()


def metadata(issuer: str, *, fresh: bool = False) -> Metadata:
    """What the provider says of itself. Raises Invalid (PROVIDER_METADATA), Unavailable (PROVIDER_SILENT)."""
    return _look(issuer, fresh=fresh).metadata


def keys(issuer: str, *, fresh: bool = False) -> list[dict[str, Any]]:
    """Its signing keys. Raises as `metadata`."""
    return _look(issuer, fresh=fresh).keys


def redeem(about: Metadata, *, client_id: str, secret: str, code: str, verifier: str, redirect_uri: str) -> str:
    """The ID token for a code. The access token that comes with it is thrown away: nothing is asked with it.

    Raises Unavailable (PROVIDER_SILENT), Invalid (PROVIDER_ERROR) with the provider's short code.
    """
    status, found = _post_code(about, client_id, secret, code, verifier, redirect_uri)
    token = found.get("id_token") if isinstance(found, Mapping) else None
    if status == 200 and isinstance(token, str) and 0 < len(token) <= oidc.LONGEST_TOKEN:
        return token
    raise _error(found) if status != 200 else oidc.metadata_wrong("its answer to the code has no ID token")


def try_client(about: Metadata, *, client_id: str, secret: str, redirect_uri: str) -> str:
    """How the provider takes the client id and secret, in one sentence, tried with a code that is none.

    Raises Invalid (PROVIDER_ERROR) where it refuses them, Unavailable (PROVIDER_SILENT).
    """
    _, found = _post_code(about, client_id, secret, "clearance-test", "clearance-test" * 4, redirect_uri)
    said = oidc.short_code(found.get("error")) if isinstance(found, Mapping) else "unnamed"
    if said in ("invalid_client", "unauthorized_client"):
        raise Invalid(
            f"The provider does not take the client id and the secret ({said}). Type both anew.", code="PROVIDER_ERROR"
        )
    if said == "invalid_grant":
        return "It takes the client id and the secret."
    return f"Whether it takes the secret could not be told: it answered a code that is none with {said}."


def claims_of(token: str, issuer: str) -> Mapping[str, Any]:
    """What an ID token says, its signature verified with the provider's key. The claims are judged elsewhere.

    Raises Unauthenticated (PROVIDER_TOKEN), and as `metadata`.
    """
    try:
        header = jwt.get_unverified_header(token)
    except jwt.PyJWTError:
        raise oidc.token_refused("form", "it is no token") from None
    key = oidc.key_for(keys(issuer), header) or oidc.key_for(keys(issuer, fresh=True), header)
    if key is None:
        raise oidc.token_refused("kid", "it is signed with a key that the provider does not show")
    try:
        # The key's algorithm is the one that was looked for, whatever the key or the header add to it.
        material = jwt.PyJWK(dict(key), algorithm=header["alg"])
        if isinstance(material.key, RSAPublicKey) and material.key.key_size < _SMALLEST_RSA:
            raise oidc.token_refused("key", "its key is too short")
        # Times are judged by the database's clock, so none of the library's checks of claims are asked for.
        only_signature = {"verify_signature": True, **dict.fromkeys(_LATER, False)}
        return jwt.decode(token, material, algorithms=[header["alg"]], options=only_signature)  # type: ignore[arg-type]
    except (jwt.PyJWTError, ValueError):
        raise oidc.token_refused("signature", "its signature is wrong") from None


_LATER = ("verify_exp", "verify_nbf", "verify_iat", "verify_aud", "verify_iss", "verify_sub", "verify_jti")


def forget() -> None:
    """Keep nothing of any provider."""
    with _lock:
        _known.clear()


def _look(issuer: str, *, fresh: bool) -> _Known:
    """From what is kept; asked anew when it is old, or `fresh` and not of the last half minute."""
    with _lock:
        known = _known.get(issuer)
    if known is not None and time.monotonic() - known.at < (_AGAIN_S if fresh else KEPT_S):
        return known
    found = ask(issuer)
    with _lock:
        _known[issuer] = found
        _known.move_to_end(issuer)
        while len(_known) > _KEPT:
            _known.popitem(last=False)
    return found


def ask(issuer: str) -> _Known:
    """Ask the provider itself, whatever is kept. Raises as `metadata`."""
    about = oidc.read_metadata(_get(issuer.rstrip("/") + oidc.DISCOVERY), issuer, insecure=insecure())
    return _Known(about, oidc.usable_keys(_get(about.jwks_uri)), time.monotonic())


def _get(url: str) -> object:
    status, found = _send("GET", url, None, {})
    if status != 200:
        raise oidc.metadata_wrong(f"{url} answered {status}")
    return found


def _post_code(
    about: Metadata, client_id: str, secret: str, code: str, verifier: str, redirect_uri: str
) -> tuple[int, object]:
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": redirect_uri,
        "code_verifier": verifier,
    }
    headers = {"content-type": "application/x-www-form-urlencoded"}
    if about.by_header:
        # RFC 6749, 2.3.1: both are form-encoded before they are put together.
        pair = f"{quote_plus(client_id)}:{quote_plus(secret)}"
        headers["authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
    else:
        form |= {"client_id": client_id, "client_secret": secret}
    return _send("POST", about.token_endpoint, urlencode(form).encode(), headers)


def _send(method: str, url: str, body: bytes | None, headers: Mapping[str, str]) -> tuple[int, object]:
    """(status, its JSON or None). Redirects are not followed: they could lead inside."""
    told = {"accept": "application/json", "user-agent": "Clearance", **headers}
    allowed = settings.OIDC_HOSTS | insecure()
    answer = outbound.ask(method, url, body, told, allowed=allowed, most=_MOST + 1, who="provider")
    if answer.status == 0 or answer.status >= 500:
        words = answer.words or f"It answered {answer.status}."
        raise Unavailable(f"The provider cannot be reached at {oidc.host_of(url)}. {words}", code="PROVIDER_SILENT")
    if len(answer.body) > _MOST:
        raise oidc.metadata_wrong(f"{url} answered with more than {_MOST // 1024} KiB")
    try:
        return answer.status, json.loads(answer.body)
    except (ValueError, RecursionError):
        return answer.status, None


def _error(found: object) -> Invalid:
    said = oidc.short_code(found.get("error")) if isinstance(found, Mapping) else "unnamed"
    return Invalid(
        f"The provider did not finish the sign-in ({said}). Begin again; if it stays so, tell an admin.",
        code="PROVIDER_ERROR",
        detail={"because": said},
    )
