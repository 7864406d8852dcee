"""Pages of the auditor, read-only: the log, one entry, the path of a call, the export."""

from collections.abc import Callable
from datetime import tzinfo
from functools import wraps
from typing import Concatenate, cast

from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_safe

from audit.core.actor import Actor
from audit.core.filters import NAMES
from audit.core.refusal import Invalid, Unauthenticated
from audit.exports.files import MEDIA, content, headers_of
from audit.services.reading import (
    ZONE,
    Form,
    audit_entry_read,
    audit_export_begin,
    audit_log_read,
    audit_path_read,
)
from audit.web.shown import LogShown, entry_shown, path_shown


class ReaderRequest(HttpRequest):
    """A request behind `for_somebody`: config's middleware found a person and the zone that times are told in."""

    actor: Actor
    zone: tzinfo


type View[**P] = Callable[Concatenate[ReaderRequest, P], HttpResponseBase]


def for_somebody[**P](view: View[P]) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
    """Nobody is asked to sign in. What somebody may see is the service's business, which records the attempt."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if getattr(request, "actor", None) is None:
            raise Unauthenticated
        return view(cast(ReaderRequest, request), *args, **kwargs)

    return guarded


@require_safe
@for_somebody
def log(request: ReaderRequest) -> HttpResponse:
    """The log. Filters and place are in the address, so that it can be kept and sent."""
    page = audit_log_read(
        actor=request.actor, given=_given(request), zone=request.zone, cursor=request.GET.get("before", "")
    )
    shown = LogShown(page, own=request.zone, turned="before" in request.GET)
    with timezone.override(page.zone):
        return render(
            request, "audit/log.html", {"place": "audit", "shown": shown}, status=422 if shown.problems else 200
        )


@require_safe
@for_somebody
def entry(request: ReaderRequest, entry_id: int) -> HttpResponse:
    """One entry as a record."""
    read = audit_entry_read(actor=request.actor, number=entry_id)
    return render(request, "audit/entry.html", {"place": "audit", "shown": entry_shown(read)})


@require_safe
@for_somebody
def call_path(request: ReaderRequest) -> HttpResponse:
    """The path of one call on one page."""
    path = audit_path_read(actor=request.actor, run_id=request.GET.get("run", ""), call_id=request.GET.get("call", ""))
    return render(request, "audit/path.html", {"place": "audit", "shown": path_shown(path)})


@require_GET
@for_somebody
def export(request: ReaderRequest) -> StreamingHttpResponse:
    """What the filters find, as a file. Not for HEAD: every export is recorded."""
    form = request.GET.get("format", "csv")
    if form not in MEDIA:
        raise Invalid("Exports are CSV (format=csv) or JSON Lines (format=jsonl).", code="FORMAT_UNKNOWN")
    begun = audit_export_begin(actor=request.actor, given=_given(request), zone=request.zone, form=cast(Form, form))
    return StreamingHttpResponse(content(begun), headers=headers_of(begun))


def _given(request: HttpRequest) -> dict[str, str]:
    return {name: request.GET[name] for name in (*NAMES, ZONE) if request.GET.get(name)}
