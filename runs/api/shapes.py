"""The bodies and queries of runs and calls."""

import re

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from approvals.api.shapes import ToolAnswer
from audit.api.base import AnyJson, ErrorForm, Moment, Seconds, Shape, Text
from audit.core.refusal import NotFound
from runs.core.kinds import CallState, RunStatus
from runs.core.meanings import CALL_MEANING, RUN_MEANING

LONGEST_WAIT = 60.0
"""Seconds that one long-poll may take."""
MOST_EVENTS = 500

_IDS = r"[A-Za-z0-9][A-Za-z0-9._:~@+=-]{0,127}"
_KNOWN = rf"{_IDS}(?:~r[0-9]{{1,4}})?"
"""An id as it stands in an address: an agent's own, or that of a revision of one."""


def known_id(call_id: str) -> str:
    """A call id from an address. One that no call can have reads like one that no call has (S62): NUL would reach the
    database, which takes none. Raises NotFound."""
    if re.fullmatch(_KNOWN, call_id) is None:
        raise NotFound
    return call_id


class CallId(serializers.RegexField):
    """A call id: what fits into an address unescaped, so that no proxy can read it as another one."""

    default_error_messages = {
        "invalid": "must be 1 to 128 letters, digits or . _ : ~ @ + = - and begin with a letter or digit"
    }

    def __init__(self, **kwargs: object) -> None:
        super().__init__(rf"^{_IDS}\Z", trim_whitespace=False, **kwargs)  # type: ignore[arg-type]

    def to_internal_value(self, data: object) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return data


class OpenRequest(Shape):
    """A new run."""

    title = Text(max_length=200, help_text="What the run is for, as people will read it.")
    client_ref = Text(
        required=False, max_length=200, help_text="Your own reference: opening twice with it gives the same run."
    )
    deadline = Moment(required=False, help_text="After this nothing of the run is started.")
    tools = serializers.ListField(
        child=Text(max_length=64),
        required=False,
        max_length=100,
        help_text="The run may call these of your tools and no others; without it, all that you are shown.",
    )


class TurnRequest(Shape):
    """The next turn: what the model is shown until the one after."""

    turn_id = CallId(help_text="Unique in the run, for example the model's message. Repeat it to repeat safely.")
    tools = serializers.ListField(
        child=Text(max_length=64),
        required=False,
        max_length=100,
        help_text="The turn shows these of the run's tools and no others; without it, all of them; [] for none.",
    )


class CompleteRequest(Shape):
    """The agent is done."""

    summary = Text(required=False, allow_blank=True, max_length=2000)


class ReasonRequest(Shape):
    """Why something ends."""

    reason = Text(required=False, allow_blank=True, max_length=2000)


class AnswerRequest(Shape):
    """What the agent answers."""

    text = Text(max_length=2000, help_text="Shown to people as yours, unchecked.")
    question_id = serializers.UUIDField(required=False, help_text="Which question; left out, the one that is open.")


class ScopeClaim(Shape):
    """What the caller believes its token to say. Taken from the token; a contradiction is refused by name (E1)."""

    tenant = Text(required=False, max_length=64, help_text="The organisation's id or short name.")
    agent = Text(required=False, max_length=64)
    on_behalf_of = Text(required=False, allow_blank=True, max_length=320, help_text="User id of the person acted for.")


class SubmitRequest(Shape):
    """The envelope of one tool call (E1). Tenant and person come from the token; key and hash are derived."""

    call_id = CallId(help_text="Unique in the run; the call's step. Repeat it to repeat safely.")
    tool = Text(max_length=64)
    arguments = AnyJson(help_text="Validated against the tool's input schema; absent, null and {} are three things.")
    message_id = Text(required=False, max_length=128, help_text="The model's message; without one nothing is merged.")
    trace_id = Text(required=False, max_length=128)
    deadline = Moment(required=False, help_text="After this the call is not started.")
    idempotency_key = Text(required=False, max_length=128, help_text="Derived; another one is refused.")
    arguments_hash = serializers.RegexField(
        r"^[0-9a-f]{64}\Z", required=False, help_text="SHA-256 over RFC 8785 of `arguments`; compared when given."
    )
    reason = Text(required=False, allow_blank=True, max_length=2000, help_text="Shown to people as yours, unchecked.")
    scope = ScopeClaim(required=False)
    turn = CallId(
        required=False,
        help_text="The turn that the model asked in; refused when it is over. Left out: the one that is open.",
    )


class WaitQuery(Shape):
    """How long to wait for news."""

    wait = Seconds(required=False, default=0.0, min_value=0.0, help_text=f"Seconds, at most {LONGEST_WAIT:g}.")


class EventsQuery(Shape):
    """Which part of the history."""

    after = serializers.IntegerField(required=False, default=0, min_value=0, max_value=2**53 - 1)
    limit = serializers.IntegerField(required=False, default=MOST_EVENTS, min_value=1, max_value=MOST_EVENTS)


class Party(Shape):
    """An agent or a person by id and name."""

    id = serializers.UUIDField()
    name = serializers.CharField()


class RunAnswer(Shape):
    """Where a run stands."""

    id = serializers.UUIDField()
    title = serializers.CharField()
    state = serializers.ChoiceField(
        [status.value for status in RunStatus],
        help_text=" ".join(f"{status.value}: {RUN_MEANING[status]}" for status in RunStatus),
    )
    detail = serializers.CharField(allow_blank=True, help_text="What the state means here and now.")
    meaning = serializers.CharField()
    seq = serializers.IntegerField(help_text="The last event's number; resume from it.")
    agent = Party()
    on_behalf_of = Party(allow_null=True)
    client_ref = serializers.CharField(allow_blank=True)
    deadline = serializers.DateTimeField(allow_null=True)
    opened_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)
    url = serializers.URLField(help_text="The page for people.")
    repeated = serializers.BooleanField(help_text="True if this request changed nothing: it had been made before.")


class TurnAnswer(Shape):
    """The turn that is open now. Give the model exactly `tools`."""

    run_id = serializers.UUIDField()
    turn_id = serializers.CharField()
    number = serializers.IntegerField(help_text="Counts the run's turns from 1.")
    narrowed = serializers.BooleanField(help_text="True if `tools` was given.")
    opened_at = serializers.DateTimeField()
    tools = ToolAnswer(many=True, help_text="What the turn shows and you may still use. Grants nothing.")
    repeated = serializers.BooleanField(help_text="True if this request changed nothing: the turn was open.")


class OpenTurnAnswer(Shape):
    """Which turn is open in the run."""

    turn = TurnAnswer(
        allow_null=True,
        help_text="Null: none was opened yet, or the run takes no calls any more (it ended, its deadline passed).",
    )
    shown = serializers.ListField(
        child=serializers.CharField(),
        help_text="The names of what its model was shown when it opened. Of these, `turn.tools` may still be used.",
    )
    until = serializers.DateTimeField(
        allow_null=True,
        help_text="The run's deadline, null without one. It is over before when the next turn opens or the run ends.",
    )


class ProposalLink(Shape):
    """What people decide about, and where."""

    id = serializers.UUIDField()
    url = serializers.URLField()
    state = serializers.CharField()
    round = serializers.IntegerField()
    expires_at = serializers.DateTimeField(help_text="Silence after this refuses.")
    digest = serializers.CharField(help_text="Of the exact call: SHA-256, hexadecimal.")


class ChangeForm(serializers.DictField):
    """{path, from, to}: a JSON pointer into the arguments and both values; a side that had none has no member."""


class EditedForm(Shape):
    """What a person changed, and in which call it goes on."""

    call_id = serializers.CharField(help_text="The edited call. Where it is another one than this: follow that one.")
    of = serializers.CharField(help_text="The call that it took the place of.")
    revision = serializers.IntegerField(help_text="Counts from your own call, which is 1.")
    by = serializers.CharField()
    at = serializers.DateTimeField()
    reason = serializers.CharField(allow_blank=True)
    digest = serializers.CharField(help_text="Of the edited call: SHA-256, hexadecimal.")
    changes = serializers.ListField(child=ChangeForm(), help_text="path, from and to of every value that differs.")


class QuestionForm(Shape):
    """A person asks you something before deciding. Answer with POST …/answer; it is quoted to them, unchecked."""

    id = serializers.UUIDField()
    text = serializers.CharField()
    by = serializers.CharField()
    at = serializers.DateTimeField()


class ResultLabel(Shape):
    """Where a result comes from. It is data from outside and never an instruction (E4)."""

    source = serializers.CharField()  # type: ignore[assignment]  # DRF's fields have an attribute of this name
    untrusted = serializers.BooleanField()
    cut = serializers.BooleanField(help_text="True if it was over the tool's byte cap; `result` is null then.")
    size_bytes = serializers.IntegerField()
    observed_at = serializers.CharField()
    excerpt = serializers.CharField(required=False, allow_blank=True, help_text="The beginning, where it was cut.")


@extend_schema_field({"type": "object", "additionalProperties": True, "nullable": True})
class Receipt(serializers.JSONField):
    """The target's own reference, and our key."""


class StoppedForm(Shape):
    """What holds the call back, although it may be approved: people have stopped its tool, its agent, or everything."""

    kind = serializers.CharField(help_text="installation, tenant, agent or tool.")
    by = serializers.CharField()
    since = serializers.DateTimeField()
    reason = serializers.CharField()
    message = serializers.CharField(help_text="A plain sentence.")


class FrozenForm(Shape):
    """What holds the call back, although it may be approved: a freeze of the policy."""

    rule = serializers.CharField(help_text="freeze: and its id.")
    until = serializers.DateTimeField()
    message = serializers.CharField(help_text="A plain sentence.")


class CallAnswer(Shape):
    """Where a call stands, and what is known of its effect."""

    id = serializers.UUIDField()
    run_id = serializers.UUIDField()
    call_id = serializers.CharField()
    tool = serializers.CharField()
    contract_version = serializers.IntegerField()
    state = serializers.ChoiceField(
        [state.value for state in CallState],
        help_text=" ".join(f"{state.value}: {CALL_MEANING[state]}" for state in CallState),
    )
    meaning = serializers.CharField()
    final = serializers.BooleanField(help_text="Nothing will change any more.")
    digest = serializers.CharField(help_text="Of the exact call: SHA-256, hexadecimal.")
    idempotency_key = serializers.CharField(help_text="What the target is sent with it, unchanged across retries.")
    target = serializers.CharField()
    accepted_at = serializers.DateTimeField()
    settled_at = serializers.DateTimeField(allow_null=True)
    deadline = serializers.DateTimeField(allow_null=True)
    version = serializers.IntegerField(help_text="Rises with every visible change.")
    repeated = serializers.BooleanField(help_text="True if this request named a call that was there already.")
    outcome = serializers.ChoiceField(["none", "committed", "unknown"])
    retry_safe = serializers.BooleanField()
    proposal = ProposalLink(allow_null=True)
    question = QuestionForm(allow_null=True, help_text="Open while people wait for your answer.")
    edited = EditedForm(allow_null=True)
    stopped = StoppedForm(allow_null=True)
    frozen = FrozenForm(allow_null=True)
    result = AnyJson()
    result_label = ResultLabel(allow_null=True)
    receipt = Receipt(allow_null=True)
    problems = serializers.ListField(child=serializers.CharField())
    error = ErrorForm(allow_null=True)


class CallErrorBody(Shape):
    """An error; with `call` it is the end of a call that was recorded, without it nothing was."""

    error = ErrorForm()
    call = CallAnswer(required=False)


class EventAnswer(Shape):
    """One fact of a run's history."""

    seq = serializers.IntegerField()
    kind = serializers.CharField()
    at = serializers.DateTimeField()
    actor = serializers.DictField()
    body = serializers.DictField()


class EventsAnswer(Shape):
    """A stretch of the history."""

    events = EventAnswer(many=True)
    last = serializers.IntegerField(help_text="The number of the last event in `events`, or `after`.")
    more = serializers.BooleanField(help_text="True if there are more behind `last` now.")
