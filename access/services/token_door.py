"""The token door's throttle, in front of access/services/token.py.

Refused exchanges are counted by network address, granted ones by agent. Neither counter can be filled by a stranger
for somebody else's agent: a client id is no secret, so a count of wrong secrets per client id would let anybody lock an
agent out, and guessing 256 random bits needs no counter.
"""

from typing import Any

from access.core.address import throttled_as
from access.core.throttle import TOKEN_ADDRESS, TOKEN_AGENT, Limit, wait_words
from access.core.words import nobody
from access.services.token import TokenPair, token_issue, token_refresh
from access.store import throttle
from audit.core.refusal import TooMany, Unauthenticated
from audit.services.record import audit_refused


def token_exchange(*, address: str, **shown: Any) -> TokenPair:
    """`token_issue` or, when a refresh token is shown, `token_refresh`; `address` is where the request comes from.

    Raises TooMany (TOKEN_THROTTLED, with `retry_after`) and what those two raise.
    """
    origin = throttled_as(address)
    _look(TOKEN_ADDRESS, origin, f"Too many refused requests for tokens came from {address or 'this address'}.")
    client_id = str(shown.get("client_id", ""))
    if client_id:
        _look(TOKEN_AGENT, client_id, "This agent opens too many sessions. A token lasts ten minutes: keep it.")
    try:
        pair = token_refresh(**shown) if "refresh_token" in shown else token_issue(**shown)
    except Unauthenticated:
        throttle.take(TOKEN_ADDRESS, origin)
        raise
    if client_id:
        throttle.take(TOKEN_AGENT, client_id)
    return pair


def _look(limit: Limit, key: str, sentence: str) -> None:
    if not throttle.wait_of(limit, key):
        return
    taken = throttle.take(limit, key)  # counts nothing while none is left, and says whether to tell of it
    if not taken.wait:
        return
    refusal = TooMany(
        f"{sentence} Wait {wait_words(taken.wait)} and try again.", code="TOKEN_THROTTLED", retry_after=taken.wait
    )
    if taken.tell:
        audit_refused(
            actor=nobody(""), refusal=refusal, action="token.issued", object_type="agent",
            object_id=key if limit is TOKEN_AGENT else "", detail={"address": key if limit is TOKEN_ADDRESS else ""},
        )  # fmt: skip
    raise refusal
