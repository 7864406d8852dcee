"""approvals/core/reached.py: rules set aside together change no verdict (S63)."""

import pytest

from approvals.core.cel import evaluate_bool
from approvals.core.contract import parse_contract
from approvals.core.policy import Request, bindings_of, evaluate, parse_policy
from approvals.core.reached import AT_LEAST, OFTEN, TOGETHER, rules_reached
from tests.core.approvals.documents import refund_document

CONTRACT = parse_contract(refund_document({"/approval": "policy"}))
MANY = TOGETHER * 3 + 5


def policy(conditions):
    """Each condition refuses; what none holds for is allowed."""
    rules = "".join(
        f'  - {{id: r{n}, tool: refund_order, when: "{when}", effect: deny}}\n' for n, when in enumerate(conditions)
    )
    return often(parse_policy(f"version: 1\nrules:\n{rules}  - {{id: rest, tool: '*', effect: allow}}\n", "yaml"))


def often(found):
    """Asked so often that every row is asked in one."""
    for _ in range(OFTEN + MANY // TOGETHER + 2):
        list(rules_reached(found, "refund_order", bindings_of(call())))
    return found


def call(**arguments):
    state = {"left": 10**6, "currency": "AUD"}
    return Request(
        "refund_order", CONTRACT, {"order_id": "ord_1", "amount": 7, "currency": "AUD", **arguments}, state, {}
    )


def names(found, request):
    return [rule.id for rule in rules_reached(found, "refund_order", bindings_of(request))]


def test_rules_that_are_false_together_are_not_asked_one_by_one():
    found = policy([f"args.amount == {n + 100}" for n in range(MANY)])
    assert names(found, call()) == ["rest"]
    assert evaluate(found, call()).rule_id == "rest"


def test_a_policy_that_is_asked_once_is_asked_rule_by_rule():
    found = parse_policy(
        "version: 1\nrules:\n"
        + "".join(f"  - {{id: s{n}, tool: '*', when: 'args.amount == {n + 50}', effect: deny}}\n" for n in range(9)),
        "yaml",
    )
    assert len(names(found, call())) == 9


@pytest.mark.parametrize("place", [0, 1, TOGETHER - 1, TOGETHER, TOGETHER * 3, MANY - 1])
def test_the_first_that_holds_decides_wherever_it_stands_and_another_one_behind_it_does_not(place):
    conditions = ["args.amount == 99"] * MANY
    conditions[place] = "args.amount == 7"
    assert evaluate(policy(conditions), call()).rule_id == f"r{place}"
    conditions[MANY - 1] = "args.amount == 7"
    assert evaluate(policy(conditions), call()).rule_id == f"r{place}"


@pytest.mark.parametrize("place", [0, TOGETHER - 1, TOGETHER, MANY - 1])
@pytest.mark.parametrize("errs", ["args.gone == 1", "args.order_id > 5", "1 / (args.amount - 7) > 0"])
def test_one_that_errs_among_them_denies_and_is_named(place, errs):
    conditions = ["args.amount == 99"] * MANY
    conditions[place] = errs
    verdict = evaluate(policy(conditions), call())
    assert (verdict.effect, verdict.code, verdict.rule_id) == ("deny", "policy_error", f"r{place}")


def test_one_that_holds_before_one_that_errs_decides_and_behind_it_does_not():
    conditions = ["args.amount == 99"] * TOGETHER
    conditions[3], conditions[5] = "args.amount == 7", "args.gone == 1"
    assert evaluate(policy(conditions), call()).code == "denied"
    conditions[3], conditions[5] = conditions[5], conditions[3]
    assert evaluate(policy(conditions), call()).code == "policy_error"


@pytest.mark.parametrize("first", ["args.amount == 99 // || true", "args.amount == 99 ? true : false"])
def test_a_comment_or_a_choice_in_a_condition_stays_within_its_own(first):
    conditions = [first, "args.amount == 99", "args.amount == 7", *["args.amount == 1"] * 6]
    assert evaluate(policy(conditions), call()).rule_id == "r2"


def test_as_one_by_one_for_every_mixture():
    """What one by one gives, for conditions that hold, do not hold or err, in every order of four."""
    kinds = {"t": "args.amount == 7", "f": "args.amount == 8", "e": "args.gone == 1"}
    for number in range(3**AT_LEAST):
        letters = [("t", "f", "e")[number // 3**at % 3] for at in range(AT_LEAST)]
        first = next((at for at, letter in enumerate(letters) if letter != "f"), None)
        verdict = evaluate(policy([kinds[letter] for letter in letters]), call())
        wanted = ("rest", "allowed") if first is None else (
            f"r{first}", "denied" if letters[first] == "t" else "policy_error")  # fmt: skip
        assert (verdict.rule_id, verdict.code) == wanted, letters


def test_other_tools_rules_are_not_among_them_and_those_without_a_condition_are():
    source = "version: 1\nrules:\n" + "".join(
        f"  - {{id: o{n}, tool: get_order, when: 'args.amount == {n}', effect: allow}}\n" for n in range(8)
    )
    found = often(parse_policy(source + "  - {id: all, tool: '*', effect: allow}\n", "yaml"))
    assert names(found, call()) == ["all"]
    assert evaluate_bool(found.rules[3].program, bindings_of(call(amount=3)))
