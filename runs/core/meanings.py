"""What each word means, in one sentence: for pages, the API's description and docs/lifecycle.md (R3)."""

from collections.abc import Mapping

from runs.core.kinds import CallState, CommandKind, EffectState, RunPhase, RunStatus

RUN_MEANING: Mapping[RunStatus, str] = {
    RunStatus.CREATED: "Recorded, not yet admitted; the detail says its place in the queue.",
    RunStatus.READY: "Admitted and idle: the agent's next call is awaited.",
    RunStatus.RUNNING: "A proposed call is being judged.",
    RunStatus.WAITING_MODEL: "The model was asked and has not answered.",
    RunStatus.WAITING_TOOL: "A call is being sent or was sent; the detail names it and its deadline.",
    RunStatus.WAITING_APPROVAL: "A call waits for people. Nothing runs and nothing is held while it waits.",
    RunStatus.PAUSED: "Nothing new is started. The detail says pausing (calls still in flight) or drained.",
    RunStatus.CANCELLING: "A stop was asked; nothing new is started and something owned still runs.",
    RunStatus.COMPLETED: "The agent said that it is done; every call is final.",
    RunStatus.FAILED: "Given up; the detail is the reason's code.",
    RunStatus.CANCELLED: "Stopped: nothing owned runs and no effect is in question.",
    RunStatus.NEEDS_RECONCILIATION: "Nobody knows whether a call took effect; the target is asked, then an operator.",
}

CALL_MEANING: Mapping[CallState, str] = {
    CallState.NEW: "Recorded; the target's state is read and the policy asked.",
    CallState.WAITING: "People decide about exactly this call.",
    CallState.READY: "It may be sent; a worker will claim it, or a back-off is running.",
    CallState.STARTED: "The intent to send is recorded; the effect may have happened from here on.",
    CallState.UNKNOWN: "It was sent or may have been, and nobody knows what happened.",
    CallState.SUCCEEDED: "It happened.",
    CallState.FAILED: "It did not happen: nothing was sent, or the target refused.",
    CallState.REFUSED: "A guard, the policy or the re-check before sending said no.",
    CallState.REJECTED: "A person said no.",
    CallState.EXPIRED: "Nobody decided in time, or its approval ran out before it was sent.",
    CallState.WITHDRAWN: "Taken back before it was sent.",
    CallState.SUPERSEDED: "A person edited it; the revision is a call of its own.",
    CallState.CANCELLED: "The run ended before it was sent.",
    CallState.COMPENSATED: "Another call made up for it.",
}

EFFECT_MEANING: Mapping[EffectState, str] = {
    EffectState.INTENDED: "About to be sent, or under way.",
    EffectState.COMMITTED: "It happened at the target.",
    EffectState.REFUSED: "It did not happen.",
    EffectState.DUPLICATE: "The target recognised our key: it had happened before.",
    EffectState.UNKNOWN: "Nobody knows.",
}

PHASE_MEANING: Mapping[RunPhase, str] = {
    RunPhase.NONE: "before the first event",
    RunPhase.PENDING: "created, not admitted",
    RunPhase.OPEN: "admitted",
    RunPhase.PAUSED: "a pause was asked and not resumed",
    RunPhase.STOPPING: "cancel or kill was asked",
    RunPhase.SETTLING: "quiescent, with outcomes still unknown",
    RunPhase.FINISHED: "completed, failed or cancelled",
}

COMMAND_MEANING: Mapping[CommandKind, str] = {
    CommandKind.READ_STATE: "Read the target's record, so that it can be judged and shown.",
    CommandKind.EVALUATE: "Ask guards and policy about the call.",
    CommandKind.HOLD_PROPOSAL: "See to it that a proposal of this call and round stands before people.",
    CommandKind.DISPATCH: "Claim, re-check everything, record the intent and send.",
    CommandKind.ASK_MODEL: "Ask the model for the next step (managed runs).",
    CommandKind.LOOK_UP: "Ask the target by the call's key what happened.",
    CommandKind.SET_TIMER: "Come back at the given time with timer_due.",
    CommandKind.STOP_CHILDREN: "End or signal the work that the run owns and that is in flight.",
    CommandKind.TELL_AGENT: "Wake whoever waits for news of the call or the run.",
}
