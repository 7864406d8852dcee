"""The page of a draft: its text with findings, the form beside it, its tests, and publishing it.

One form holds the text and every button, so that no button costs what was typed. Without a script each button sends
the whole page; with one the findings follow the typing.
"""

from typing import Any, cast
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from access.core.rights import is_admin, require_admin
from access.selectors.directory import group_choices
from access.web.requests import PageRequest, PersonRequest, sign_in_address, signed_in
from approvals.core.policy_compare import around, compare_lines
from approvals.core.policy_edit import EditError, item_add, item_change, item_move, item_remove
from approvals.core.policy_form import changes_of, fields_of, item_of
from approvals.core.policy_words import policy_said
from approvals.selectors.catalogue import tool_names
from approvals.selectors.policies import PolicyRow, policy_head, policy_version
from approvals.selectors.policy_drafts import DraftRow, draft_of, require_policy_reader
from approvals.selectors.policy_look import Look, parse_source, policy_look
from approvals.services import policy_draft as drafts
from approvals.web.policies import REFUSED, draft_address, number_of, texts
from approvals.web.policy_opened import WORDS, Opened
from approvals.web.replays import draft_replay
from audit.core.refusal import Invalid, NotFound, Refusal


@require_http_methods(["GET", "HEAD", "POST"])
def draft(request: HttpRequest, draft_id: UUID) -> HttpResponse:
    """One draft; POST with the `verb` of the button. The text that was typed is shown again whatever happens."""
    page = cast(PersonRequest, request)
    if cast(PageRequest, request).actor is None:
        return _signed_out(page, draft_id)
    require_policy_reader(page.actor)
    row = draft_of(page.actor.tenant_id, draft_id)
    if page.method != "POST":
        return _page(page, row, row.source)
    typed = texts(page, "source") if "source" in page.POST else row.source
    source = typed.replace("\r\n", "\n").replace("\r", "\n")
    try:
        require_admin(page.actor)
        return _do(page, row, source)
    except NotFound:
        raise
    except REFUSED as refusal:
        return _page(page, draft_of(page.actor.tenant_id, draft_id), source, refusal=refusal)


@require_POST
@signed_in
def check(request: PersonRequest, draft_id: UUID) -> HttpResponse:
    """What stands against the text as it is typed, for htmx. Saves nothing."""
    require_policy_reader(request.actor)
    row = draft_of(request.actor.tenant_id, draft_id)
    context = _context(request, row, texts(request, "source").replace("\r\n", "\n"))
    return render(request, "approvals/policy_draft.html#looked", context | {"oob": True})


def _do(request: PersonRequest, row: DraftRow, source: str) -> HttpResponse:
    verb, _, rest = request.POST.get("verb", "save").partition(":")
    at: Any = {"actor": request.actor, "draft_id": row.id, "revision": number_of(request.POST.get("revision", ""))}
    reason = request.POST.get("reason", "")
    if verb in ("check", "close"):
        return _page(request, row, source, checked=verb == "check")
    if verb in ("open", "new"):
        return _page(request, row, source, opened=_open(source, rest))
    if verb in ("apply", "remove", "up", "down"):
        return _edit(request, row, source, verb, at)
    if verb not in ("save", "rebase", "discard", "ask", "publish"):
        raise Invalid("This page knows no such button. Load it again; your text is kept below.", code="VERB_UNKNOWN")
    saved = drafts.policy_draft_save(**at, source=source, name=request.POST.get("name", row.name)[:200])
    at["revision"] = saved.revision
    if verb == "save":
        messages.success(request, "Saved.")
    elif verb == "rebase":
        saved = drafts.policy_draft_rebase(**at)
        messages.success(request, f"It now stands on version {saved.based_on}.")
    elif verb == "discard":
        drafts.policy_draft_discard(**at)
        messages.success(request, f"The draft {saved.name} is discarded. Its text can still be read at its address.")
        return redirect("policies")
    elif verb == "ask":
        drafts.policy_draft_ask(**at, reason=reason)
        messages.success(request, "Another admin can publish it now. A change of the text takes the question back.")
    elif verb == "publish":
        version = drafts.policy_draft_publish(**at, reason=reason)
        messages.success(request, f"Version {version.number} is in force.")
        return redirect("policies")
    return HttpResponseRedirect(draft_address(row.id))


def _open(source: str, rest: str) -> Opened:
    part, _, number = rest.partition(":")
    if part not in WORDS:
        raise Invalid("There is no form for this part. Change it in the text.", code="VERB_UNKNOWN")
    if not number:
        begun = {"effect": "ask", "window": "24h", "per": "tool", "over": "deny"}
        return Opened(part, None, "", fields_of(part, {}) | begun)
    item = _item(source, part, number_of(number))
    return Opened(part, number_of(number), str(item.get("id", "")), fields_of(part, item))


def _item(source: str, part: str, index: int) -> dict[str, Any]:
    """The item of a text that is a policy already. Raises Invalid (FORM_STALE)."""
    try:
        document = policy_document(source)
        item: dict[str, Any] = document[part][index]
    except (Refusal, LookupError):
        raise Invalid(
            "The text has changed, so the form does not know what it stands for. Mend the text, then open it again.",
            code="FORM_STALE",
        ) from None
    return item


def policy_document(source: str) -> dict[str, Any]:
    """The document of a text. Raises Invalid and TooLarge like `parse_source`."""
    document: dict[str, Any] = parse_source(source).document
    return document


def _edit(request: PersonRequest, row: DraftRow, source: str, verb: str, at: dict[str, Any]) -> HttpResponse:
    """One rule, freeze or limit, from the form into the text, and saved."""
    part: Any = request.POST.get("part", "")
    if part not in WORDS:
        raise Invalid("There is no form for this part. Change it in the text.", code="VERB_UNKNOWN")
    index = number_of(request.POST["index"]) if request.POST.get("index", "") else None
    was = request.POST.get("was", "")
    fields = {name.removeprefix("f-"): texts(request, name) for name in request.POST if name.startswith("f-")}
    opened = Opened(part, index, was, fields)
    old = _item(source, part, index) if index is not None else {}
    if old.get("id", "") != was:
        raise Invalid(f"Another {opened.word} stands there now. Open it again.", code="FORM_STALE")
    try:
        if verb == "remove" and index is not None:
            text = item_remove(source, part, index)
        elif verb in ("up", "down") and index is not None:
            text = item_move(source, part, index, index + (1 if verb == "down" else -1))
        else:
            item, opened.wrong = item_of(part, fields, old)
            if opened.wrong:
                return _page(request, row, source, opened=opened, status=422)
            changes = changes_of(item, old)
            if index is None:
                added = {name: value for name, value in item.items() if value is not None}
                text = item_add(source, part, added, _before(source, part, request.POST.get("before", "")))
            else:
                text = item_change(source, part, index, changes)
    except EditError as error:
        refusal = Invalid(str(error), code="FORM_CANNOT")
        return _page(request, row, source, opened=opened, refusal=refusal)
    drafts.policy_draft_save(**at, source=text)
    what = {"remove": "taken out of", "up": "moved in", "down": "moved in"}.get(verb, "written into")
    messages.success(request, f"The {opened.word} {fields.get('id') or was} was {what} the text.")
    return HttpResponseRedirect(draft_address(row.id))


def _before(source: str, part: str, id_: str) -> int | None:
    items = policy_document(source).get(part, [])
    return next((index for index, item in enumerate(items) if item["id"] == id_), None)


def _context(request: PersonRequest, row: DraftRow, source: str) -> dict[str, Any]:
    tenant = request.actor.tenant_id
    head = policy_head(tenant)
    look = policy_look(tenant, source)
    base = policy_version(tenant, row.based_on) if row.based_on else None
    newer = policy_version(tenant, head.active_number) if row.is_open and head.active_number != row.based_on else None
    unsaved = source != row.source
    asked = row.asked_by_id not in ("", request.actor.id) and not unsaved
    to_ask = head.second_admin and head.active_number > 0 and not asked
    return {
        "place": "policies",
        "draft": row,
        "head": head,
        "look": look,
        "said": policy_said(look.policy) if look.policy else [],
        "passed": len(look.tests) - len(look.failed),
        "source": source,
        "unsaved": unsaved,
        "same": base is not None and base.source == source,
        "newer": newer,
        "to_ask": to_ask,
        "hindered": _hindered(look, newer, to_ask, row.asked_by_id == request.actor.id and not unsaved),
        "editable": row.is_open and is_admin(request.actor),
        "summary": _summary(look),
        "tab": "draft",
    }


def _hindered(look: Look, newer: PolicyRow | None, to_ask: bool, mine: bool) -> str:
    """Why it cannot be published just now, and what to do about it; "" where nothing hinders."""
    if not look.publishable:
        return "Mend what is in the way, then press Save or Check."
    if newer is not None:
        return f"Say first, at the top of the page, that it is meant on top of version {newer.number}."
    if to_ask and mine:
        return "You have asked for it; another admin publishes it."
    if to_ask:
        return "Another admin publishes it: press “Ask a second admin”."
    return ""


def _summary(look: Look) -> str:
    words = []
    if look.blocking:
        words.append(f"{len(look.blocking)} finding{'s' if len(look.blocking) != 1 else ''} in the way")
    if look.tests:
        words.append(f"{len(look.tests) - len(look.failed)} of {len(look.tests)} tests pass")
    elif look.policy:
        words.append("no tests")
    if look.notes:
        words.append(f"{len(look.notes)} note{'s' if len(look.notes) != 1 else ''}")
    if look.blocking or look.failed:
        words.append("cannot be published as it is")
    return " · ".join(words)


def _page(
    request: PersonRequest,
    row: DraftRow,
    source: str,
    *,
    opened: Opened | None = None,
    refusal: Refusal | None = None,
    checked: bool = False,
    status: int = 200,
) -> HttpResponse:
    context = _context(request, row, source)
    theirs = row.source if refusal is not None and refusal.code == "DRAFT_CHANGED" else None
    context |= {
        "opened": opened,
        "tools": [name for name, admitted in tool_names(request.actor.tenant_id) if admitted],
        "groups": [slug for slug, _ in group_choices(request.actor)] if context["editable"] else [],
        "refusal": refusal,
        "problem": refusal.message if refusal else "",
        "difference": around(compare_lines(theirs, source)) if theirs is not None else [],
        "sides": {"left": f"saved by {row.saved_by}", "right": "yours"},
        "checked": checked,
        "name": request.POST.get("name", row.name),
        "reason": request.POST.get("reason", ""),
    } | draft_replay(request, row)
    return render(request, "approvals/policy_draft.html", context, status=refusal.status if refusal else status)


def _signed_out(request: PersonRequest, draft_id: UUID) -> HttpResponse:
    """The session ended while somebody typed: nothing is saved, and the text is there to be copied."""
    address = draft_address(draft_id)
    if request.method != "POST":
        return HttpResponseRedirect(sign_in_address(address))
    context = {"source": request.POST.get("source", ""), "sign_in": sign_in_address(address)}
    return render(request, "approvals/policy_signed_out.html", context, status=401)
