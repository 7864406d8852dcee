"""The protocol holds in every interleaving of each model, something final can always be reached, and each safeguard is
needed: taken out, a named invariant breaks."""

import pytest

from tests.model import call_model
from tests.model.explore import explore, machines, main

MACHINES = machines()
SIZES = {
    "call": call_model.STATES, "contention": 4060, "compensation": 746, "restore": 9698, "records": 72_750,
    "turns": 4380,
}  # fmt: skip
BROKEN_BY = {
    ("call", "fence"): "the effect happened but the call reads refused",
    ("call", "redeem-once"): "the effect happened but the call reads cancelled",
    ("call", "intent"): "effect without approval",
    ("call", "expiry-at-dispatch"): "dispatched on a stale approval",
    ("call", "policy-at-dispatch"): "dispatched on a stale approval",
    ("call", "state-at-dispatch"): "dispatched on a stale approval",
    ("call", "lookup-proves"): "believed that nothing happened while a request could still arrive",
    ("call", "decide-unknown"): "the effect happened but the call reads rejected",
    ("call", "cancel-started"): "the effect happened but the call reads cancelled",
    ("call", "kernel-timer"): "the effect happened but the call reads refused",
    ("call", "proven-before-effect"): "the effect happened but the call reads cancelled",
    ("call", "round-voids-votes"): "dispatched without an approval",
    ("call", "revoke-voids"): "dispatched without an approval",
    ("call", "revoke-until-dispatch"): "effect without approval",
    ("call", "stop-at-claim"): "claimed while a stop was in force",
    ("call", "stop-at-redeem"): "dispatched while a stop was in force",
    ("call", "stop-spares-started"): "the effect happened but the call reads refused",
    ("contention", "resource-lease"): "two requests are under way on one record",
    ("contention", "unknown-keeps-lease"): "two requests are under way on one record",
    ("contention", "left-after-deadline"): "the effect of a happened but the call reads failed",
    ("contention", "state-at-dispatch"): "an effect on a record that changed since it was approved",
    ("contention", "read-behind-start"): "an effect on a record that changed since it was approved",
    ("contention", "pause-at-start"): "started while paused",
    ("contention", "cancel-ends-unsent"): "started after its run was cancelled",
    ("contention", "kernel-timer"): "the effect of a happened but the call reads failed",
    ("compensation", "proof-for-closing"): "the effect happened but the call reads failed",
    ("compensation", "proof-for-retry"): "the effect happened but the call reads failed",
    ("compensation", "asked-in-time"): "the effect happened but the call reads failed",
    ("compensation", "kernel-timer"): "the effect happened but the call reads failed",
    ("compensation", "own-approval"): "compensated without an approval",
    ("compensation", "one-compensation"): "something was compensated that is said not to have happened",
    ("compensation", "success-compensates"): "the call reads compensated and nothing has made up for it",
    ("compensation", "no-retry-beside"): "sent again beside its compensation",
    ("compensation", "no-closing-beside"): "something was compensated that is said not to have happened",
    ("compensation", "final-stays"): "final compensated became succeeded",
    ("compensation", "cancel-schedules-nothing"): "sent again after a cancel",
    ("restore", "epoch-stops-starts"): "executed on an approval of before the restore",
    ("restore", "epoch-voids-permits"): "executed on an approval of before the restore",
    ("restore", "look-before-send"): "the effect happened but the call reads failed",
    ("restore", "look-in-time"): "the effect happened but the call reads failed",
    ("restore", "proof-after-restore"): "the effect happened but the call reads failed",
    ("restore", "deadline-of-lost-time"): "the effect happened but the call reads failed",
    ("restore", "epoch-stops-words"): "the effect happened but the call reads failed",
    ("restore", "kernel-timer"): "the effect happened but the call reads failed",
    ("records", "record-is-quiet"): "an effect on a record that changed since it was read",
    ("records", "look-in-time"): "an effect on a record that changed since it was read",
    ("records", "look-before-send"): "duplicate effect",
    ("records", "epoch-stops-starts"): "duplicate effect",
    ("records", "resource-lease"): "an effect on a record that changed since it was read",
    ("records", "unknown-keeps-lease"): "an effect on a record that changed since it was read",
    ("records", "deadline-of-lost-time"): "the effect happened but the call reads failed",
    ("records", "kernel-timer"): "the effect happened but the call reads failed",
    ("turns", "turn-shows"): "a call started whose tool its turn did not show",
    ("turns", "named-is-open"): "a call started that was chosen in a turn that was over",
    ("turns", "unnamed-in-open"): "a call started whose tool its turn did not show",
    ("turns", "opened-once"): "an earlier turn is open again",
    ("turns", "same-id-same-tools"): "a call started whose tool its turn did not show",
    ("turns", "chosen-when-opened"): "a call started whose tool its turn did not show",
    ("turns", "only-narrows"): "a turn shows more than its run has",
    ("turns", "taken-away-at-once"): "a call was taken of a tool that its agent is not shown any more",
    ("turns", "judged-once"): "a call that was taken ended because its turn is over",
    ("turns", "repeat-is-taken"): "a call that was taken was refused when it was repeated",
}
SAFEGUARDS = [(name, safeguard) for name, machine in MACHINES.items() for safeguard in machine.breaks]


@pytest.mark.parametrize("name", list(MACHINES))
def test_no_interleaving_breaks_an_invariant_or_leaves_a_call_stuck(name: str):
    seen = explore(MACHINES[name])
    assert seen.found == {}
    assert seen.stuck == []
    assert len(seen.parents) == SIZES[name]
    print(f"{name}: {len(seen.parents)} states, {seen.steps} steps")


@pytest.mark.parametrize(("name", "safeguard"), SAFEGUARDS, ids=["-".join(pair) for pair in SAFEGUARDS])
def test_without_this_safeguard_a_named_invariant_breaks(name: str, safeguard: str):
    seen = explore(MACHINES[name], frozenset([safeguard]), first=True)
    assert BROKEN_BY[name, safeguard] in seen.found
    assert seen.history(seen.found[BROKEN_BY[name, safeguard]])


def test_a_removed_safeguard_is_told_as_a_history(capsys: pytest.CaptureFixture[str]):
    assert main(["contention", "--break", "unknown-keeps-lease"]) == 1
    told = capsys.readouterr().out
    assert "BROKEN: two requests are under way on one record" in told
    assert "sends" in told
