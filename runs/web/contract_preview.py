"""A contract's text on real past calls, while it is written and on its candidate's page."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from access.core.rights import require_admin
from access.web.requests import PersonRequest, signed_in
from approvals.core.contract import Contract, parse_contract
from approvals.core.contract_diff import contract_changes
from approvals.core.contract_text import read_contract
from approvals.core.preview import Preview, preview
from approvals.selectors.catalogue import active_contract, contract_document
from approvals.selectors.tool_readers import require_reader
from approvals.selectors.tool_texts import document_of
from approvals.web.candidates import edit_page, typed_in
from audit.core.actor import Actor
from audit.core.refusal import Refusal
from runs.selectors.past_calls import PastCall, past_calls


@dataclass(frozen=True, slots=True)
class Previewed:
    """One past call under a text, for the page."""

    call: PastCall
    shown: Preview

    @property
    def address(self) -> str:
        """The call's place in its run."""
        return reverse("run", args=[self.call.run_id]) + f"#call-{quote(self.call.call_id, safe='')}"

    @property
    def at(self) -> datetime:
        """When it was asked for."""
        return self.call.at

    @property
    def state_of(self) -> bool:
        """Whether a state is kept of it."""
        return self.call.state is not None

    def __getattr__(self, name: str) -> object:
        return getattr(self.shown, name)


@require_POST
@signed_in
def tool_preview(request: PersonRequest) -> HttpResponse:
    """What stands against the text in the form, and the last calls as it would show them; nothing is stored."""
    require_admin(request.actor)
    typed, no_text = typed_in(request)
    found: dict[str, Any] = {"checked": True, "findings": []}
    try:
        if no_text is not None:
            raise no_text
        document = read_contract(typed["source"])
    except Refusal as refusal:
        listed = refusal.detail.get("findings")
        found["findings"] = listed or [{"path": "", "message": refusal.message}]
    else:
        found |= _looser(request.actor, document)
        found["previews"] = previewed(request.actor, parse_contract(document))
    if request.htmx:
        return render(request, "approvals/tool_preview.html", found)
    return edit_page(request, tool_name=str(request.POST.get("tool", ""))[:64], typed=typed, more=found)


@require_safe
@signed_in
def tool_previewed(request: PersonRequest, tool_name: str) -> HttpResponse:
    """The last calls of a tool as one of its versions, or a candidate, would show them."""
    require_reader(request.actor)
    of, document = document_of(request.actor, tool_name, str(request.GET.get("of", ""))[:64])
    context: dict[str, Any] = {"place": "tools", "tool_name": tool_name, "of": of}
    try:
        context["previews"] = previewed(request.actor, parse_contract(document))
    except Refusal as refusal:
        context |= {"problem": refusal.message, "previews": []}
    page = "approvals/previews.html" if request.htmx else "approvals/tool_previewed.html"
    return render(request, page, context)


def previewed(actor: Actor, contract: Contract) -> list[Previewed]:
    """The last calls of the contract's tool as it would show them."""
    try:
        found = active_contract(actor.tenant_id, contract.name)
    except Refusal:
        found = None
    kept_back = found.contract.redaction if found is not None else ()
    return [
        Previewed(call, preview(contract, call.given, call.state, also_redacted=kept_back))
        for call in past_calls(actor, contract.name)
    ]


def _looser(actor: Actor, document: dict[str, Any]) -> dict[str, Any]:
    found = contract_document(actor.tenant_id, str(document["name"]))
    if found is None:
        return {}
    changes = contract_changes(found[1], document)
    return {"in_force": found[0], "looser": [change for change in changes if change.direction == "looser"]}
