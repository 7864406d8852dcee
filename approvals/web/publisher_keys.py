"""The page of publishers' keys, and the signature beside an admitted version."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from access.core.rights import is_admin, require_admin
from access.selectors.confirmation import fresh_end
from access.web.forms import field
from access.web.requests import PersonRequest, signed_in
from approvals.core.contract_signing import MAX_BYTES
from approvals.selectors.contract_signatures import keys_shown
from approvals.services.contract import contract_sign
from approvals.services.publisher import REMEDY, publisher_key_add, publisher_key_revoke, signed_only_set
from approvals.web.tools import tool_page, whole
from audit.core.refusal import Conflict, Forbidden, Invalid, TooLarge

_LONGEST_KEY = 8_192
_LONGEST_LIST = 20_000


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def publisher_keys(request: PersonRequest) -> HttpResponse:
    """Who signs contracts here, what their keys signed, and whether only signed contracts are admitted."""
    problem, status, fresh = "", 200, False
    if request.method == "POST":
        require_admin(request.actor)
        try:
            messages.success(request, _change(request))
            return redirect("publisher-keys")
        except Forbidden as refusal:
            if refusal.code != "FRESH_REQUIRED":
                raise
            problem, status, fresh = refusal.message, refusal.status, True
        except (Conflict, Invalid) as refusal:
            problem, status = refusal.message, refusal.status
    shown = keys_shown(request.actor)
    typed = field(request, "public_key", _LONGEST_KEY)
    context = {
        "place": "tools",
        "shown": shown,
        "unsigned": ",".join(one.tool for one in [*shown.unsigned, *shown.alarms]),
        "remedy": REMEDY,
        "admin": is_admin(request.actor),
        "until": fresh_end(request.actor),
        "problem": problem,
        "fresh": fresh,
        "publisher": field(request, "publisher", 200),
        # What was given by mistake is not sent back into a page that stays open.
        "public_key": "" if "PRIVATE KEY" in typed else typed,
    }
    return render(request, "approvals/publisher_keys.html", context, status=status)


@require_POST
@signed_in
def tool_sign(request: PersonRequest, tool_name: str) -> HttpResponse:
    """Put a publisher's signature beside an admitted version."""
    number = whole(field(request, "number"))
    try:
        signed = contract_sign(actor=request.actor, tool=tool_name, number=number, signature=signature_in(request))
    except (Conflict, Invalid, TooLarge) as refusal:
        return tool_page(request, tool_name, number, problem=refusal.message, status=refusal.status)
    messages.success(request, signed.words)
    return redirect("tool-version", tool_name=tool_name, version=number)


def signature_in(request: PersonRequest) -> bytes:
    """The signature of a form: of its file where one came, else of its text."""
    given = request.FILES.get("signature_file")
    if given is not None:
        # Never whole where it is too long: the refusal needs only to see that it is.
        return given.read(MAX_BYTES * 2_048)
    return str(request.POST.get("signature", "")).encode("utf-8", "surrogatepass")


def _change(request: PersonRequest) -> str:
    verb = field(request, "verb")
    if verb == "add":
        row = publisher_key_add(
            actor=request.actor,
            publisher=field(request, "publisher", 200),
            public_key=field(request, "public_key", _LONGEST_KEY),
        )
        return f"{row.publisher} signs with this key from now on. Compare its fingerprint with them by another way."
    if verb == "revoke":
        try:
            key_id = UUID(field(request, "key"))
        except ValueError:
            raise Invalid("This page names no key. Load it again.", code="VERB_UNKNOWN") from None
        hit = publisher_key_revoke(actor=request.actor, key_id=key_id, because=field(request, "because", 3_000))
        tools = f" It alone signed {', '.join(one.tool for one in hit)}, in force: see below." if hit else ""
        return f"The key is revoked: nothing that it signed is admitted any more.{tools}"
    if verb in ("signed-only", "unsigned-too"):
        seen = field(request, "seen", _LONGEST_LIST).split(",")
        signed_only_set(actor=request.actor, wanted=verb == "signed-only", seen=seen)
        if verb == "signed-only":
            return "Only signed contracts are admitted from now on."
        return "Contracts without a signature are admitted again."
    raise Invalid("This page knows no such change. Load it again.", code="VERB_UNKNOWN")
