"""Approvals that ask for more than an open session: a confirmation of five minutes, a passkey's signature."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from django.db import InternalError, ProgrammingError, connection, transaction

from access.core.confirm import session_name
from access.selectors.confirmation import means_of
from access.services.confirm import confirm_password
from access.services.passkey import passkey_add, passkey_options, passkey_remove
from approvals.models import Decision, Permit, Proposal, Signature, SigningNonce
from approvals.selectors.signed import decision_document, signature_holds, signed_decisions
from approvals.services.decision import decision_record
from approvals.services.permit import Redeemed
from approvals.services.signing import Answer, signing_begin
from audit.core.refusal import Conflict, Forbidden, Invalid, NotFound
from audit.selectors.entries import EntryFilters, entries_page
from sdk.clearance_client.verify import verify
from tests.support import factories
from tests.support.approvals import asking, edit_as_owner, world
from tests.support.passkeys import Device

T = datetime(2026, 11, 29, 12, tzinfo=UTC)


def policy(authentication, count=1):
    return asking(("finance", count)).replace("expires_in_s", f"authentication: {authentication}, expires_in_s")


@pytest.fixture
def acme(db):
    return world(policy("signed"))


@pytest.fixture
def held(acme):
    return acme.hold()


def sits(person, key="one"):
    """The person in the browser session with this key."""
    return replace(person.actor, session_id=session_name(key))


def confirmed(person, key="one"):
    actor = sits(person, key)
    confirm_password(actor=actor, password=person.password, address="192.0.2.7")
    return actor


def with_passkey(person, device=None, key="one"):
    device, actor = device or Device(), confirmed(person, key)
    passkey_add(actor=actor, response=device.make(passkey_options(actor=actor)), name="Laptop")
    return device, actor


def begun(actor, held, round=1):
    return signing_begin(actor=actor, proposal_id=held.id, digest=held.digest, round=round)


def signed(actor, held, device, **wrong):
    options = begun(actor, held)
    return Answer(options["nonce"], device.sign(options, **wrong))


def approve(actor, held, answer=None, **changes):
    click = {"verdict": "approve", "digest": held.digest, "round": 1, "signed": answer} | changes
    return decision_record(actor=actor, proposal_id=held.id, **click)


def refused(kind, code, do):
    with pytest.raises(kind) as caught:
        do()
    assert caught.value.code == code, caught.value
    return caught.value


# -- fresh -------------------------------------------------------------------------------------------------------------


def test_where_a_rule_asks_for_it_nobody_approves_who_has_not_just_confirmed(db, stand_at):
    acme = world(policy("fresh"))
    stand_at(T)
    held = acme.hold()
    actor = sits(acme.mara)
    said = refused(Forbidden, "FRESH_REQUIRED", lambda: approve(actor, held))
    assert "confirm it is you" in said.message
    assert not Decision.objects.exists()
    [entry] = entries_page(acme.tenant.id, EntryFilters(action="proposal.decided"))
    assert (entry.verdict, entry.detail["code"]) == ("refused", "FRESH_REQUIRED")
    confirmed(acme.mara)
    refused(Forbidden, "FRESH_REQUIRED", lambda: approve(sits(acme.mara, "another"), held))
    stand_at(T + timedelta(minutes=5))
    refused(Forbidden, "FRESH_REQUIRED", lambda: approve(actor, held))
    stand_at(T + timedelta(minutes=5, milliseconds=-1))
    assert approve(actor, held).status == "granted"
    entry = entries_page(acme.tenant.id, EntryFilters(action="proposal.decided", verdict="ok"))[0]
    assert entry.detail["authentication"] == "fresh"


@pytest.mark.parametrize("authentication", ["fresh", "signed"])
def test_rejecting_asks_for_nothing_more(db, authentication):
    acme = world(policy(authentication))
    held = acme.hold()
    done = approve(sits(acme.mara), held, verdict="reject", reason="Not plausible.")
    assert done.status == "rejected"


# -- signed ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["ES256", "EdDSA", "RS256"])
def test_a_signed_approval_grants_and_is_executed_with_its_signature_beside_it(acme, held, kind):
    device, actor = with_passkey(acme.mara, Device(kind))
    assert approve(actor, held, signed(actor, held, device)).status == "granted"
    row = Signature.objects.get()
    assert (bytes(row.credential_id), row.rp_id, row.origin) == (
        device.credential_id, "localhost", "http://localhost:8000",
    )  # fmt: skip
    entry = entries_page(acme.tenant.id, EntryFilters(action="proposal.decided"))[0]
    assert entry.detail["signed_by"] == means_of(acme.mara.user_id).passkeys[0].fingerprint
    assert isinstance(acme.redeem(held), Redeemed)


def test_without_a_signature_a_confirmed_session_is_not_enough(acme, held):
    _, actor = with_passkey(acme.mara)
    refused(Forbidden, "SIGNATURE_REQUIRED", lambda: approve(actor, held))
    refused(Forbidden, "SIGNATURE_REQUIRED", lambda: approve(actor, held, Answer("0" * 64, "")))
    assert not Decision.objects.exists()


def test_a_signature_does_not_replace_the_confirmation(acme, held, stand_at):
    stand_at(T)
    held = acme.hold(4600)
    device, actor = with_passkey(acme.mara)
    answer = signed(actor, held, device)
    stand_at(T + timedelta(minutes=2, seconds=59))
    with transaction.atomic():
        approve(actor, held, answer)
        transaction.set_rollback(True)
    other = sits(acme.mara, "another")
    refused(Forbidden, "FRESH_REQUIRED", lambda: begun(other, held))
    refused(Forbidden, "FRESH_REQUIRED", lambda: approve(other, held, answer))


def test_a_number_is_good_once_in_its_time_session_round_and_for_its_person(acme, held, stand_at):
    stand_at(T)
    held = acme.hold(4600)
    device, actor = with_passkey(acme.mara)
    other, second = with_passkey(acme.noor)
    late = signed(actor, held, device)
    stand_at(T + timedelta(minutes=3))
    refused(Conflict, "SIGNATURE_GONE", lambda: approve(actor, held, late))
    theirs = signed(second, held, other)
    refused(Conflict, "SIGNATURE_GONE", lambda: approve(actor, held, theirs))
    elsewhere = confirmed(acme.mara, "another")
    refused(Conflict, "SIGNATURE_GONE", lambda: approve(actor, held, signed(elsewhere, held, device)))
    another = acme.hold(4700)
    refused(Conflict, "SIGNATURE_GONE", lambda: approve(actor, held, signed(actor, another, device)))
    refused(Conflict, "SIGNATURE_GONE", lambda: approve(actor, held, Answer("f" * 64, late.response)))
    good = signed(actor, held, device)
    SigningNonce.objects.filter(nonce=good.nonce).update(used_at=T)
    refused(Conflict, "SIGNATURE_GONE", lambda: approve(actor, held, good))
    assert not Decision.objects.exists()


def test_a_signature_cannot_be_played_again_under_another_number(acme, held):
    device, actor = with_passkey(acme.mara, Device(counts=False))
    first = signed(actor, held, device)
    again = begun(actor, held)
    refused(Invalid, "PASSKEY_REFUSED", lambda: approve(actor, held, Answer(again["nonce"], first.response)))
    assert approve(actor, held, first).status == "granted"


def test_a_signature_over_another_verdict_digest_or_proposal_is_none(acme, held):
    from approvals.core.signing import challenge_of

    device, actor = with_passkey(acme.mara)
    real = {"proposal_id": str(held.id), "revision": 1, "round": 1, "digest": held.digest, "verdict": "approve"}
    for changed in (
        {"verdict": "reject"}, {"digest": "0" * 64}, {"proposal_id": str(acme.hold(4800).id)}, {"round": 2},
        {"revision": 2}, {"nonce": "0" * 64},
    ):  # fmt: skip
        options = begun(actor, held)
        challenge = challenge_of(**({**real, "nonce": options["nonce"]} | changed))
        answer = Answer(options["nonce"], device.sign(options, challenge=challenge))
        refused(Invalid, "PASSKEY_REFUSED", lambda answer=answer: approve(actor, held, answer))
    assert not Decision.objects.exists()


@pytest.mark.parametrize(
    "wrong",
    [{"flags": 0x01}, {"flags": 0x04}, {"origin": "https://evil.example"}, {"rp_id": "evil.example"}, {"cross": True}],
)
def test_a_signature_without_verification_or_for_somebody_else_is_none(acme, held, wrong):
    device, actor = with_passkey(acme.mara)
    answer = signed(actor, held, device, **wrong)
    refused(Invalid, "PASSKEY_REFUSED", lambda: approve(actor, held, answer))
    assert SigningNonce.objects.get().used_at is None, "nothing of a refused click stays"


def test_another_reviewers_passkey_signs_nothing_for_me(acme, held):
    theirs, _ = with_passkey(acme.noor)
    _, actor = with_passkey(acme.mara)
    answer = signed(actor, held, theirs)
    refused(Invalid, "PASSKEY_UNKNOWN", lambda: approve(actor, held, answer))


def test_who_may_not_decide_or_looks_at_something_else_is_given_no_number(acme, held):
    _, jon = with_passkey(acme.customer_care)
    refused(Forbidden, "SELF_APPROVAL", lambda: begun(jon, held))
    _, actor = with_passkey(acme.mara)
    refused(Conflict, "ROUND_CHANGED", lambda: begun(actor, held, round=2))
    refused(
        Conflict, "DIGEST_CHANGED",
        lambda: signing_begin(actor=actor, proposal_id=held.id, digest="0" * 64, round=1),
    )  # fmt: skip
    stranger = factories.person(factories.tenant(), groups=["finance"])
    with pytest.raises(NotFound):
        begun(confirmed(stranger), held)
    refused(Conflict, "PASSKEY_NONE", lambda: begun(confirmed(acme.noor), held))
    assert not SigningNonce.objects.exists()


def test_where_nothing_is_to_be_signed_no_number_is_given(db):
    acme = world()
    held = acme.hold()
    _, actor = with_passkey(acme.mara)
    refused(Conflict, "SIGNATURE_UNUSED", lambda: begun(actor, held))


# -- when it is executed -----------------------------------------------------------------------------------------------


def test_a_vote_whose_signature_was_changed_does_not_count_when_it_is_executed(owner_sql, committed_db):
    acme = world(policy("signed"))
    held = acme.hold()
    device, actor = with_passkey(acme.mara)
    approve(actor, held, signed(actor, held, device))
    edit_as_owner(owner_sql, "approvals_signature", "signature = '\\x3000'", "true")
    answer = acme.redeem(held)
    assert (answer.kind, answer.code) == ("ask_again", "DECIDER_CHANGED")
    assert Proposal.objects.get(pk=held.id).status == "pending"
    assert Permit.objects.get(proposal_id=held.id).status == "void"


def test_a_vote_without_its_signature_does_not_count_when_it_is_executed(acme, held):
    device, actor = with_passkey(acme.mara)
    with transaction.atomic():
        approve(actor, held, signed(actor, held, device))
        decision = Decision.objects.get()
        assert signature_holds(decision, decision.proposal)
    decision.pk = acme.session_id
    assert not signature_holds(decision, decision.proposal)


def test_what_a_passkey_signed_that_was_removed_since_is_asked_anew(acme, held):
    device, actor = with_passkey(acme.mara)
    approve(actor, held, signed(actor, held, device))
    [key] = means_of(acme.mara.user_id).passkeys
    passkey_remove(actor=actor, passkey_id=str(key.id))
    answer = acme.redeem(held)
    assert (answer.kind, answer.code) == ("ask_again", "DECIDER_CHANGED")


def test_of_two_each_signs_for_themselves(db):
    acme = world(policy("signed", 2))
    held = acme.hold()
    first, mara = with_passkey(acme.mara)
    second, noor = with_passkey(acme.noor)
    assert approve(mara, held, signed(mara, held, first)).status == "pending"
    assert approve(noor, held, signed(noor, held, second)).status == "granted"
    assert isinstance(acme.redeem(held), Redeemed)


@pytest.mark.parametrize(
    "statement", ["UPDATE approvals_signature SET origin = 'x'", "DELETE FROM approvals_signature"]
)
def test_a_signature_is_never_changed_or_removed(acme, held, statement):
    device, actor = with_passkey(acme.mara)
    approve(actor, held, signed(actor, held, device))
    with pytest.raises((ProgrammingError, InternalError)), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)


# -- taken out ---------------------------------------------------------------------------------------------------------


def test_auditors_and_admins_take_signed_decisions_out_and_nobody_else(acme, held):
    device, actor = with_passkey(acme.mara)
    approve(actor, held, signed(actor, held, device))
    auditor = factories.person(acme.tenant, roles=["auditor"]).actor
    [row] = signed_decisions(auditor, held.id)
    assert (row.by, row.verdict, row.holds) == ("Mara Lind", "approve", True)
    document = decision_document(auditor, held.id, row.id)
    found = verify(json.dumps(document), origin="http://localhost:8000", key=row.fingerprint)
    assert (found.digest, found.verdict, found.told["reviewer"]) == (held.digest, "approve", "Mara Lind")
    assert found.call["arguments"]["order_id"] == "ord_1029"
    with pytest.raises(Forbidden):
        decision_document(acme.noor.actor, held.id, row.id)
    with pytest.raises(NotFound):
        decision_document(auditor, held.id, held.id)
    with pytest.raises(NotFound):
        signed_decisions(factories.tenant().admin.actor, held.id)
