"""`/styleguide/`: every shape of the pages in every state, in both themes. Only with DEBUG or
settings.STYLEGUIDE (the demo and the tests); elsewhere the address leads nowhere, like any other unknown one."""

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from access.web.requests import PersonRequest, signed_in
from audit.core.refusal import NotFound

# A section's key is its heading's anchor and its template under templates/styleguide/.
SECTIONS = (
    ("colours", "Colours and text"),
    ("states", "States"),
    ("banners", "Banners and messages"),
    ("buttons", "Buttons"),
    ("forms", "Forms and secrets"),
    ("finding", "Tabs, filters, pages"),
    ("strips", "Strips"),
    ("tables", "Tables"),
    ("call", "The exact call, quotes, raw text"),
    ("decision", "Decision bar"),
    ("history", "Steps, timeline, lines, votes"),
    ("rules", "Rules and source text"),
    ("figures", "Figures, gauges, charts"),
    ("nothing", "Empty, loading, failed, denied, late"),
    ("steps", "Confirm steps and dialogs"),
)
VIEWS = (("both", "Both themes"), ("light", "Light"), ("dark", "Dark"))


@require_safe
@signed_in
def styleguide(request: PersonRequest) -> HttpResponse:
    """The page; `?show=light` or `dark` shows one theme alone. Raises NotFound where the styleguide is off."""
    if not getattr(settings, "STYLEGUIDE", settings.DEBUG):
        raise NotFound()
    show = request.GET.get("show", "")
    themes = [show] if show in ("light", "dark") else ["light", "dark"]
    context = {"show": show if len(themes) == 1 else "both", "themes": themes, "views": VIEWS, "sections": SECTIONS}
    return render(request, "styleguide.html", context)
