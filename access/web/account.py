"""One's own account: name, time zone, theme; the password; the sessions."""

from django.contrib import messages
from django.contrib.auth import logout, update_session_auth_hash
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from access.selectors.account import account_of, password_rules, sessions_of, zones
from access.services.passwords import password_change
from access.services.profile import profile_change
from access.services.sessions import session_end, session_rekeyed, sessions_end_others
from access.web.forms import field
from access.web.requests import PersonRequest, signed_in
from access.web.sessions import ZONE_KEY
from audit.core.refusal import Invalid, TooMany

THEMES = (
    ("system", "As the system", "light or dark, as this device says"),
    ("light", "Light", ""),
    ("dark", "Dark", ""),
)


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def account(request: PersonRequest) -> HttpResponse:
    """Name, zone and theme."""
    problem = ""
    row = account_of(request.actor)
    shown = {"name": row.name, "time_zone": row.time_zone, "theme": row.theme}
    if request.method == "POST":
        shown = {name: field(request, name) for name in shown}
        try:
            profile_change(actor=request.actor, **shown)
            if field(request, "zone"):
                request.session[ZONE_KEY] = field(request, "zone", 64)
            messages.success(request, "Saved. Times on all pages are told in the zone that you chose.")
            return redirect("account")
        except Invalid as refusal:
            problem = refusal.message
    context = {
        "place": "account",
        "part": "settings",
        "row": row,
        "shown": shown,
        "problem": problem,
        "themes": THEMES,
        "zones": _by_region(),
        "browser_zone": request.session.get(ZONE_KEY, ""),
    }
    return render(request, "account/settings.html", context, status=422 if problem else 200)


@sensitive_post_parameters("current", "new", "again")
@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def password(request: PersonRequest) -> HttpResponse:
    """Change the password; this session stays, every other one ends."""
    problem, status = "", 200
    if request.method == "POST":
        new = field(request, "new", 2000)
        key = request.session.session_key or ""
        try:
            if new != field(request, "again", 2000):
                raise Invalid("The two new passwords are not the same. Nothing was changed.", code="PASSWORD_TWICE")
            user = password_change(
                actor=request.actor, current=field(request, "current", 2000), new=new, session_key=key,
                address=request.address,
            )  # fmt: skip
            # Django reads the account when it is first asked for: now it would find a password that this session was
            # not made with, and end it.
            request.user = user
            update_session_auth_hash(request, user)
            session_rekeyed(actor=request.actor, old_key=key, new_key=request.session.session_key or "")
            messages.success(request, "Your password is changed. Every other session of yours has ended.")
            return redirect("account-password")
        except (Invalid, TooMany) as refusal:
            problem, status = refusal.message, refusal.status
    context = {"place": "account", "part": "password", "problem": problem, "rules": password_rules()}
    return render(request, "account/password.html", context, status=status)


@require_safe
@signed_in
def sessions(request: PersonRequest) -> HttpResponse:
    """Where one is signed in."""
    rows = sessions_of(request.actor, request.session.session_key or "")
    context = {"place": "account", "part": "sessions", "rows": rows, "others": [r for r in rows if not r.this_one]}
    return render(request, "account/sessions.html", context)


@require_POST
@signed_in
def sessions_end(request: PersonRequest) -> HttpResponse:
    """End one session, or with `others` all but this one."""
    key = request.session.session_key or ""
    if field(request, "others"):
        ended = sessions_end_others(actor=request.actor, session_key=key)
        words = f"{ended} other session{' has' if ended == 1 else 's have'} ended."
        messages.success(request, words if ended else "There was no other session.")
        return redirect("account-sessions")
    ended_one = session_end(actor=request.actor, session_id=field(request, "session"))
    if ended_one and not request.session.exists(key):
        logout(request)
        return HttpResponseRedirect(reverse("sign-in"))
    messages.success(request, "The session has ended." if ended_one else "The session had ended already.")
    return redirect("account-sessions")


def _by_region() -> list[tuple[str, list[tuple[str, str]]]]:
    """The zones by region: (Europe, [(Europe/Berlin, Berlin), …])."""
    found: dict[str, list[tuple[str, str]]] = {}
    for name in zones():
        region, _, city = name.partition("/")
        found.setdefault(region, []).append((name, city.replace("_", " ") or name))
    return list(found.items())
