"""Turns that are opened at once: one follows the other, and an id opens one."""

from audit.core.refusal import Conflict, Forbidden
from runs.models import Event
from runs.services.turn import turn_open


def outcome(error):
    return error.code if isinstance(error, Conflict | Forbidden) else error


def test_an_id_opens_one_turn_and_ids_follow_each_other(world, race):
    run, actor = world.run(), world.agent_actor
    found = race(lambda n: turn_open(actor=actor, run_id=run.id, turn_id=f"t{n % 5}", tools=["get_order"]))
    opened = [turn for turn in found if not isinstance(turn, Exception) and not turn.repeated]
    assert sorted((turn.number, turn.turn_id) for turn in opened) == sorted(
        Event.objects.filter(run_id=run.id, kind="turn_opened").values_list("body__number", "body__turn_id")
    )
    assert sorted(turn.number for turn in opened) == [1, 2, 3, 4, 5]
    assert {outcome(answer) for answer in found if isinstance(answer, Exception)} <= {"TURN_ID_REUSED"}
    last = max(opened, key=lambda turn: turn.number)
    told = {turn.turn_id: outcome(_ask(world, run, turn.turn_id)) for turn in opened}
    assert [turn_id for turn_id, code in told.items() if code != "TURN_NOT_OPEN"] == [last.turn_id]


def test_of_two_lists_under_one_id_one_counts_and_the_others_are_told(world, race):
    run, actor = world.run(), world.agent_actor
    lists = (["get_order"], ["refund_order"])
    found = race(lambda n: turn_open(actor=actor, run_id=run.id, turn_id="t1", tools=lists[n % 2]), 10)
    [body] = Event.objects.filter(run_id=run.id, kind="turn_opened").values_list("body", flat=True)
    kept = [outcome(one) for one in found[lists.index(body["tools"]) :: 2]]
    lost = [outcome(one) for one in found[1 - lists.index(body["tools"]) :: 2]]
    assert [turn.number for turn in kept] == [1] * 5
    assert lost == ["TURN_ID_REUSED"] * 5


def test_a_call_and_a_turn_at_once_and_the_call_is_of_a_turn_that_shows_its_tool(world, race):
    """Both are judged under the run's head: no call slips between a turn's end and the next one's list."""
    run, actor = world.run(), world.agent_actor
    turn_open(actor=actor, run_id=run.id, turn_id="t0", tools=["get_order"])

    def one(n):
        if n % 2:
            return turn_open(actor=actor, run_id=run.id, turn_id=f"t{n}", tools=["get_order"] if n % 4 == 1 else [])
        return world.submit(run, "get_order", {"order_id": "ord_1029"}, f"c{n}")

    answers = [outcome(answer) for answer in race(one, 12)]
    assert {answer for answer in answers if isinstance(answer, str)} <= {"NOT_EXPOSED"}
    shown, current = {}, ""
    for kind, body in Event.objects.filter(run_id=run.id).order_by("seq").values_list("kind", "body"):
        if kind == "turn_opened":
            current = body["turn_id"]
            shown[current] = body["tools"]
        if kind == "call_proposed":
            assert (body["turn"], body["tool"] in shown[current]) == (current, True)


def _ask(world, run, turn_id):
    try:
        return world.submit(run, "get_order", {"order_id": "ord_1029"}, f"in-{turn_id}", turn=turn_id)
    except Conflict as refusal:
        return refusal
