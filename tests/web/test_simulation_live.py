"""The page of a simulation that reads the target, and that of a past call that its own checks refused."""

import html
import json
import re
from pathlib import Path

import pytest
from django.conf import settings

from access.services.credentials import credential_store
from approvals.models import Judgement
from approvals.services.contract import contract_admit
from approvals.services.judge import call_judge
from approvals.services.judged import judgement_keep
from audit.core.refusal import Unavailable
from audit.store import clock
from runs.core.answers import ended
from runs.models import Call
from runs.services.call import call_submit
from runs.services.run import run_open
from tests.core.approvals.documents import changed, refund_document
from tests.support import approvals, factories
from tests.support.target import Target

HOST = "127.0.0.1:12111"
CHARGE = {"amount": 18_900, "amount_refunded": 0, "currency": "AUD", "status": "succeeded", "note": "A private word."}
PATH = "/tools/refund_order/simulate/"


@pytest.fixture
def world(db):
    return approvals.world()


@pytest.fixture
def admin(world, signed_in):
    return signed_in(world.tenant.admin)


@pytest.fixture
def target(world):
    """A target with one order, which the world's refund tool reads; what it keeps back is in its state, too."""
    with Target(lambda visit: visit.answer_json(CHARGE)) as server:
        admit(world, server.host, {"/adapter/read_state/state/note": "/note"})
        credential_store(actor=world.tenant.admin.actor, name="payments", secret="sk_test_5f2c9e8a71b04d36")
        table = Path(settings.REFERENCE_DIR) / world.tenant.slug / "orders.json"
        table.parent.mkdir(parents=True, exist_ok=True)
        table.write_text(json.dumps({"ord_1029": {"charge": "ch_1", "customer": "Anna Berg"}}))
        yield server


def admit(world, host, changes=None):
    document = json.loads(json.dumps(refund_document()).replace(HOST, host))
    contract_admit(actor=world.tenant.admin.actor, document=changed(document, changes or {}))


def text_of(response):
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", response.content.decode())).split())


def simulate(world, client, status=200, **changes):
    form = {
        "agent": world.agent.id,
        "acting": world.customer_care.user_id,
        "arguments": json.dumps({"order_id": "ord_1029", "amount": 4_500}),
        "state": "",
        "source": "read",
    }
    response = client.post(PATH, form | changes)
    assert response.status_code == status, response.content.decode()[:2000]
    return text_of(response)


def test_an_admin_reads_the_target_and_sees_the_state_when_and_how_long_without_what_is_kept_back(world, admin, target):
    offered = admin.get(PATH).content.decode()
    assert "Read it from the target now" in offered
    assert re.search(r'value="read"(?! disabled)[^>]*>', offered)
    assert target.settled() == [], "opening the page asks nothing"
    shown = simulate(world, admin, state='{"left": 1}')
    assert len(target.settled()) == 1
    assert "It would be held for people." in shown
    assert "args.amount 4500 <= state.left 18900" in shown, "not on the state that stood in the form"
    asked = shown[shown.index("Asked ") :][:120]
    assert re.match(r"Asked \d+ \w+ \d{4}, [\d:]{8} A\w+ \( ?[\d:]{8} UTC ?\) ?; it took \d+ ms\.", asked), asked
    assert '"left": 18900' in shown
    assert '"note": "[redacted]"' in shown
    assert "A private word." not in shown
    assert "no call was stored" in shown
    assert Call.objects.count() == 0


def test_a_condition_over_what_is_kept_back_stands_without_its_values(world, admin, target):
    check = {"id": "quiet", "when": "state.note != 'A private word.'", "code": "NOTED", "message": "There is a note."}
    admit(world, target.host, {"/adapter/read_state/state/note": "/note", "/checks/0": check})
    shown = simulate(world, admin)
    assert "It would be refused: Meaning" in shown
    assert "state.note != 'A private word.' (values kept back)" in shown


def test_what_fails_is_a_step_with_what_a_real_call_would_do(world, admin, target):
    shown = simulate(world, admin, arguments=json.dumps({"order_id": "ord_7", "amount": 1}))
    assert "It would be refused: The target's state." in shown
    assert "There is no order ord_7 here." in shown
    assert "a real call then It is refused with the same words before it is judged." in shown
    target.behaviour = lambda visit: visit.answer(b"broken", status="503 Service Unavailable")
    shown = simulate(world, admin)
    assert "Nobody can tell yet: The target's state." in shown
    assert "cause TARGET_ERROR" in shown


def test_who_may_not_is_told_so_and_refused_and_a_pasted_state_still_works(world, signed_in, target):
    operator = signed_in(factories.person(world.tenant, roles=["operator"]))
    page = operator.get(PATH).content.decode()
    assert "Only an admin has a target read from here" in page
    assert re.search(r'value="read" disabled', page)
    assert "Only an admin may do this" in simulate(world, operator, 403)
    assert target.settled() == []
    assert "It would be" in simulate(world, operator, source="given", state='{"left": 1}')
    assert "Choose where" in simulate(world, operator, 422, source="elsewhere")


def test_too_many_clicks_are_told_with_how_long_to_wait_and_keep_the_form(world, admin, target):
    for _ in range(6):
        simulate(world, admin)
    shown = simulate(world, admin, 429)
    assert "You have had targets read several times just now. Wait" in shown
    assert "ord_1029" in shown
    assert len(target.settled()) == 6


def test_a_tool_without_a_state_says_so_beside_the_choice(world, admin):
    without = {"/adapter/read_state": None, "/adapter/reference": None, "/checks": [], "/presentation/compare": []}
    without |= {"/presentation/sentence": "Refund {amount}", "/adapter/execute/request/form/charge": "x"}
    contract_admit(actor=world.tenant.admin.actor, document=_without_state(without))
    page = admin.get(PATH).content.decode()
    assert "This tool reads no state" in page
    assert re.search(r'value="read" disabled', page)
    assert "This tool reads no state; nothing was asked." in simulate(world, admin)


def _without_state(changes):
    document = changed(refund_document(), changes)
    for part in ("money", "customer"):
        document.pop(part, None)
    document["presentation"].pop("money", None)
    document["adapter"].pop("postcondition", None)
    document["adapter"]["look_up"]["request"]["query"] = {"limit": "100"}
    document["adapter"]["execute"]["success"] = "result.status == 'succeeded'"
    return document


# -- a past call whose own checks refused it --------------------------------------------------------------------------


def called(world, amount=4_500):
    run = run_open(actor=world.actor, title="Refund")
    given = {"order_id": "ord_1029", "amount": amount}
    call_submit(actor=world.actor, run_id=run.id, call_id="call-1", tool="refund_order", arguments=given)
    return run


def why(client, run):
    response = client.get(f"/runs/{run.id}/calls/call-1/why/")
    assert response.status_code == 200
    return text_of(response)


def judged(world, run, state):
    prepared = world.prepare(99_999)
    verdict = call_judge(
        tenant_id=world.tenant.id,
        tool_version_id=prepared.tool_version_id,
        canonical=prepared.canonical,
        state=state,
        requester=world.requester(),
    )
    assert verdict.effect == "deny"
    judgement_keep(
        tenant_id=world.tenant.id,
        run_id=run.id,
        call_id="call-1",
        state=state,
        requester=world.requester(),
        verdict=verdict,
    )


def test_why_a_past_call_was_refused_by_its_own_checks_is_told_on_the_state_it_was_judged_on(world, admin):
    run = called(world, 99_999)
    assert "no state is kept of it. It has not been judged yet." in why(admin, run)
    judged(world, run, approvals.STATE)
    shown = why(admin, run)
    assert "Nobody can tell yet" not in shown
    assert "It would be refused: Meaning" in shown
    assert "on the state of" in shown
    begun = html.unescape(admin.get(f"{PATH}?run={run.id}&call=call-1").content.decode())
    assert '"left": 12000' in begun


def test_a_past_call_that_ended_unjudged_says_that_no_state_of_it_was_stored(world, admin):
    run = called(world)
    refusal = Unavailable("Nothing was started; try again.", code="TARGET_UNAVAILABLE")
    answer = ended("refused", refusal.as_dict())
    Call.objects.filter(run_id=run.id).update(answer=answer, state="refused")
    shown = why(admin, run)
    assert "no state of it was ever stored" in shown
    assert "What its agent was told then: Nothing was started; try again. TARGET_UNAVAILABLE" in shown


def test_a_state_that_is_not_what_was_written_is_told_so_and_not_shown(world, admin):
    run = called(world, 99_999)
    Judgement.objects.create(
        tenant_id=world.tenant.id, run_id=run.id, call_id="call-1", at=clock.now(), state=b'{"state": {"left": 77}, 1}',
        effect="deny", code="AMOUNT_EXCEEDS_LEFT", policy_number=1,
    )  # fmt: skip
    shown = why(admin, run)
    assert "is not what was written" in shown
    assert "77" not in shown
