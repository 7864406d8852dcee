"""The words of a run's history: what can be recorded, where a call or a run can stand, what can be ordered.

The values are stored for ever (events, checkpoints, API answers): a word may be added, never changed.
Sources: requirement R3 (run states), "The machines" (call states, facts and orders).
"""

from enum import StrEnum


class RunStatus(StrEnum):
    """Where a run stands (R3). Computed from its facts by `runs.core.status`, never stored as a fact itself."""

    CREATED = "created"
    READY = "ready"
    RUNNING = "running"
    WAITING_MODEL = "waiting_model"
    WAITING_TOOL = "waiting_tool"
    WAITING_APPROVAL = "waiting_approval"
    PAUSED = "paused"
    CANCELLING = "cancelling"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    NEEDS_RECONCILIATION = "needs_reconciliation"


class RunPhase(StrEnum):
    """What the run as a whole admits; the rows of the run's table start from these, `RunStatus` is for people."""

    NONE = "none"
    PENDING = "pending"
    OPEN = "open"
    PAUSED = "paused"
    STOPPING = "stopping"
    SETTLING = "settling"
    FINISHED = "finished"


class CallState(StrEnum):
    """Where one tool call stands."""

    NEW = "new"
    WAITING = "waiting"
    READY = "ready"
    STARTED = "started"
    UNKNOWN = "unknown"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    REFUSED = "refused"
    REJECTED = "rejected"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"
    SUPERSEDED = "superseded"
    CANCELLED = "cancelled"
    COMPENSATED = "compensated"


# Nothing has been sent: cancel and withdraw may still end these without a question left open.
OPEN_CALLS = (CallState.NEW, CallState.WAITING, CallState.READY)
# Something was or may have been sent.
SENT_CALLS = (CallState.STARTED, CallState.UNKNOWN)
FINAL_CALLS = tuple(state for state in CallState if state not in OPEN_CALLS + SENT_CALLS)


class EventKind(StrEnum):
    """What a history can record. Bodies: `runs.core.events`."""

    RUN_CREATED = "run_created"
    RUN_ADMITTED = "run_admitted"
    USER_STEERED = "user_steered"
    TURN_OPENED = "turn_opened"
    CALL_PROPOSED = "call_proposed"
    CALL_REFUSED = "call_refused"
    CALL_HELD = "call_held"
    CALL_ALLOWED = "call_allowed"
    CALL_WITHDRAWN = "call_withdrawn"
    STATE_OBSERVED = "state_observed"
    RESOLUTION_CONSUMED = "resolution_consumed"
    QUESTION_ASKED = "question_asked"
    QUESTION_ANSWERED = "question_answered"
    DISPATCH_STARTED = "dispatch_started"
    DISPATCH_SUCCEEDED = "dispatch_succeeded"
    DISPATCH_FAILED = "dispatch_failed"
    OUTCOME_UNKNOWN = "outcome_unknown"
    OUTCOME_RECONCILED = "outcome_reconciled"
    LATE_RESULT_KEPT = "late_result_kept"
    MODEL_ASKED = "model_asked"
    MODEL_ANSWERED = "model_answered"
    TIMER_DUE = "timer_due"
    PAUSE_ASKED = "pause_asked"
    PAUSE_DRAINED = "pause_drained"
    RESUME_ASKED = "resume_asked"
    CANCEL_ASKED = "cancel_asked"
    CANCEL_ACKNOWLEDGED = "cancel_acknowledged"
    RUN_QUIESCENT = "run_quiescent"
    KILL_ASKED = "kill_asked"
    KILL_DONE = "kill_done"
    RUN_FORKED = "run_forked"
    DEFINITION_MIGRATED = "definition_migrated"
    BUDGET_RESERVED = "budget_reserved"
    BUDGET_SETTLED = "budget_settled"
    BUDGET_TOPPED_UP = "budget_topped_up"
    RUN_COMPLETED = "run_completed"
    RUN_FAILED = "run_failed"


class CommandKind(StrEnum):
    """What the reducer can order. A command is stored with its event and delivered after the commit (R4)."""

    READ_STATE = "read_state"
    EVALUATE = "evaluate"
    HOLD_PROPOSAL = "hold_proposal"
    DISPATCH = "dispatch"
    ASK_MODEL = "ask_model"
    LOOK_UP = "look_up"
    SET_TIMER = "set_timer"
    STOP_CHILDREN = "stop_children"
    TELL_AGENT = "tell_agent"


class EffectState(StrEnum):
    """What is known of a call's effect outside (R3). Before the first dispatch there is none to speak of."""

    INTENDED = "intended"
    COMMITTED = "committed"
    REFUSED = "refused"
    DUPLICATE = "duplicate"
    UNKNOWN = "unknown"
