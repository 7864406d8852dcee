"""The queries and bodies of the audit log."""

from typing import Any

from rest_framework import serializers

from audit.api.base import Shape, Text
from audit.core.actions import VERDICTS
from audit.core.filters import LONGEST
from audit.selectors.entries import PAGE


def _filter(help_text: str, **more: Any) -> Text:
    return Text(required=False, default="", allow_blank=True, max_length=LONGEST, help_text=help_text, **more)


class Filters(Shape):
    """What the log is narrowed to; an empty or absent one narrows nothing."""

    since = _filter("From this time on: RFC 3339, or 2026-11-29T14:02 in `zone`.")
    until = _filter("Up to this time, which is left out.")
    zone = _filter("The zone of times without an offset, such as Australia/Sydney; UTC without one.")
    actor = _filter("An actor's id, or a part of the name of whoever acted last under it.")
    acting_for = _filter("The person an agent acted for: id or name.")
    tool = _filter("A tool's name.")
    run = _filter("A run's id.")
    call = _filter("A call's id as the agent gave it.")
    verdict = _filter(f"One of {', '.join(VERDICTS)}.")
    action = _filter("An action such as proposal.decided, or a group of them as proposal.*")
    object = _filter("The id of whatever it was done to, or type:id.")


class EntriesQuery(Filters):
    """Which entries."""

    cursor = Text(required=False, default="", allow_blank=True, max_length=200, help_text="`next` of the page before.")
    limit = serializers.IntegerField(required=False, default=PAGE, min_value=1, max_value=PAGE)


class ExportQuery(Filters):
    """Which entries, as which file."""

    format = serializers.ChoiceField(["csv", "jsonl"], required=False, default="jsonl")


class EntryAnswer(Shape):
    """One entry, complete. Hidden characters are as they were recorded."""

    id = serializers.IntegerField(help_text="Its number; with `at` its place in the log.")
    at = serializers.CharField(help_text="UTC with microseconds, by the database's clock.")
    format = serializers.IntegerField(help_text="Number of this form.")
    tenant_id = serializers.CharField()
    action = serializers.CharField(help_text="<entity>.<verb, past>")
    verdict = serializers.CharField(help_text=f"One of {', '.join(VERDICTS)}.")
    actor_kind = serializers.ChoiceField(["person", "agent", "system"])
    actor_id = serializers.CharField()
    actor_name = serializers.CharField(allow_blank=True)
    on_behalf_of = serializers.CharField(allow_blank=True, help_text="The id of the person an agent acted for.")
    via = serializers.ChoiceField(["session", "token", "system"])
    object_type = serializers.CharField()
    object_id = serializers.CharField(allow_blank=True)
    run_id = serializers.CharField(allow_blank=True)
    call_id = serializers.CharField(allow_blank=True)
    tool = serializers.CharField(allow_blank=True)
    detail = serializers.DictField(help_text="What belongs to this action; secrets are redacted.")
    result_bytes = serializers.IntegerField(allow_null=True)
    duration_ms = serializers.IntegerField(allow_null=True)


class EntriesAnswer(Shape):
    """One page of the log, newest first."""

    entries = EntryAnswer(many=True)
    names = serializers.DictField(
        child=serializers.CharField(), help_text="The names of those that `on_behalf_of` names, by id."
    )
    next = serializers.CharField(allow_blank=True, help_text="`cursor` of the page behind, empty at the end.")
    now = serializers.DateTimeField()
