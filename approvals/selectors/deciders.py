"""Who may decide a proposal, and whose votes count, by the rights of this moment (A5, A9, S8, S17)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from access.core.delegation import Giver
from access.selectors.actors import DeciderFacts, decider_facts, group_members
from access.selectors.delegations import giver_at, givers_of
from access.selectors.signers import signers_of
from approvals.core.eligibility import REVIEWER, Asked, Decider, Eligibility, Vote, may_decide, still_possible, tally
from approvals.core.policy import Approver
from approvals.core.terms import NO_TERMS, Terms, terms_from
from approvals.core.who_signs import who_can_sign
from approvals.models import Decision, Proposal
from approvals.selectors.revisions import editors_of
from approvals.selectors.signed import signature_holds
from audit.core.actor import Actor


def requires_of(proposal: Proposal) -> tuple[Approver, ...]:
    """Who must approve in the current round; nobody for a column that somebody damaged: then nobody can grant it."""
    try:
        return tuple(Approver(str(item["group"]), int(item["count"])) for item in proposal.requires)
    except (KeyError, TypeError, ValueError):
        return ()


def terms_of(proposal: Proposal) -> Terms:
    """The terms of the current round; the defaults for a column that somebody damaged (`read_bound` refuses that)."""
    try:
        return terms_from(proposal.why["verdict"].get("terms"))
    except (KeyError, TypeError, ValueError, AttributeError):
        return NO_TERMS


def prepared_by_of(proposal: Proposal) -> dict[str, str]:
    """{id, name} of the person who prepared the call in an agent's place; empty where the agent asked itself."""
    found = proposal.why.get("prepared_by") if isinstance(proposal.why, dict) else None
    return {str(key): str(value) for key, value in found.items()} if isinstance(found, dict) else {}


def needs_words(requires: Sequence[Approver]) -> str:
    """`1 of finance and 1 of support-leads`."""
    return " and ".join(f"{approver.count} of {approver.group}" for approver in requires)


@dataclass(frozen=True, slots=True)
class Capacity:
    """As whom somebody may decide, or why not: in their own right where `giver` is None, else in that place."""

    giver: Giver | None
    allowed: Eligibility


def eligibility_of(actor: Actor, proposal: Proposal) -> Eligibility:
    """Whether the actor may decide, with the rights that stand in the database now and not those of its session."""
    return best_of(capacities_of(actor, proposal)).allowed


def capacities_of(actor: Actor, proposal: Proposal) -> list[Capacity]:
    """As whom the actor may decide and as whom not: their own right first, then those in whose place they are now."""
    if actor.kind != "person":
        return capacities_with(None, [], actor, proposal)
    facts = decider_facts(tenant_id=actor.tenant_id, user_id=actor.id)
    return capacities_with(facts, givers_of(actor.tenant_id, actor.id), actor, proposal)


def best_of(capacities: Sequence[Capacity]) -> Capacity:
    """The first in which they may decide. Where there is none, the one that says most: that the call is somebody's own
    is told before a group that is missing (S7)."""
    for wanted in (lambda one: one.allowed.ok, lambda one: one.allowed.code == "SELF_APPROVAL"):
        found = next((one for one in capacities if wanted(one)), None)
        if found is not None:
            return found
    return capacities[0]


def capacities_with(
    facts: DeciderFacts | None, givers: Sequence[Giver], actor: Actor, proposal: Proposal
) -> list[Capacity]:
    """The same with rights that were read for many at once."""
    active = facts is not None and facts.active
    decider = Decider(
        id=actor.id,
        kind=actor.kind,
        via=actor.via,
        tenant_id=actor.tenant_id,
        active=active,
        roles=facts.roles if facts else frozenset(),
        groups=facts.groups if facts else frozenset(),
    )
    asked = _asked(proposal)
    return [Capacity(giver, may_decide(decider=decider, asked=asked, giver=giver)) for giver in (None, *givers)]


def counted_votes(proposal: Proposal, decisions: Sequence[Decision]) -> tuple[list[Vote], list[str]]:
    """The votes of `decisions` that count now, and the names of those whose approval does not any more."""
    judged = judged_votes(proposal, decisions)
    kept = newest_of(decisions)
    return (
        [vote for _, vote in judged if vote is not None],
        [decision.by for decision, vote in judged if vote is None and decision in kept],
    )


def votes_in_force(proposal: Proposal, decisions: Sequence[Decision]) -> list[Decision]:
    """Those of `decisions` that stand in the way of a next vote of their persons and places (`in_the_way`)."""
    return in_the_way(proposal, judged_votes(proposal, decisions))


def in_the_way(proposal: Proposal, judged: Sequence[tuple[Decision, Vote | None]]) -> list[Decision]:
    """The votes that count now: their persons and places have voted. Where one counts no more, whoever gave it and
    whoever it was given for may vote again in the same round.

    None, where they are enough together and the round waits all the same: a right came back after the last of them was
    given. Only a click completes a round, so each of them may give theirs anew.
    """
    counted = [vote for _, vote in judged if vote is not None]
    if tally(requires_of(proposal), counted, rejections=terms_of(proposal).rejections).outcome == "granted":
        return []
    return [decision for decision, vote in judged if vote is not None]


def judged_votes(proposal: Proposal, decisions: Sequence[Decision]) -> list[tuple[Decision, Vote | None]]:
    """Each of `decisions` with the vote that it is now, or None where it counts no more.

    A vote counts with the groups its giver is in today. One in another's place counts with the groups of whoever gave
    the place, unless that was called back. Where the terms ask for a signature, only a signed one counts. A rejection
    always counts: losing a right undoes no refusal. One that was followed by another of the same person or place does
    not count again, whatever right comes back: of the two the later was meant.
    """
    asked = _asked(proposal)
    kept = newest_of(decisions)
    found: list[tuple[Decision, Vote | None]] = []
    for decision in decisions:
        if decision not in kept:
            found.append((decision, None))
            continue
        facts = decider_facts(tenant_id=proposal.tenant_id, user_id=decision.reviewer_id)
        if decision.verdict == "reject":
            groups = facts.groups if facts else frozenset()
            vote = Vote(str(decision.reviewer_id), "reject", groups, str(decision.for_user_id or ""))
            found.append((decision, vote))
        else:
            found.append((decision, _approval(decision, facts, asked, proposal)))
    return found


def newest_of(decisions: Sequence[Decision]) -> list[Decision]:
    """Of one round's decisions those that no later one of the same person or place has followed."""
    return [
        one
        for one in decisions
        if not any(
            later.nth > one.nth and (later.reviewer_id == one.reviewer_id or later.place == one.place)
            for later in decisions
        )
    ]


def _approval(decision: Decision, facts: DeciderFacts | None, asked: Asked, proposal: Proposal) -> Vote | None:
    """An approval as it counts by the rights of now; None where it does not any more."""
    if facts is None:
        return None
    giver = None
    if decision.for_user_id is not None:
        person, giver_id = str(decision.reviewer_id), str(decision.for_user_id)
        giver = giver_at(proposal.tenant_id, user_id=person, giver_id=giver_id, at=decision.at)
        if giver is None:
            return None
    if not may_decide(decider=_decider(facts, proposal), asked=asked, giver=giver).ok:
        return None
    if terms_of(proposal).authentication == "signed" and not signature_holds(decision, proposal):
        return None
    groups = facts.groups if giver is None else giver.groups
    return Vote(str(decision.reviewer_id), "approve", groups, giver.id if giver else "")


@dataclass(frozen=True, slots=True)
class Able:
    """Whether what is required can still be met, and if not, why: `keyless` names those who may decide and cannot sign,
    where more of them signing would be enough; `problem` says why this installation takes no passkey."""

    enough: bool
    keyless: tuple[str, ...] = ()
    problem: str = ""

    @property
    def for_want_of_keys(self) -> bool:
        """People are there who may decide, and too few of them can sign."""
        return bool(self.keyless)


def can_be_decided(proposal: Proposal, votes: Sequence[Decision]) -> bool:
    """Whether the votes of the round and the people who may still decide can together meet what it requires (S8)."""
    return able_of(proposal, votes).enough


def able_of(proposal: Proposal, votes: Sequence[Decision]) -> Able:
    """The same with the reason why not."""
    counted = counted_votes(proposal, votes)[0] if votes else []
    return able_to_decide(proposal, counted, named_deciders(proposal))


def able_to_decide(
    proposal: Proposal, counted: Sequence[Vote], named: Mapping[str, tuple[str, frozenset[str]]]
) -> Able:
    """The same of people who were read already, with the reason. Where approvals are signed, only people count who have
    a passkey, or whose delegate has one; whoever holds a delegation adds nobody else: it is the vote of somebody who is
    among these."""
    requires = requires_of(proposal)
    people = {person: groups for person, (_, groups) in named.items()}
    if not still_possible(requires, counted, people):
        return Able(False)
    if terms_of(proposal).authentication != "signed":
        return Able(True)
    used = {vote.person_id for vote in counted} | {vote.for_id for vote in counted}
    signers = signers_of(proposal.tenant_id, [person for person in people if person not in used])
    through = {giver: [(one.holder, one.groups) for one in lent] for giver, lent in signers.through.items()}
    barred = used | _barred(proposal)
    signing = who_can_sign(people, own=signers.own, through=through, used=barred)
    if still_possible(requires, counted, signing):
        return Able(True)
    keyless = sorted(name for person, (name, _) in named.items() if person not in signing and person not in used)
    return Able(False, tuple(keyless), signers.problem)


def named_deciders(proposal: Proposal) -> dict[str, tuple[str, frozenset[str]]]:
    """Active reviewers of the groups asked, without those whose own call it is (A9): user id to (name, groups)."""
    asked = _asked(proposal)
    barred = _barred(proposal)
    people: dict[str, tuple[str, frozenset[str]]] = {}
    for approver in asked.requires:
        for user_id, name in group_members(proposal.tenant_id, approver.group, role=REVIEWER):
            if user_id not in barred:
                before = people[user_id][1] if user_id in people else frozenset()
                people[user_id] = (name, before | {approver.group})
    return people


def _barred(proposal: Proposal) -> frozenset[str]:
    """Those whose own call it is (A9); they decide it for nobody else either."""
    asked = _asked(proposal)
    return frozenset({asked.acting_for_id, asked.token_owner_id, asked.requester_id}) | asked.editor_ids


def _asked(proposal: Proposal) -> Asked:
    return Asked(
        tenant_id=str(proposal.tenant_id),
        requires=requires_of(proposal),
        requester_id=prepared_by_of(proposal).get("id", ""),
        acting_for_id=str(proposal.acting_user_id or ""),
        token_owner_id=str(proposal.agent_owner_id or ""),
        editor_ids=editors_of(proposal),
    )


def _decider(facts: DeciderFacts, proposal: Proposal) -> Decider:
    """A past decision was a person's in a session: nothing else is recorded as one."""
    return Decider(
        id=facts.user_id,
        kind="person",
        via="session",
        tenant_id=str(proposal.tenant_id),
        active=facts.active,
        roles=facts.roles,
        groups=facts.groups,
    )
