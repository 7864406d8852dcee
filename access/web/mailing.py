"""How mail is sent, and a test of it; for admins."""

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from access.core.rights import require_admin
from access.services.mail import mail_test
from access.web.requests import PersonRequest, signed_in
from audit.core.refusal import TooMany, Unavailable


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def mail(request: PersonRequest) -> HttpResponse:
    """What is set up, in words without any secret; POST sends a test to oneself."""
    require_admin(request.actor)
    problem, status = "", 200
    if request.method == "POST":
        try:
            to = mail_test(actor=request.actor)
            messages.success(request, f"{_SENT[settings.MAIL.kind]} To: {to}.")
            return redirect("mail")
        except (TooMany, Unavailable) as refusal:
            problem, status = refusal.message, refusal.status
    context = {"place": "mail", "mail": settings.MAIL, "problem": problem}
    return render(request, "access/mail.html", context, status=status)


_SENT = {
    "smtp": "The mail server took the test mail. Look into your mailbox.",
    "file": "The test mail was written to its folder.",
    "console": "The test mail was written to the log.",
}
