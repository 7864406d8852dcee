"""Proposals, the decisions on them, the permits they grant and the resolutions that tell the runs."""

import uuid
from datetime import timedelta

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models.fields.json import KT
from django.db.models.functions import Coalesce

PROPOSAL_STATES = (
    "pending",
    "granted",
    "rejected",
    "expired",
    "withdrawn",
    "superseded",
    "cancelled",
    "refused",
)


class Proposal(models.Model):
    """One call that waits, or waited, for people. Bound to the bytes it was made from (A1)."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant_id = models.UUIDField()
    # Ids of other floors as values: approvals never points upward at runs.
    run_id = models.UUIDField()
    run_title = models.TextField(blank=True)
    call_id = models.TextField()
    key = models.TextField()
    tool = models.TextField()
    tool_version = models.ForeignKey("approvals.ToolVersion", on_delete=models.PROTECT)
    # The canonical bytes of data rule 14: what is shown, hashed and executed. The agent's own arguments stand beside
    # them so that defaults can be marked.
    canonical = models.BinaryField()
    given = models.BinaryField()
    digest = models.CharField(max_length=64)
    target = models.TextField()
    resource = models.TextField()
    # What the target said when the call was judged, and what it said last (for the "changed since" banner).
    snapshot = models.BinaryField()
    snapshot_hash = models.CharField(max_length=64)
    snapshot_at = models.DateTimeField()
    observed = models.BinaryField(null=True)
    observed_at = models.DateTimeField(null=True)
    refresh_asked_at = models.DateTimeField(null=True)
    # Who asked. Names are kept as they were when it was asked; rights are read anew whenever they matter.
    agent_id = models.UUIDField()
    agent_name = models.TextField()
    agent_version = models.TextField(blank=True)
    agent_owner_id = models.UUIDField(null=True)
    acting_user_id = models.UUIDField(null=True)
    acting_user_name = models.TextField(blank=True)
    token_session_id = models.UUIDField(null=True)
    scopes = ArrayField(models.TextField(), default=list)
    reason = models.TextField(blank=True)
    # Why it is held and who may decide.
    policy_number = models.IntegerField()
    rule_id = models.TextField()
    why = models.JSONField()
    requires = models.JSONField()
    # Made by the server from the contract's template (screens.md, Proposal 1); kept so that lists stay cheap.
    sentence = models.TextField()
    amount_minor = models.BigIntegerField(null=True)
    currency = models.CharField(max_length=3, blank=True)
    hidden_characters = models.BooleanField(default=False)
    # Whose call it is by the contract, as the counters know it: a digest, "" where the contract names nobody.
    customer = models.CharField(max_length=64, blank=True, default="", db_default="")
    status = models.TextField(default="pending")
    round = models.IntegerField(default=1)
    # Rises with every visible change; live lists compare it (data rule 6).
    version = models.IntegerField(default=1)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    # When whoever is asked is reminded; null once that was done.
    remind_at = models.DateTimeField(null=True)
    # How much of the time until `expires_at` is time in which a question to the agent stopped the clock (S20).
    stopped = models.DurationField(default=timedelta(0), db_default=timedelta(0))
    # 1 for what the agent asked; an edited one counts up and has a row in approvals_revision.
    revision_number = models.IntegerField(default=1, db_default=1)
    decided_at = models.DateTimeField(null=True)
    # What became of the call, told by runs through permit_settle: "", started, succeeded, failed, unknown.
    outcome = models.TextField(blank=True)
    outcome_at = models.DateTimeField(null=True)
    outcome_detail = models.JSONField(default=dict)

    class Meta:
        constraints = [
            models.UniqueConstraint("run_id", "call_id", name="approvals_proposal_call_once"),
            models.CheckConstraint(condition=models.Q(status__in=PROPOSAL_STATES), name="approvals_proposal_status"),
            models.CheckConstraint(
                condition=models.Q(stopped__gte=timedelta(0), stopped__lte=timedelta(hours=24)),
                name="approvals_proposal_stopped",
            ),
        ]
        indexes = [
            # Lists, counts and the live look ask this one alone and no row of the table: what they compare stands in
            # it. The widest part is `requires`, at most ten groups by the policy's schema; 2,700 bytes fit.
            models.Index(
                fields=["tenant_id", "expires_at", "id"],
                include=[
                    "version",
                    "round",
                    "requires",
                    "acting_user_id",
                    "agent_owner_id",
                    "tool",
                    "agent_id",
                    "currency",
                    "amount_minor",
                ],
                name="approvals_proposal_waiting",
                condition=models.Q(status="pending"),
            ),
            # Whoever is asked for rarely has few among very many, and finds them without looking at the others.
            GinIndex(
                fields=["requires"],
                opclasses=["jsonb_path_ops"],
                name="approvals_proposal_asked",
                condition=models.Q(status="pending"),
            ),
            # Due ones of all tenants, for the sweep. Granted ones are found by their unused permit: a status of
            # "granted" stays for ever, and an index over it would grow with the history.
            models.Index(fields=["expires_at"], name="approvals_proposal_due", condition=models.Q(status="pending")),
            # The order of the decided list. An overdue one that no sweep has written down yet stands at its deadline.
            models.Index(
                "tenant_id",
                Coalesce("decided_at", "expires_at").desc(),
                models.F("id").desc(),
                name="approvals_proposal_decided",
            ),
            # What else was asked for one customer: the history beside a proposal, and amounts that were split.
            models.Index(
                fields=["tenant_id", "tool", "customer", "-created_at"],
                name="approvals_proposal_customer",
                condition=~models.Q(customer=""),
            ),
            # "Same as …, executed 2 minutes ago" (E7, S91). Both are read for every row of a list and give one entry
            # each, however often an agent in a loop has asked for the same.
            models.Index(fields=["tenant_id", "digest", "-created_at"], name="approvals_proposal_same"),
            models.Index(
                fields=["tenant_id", "digest", "-created_at"],
                name="approvals_proposal_executed",
                condition=models.Q(outcome__in=["started", "succeeded", "unknown"]),
            ),
            models.Index(
                fields=["remind_at"],
                name="approvals_proposal_remind",
                condition=models.Q(status="pending", remind_at__isnull=False),
            ),
            # Whether anything that waits is asked for a person, by their agent, or was voted on: a look each, where
            # many read lists (selectors/sharing.py).
            models.Index(
                fields=["tenant_id", "acting_user_id"],
                name="approvals_proposal_acting",
                condition=models.Q(status="pending", acting_user_id__isnull=False),
            ),
            models.Index(
                fields=["tenant_id", "agent_owner_id"],
                name="approvals_proposal_owner",
                condition=models.Q(status="pending", agent_owner_id__isnull=False),
            ),
            models.Index(
                fields=["tenant_id"],
                include=["id", "round"],
                name="approvals_proposal_moved",
                condition=models.Q(status="pending", version__gt=1),
            ),
            # Whoever prepared one does not decide it, and their list leaves it out; few are prepared by people.
            models.Index(
                KT("why__prepared_by__id"),
                name="approvals_proposal_prepared",
                condition=models.Q(status="pending", why__has_key="prepared_by"),
            ),
            models.Index(
                fields=["refresh_asked_at"],
                name="approvals_proposal_refresh",
                condition=models.Q(refresh_asked_at__isnull=False),
            ),
        ]


class Decision(models.Model):
    """One person's verdict in one round. Append-only by trigger; once per person and round by constraint (A4), unless
    the one before counts no more."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    proposal = models.ForeignKey(Proposal, on_delete=models.PROTECT, related_name="decisions")
    round = models.IntegerField()
    reviewer_id = models.UUIDField()
    reviewer_name = models.TextField()
    # Whose vote it is, where somebody decided in another's place (a delegation); null where it is their own.
    for_user_id = models.UUIDField(null=True)
    for_user_name = models.TextField(blank=True, default="", db_default="")
    verdict = models.TextField()
    reason = models.TextField(blank=True)
    digest = models.CharField(max_length=64)
    snapshot_hash = models.CharField(max_length=64)
    at = models.DateTimeField()
    # 1, or one more than the vote of the same person or place that this one replaces: that one counts no more.
    nth = models.SmallIntegerField(default=1, db_default=1)

    class Meta:
        constraints = [
            models.UniqueConstraint("proposal", "round", "reviewer_id", "nth", name="approvals_decision_once"),
            # One vote a person, whoever gives it: giver and delegate never both count.
            models.UniqueConstraint(
                "proposal", "round", Coalesce("for_user_id", "reviewer_id"), "nth", name="approvals_decision_seat_once"
            ),
            models.CheckConstraint(
                condition=models.Q(verdict__in=["approve", "reject"]), name="approvals_decision_verdict"
            ),
        ]

    @property
    def by(self) -> str:
        """Who decided, in words: `Anna Berg for Berta Cole` where it was in another's place."""
        return self.reviewer_name + (f" for {self.for_user_name}" if self.for_user_id else "")

    @property
    def place(self) -> str:
        """The id of whose vote it is."""
        return str(self.for_user_id or self.reviewer_id)


class Permit(models.Model):
    """The authority that a granted round gives: redeemed once by one dispatch, or void."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    proposal = models.ForeignKey(Proposal, on_delete=models.PROTECT, related_name="permits")
    round = models.IntegerField()
    digest = models.CharField(max_length=64)
    status = models.TextField(default="ready")
    void_because = models.TextField(blank=True)
    granted_at = models.DateTimeField()
    redeemed_at = models.DateTimeField(null=True)
    dispatch_id = models.UUIDField(null=True)
    # The epoch it was granted in. Of another one than the database's own, it is not redeemed (a backup was restored).
    epoch = models.UUIDField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint("proposal", "round", name="approvals_permit_round_once"),
            models.UniqueConstraint(
                "proposal", condition=models.Q(status="redeemed"), name="approvals_permit_redeemed_once"
            ),
            models.CheckConstraint(
                condition=models.Q(status__in=["ready", "redeemed", "void"]), name="approvals_permit_status"
            ),
        ]
        indexes = [models.Index(fields=["id"], name="approvals_permit_unused", condition=models.Q(status="ready"))]


class Resolution(models.Model):
    """The outbox row of a decided proposal: written with the decision, consumed by the run in its own transaction."""

    id = models.BigAutoField(primary_key=True)
    proposal = models.ForeignKey(Proposal, on_delete=models.PROTECT, related_name="resolutions")
    round = models.IntegerField()
    kind = models.TextField()
    by = models.JSONField(default=dict)
    at = models.DateTimeField()
    consumed_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint("proposal", "round", name="approvals_resolution_round_once"),
            models.CheckConstraint(
                condition=models.Q(
                    kind__in=["granted", "rejected", "expired", "withdrawn", "superseded", "cancelled", "refused"]
                ),
                name="approvals_resolution_kind",
            ),
        ]
        indexes = [
            models.Index(fields=["id"], name="approvals_resolution_open", condition=models.Q(consumed_at__isnull=True))
        ]
