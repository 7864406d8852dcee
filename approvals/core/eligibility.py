"""Who may decide, and when enough have (A4, A9, S7, S8, S17, S85). People are accounts; names decide nothing."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from access.core.delegation import Giver
from approvals.core.policy_document import Approver
from audit.core.actor import Actor

REVIEWER = "reviewer"


@dataclass(frozen=True, slots=True)
class Decider:
    """The facts about who wants to decide, as they are now, read after the lock."""

    id: str
    kind: str
    via: str
    tenant_id: str
    active: bool
    roles: frozenset[str]
    groups: frozenset[str]


@dataclass(frozen=True, slots=True)
class Asked:
    """The facts about what is to be decided. Ids are user ids as text, "" where there is none.

    `requester_id` is the person behind the run, `acting_for_id` the user the agent acts for, `token_owner_id` who owns
    the agent or its token, `editor_ids` everybody who edited this revision.
    """

    tenant_id: str
    requires: tuple[Approver, ...]
    requester_id: str = ""
    acting_for_id: str = ""
    token_owner_id: str = ""
    editor_ids: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Eligibility:
    """May this person decide? `reason` is a sentence for the page; `code` is "" where the answer is yes, else
    NOT_FOUND, NEEDS_PERSON, NEEDS_SESSION, INACTIVE, GIVER_INACTIVE, ROLE_MISSING, SELF_APPROVAL or GROUP_MISSING."""

    ok: bool
    reason: str
    code: str = ""
    missing: tuple[str, ...] = ()


def decider_of(actor: Actor, *, active: bool) -> Decider:
    """The facts about an actor; whether its account is active is the caller's to read."""
    return Decider(actor.id, actor.kind, actor.via, actor.tenant_id, active, actor.roles, actor.groups)


def may_decide(*, decider: Decider, asked: Asked, giver: Giver | None = None) -> Eligibility:
    """Whether `decider` may approve or reject, by whatever door it comes: in their own right, or with `giver` in that
    person's place. No self-approval (A9): not the requester, not the user it acts for, not the token's owner, not an
    editor, and nobody in the place of one of them. Whoever stands in for somebody has to be fit to decide themselves.
    """
    if decider.tenant_id != asked.tenant_id:
        return Eligibility(False, "There is nothing with this id here.", "NOT_FOUND")
    if decider.kind != "person":
        return Eligibility(False, "Only a person may decide; an agent may not.", "NEEDS_PERSON")
    if decider.via != "session":
        return Eligibility(False, "Deciding needs your own browser session; a token does not do.", "NEEDS_SESSION")
    if not decider.active:
        return Eligibility(False, "Your account is not active.", "INACTIVE")
    itself = _itself(decider.id, asked)
    if itself:
        return Eligibility(False, f"You may not decide this, because {itself}.", "SELF_APPROVAL")
    if REVIEWER not in decider.roles:
        return Eligibility(
            False, "You may not decide, because you are not a reviewer. Ask an admin.", "ROLE_MISSING", (REVIEWER,)
        )
    groups = tuple(approver.group for approver in asked.requires)
    if giver is not None:
        return _in_place_of(giver, asked, groups)
    if decider.groups.isdisjoint(groups):
        names = _listed(groups, "or") if groups else "nobody"
        return Eligibility(False, f"This needs {names}; you are in none of these.", "GROUP_MISSING", groups)
    mine = [group for group in groups if group in decider.groups]
    return Eligibility(True, f"You may decide for {_listed(mine, 'or')}.")


def _in_place_of(giver: Giver, asked: Asked, groups: tuple[str, ...]) -> Eligibility:
    """Every ban of the giver holds for whoever decides in their place, and so does what the giver may not any more."""
    itself = _itself(giver.id, asked)
    if itself:
        because = _OF_ANOTHER[itself].format(name=giver.name)
        return Eligibility(False, f"You may not decide this for {giver.name}, because {because}.", "SELF_APPROVAL")
    if not giver.active:
        return Eligibility(
            False, f"You may not decide this for {giver.name}, whose account is not active.", "GIVER_INACTIVE"
        )
    if REVIEWER not in giver.roles:
        return Eligibility(
            False, f"You may not decide this for {giver.name}, who is not a reviewer.", "ROLE_MISSING", (REVIEWER,)
        )
    mine = [group for group in groups if group in giver.groups]
    if not mine:
        names = _listed(groups, "or") if groups else "nobody"
        return Eligibility(
            False, f"This needs {names}; you may decide for {giver.name} in none of these.", "GROUP_MISSING", groups
        )
    return Eligibility(True, f"You may decide for {giver.name} ({_listed(mine, 'or')}).")


def _itself(person: str, asked: Asked) -> str:
    """Why `person` would be deciding on its own call, said to that person, or ""."""
    if person == "":
        return "your account has no id"
    if person == asked.requester_id:
        return "you asked for it"
    if person == asked.acting_for_id:
        return "the agent acts for you"
    if person == asked.token_owner_id:
        return "the agent that asked is yours"
    if person in asked.editor_ids:
        return "you edited it"
    return ""


_OF_ANOTHER = {
    "you asked for it": "{name} asked for it",
    "the agent acts for you": "the agent acts for {name}",
    "the agent that asked is yours": "the agent that asked is owned by {name}",
    "you edited it": "{name} edited it",
    "your account has no id": "that account has no id",
}


@dataclass(frozen=True, slots=True)
class Vote:
    """One person's verdict in this round, with the groups it counts for now. `for_id` is whose vote it is where the
    person decided in another's place, else ""."""

    person_id: str
    verdict: Literal["approve", "reject"]
    groups: frozenset[str]
    for_id: str = ""


@dataclass(frozen=True, slots=True)
class Tally:
    """Where a round stands. `words` is for people; `missing` is how many more each group must give."""

    outcome: Literal["granted", "rejected", "pending"]
    words: str
    missing: tuple[Approver, ...] = ()


def tally(requires: Sequence[Approver], votes: Iterable[Vote], *, rejections: int = 1) -> Tally:
    """Count a round; `votes` in the order in which they were given. So many people's `rejections` reject, however many
    have approved. Every person counts once, for one group, chosen so that as many needs as can be are met, and of a
    giver and a delegate only who was first. A quorum of nobody is never reached (S8)."""
    votes = once_each(votes)
    against = len({vote.person_id for vote in votes if vote.verdict == "reject"})
    if against and against >= rejections:
        words = "one rejection decides" if rejections <= 1 else f"{rejections} rejections decide"
        return Tally("rejected", f"rejected: {words}")
    if not requires or any(approver.count < 1 for approver in requires):
        return Tally("pending", "needs people, but nobody is named who may approve; tell an admin", tuple(requires))
    people = {vote.person_id: vote.groups for vote in votes if vote.verdict == "approve"}
    given = _assign(requires, people)
    needs = _listed([f"{approver.count} of {approver.group}" for approver in requires], "and")
    short = tuple(
        Approver(approver.group, approver.count - given[approver.group])
        for approver in requires
        if given[approver.group] < approver.count
    )
    if len(requires) == 1:
        sofar = f"{given[requires[0].group]} so far"
    else:
        sofar = "so far " + _listed([f"{given[approver.group]} of {approver.group}" for approver in requires], "and")
    if against:
        sofar += f"; {against} of {rejections} rejections"
    if short:
        return Tally("pending", f"needs {needs}; {sofar}", short)
    return Tally("granted", f"needs {needs}; complete")


def once_each(votes: Iterable[Vote]) -> list[Vote]:
    """The votes that count as one person's and as one person's place: nobody gives two, by whatever name."""
    kept: list[Vote] = []
    givers: set[str] = set()
    places: set[str] = set()
    for vote in votes:
        place = vote.for_id or vote.person_id
        if vote.person_id not in givers and place not in places:
            kept.append(vote)
            givers.add(vote.person_id)
            places.add(place)
    return kept


def still_possible(requires: Sequence[Approver], votes: Iterable[Vote], people: Mapping[str, frozenset[str]]) -> bool:
    """Whether the votes given and the people who may still decide (id to groups) can together meet what is required.

    Whoever voted, or was voted for, gives no second vote; a rejection gives none at all. False raises the alarm of S8.
    """
    given = list(votes)
    used = {vote.person_id for vote in given} | {vote.for_id for vote in given}
    pool = {vote.person_id: vote.groups for vote in once_each(given) if vote.verdict == "approve"}
    return can_be_met(requires, pool | {person: groups for person, groups in people.items() if person not in used})


def can_be_met(requires: Sequence[Approver], people: Mapping[str, frozenset[str]]) -> bool:
    """Whether `people` (id to groups: those who may decide now) are enough, each counted once. False raises the alarm
    of S8: a group emptied after the policy was saved blocks, and says so."""
    if not requires or any(approver.count < 1 for approver in requires):
        return False
    given = _assign(requires, people)
    return all(given[approver.group] >= approver.count for approver in requires)


def _assign(requires: Sequence[Approver], people: Mapping[str, frozenset[str]]) -> dict[str, int]:
    """How many people each group gets when each person stands for one group: a maximum matching, by augmenting paths.
    Counting the first group of each person instead would leave a need open that another choice meets."""
    seats = [approver.group for approver in requires for _ in range(approver.count)]
    taken: dict[int, str] = {}

    def seat(person: str, tried: set[int]) -> bool:
        for number, group in enumerate(seats):
            if group in people[person] and number not in tried:
                tried.add(number)
                if number not in taken or seat(taken[number], tried):
                    taken[number] = person
                    return True
        return False

    for person in sorted(people):
        seat(person, set())
    given = dict.fromkeys(seats, 0)
    for number in taken:
        given[seats[number]] += 1
    return given


def _listed(names: Sequence[str], word: str) -> str:
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} {word} {names[-1]}"
