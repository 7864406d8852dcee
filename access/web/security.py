"""Passkeys, the app for codes, recovery codes and the second step: one page of one's own account."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import segno
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.safestring import SafeString
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from access.selectors.assertion import party
from access.selectors.confirmation import fresh_end, means_of
from access.selectors.providers import identity_of, provider_here
from access.selectors.step_demand import wanting
from access.services.passkey import passkey_add, passkey_options, passkey_remove, passkey_rename
from access.services.second_step import app_begin, app_end, app_finish, recovery_renew, second_step_set
from access.web.confirm import answer_json
from access.web.forms import field
from access.web.requests import PersonRequest, signed_in
from audit.core.refusal import Conflict, Forbidden, Invalid

type Shown = dict[str, Any]


@sensitive_post_parameters("code")
@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def security(request: PersonRequest) -> HttpResponse:
    """What one has to show that it is oneself. To change it, one has just confirmed that it is."""
    shown: Shown = {}
    problem, status = "", 200
    if request.method == "POST":
        verb = _VERBS.get(field(request, "verb"))
        try:
            if verb is None:
                raise Invalid("The page did not say what to do. Load it again.", code="VERB_UNKNOWN")
            found = verb(request)
            if isinstance(found, str):
                messages.success(request, found)
                return redirect("account-security")
            shown = found
        except (Forbidden, Invalid, Conflict) as refusal:
            problem, status = refusal.message, refusal.status
            if field(request, "verb") == "app-finish" and refusal.code == "CODE_WRONG":
                shown = {"again": True}
    means = means_of(request.actor.id)
    wanted = wanting(request.actor.id) if means.at_sign_in else ()
    context = {
        "place": "account", "part": "security", "problem": problem, "means": means,
        # Only here does it stay on; elsewhere it can be turned off, or end with the last means, and is owed there then.
        "wanted_here": any(row.tenant_id == request.actor.tenant_id for row in wanted),
        "wanted_elsewhere": [row for row in wanted if row.tenant_id != request.actor.tenant_id],
        "wanted": wanted, "last": len(means.passkeys) + bool(means.app_since) == 1,
        "party": party(), "until": fresh_end(request.actor), **shown,
        "identity": identity_of(request.actor.id, request.actor.tenant_id), "provider": provider_here(request.actor),
        # A session at another name of the same server has a page that no passkey would answer.
        "elsewhere": request.get_host() != urlsplit(party().origin).netloc,
    }  # fmt: skip
    return render(request, "account/security.html", context, status=status)


@require_POST
@signed_in
def options(request: PersonRequest) -> HttpResponse:
    """What the browser asks a device for a new passkey, as JSON."""
    return answer_json(lambda: passkey_options(actor=request.actor))


def qr_svg(text: str) -> SafeString:
    """The text as a QR code: an SVG of paths and numbers alone, which is why it needs no escaping."""
    return SafeString(segno.make(text, error="m").svg_inline(border=3, light="#fff", omitsize=True))


def _add(request: PersonRequest) -> str:
    passkey_add(actor=request.actor, response=field(request, "response", 32_768), name=field(request, "name", 100))
    return "The passkey was added."


def _rename(request: PersonRequest) -> str:
    passkey_rename(actor=request.actor, passkey_id=field(request, "passkey"), name=field(request, "name", 100))
    return "The passkey has its new name."


def _remove(request: PersonRequest) -> str:
    passkey_remove(actor=request.actor, passkey_id=field(request, "passkey"))
    return "The passkey was removed. What it signed and has not run yet is asked anew."


def _app_begin(request: PersonRequest) -> Shown:
    made = app_begin(actor=request.actor)
    groups = [made.text[at : at + 4] for at in range(0, len(made.text), 4)]
    return {"app": {"text": " ".join(groups), "qr": qr_svg(made.address)}}


def _app_finish(request: PersonRequest) -> Shown:
    return {"codes": app_finish(actor=request.actor, code=field(request, "code"))}


def _app_end(request: PersonRequest) -> str:
    app_end(actor=request.actor)
    return "The app for codes was removed."


def _codes(request: PersonRequest) -> Shown:
    return {"codes": recovery_renew(actor=request.actor)}


def _step(request: PersonRequest) -> str:
    on = field(request, "on") == "yes"
    second_step_set(actor=request.actor, on=on)
    return "Signing in asks for a second step from now on." if on else "Signing in asks for the password alone."


_VERBS: dict[str, Callable[[PersonRequest], str | Shown]] = {
    "add": _add,
    "rename": _rename,
    "remove": _remove,
    "app-begin": _app_begin,
    "app-finish": _app_finish,
    "app-end": _app_end,
    "codes": _codes,
    "step": _step,
}
