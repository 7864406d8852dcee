"""The bodies and queries of proposals and tools."""

from rest_framework import serializers

from approvals.selectors.proposals import PAGE, VIEWS
from audit.api.base import Shape, Text

STATES = ("pending", "granted", "rejected", "expired", "withdrawn", "superseded", "cancelled", "refused")
OUTCOMES = ("", "started", "succeeded", "failed", "compensated", "unknown", "refused")


class ListQuery(Shape):
    """Which proposals."""

    view = serializers.ChoiceField(
        VIEWS, required=False, default="all", help_text="mine: those that you may decide; all that wait; decided."
    )
    search = Text(required=False, default="", allow_blank=True, max_length=200)
    cursor = Text(required=False, default="", allow_blank=True, max_length=200, help_text="`next` of the page before.")
    limit = serializers.IntegerField(required=False, default=PAGE, min_value=1, max_value=PAGE)


class DecideRequest(Shape):
    """A person's verdict on exactly what they were shown."""

    verdict = serializers.ChoiceField(["approve", "reject"])
    digest = serializers.RegexField(r"^[0-9a-f]{64}\Z", help_text="What the page showed; another one is a conflict.")
    round = serializers.IntegerField(
        required=False, min_value=1, max_value=2**31 - 1, help_text="The round it stood in; another one is a conflict."
    )
    reason = Text(required=False, allow_blank=True, max_length=10_000, help_text="A rejection needs one.")


class DecideAnswer(Shape):
    """What the verdict did."""

    proposal_id = serializers.UUIDField()
    state = serializers.ChoiceField(STATES)
    round = serializers.IntegerField()
    verdict = serializers.ChoiceField(["approve", "reject"])
    message = serializers.CharField(help_text="A sentence for the person.")
    repeated = serializers.BooleanField(help_text="True if this very verdict was recorded before.")


class ApprovalRevokeRequest(Shape):
    """Why the approval is taken back."""

    reason = Text(max_length=2000)


class ApprovalRevokeAnswer(Shape):
    """Where the proposal stands now."""

    proposal_id = serializers.UUIDField()
    state = serializers.ChoiceField(STATES)
    round = serializers.IntegerField()
    message = serializers.CharField(help_text="A sentence for the person.")


class Amount(Shape):
    """Money of the call."""

    minor = serializers.IntegerField(help_text="In the currency's minor unit.")
    currency = serializers.CharField()
    text = serializers.CharField()


class RunLink(Shape):
    """The run it belongs to."""

    id = serializers.UUIDField()
    title = serializers.CharField(allow_blank=True)


class ProposalSummary(Shape):
    """One proposal of a list. Text from outside is one line with hidden characters written out."""

    id = serializers.UUIDField()
    url = serializers.URLField(help_text="The page for people.")
    state = serializers.ChoiceField(STATES, help_text="As it stands now: overdue is expired.")
    round = serializers.IntegerField()
    version = serializers.IntegerField(help_text="Rises with every visible change.")
    readable = serializers.BooleanField(help_text="False if the stored bytes are not what was made; nothing is shown.")
    sentence = serializers.CharField()
    tool = serializers.CharField()
    digest = serializers.CharField()
    amount = Amount(allow_null=True)
    requested_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()
    settled_at = serializers.DateTimeField(help_text="When it left the queue, or will.")
    rule = serializers.CharField(allow_blank=True)
    why = serializers.CharField(allow_blank=True)
    agent = serializers.CharField()
    acting_for = serializers.CharField(allow_blank=True)
    run = RunLink()
    call_id = serializers.CharField()
    needs = serializers.CharField(allow_blank=True, help_text="The quorum in words.")
    progress = serializers.CharField(allow_blank=True)
    may_decide = serializers.BooleanField(help_text="By your rights now; the decision looks again.")
    decided_by = serializers.CharField(allow_blank=True)
    hidden_characters = serializers.BooleanField()
    outcome = serializers.ChoiceField(OUTCOMES, allow_blank=True)
    same_as = serializers.CharField(allow_blank=True)


class ProposalPage(Shape):
    """One page of a view."""

    view = serializers.ChoiceField(VIEWS)
    proposals = ProposalSummary(many=True)
    next = serializers.CharField(allow_blank=True, help_text="`cursor` of the page behind, empty at the end.")
    now = serializers.DateTimeField(help_text="The database's clock, by which deadlines are judged.")


class Argument(Shape):
    """One effective argument."""

    path = serializers.CharField(help_text="JSON pointer.")
    label = serializers.CharField()  # type: ignore[assignment]  # DRF's fields have an attribute of this name
    raw = serializers.CharField(help_text="Its canonical text, whole.")
    shown = serializers.CharField(help_text="As people read it, hidden characters written out.")
    type = serializers.CharField()
    default = serializers.BooleanField(help_text="True if the agent did not send it.")
    warning = serializers.CharField(allow_blank=True)
    hosts = serializers.ListField(child=serializers.CharField())


class Change(Shape):
    """One value at the target before and after."""

    label = serializers.CharField()  # type: ignore[assignment]  # DRF's fields have an attribute of this name
    now = serializers.CharField(allow_blank=True)
    after = serializers.CharField(allow_blank=True)
    changed = serializers.BooleanField()
    problem = serializers.CharField(allow_blank=True)


class Effect(Shape):
    """What it would do, by the state that the server read."""

    rows = Change(many=True)
    read_at = serializers.DateTimeField()
    changed_since_asked = serializers.BooleanField()
    note = serializers.CharField(allow_blank=True)
    reversible = serializers.CharField()


class HeldNote(Shape):
    """What an advisory rule of the policy has to say beside the verdict."""

    rule = serializers.CharField()
    message = serializers.CharField()
    matched = serializers.ListField(child=serializers.CharField())


class Held(Shape):
    """Why people are asked."""

    rule = serializers.CharField()
    policy = serializers.IntegerField()
    message = serializers.CharField(allow_blank=True)
    matched = serializers.ListField(child=serializers.CharField())
    notes = HeldNote(many=True)


class Content(Shape):
    """The exact call: made from the verified bytes alone."""

    sentence = serializers.CharField()
    title = serializers.CharField()
    contract_version = serializers.IntegerField()
    target = serializers.CharField()
    arguments = Argument(many=True)
    size_bytes = serializers.IntegerField()
    warnings = serializers.ListField(child=serializers.CharField())
    effect = Effect()
    held = Held()
    reason = serializers.CharField(allow_blank=True, help_text="Written by the agent, not checked.")
    amount = Amount(allow_null=True)


class Vote(Shape):
    """One decision."""

    round = serializers.IntegerField()
    by = serializers.CharField()
    verdict = serializers.ChoiceField(["approve", "reject"])
    reason = serializers.CharField(allow_blank=True)
    at = serializers.DateTimeField()
    counts = serializers.BooleanField()


class People(Shape):
    """Who must decide and who has."""

    needs = serializers.CharField(allow_blank=True)
    words = serializers.CharField(allow_blank=True)
    may_decide = serializers.BooleanField()
    reason = serializers.CharField(allow_blank=True, help_text="Why you may, or may not.")
    votes = Vote(many=True)


class Afterwards(Shape):
    """What became of the call."""

    outcome = serializers.ChoiceField(OUTCOMES, allow_blank=True)
    at = serializers.DateTimeField(allow_null=True)
    detail = serializers.DictField()


class ProposalAnswer(Shape):
    """One proposal in full."""

    id = serializers.UUIDField()
    url = serializers.URLField()
    state = serializers.ChoiceField(STATES)
    state_words = serializers.CharField(allow_blank=True)
    tampered = serializers.CharField(allow_blank=True, help_text="A sentence if the row is not the one that was made.")
    digest = serializers.CharField()
    round = serializers.IntegerField()
    version = serializers.IntegerField()
    tool = serializers.CharField()
    run = RunLink()
    call_id = serializers.CharField()
    agent = serializers.CharField()
    acting_for = serializers.CharField(allow_blank=True)
    requested_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()
    decided_at = serializers.DateTimeField(allow_null=True)
    now = serializers.DateTimeField()
    content = Content(allow_null=True)
    people = People()
    afterwards = Afterwards()


class ToolAnswer(Shape):
    """A tool that this token may use."""

    name = serializers.CharField()
    title = serializers.CharField()
    description = serializers.CharField()
    side_effect = serializers.ChoiceField(["read", "idempotent", "reversible", "irreversible"])
    scopes = serializers.ListField(child=serializers.CharField())
    version = serializers.IntegerField(help_text="Of its contract.")
    input_schema = serializers.DictField(help_text="JSON Schema 2020-12 of the arguments.")


class ToolsAnswer(Shape):
    """The tools of this token."""

    tools = ToolAnswer(many=True)
