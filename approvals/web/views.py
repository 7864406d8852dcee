"""Pages of proposals: the inbox, one proposal, and the decision."""

from collections.abc import Mapping
from typing import cast
from urllib.parse import urlsplit
from uuid import UUID

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST, require_safe

from access.web.requests import PageRequest, PersonRequest, signed_in
from access.web.sessions import drop_text, keep_text, kept_text
from approvals.services.decision import decision_record
from approvals.services.proposal import proposal_refresh_ask
from approvals.services.revoking import permit_revoke
from approvals.services.showing import proposal_show
from approvals.web.authenticate import answer_in
from approvals.web.narrow import Asked, asked_for, asked_for_text
from approvals.web.shown import ProposalShown, proposal_shown
from approvals.web.strips import listed
from approvals.web.turn import turn_of
from audit.core.refusal import Conflict, Forbidden, Invalid, NotFound, Refusal

# The bar tells who decided and when in the reader's own zone; the service's sentence would say it twice.
_LATE = {
    "ALREADY_DECIDED": "Your click came after the decision and changed nothing.",
    "EXPIRED": "Your click came after the time was up and changed nothing.",
    "CLOSED": "Your click came after this was closed and changed nothing.",
}


@require_safe
@signed_in
def inbox(request: PersonRequest) -> HttpResponse:
    """The list of proposals; for htmx its body, or only further rows behind a cursor."""
    cursor = _text(request, "after")
    asked = asked_for(request.GET)
    further = bool(request.htmx and cursor)
    listing = listed(request.actor, asked, cursor=cursor, filters=not further)
    request.counted["mine"] = listing.counts_of.mine
    part = ""
    if request.htmx:
        part = "approvals/list.html#rows" if further and not listing.problem else "approvals/list.html#body"
    response = render(request, part or "approvals/inbox.html", {"place": "inbox", "listing": listing})
    if request.htmx and not further and urlsplit(request.htmx.current_url or "").path == reverse("inbox"):
        # The filters live in the address: it can be kept, sent and gone back to.
        response["HX-Replace-Url"] = listing.here
    return response


@require_safe
@signed_in
def proposal(request: PersonRequest, proposal_id: UUID) -> HttpResponse:
    """One proposal. Changes nothing that anybody decides by (S11).

    Being looked at, it is recorded as shown, and the wish to see the target's state anew, which a worker fulfils
    (approvals never reads a target). Harmless on GET: it moves no decision, an open wish is not repeated and one is
    fulfilled at most every two seconds.
    """
    shown = proposal_shown(request.actor, proposal_id)
    if _is_looked_at(request):
        proposal_show(
            actor=request.actor,
            proposal_id=proposal_id,
            long_texts=shown.long_count,
            readable=shown.content is not None,
        )
        proposal_refresh_ask(actor=request.actor, proposal_id=proposal_id)
    reason = kept_text(request.session, request.path)
    if not shown.detail.people.may_decide:
        drop_text(request.session, request.path)  # shown once more, to be copied; there is no field for it any more
    return _page(request, shown, reason=reason)


@sensitive_post_parameters("reason")
@require_POST
def decide(request: HttpRequest, proposal_id: UUID) -> HttpResponse:
    """The click: digest and round of what was shown, verdict, reason. A refusal keeps the reason in its field."""
    page = cast(PersonRequest, request)
    address = reverse("proposal", args=[proposal_id])
    reason = reason_typed(page.POST)
    if cast(PageRequest, request).actor is None:
        return _ask_to_sign_in(page, _came_from(page).address("proposal", proposal_id), reason)
    try:
        _check_read(page, proposal_id)
        done = decision_record(
            actor=page.actor,
            proposal_id=proposal_id,
            verdict=page.POST.get("verdict", ""),  # type: ignore[arg-type]  # the service refuses other words
            digest=page.POST.get("digest", ""),
            round=round_of(page.POST.get("round", "")),
            reason=reason,
            read_to_end=True if page.POST.get("read_to_end") == "yes" else None,
            in_place_of=page.POST.get("as", ""),
            signed=answer_in(page.POST),
        )
    except NotFound:
        raise
    except (Conflict, Forbidden, Invalid) as refusal:
        keep_text(page.session, address, reason)
        return answer_part(page, proposal_shown(page.actor, proposal_id), reason=reason, refusal=refusal)
    drop_text(page.session, address)
    if page.htmx:
        return answer_part(page, proposal_shown(page.actor, proposal_id), said=done.message)
    return HttpResponseRedirect(_came_from(page).address("proposal", proposal_id))


@require_POST
@signed_in
def revoke(request: PersonRequest, proposal_id: UUID) -> HttpResponse:
    """Take an approval back before it is executed. A refusal shows the page as it stands then."""
    try:
        row = permit_revoke(actor=request.actor, proposal_id=proposal_id, reason=request.POST.get("reason", ""))
    except NotFound:
        raise
    except (Conflict, Forbidden, Invalid) as refusal:
        return answer_part(request, proposal_shown(request.actor, proposal_id), refusal=refusal)
    again = row.status == "pending"
    said = "The approval was taken back; " + ("people are asked anew." if again else "nothing runs.")
    if request.htmx:
        return answer_part(request, proposal_shown(request.actor, proposal_id), said=said)
    return HttpResponseRedirect(reverse("proposal", args=[proposal_id]))


def _page(
    request: PersonRequest, shown: ProposalShown, *, reason: str = "", refusal: Refusal | None = None
) -> HttpResponse:
    asked = _came_from(request)
    listing = listed(request.actor, asked, current=shown.detail.id)
    request.counted["mine"] = listing.counts_of.mine
    context = {"place": "inbox", "shown": shown, "listing": listing, "reason": reason, "refusal": refusal}
    context["turn"] = turn_of(request.actor, asked, shown.detail, listing)
    context["problem"] = _problem(refusal)
    return render(request, "approvals/proposal.html", context, status=refusal.status if refusal else 200)


def answer_part(
    request: PersonRequest, shown: ProposalShown, *, reason: str = "", refusal: Refusal | None = None, said: str = ""
) -> HttpResponse:
    """After a click: the changed parts of the page where htmx asked, else all of it."""
    if not request.htmx:
        return _page(request, shown, reason=reason, refusal=refusal)
    context = {"shown": shown, "reason": reason, "refusal": refusal, "problem": _problem(refusal), "said": said}
    if "list" in request.POST:
        context["turn"] = turn_of(request.actor, _came_from(request), shown.detail)
    return render(request, "approvals/proposal.html#answer", context, status=refusal.status if refusal else 200)


def _came_from(request: PersonRequest) -> Asked:
    """The list that the proposal was opened from: its query travels in the address, and in the form of the decision."""
    return asked_for_text(request.POST["list"]) if "list" in request.POST else asked_for(request.GET)


def _problem(refusal: Refusal | None) -> str:
    return _LATE.get(refusal.code, refusal.message) if refusal else ""


def _ask_to_sign_in(request: PersonRequest, address: str, reason: str) -> HttpResponse:
    """The session ended between opening the page and the click: nothing is decided, and the reason goes along."""
    context = {"next": address, "kept": reason, "username": "", "inside": bool(request.htmx)}
    name = "approvals/sign_in_again.html" if request.htmx else "access/sign_in.html"
    return render(request, name, context, status=401)


def _check_read(request: PersonRequest, proposal_id: UUID) -> None:
    """Long texts must have been opened to their end before an approval (S13); the page says when they were."""
    if request.POST.get("verdict") != "approve" or request.POST.get("read_to_end") == "yes":
        return
    if proposal_shown(request.actor, proposal_id).long_count:
        raise Invalid(
            "Read the long texts to their end before you approve, and say that you did.",
            code="NOT_READ_TO_END",
            missing=["read_to_end"],
        )


def reason_typed(given: Mapping[str, str]) -> str:
    """A reason that the policy offers, and what was typed beside it."""
    preset, text = given.get("preset", "").strip(), given.get("reason", "")
    return f"{preset}: {text}" if preset and text.strip() else preset or text


def round_of(text: str) -> int:
    """The round that the page showed. Without it a stale page could decide on a state it never showed."""
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise Conflict("The page did not say what it showed. Load it again and decide on what it shows.", code="STALE")
    return int(text)


def _is_looked_at(request: PersonRequest) -> bool:
    """Not for HEAD and not for a browser that only fetches ahead: nobody is looking."""
    purpose = request.headers.get("Sec-Purpose", request.headers.get("Purpose", ""))
    return request.method == "GET" and "prefetch" not in purpose


def _text(request: HttpRequest, name: str) -> str:
    """A query parameter; PostgreSQL takes no NUL, and nothing here holds one."""
    return request.GET.get(name, "").replace("\0", "")[:200]
