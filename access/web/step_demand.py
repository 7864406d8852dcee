"""Of whom an organisation wants a second step: a page for admins; and where whoever owes one is led."""

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render, resolve_url
from django.views.decorators.http import require_http_methods

from access.core.demand import LONGEST_GRACE, WHOM
from access.selectors.confirmation import fresh_end
from access.selectors.step_demand import step_demand
from access.services.step_demand import step_demand_set
from access.web.forms import field
from access.web.requests import PageRequest, PersonRequest, signed_in
from audit.core.refusal import Conflict, Forbidden, Invalid

OPEN_TO_ALL = (
    "account-security",
    "account-confirm",
    "account-provider",
    "sign-",
    "provider-",
    "switch-tenant",
    "health",
)
"""Beginnings of the names of pages that somebody may open who owes a second step: by them it is set up."""


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def demand(request: PersonRequest) -> HttpResponse:
    """What is wanted, who has none, and the form to change it."""
    problem, status = "", 200
    row = step_demand(request.actor)
    of, days = field(request, "of") or row.of, field(request, "days", 10) or "0"
    if request.method == "POST":
        try:
            if not days.isascii() or not days.isdigit():
                raise Invalid("Write the days as a whole number; 0 is at once.", code="GRACE_INVALID", missing=["days"])
            step_demand_set(actor=request.actor, of=of, days=int(days))
            messages.success(request, f"{WHOM[of]} It is in the log.")
            return redirect("step-demand")
        except (Invalid, Conflict, Forbidden) as refusal:
            problem, status = refusal.message, refusal.status
    context = {
        "place": "people", "row": row, "of": of, "days": days, "problem": problem, "until": fresh_end(request.actor),
        "choices": list(WHOM.items()), "longest": LONGEST_GRACE,
    }  # fmt: skip
    return render(request, "access/step_demand.html", context, status=status)


def answer_owing(request: PageRequest, view_name: str) -> HttpResponse | None:
    """Where to send somebody who owes a second step; None for the pages by which they set one up.

    Raises Forbidden (SECOND_STEP_OWED) where no page was asked for.
    """
    if view_name.startswith(OPEN_TO_ALL):
        return None
    address = resolve_url("account-security")
    if request.htmx:
        return HttpResponse(status=401, headers={"HX-Redirect": address})
    if request.method in ("GET", "HEAD") and not request.path.startswith("/api/"):
        return HttpResponseRedirect(address)
    raise Forbidden(
        "Your organisation wants you to have a second step, and you have none yet. Set one up under Account, Passkeys "
        "and codes; until then nothing else can be done. Nothing was changed.",
        code="SECOND_STEP_OWED",
        missing=["second step"],
    )
