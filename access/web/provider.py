"""The page of the organisation's own sign-in, for admins."""

from collections.abc import Sequence

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from access.selectors.confirmation import fresh_end
from access.selectors.providers import provider_of
from access.services.provider import provider_end, provider_set, provider_test
from access.web.forms import field
from access.web.requests import PersonRequest, signed_in
from audit.core.refusal import Invalid, NotFound, Refusal


@sensitive_post_parameters("secret")
@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def provider(request: PersonRequest) -> HttpResponse:
    """Which provider; a try of it, in words; off. The secret is never in an answer."""
    row = provider_of(request.actor)  # an admin's page, whatever is posted
    shown: dict[str, object] = {
        "issuer": row.issuer, "client_id": row.client_id, "domains": row.domains, "required": row.required
    }  # fmt: skip
    problem, status = "", 200
    found: Sequence[str] = ()
    if request.method == "POST":
        verb = field(request, "verb")
        if verb == "set":
            shown = {name: field(request, name, 2_001) for name in ("issuer", "client_id", "domains")}
            shown["required"] = field(request, "required") == "yes"
        try:
            found = _change(request, verb)
            if verb != "test":
                for said in found:
                    messages.success(request, said)
                return redirect("provider")
        except Refusal as refusal:
            if refusal.status == 403 and refusal.code == "ROLE_MISSING":
                raise
            # A provider that is down is no fault of this server's: its page stands, with what is wrong in words.
            problem, status = refusal.message, refusal.status if refusal.status < 500 else 422
        row = provider_of(request.actor)
    context = {
        "place": "provider", "row": row, "shown": shown, "problem": problem, "found": found,
        "until": fresh_end(request.actor),
    }  # fmt: skip
    return render(request, "access/provider.html", context, status=status)


def _change(request: PersonRequest, verb: str) -> Sequence[str]:
    """What to tell of it, in sentences."""
    if verb == "set":
        return provider_set(
            actor=request.actor,
            issuer=field(request, "issuer", 2_001),
            client_id=field(request, "client_id", 2_001),
            secret=field(request, "secret", 2_001),
            domains=field(request, "domains", 10_000),
            required=field(request, "required") == "yes",
        )
    if verb == "test":
        return provider_test(actor=request.actor)
    if verb == "end":
        try:
            provider_end(actor=request.actor)
        except NotFound as refusal:
            raise Invalid(refusal.message, code="PROVIDER_OFF") from None
        return ["Turned off: nobody comes in through it any more, and sessions that it opened have ended."]
    raise Invalid("This page knows no such change. Load it again.", code="VERB_UNKNOWN")
