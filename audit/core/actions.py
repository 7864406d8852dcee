"""What the actions of the log mean in words. Every action that the code records has its line here; a test sees to it.

The log outlives the code that wrote it: a line is never taken out, and an action without one is shown as its code.
"""

from dataclasses import dataclass

from audit.core.entry import Entry


@dataclass(frozen=True, slots=True)
class Action:
    """`done` tells what happened; `tried` is the infinitive of the same for whoever was refused it, "" where `done`
    is the refusal itself or nobody can be refused it."""

    done: str
    tried: str = ""


GROUPS: dict[str, str] = {
    "call": "Calls",
    "proposal": "Proposals",
    "permit": "Permits",
    "run": "Runs",
    "stop": "Stops",
    "contract": "Tools",
    "policy": "Policies",
    "agent": "Agents",
    "token": "Tokens",
    "session": "Sessions",
    "person": "Signing in",
    "password": "Passwords",
    "identity": "Links to the organisation's sign-in",
    "provider": "The identity provider",
    "passkey": "Passkeys",
    "factor": "The second step",
    "second_step": "The second step that is wanted",
    "member": "People",
    "group": "Groups",
    "delegation": "Delegations",
    "tenant": "Organisations",
    "credential": "Credentials",
    "mail": "Mail",
    "webhook": "Webhook",
    "database": "The database",
    "audit": "The log itself",
}
"""The first half of an action's code, in the order in which a choice lists them."""

ACTIONS: dict[str, Action] = {
    "call.submitted": Action("A call was asked for", "ask for a call"),
    "call.allowed": Action("A call was allowed by the policy"),
    "call.held_again": Action("A call was held again before it was sent"),
    "call.refused": Action("A call was refused"),
    "call.withdrawn": Action("A call was taken back", "take a call back"),
    "call.revised": Action("An edited revision took the place of a call"),
    "call.resolved": Action("The run was told how its proposal ended"),
    "call.started": Action("A call was started"),
    "call.succeeded": Action("A call succeeded"),
    "call.failed": Action("A call failed; nothing happened"),
    "call.attempt_failed": Action("An attempt failed; the call is tried again"),
    "call.unknown": Action("The outcome of a call is unknown"),
    "call.looked_up": Action("The target was asked what became of a call"),
    "call.reconciled": Action("An unknown outcome was settled", "settle an unknown outcome"),
    "call.look_up_asked": Action("A look at the target was asked for", "ask for a look at the target"),
    "call.left_unknown": Action("An unknown outcome was left as it is", "leave an unknown outcome as it is"),
    "call.compensation_prepared": Action("A call that makes up for another was prepared", "prepare a compensation"),
    "call.late_result": Action("A late answer was kept as evidence"),
    "proposal.held": Action("A call was held for people"),
    "proposal.asked_again": Action("A proposal was asked anew"),
    "proposal.shown": Action("A proposal was shown"),
    "proposal.decided": Action("A proposal was decided", "decide a proposal"),
    "proposal.expired": Action("A proposal expired"),
    "proposal.withdrawn": Action("A proposal was taken back"),
    "proposal.cancelled": Action("A proposal was cancelled with its run"),
    "proposal.refused": Action("A proposal was refused when it was judged again"),
    "proposal.superseded": Action("A proposal was superseded by an edited revision"),
    "proposal.edited": Action("A person edited a held call into a revision", "edit a held call"),
    "proposal.question_asked": Action("The agent was asked about its call", "ask the agent about its call"),
    "proposal.question_answered": Action("The agent answered a question about its call"),
    "proposal.claimed": Action("Somebody said that they look at a proposal", "claim a proposal"),
    "proposal.released": Action("Somebody stopped looking at a proposal", "release a proposal"),
    "proposal.nobody_can_decide": Action("A proposal waits for people who are not there"),
    "proposal.decidable_again": Action("The people whom a proposal waits for are there again"),
    "proposal.reminded": Action("People were reminded that a proposal waits"),
    "permit.redeemed": Action("A permit was redeemed after everything was checked again"),
    "permit.given_back": Action("A permit was given back; nothing had happened"),
    "permit.revoked": Action("An approval was taken back", "take an approval back"),
    "run.opened": Action("A run was opened", "open a run"),
    "run.turn_opened": Action("A turn of a run was opened", "open a turn of a run"),
    "run.completed": Action("A run was completed", "complete a run"),
    "run.cancelled": Action("A run was cancelled", "cancel a run"),
    "stop.set": Action("A stop was set", "set a stop"),
    "stop.lifted": Action("A stop was lifted", "lift a stop"),
    "contract.admitted": Action("A tool's contract was admitted", "admit a tool's contract"),
    "contract.retired": Action("A tool was retired", "retire a tool"),
    "contract.returned": Action(
        "An older version of a tool's contract is in force again", "put an older contract in force again"
    ),
    "contract.stored": Action("A tool's contract was stored as a candidate", "store a tool's contract"),
    "contract.dropped": Action("A candidate for a tool's contract was dropped", "drop a candidate"),
    "contract.target_asked": Action(
        "The target of a tool was asked for its state, for a simulation", "have a tool's target read for a simulation"
    ),
    "contract.target_read": Action("What came of asking a tool's target for a simulation"),
    "contract.signed": Action(
        "A publisher's signature was put to a tool's contract", "put a signature to a tool's contract"
    ),
    "contract.unsigned": Action("The signature of a candidate was taken away", "take a candidate's signature away"),
    "contract.key_added": Action("A publisher's key was added", "add a publisher's key"),
    "contract.key_revoked": Action("A publisher's key was revoked", "revoke a publisher's key"),
    "contract.signed_only_set": Action(
        "Whether only signed contracts are admitted was set", "set whether only signed contracts are admitted"
    ),
    "policy.published": Action("A policy was published", "publish a policy"),
    "policy.replay_asked": Action("A policy's text was tried on past calls", "try a policy's text on past calls"),
    "policy.replay_cancelled": Action("A replay of a policy was cancelled", "cancel a replay of a policy"),
    "policy.draft_saved": Action("A draft of the policy was saved", "save a draft of the policy"),
    "policy.draft_asked": Action(
        "A second admin was asked to publish a draft", "ask a second admin to publish a draft"
    ),
    "policy.draft_discarded": Action("A draft of the policy was discarded", "discard a draft of the policy"),
    "policy.second_admin_set": Action(
        "Whether a policy needs a second admin was set", "set whether a policy needs a second admin"
    ),
    "agent.created": Action("An agent was registered", "register an agent"),
    "agent.activated": Action("An agent was activated again", "activate an agent again"),
    "agent.owner_set": Action("An agent got another owner", "give an agent another owner"),
    "agent.secret_rotated": Action("An agent got a new secret", "give an agent a new secret"),
    "agent.deactivated": Action("An agent was deactivated", "deactivate an agent"),
    "agent.scopes_set": Action("An agent's scopes were changed", "change an agent's scopes"),
    "agent.tools_set": Action("The tools that an agent is shown were changed", "change the tools an agent is shown"),
    "agent.principal_added": Action("An agent may act for one more person", "let an agent act for a person"),
    "agent.principal_removed": Action(
        "An agent may no longer act for a person", "end an agent's right to act for a person"
    ),
    "token.issued": Action("A token was issued", "get a token"),
    "token.refreshed": Action("A token was refreshed", "refresh a token"),
    "token.used": Action("A token was used", "use a token"),
    "session.revoked": Action("An agent's session was ended", "end an agent's session"),
    "person.signed_in": Action("A person signed in", "sign in"),
    "person.signed_out": Action("A person signed out"),
    "person.switched": Action("A person went over to another organisation", "go over to another organisation"),
    "person.session_ended": Action("A browser's session was ended", "end a browser's session"),
    "person.settings_changed": Action("A person changed their settings", "change settings"),
    "person.confirmed": Action("A person showed anew that it is they", "show anew that it is they"),
    "passkey.added": Action("A passkey was added", "add a passkey"),
    "passkey.renamed": Action("A passkey got another name", "give a passkey another name"),
    "passkey.removed": Action("A passkey was removed", "remove a passkey"),
    "factor.app_added": Action("An app for codes was added", "add an app for codes"),
    "factor.app_removed": Action("An app for codes was removed", "remove an app for codes"),
    "factor.codes_made": Action("New recovery codes were made", "make recovery codes"),
    "second_step.demanded": Action("A second step was wanted of members", "want a second step of members"),
    "factor.step_set": Action("The second step at the sign-in was set", "set the second step at the sign-in"),
    "identity.linked": Action("An account was linked to the organisation's sign-in", "link an account"),
    "identity.unlinked": Action("An account was unlinked from the organisation's sign-in", "unlink an account"),
    "provider.set": Action("The organisation's identity provider was set", "set the identity provider"),
    "provider.ended": Action("The organisation's identity provider was turned off", "turn the identity provider off"),
    "provider.tested": Action("The organisation's identity provider was tried", "try the identity provider"),
    "password.changed": Action("A password was changed", "change a password"),
    "password.reset": Action("A new password was set", "set a new password"),
    "password.reset_asked": Action("A way to set a new password was asked for", "ask for a way to set a new password"),
    "member.invited": Action("A person was invited", "invite a person"),
    "member.added": Action("A person was added", "add a person"),
    "member.changed": Action("A person's roles were changed", "change a person's roles"),
    "group.created": Action("A group was made", "make a group"),
    "group.joined": Action("A person joined a group", "add a person to a group"),
    "group.left": Action("A person left a group", "take a person out of a group"),
    "delegation.given": Action("Somebody was let decide in another's place", "let somebody decide in another's place"),
    "delegation.revoked": Action("A delegation was called back", "call a delegation back"),
    "tenant.created": Action("An organisation was made"),
    "credential.stored": Action("A credential was stored", "store a credential"),
    "mail.tested": Action("A test mail was sent", "send a test mail"),
    "webhook.set": Action("Where the webhook leads was set", "set where the webhook leads"),
    "webhook.ended": Action("The webhook was turned off", "turn the webhook off"),
    "webhook.tested": Action("A test of the webhook was asked for", "test the webhook"),
    "database.restored": Action("The database was restored from a copy"),
    "audit.read": Action("The log was read", "read the log"),
    "audit.entry_read": Action("An entry was read", "read an entry"),
    "audit.path_read": Action("The path of a call was read", "read the path of a call"),
    "audit.exported": Action("An export was begun", "export the log"),
    "audit.export_ended": Action("An export ended"),
    "audit.months_made": Action("Room for the months to come was made"),
}

VERDICTS: dict[str, str] = {
    "ok": "done",
    "refused": "refused",
    "duplicate": "the same again",
    "unknown": "unknown",
    "failed": "failed",
}
"""The verdicts that an entry can have, and the word for each."""

TONES: dict[str, str] = {
    "ok": "still", "refused": "bad", "duplicate": "still", "unknown": "unsure", "failed": "bad"
}  # fmt: skip
"""How each verdict is marked on a page."""


def words_of(action: str, verdict: str = "ok") -> str:
    """What an entry with this action and verdict says; the code itself where the table has no line."""
    known = ACTIONS.get(action)
    if known is None:
        return action
    if verdict == "refused" and known.tried:
        return f"Refused to {known.tried}"
    if verdict == "failed" and known.tried:
        return f"Failed to {known.tried}"
    if verdict == "duplicate":
        return f"{known.done} (the same again)"
    return known.done


def words_for(entry: Entry) -> str:
    """`words_of` an entry; a decision says which one."""
    if entry.action == "proposal.decided" and entry.verdict == "ok":
        decided = {"approve": "approved", "reject": "rejected"}.get(str(entry.detail.get("verdict")))
        if decided:
            return f"A proposal was {decided}"
    return words_of(entry.action, entry.verdict)


def actions_of(chosen: str) -> tuple[str, ...]:
    """The actions that a filter's choice means: one code, or all of a group for `proposal.*`. Empty: no such choice."""
    if chosen.endswith(".*"):
        return tuple(code for code in ACTIONS if code.startswith(chosen[:-1]))
    return (chosen,) if chosen in ACTIONS else ()


def choices() -> list[tuple[str, str, list[tuple[str, str]]]]:
    """(group's code, its word, its actions with their words) for a form."""
    return [
        (group, word, [(code, action.done) for code, action in ACTIONS.items() if code.startswith(group + ".")])
        for group, word in GROUPS.items()
    ]
