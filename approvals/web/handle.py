"""What can be done with a held call before it is decided: asking its agent, editing it, saying that one looks at it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast
from uuid import UUID

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from access.web.requests import PageRequest, PersonRequest, signed_in
from access.web.sessions import drop_text, keep_text, kept_text
from approvals.core.editing import PRESENCE, VALUE, Field
from approvals.selectors.editing import Editable, editable
from approvals.services.claim import proposal_claim, proposal_release
from approvals.services.edit import Preview, proposal_edit, proposal_edit_preview
from approvals.services.question import question_ask
from approvals.web.shown import ProposalShown, proposal_shown
from approvals.web.views import answer_part, round_of
from audit.core.jsondoor import Json
from audit.core.refusal import Conflict, Forbidden, Invalid, NotFound, Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class EditPage:
    """The form of an edit: its fields as they stand, and what saving them would make, once that was looked at."""

    fields: list[Field]
    preview: Preview | None
    reason: str
    digest: str
    round: int


@require_POST
@signed_in
def claim(request: PersonRequest, proposal_id: UUID) -> HttpResponse:
    """Say that one looks at it, or take that word back."""
    verb = proposal_release if request.POST.get("verb") == "release" else proposal_claim
    refusal: Refusal | None = None
    try:
        verb(actor=request.actor, proposal_id=proposal_id)
    except NotFound:
        raise
    except (Conflict, Forbidden) as raised:
        refusal = raised
    if refusal is None and not request.htmx:
        return HttpResponseRedirect(reverse("proposal", args=[proposal_id]))
    return answer_part(request, proposal_shown(request.actor, proposal_id), refusal=refusal)


@sensitive_post_parameters("text")
@require_http_methods(["GET", "HEAD", "POST"])
def ask(request: HttpRequest, proposal_id: UUID) -> HttpResponse:
    """The question's own page: what is asked about, and a field. A refusal keeps what was typed."""
    page = cast(PersonRequest, request)
    text = page.POST.get("text", "")
    if cast(PageRequest, request).actor is None:
        return _to_sign_in(page, text)
    refusal: Refusal | None = None
    if page.method == "POST":
        try:
            question_ask(
                actor=page.actor,
                proposal_id=proposal_id,
                digest=page.POST.get("digest", ""),
                round=round_of(page.POST.get("round", "")),
                text=text,
            )
        except NotFound:
            raise
        except (Conflict, Forbidden, Invalid) as raised:
            refusal = raised
            keep_text(page.session, page.path, text)
        else:
            drop_text(page.session, page.path)
            return HttpResponseRedirect(reverse("proposal", args=[proposal_id]) + "#p-talk")
    shown = proposal_shown(page.actor, proposal_id)
    context = {
        "place": "inbox",
        "shown": shown,
        "text": text or kept_text(page.session, page.path),
        "refusal": refusal,
    }
    return render(page, "approvals/ask.html", context, status=refusal.status if refusal else 200)


@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: HttpRequest, proposal_id: UUID) -> HttpResponse:
    """The call's arguments as fields; then the difference that they make; then the revision.

    Whatever is refused, and while the difference is looked at, everything that was typed stays in its field.
    """
    page = cast(PersonRequest, request)
    if cast(PageRequest, request).actor is None:
        return _to_sign_in(page, page.POST.get("reason", ""))
    shown = proposal_shown(page.actor, proposal_id)
    found = editable(page.actor, proposal_id)
    if isinstance(found, Refusal):
        return _closed(page, shown, found)
    typed = {name: page.POST.get(name, "") for name in page.POST if name.startswith((VALUE, PRESENCE))}
    reason = page.POST.get("reason", "") or kept_text(page.session, page.path)
    if page.method != "POST" or page.POST.get("verb") == "back":
        return _form(page, shown, found, typed=typed, reason=reason)
    read = found.read(typed)
    if read.problems:
        refusal = Invalid("Some fields cannot be read; each says why.", code="FIELDS_INVALID")
        return _form(page, shown, found, typed=typed, reason=reason, problems=read.problems, refusal=refusal)
    try:
        return _save(page, shown, found, typed, read.arguments, reason)
    except NotFound:
        raise
    except (Conflict, Forbidden, Invalid) as raised:
        keep_text(page.session, page.path, reason)
        return _form(page, shown, found, typed=typed, reason=reason, refusal=raised, arguments=read.arguments)


def _save(
    page: PersonRequest,
    shown: ProposalShown,
    found: Editable,
    typed: Mapping[str, str],
    arguments: dict[str, Json],
    reason: str,
) -> HttpResponse:
    digest, round_ = page.POST.get("digest", ""), round_of(page.POST.get("round", ""))
    if page.POST.get("verb") == "save":
        done = proposal_edit(
            actor=page.actor,
            proposal_id=shown.detail.id,
            digest=digest,
            round=round_,
            arguments=arguments,
            shown=page.POST.get("shown", ""),
            reason=reason,
            tool=page.POST.get("tool", ""),
        )
        drop_text(page.session, page.path)
        return HttpResponseRedirect(reverse("proposal", args=[done.proposal_id]))
    preview = proposal_edit_preview(
        actor=page.actor,
        proposal_id=shown.detail.id,
        digest=digest,
        round=round_,
        arguments=arguments,
        tool=page.POST.get("tool", ""),
    )
    return _form(page, shown, found, typed=typed, reason=reason, arguments=arguments, preview=preview)


def _form(
    page: PersonRequest,
    shown: ProposalShown,
    found: Editable,
    *,
    typed: Mapping[str, str],
    reason: str,
    problems: Mapping[str, str] | None = None,
    arguments: Mapping[str, Json] | None = None,
    preview: Preview | None = None,
    refusal: Refusal | None = None,
) -> HttpResponse:
    form = EditPage(
        fields=found.fields(typed=typed, problems=problems or {}, arguments=arguments),
        preview=preview,
        reason=reason,
        digest=found.digest,
        round=found.round,
    )
    context = {"place": "inbox", "shown": shown, "form": form, "refusal": refusal, "errors": _errors(refusal)}
    return render(page, "approvals/edit.html", context, status=refusal.status if refusal else 200)


def _errors(refusal: Refusal | None) -> list[str]:
    """What a refusal of the schema says beyond its first sentence."""
    listed = refusal.detail.get("errors") if refusal is not None else None
    return [str(error["message"]) for error in listed][1:20] if isinstance(listed, list) else []


def _closed(page: PersonRequest, shown: ProposalShown, refusal: Refusal) -> HttpResponse:
    """There is nothing to edit here (any more); what was typed can still be copied."""
    filled = [(name.removeprefix(VALUE), page.POST.get(name, "")) for name in page.POST if name.startswith(VALUE)]
    typed = [(name, text) for name, text in filled if text.strip()]
    context = {"place": "inbox", "shown": shown, "form": None, "refusal": refusal, "typed": typed}
    return render(page, "approvals/edit.html", context, status=refusal.status)


def _to_sign_in(page: PersonRequest, text: str) -> HttpResponse:
    """The session ended while the page was open: nothing was done, and what was typed goes along."""
    if page.method != "POST":
        return HttpResponseRedirect(reverse("sign-in") + f"?next={page.path}")
    context = {"next": page.path, "kept": text, "username": "", "inside": False}
    return render(page, "access/sign_in.html", context, status=401)
