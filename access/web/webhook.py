"""The page of the webhook, for admins."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from access.selectors.webhooks import webhook_of
from access.services.webhook import webhook_end, webhook_set, webhook_test
from access.web.forms import field
from access.web.requests import PersonRequest, signed_in
from audit.core.refusal import Conflict, Invalid, Unavailable


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def webhook(request: PersonRequest) -> HttpResponse:
    """Where events go; a test; the last deliveries. The secret is in the answer to the form that made it, and nowhere
    else."""
    problem, status, secret = "", 200, ""
    webhook_of(request.actor)  # an admin's page, whatever is posted
    url = field(request, "url", 2_001)
    if request.method == "POST":
        try:
            secret = _change(request, url)
            if not secret:
                return redirect("webhook")
        except (Invalid, Conflict, Unavailable) as refusal:
            problem, status = refusal.message, refusal.status
    row = webhook_of(request.actor)
    context = {"place": "webhook", "row": row, "url": url or row.url, "secret": secret, "problem": problem}
    return render(request, "access/webhook.html", context, status=status)


def _change(request: PersonRequest, url: str) -> str:
    """The new secret where the form made one."""
    verb = field(request, "verb")
    if verb == "set":
        return webhook_set(actor=request.actor, url=url)
    if verb == "test":
        webhook_test(actor=request.actor)
        messages.success(request, "A test event is on its way. What came of it stands among the last deliveries.")
    elif verb == "end":
        webhook_end(actor=request.actor)
        messages.success(request, "Nothing more is sent.")
    else:
        raise Invalid("This page knows no such change. Load it again.", code="VERB_UNKNOWN")
    return ""
