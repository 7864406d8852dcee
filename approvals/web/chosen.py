"""Several proposals of the list, looked at on one page and decided with one click."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast
from urllib.parse import urlencode
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from access.web.requests import PageRequest, PersonRequest, sign_in_address
from access.web.sessions import drop_text, keep_text, kept_text
from approvals.core.bulk import MOST, Chosen, not_together, sums_of, too_much
from approvals.core.money import money_text
from approvals.selectors.places import OWN
from approvals.services.bulk import Choice, Outcome, decisions_record
from approvals.services.proposal import proposal_refresh_ask
from approvals.services.showing import proposal_show
from approvals.web.shown import ProposalShown, proposal_shown
from approvals.web.views import reason_typed
from audit.core.actor import Actor
from audit.core.refusal import Conflict, Forbidden, Invalid, NotFound, Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One of the chosen. `closed` says why it is not decided here at all, `alone` why it is only rejected here."""

    shown: ProposalShown
    closed: str
    alone: str
    outcome: Outcome | None = None

    @property
    def as_yourself(self) -> bool:
        """Whether one's own right is used here though one could decide it in another's place too."""
        places = self.shown.detail.people.places
        return len(places) > 1 and places[0].id == OWN

    @property
    def value(self) -> str:
        """What its form field says: the proposal, and what of it was shown."""
        detail = self.shown.detail
        return f"{detail.id}:{detail.digest}:{detail.round}"


@sensitive_post_parameters("reason")
@require_http_methods(["GET", "HEAD", "POST"])
def chosen(request: HttpRequest) -> HttpResponse:
    """The chosen proposals with their exact calls; after the click, what became of each of them."""
    page = cast(PersonRequest, request)
    choices = _choices(page.POST.getlist("choice"))
    reason = reason_typed(page.POST)
    if cast(PageRequest, request).actor is None:
        return _to_sign_in(page, choices, reason)
    if page.method != "POST":
        items = _items(page.actor, _ids(page.GET.getlist("id")))
        if page.method == "GET":
            _record_shown(page.actor, items)
        return _page(page, items, reason=kept_text(page.session, page.path))
    items = _items(page.actor, [choice.proposal_id for choice in choices])
    verdict = page.POST.get("verdict", "")
    try:
        if verdict not in ("approve", "reject"):
            raise Invalid("A verdict is approve or reject.", code="VERDICT_UNKNOWN")
        outcomes = decisions_record(
            actor=page.actor,
            verdict=verdict,  # type: ignore[arg-type]  # one of the two, checked above
            choices=choices,
            reason=reason,
            limits=settings.BULK_SUMS,
            alone={item.shown.detail.id: item.alone for item in items if item.alone},
        )
    except (Conflict, Forbidden, Invalid) as refusal:
        keep_text(page.session, page.path, reason)
        return _page(page, items, reason=reason, refusal=refusal)
    drop_text(page.session, page.path)
    return _told(page, outcomes, verdict)


def _ids(given: Sequence[str]) -> list[UUID]:
    """Ids of an address, once each; what is none is passed over."""
    found: dict[UUID, None] = {}
    for text in given[: MOST + 1]:
        try:
            found[UUID(text)] = None
        except ValueError:
            continue
    return list(found)


def _choices(given: Sequence[str]) -> list[Choice]:
    found: dict[UUID, Choice] = {}
    for text in given[: MOST + 1]:
        id_, _, rest = text.partition(":")
        digest, _, round_ = rest.partition(":")
        if round_.isascii() and round_.isdecimal() and len(round_) < 10:
            for proposal_id in _ids([id_]):
                found[proposal_id] = Choice(proposal_id, digest, int(round_))
    return list(found.values())


def _items(actor: Actor, ids: Sequence[UUID]) -> list[Item]:
    """What of these the actor may see; a foreign id is passed over like an unknown one, and only such are not found
    (S62)."""
    items = []
    for proposal_id in ids:
        try:
            shown = proposal_shown(actor, proposal_id)
        except NotFound:
            continue
        items.append(Item(shown=shown, closed=_closed(shown), alone=_alone(shown)))
    if ids and not items:
        raise NotFound
    return items


def _closed(shown: ProposalShown) -> str:
    if shown.detail.people.may_decide:
        return ""
    return shown.detail.people.reason if shown.detail.status == "pending" else f"{shown.word}."


def _alone(shown: ProposalShown) -> str:
    """What has to be done on its own page before it is approved."""
    if shown.content is None:
        return "It cannot be shown, so it is not approved."
    if shown.long_count:
        return "It has long texts that are read to their end first. Open it to approve it."
    if shown.content.call.warnings:
        return "It holds characters that hide or imitate something. Open it to approve it."
    places = shown.detail.people.places
    if len(places) > 1 and places[0].id != OWN:
        return "You may decide it for several people. Open it to say for whom."
    if shown.detail.handling.authentication != "session":
        return "It asks you to confirm who you are. Open it to approve it."
    return ""


def _record_shown(actor: Actor, items: Sequence[Item]) -> None:
    for item in items:
        proposal_show(
            actor=actor,
            proposal_id=item.shown.detail.id,
            long_texts=item.shown.long_count,
            readable=item.shown.content is not None,
        )
        proposal_refresh_ask(actor=actor, proposal_id=item.shown.detail.id)


def _compared(items: Sequence[Item]) -> list[Chosen]:
    found = []
    for item in items:
        content = item.shown.content
        if not item.closed:
            amount, currency = (content.amount_minor, content.currency) if content else (None, "")
            found.append(Chosen(item.shown.detail.tool, amount, currency))
    return found


def _page(page: PersonRequest, items: list[Item], *, reason: str, refusal: Refusal | None = None) -> HttpResponse:
    compared = _compared(items)
    together = not_together(compared)
    approved = [item for item in items if not item.closed and not item.alone]
    context = {
        "place": "inbox",
        "items": items,
        "count": len(compared),
        "approvable": len(approved),
        "sums": [money_text(minor, currency) for currency, minor in sums_of(compared).items()],
        "together": together,
        "too_much": too_much(_compared(approved), settings.BULK_SUMS),
        "reasons": _common_reasons(items),
        "reason": reason,
        "refusal": refusal,
    }
    return render(page, "approvals/chosen.html", context, status=refusal.status if refusal else 200)


def _common_reasons(items: Sequence[Item]) -> list[str]:
    """Reasons that the policy offers for every one of them."""
    offered = [item.shown.detail.handling.reasons for item in items if not item.closed]
    return [one for one in offered[0] if all(one in others for others in offered)] if offered else []


def _told(page: PersonRequest, outcomes: Sequence[Outcome], verdict: str) -> HttpResponse:
    said: Mapping[UUID, Outcome] = {outcome.proposal_id: outcome for outcome in outcomes}
    items = [
        Item(shown=item.shown, closed="", alone="", outcome=said[item.shown.detail.id])
        for item in _items(page.actor, list(said))
    ]
    done = sum(outcome.done for outcome in outcomes)
    context = {"place": "inbox", "items": items, "done": done, "left": len(outcomes) - done, "verdict": verdict}
    return render(page, "approvals/chosen_done.html", context)


def _to_sign_in(page: PersonRequest, choices: Sequence[Choice], reason: str) -> HttpResponse:
    if page.method != "POST":
        address = sign_in_address(page.get_full_path())
        return HttpResponse(status=302, headers={"Location": address})
    query = urlencode([("id", str(choice.proposal_id)) for choice in choices])
    context = {"next": f"{reverse('inbox-chosen')}?{query}", "kept": reason, "username": "", "inside": False}
    return render(page, "access/sign_in.html", context, status=401)
