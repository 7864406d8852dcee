"""The parts of a run's history that its page asks for while somebody scrolls: blocks of events, and one event raw."""

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from access.web.requests import PersonRequest, signed_in
from audit.core.refusal import NotFound
from runs.selectors.asked import narrowed_of, number_of
from runs.selectors.timeline import event_raw, events_block


@require_safe
@signed_in
def events(request: PersonRequest, run_id: UUID) -> HttpResponse:
    """The events `first` to `last` that pass the filter, newest first, at most 500. 404 where these are no numbers."""
    first, last = number_of(request.GET, "first"), number_of(request.GET, "last")
    if first is None or last is None:
        raise NotFound
    found = events_block(request.actor, run_id, narrowed_of(request.GET), first=first, last=last)
    return render(request, "runs/events.html", {"events": found})


@require_safe
@signed_in
def raw(request: PersonRequest, run_id: UUID) -> HttpResponse:
    """The event `seq` as JSON, for a person to read."""
    seq = number_of(request.GET, "seq")
    if seq is None:
        raise NotFound
    return render(request, "runs/event_raw.html", {"seq": seq, "raw": event_raw(request.actor, run_id, seq)})
