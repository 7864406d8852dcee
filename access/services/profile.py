"""What a person sets for themselves: name, time zone, theme."""

from access.core.names import name_of
from access.models import User
from access.models.people import THEMES
from access.selectors.account import zones
from audit.core.actor import Actor
from audit.core.refusal import Forbidden, Invalid
from audit.services.record import audit_record, audit_refusals


def profile_change(*, actor: Actor, name: str, time_zone: str, theme: str) -> None:
    """Set the actor's own name, zone ("" follows the browser) and theme.

    Raises Forbidden, Invalid (NAME_INVALID, ZONE_UNKNOWN, THEME_UNKNOWN).
    """
    with audit_refusals(actor=actor, action="person.settings_changed", object_type="account", object_id=actor.id):
        if actor.kind != "person" or actor.via != "session":
            raise Forbidden("Only a signed-in person has settings.", code="ROLE_MISSING")
        if time_zone and time_zone not in zones():
            raise Invalid(f"{time_zone[:60]!r} is not a time zone. Choose one of the list.", code="ZONE_UNKNOWN")
        if theme not in THEMES:
            raise Invalid("Choose one of the themes of the list.", code="THEME_UNKNOWN")
        user = User.objects.select_for_update().get(id=actor.id)
        before = {"name": user.name, "time_zone": user.time_zone, "theme": user.theme}
        user.name, user.time_zone, user.theme = name_of(name), time_zone, theme
        user.save(update_fields=["name", "time_zone", "theme"])
        audit_record(
            actor=actor, action="person.settings_changed", object_type="account", object_id=actor.id,
            detail={"name": user.name, "time_zone": time_zone, "theme": theme, "before": before},
        )  # fmt: skip
