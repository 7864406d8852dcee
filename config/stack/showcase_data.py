"""What the showcase makes through the services: rules, a draft, contracts, colleagues and what they do to proposals.

Run inside `manage.py shell` by showcase.py, once before anything is asked and once when it waits.
"""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal, TypedDict
from uuid import UUID

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt import PyJWS

from access.selectors.actors import actor_for_session, tenant_id_of, user_id_of
from access.services.delegation import delegation_give
from access.services.people import group_add, group_create, group_remove, member_add
from access.services.webhook import webhook_set, webhook_test
from approvals.core.contract_signing import ALGORITHM, DOMAIN, FORMAT
from approvals.core.contract_text import written
from approvals.selectors.catalogue import contract_document
from approvals.selectors.contract_signatures import KeyRow
from approvals.selectors.policies import policy_in_force
from approvals.selectors.policy_drafts import drafts_open
from approvals.services.candidate import candidate_store
from approvals.services.claim import proposal_claim
from approvals.services.contract import contract_admit, contract_sign
from approvals.services.decision import decision_record
from approvals.services.edit import proposal_edit, proposal_edit_preview
from approvals.services.policy import policy_publish
from approvals.services.policy_draft import policy_draft_create
from approvals.services.publisher import publisher_key_add, publisher_key_revoke
from approvals.services.question import question_ask
from approvals.services.replay import replay_ask
from audit.core.actor import Actor
from audit.core.canonical import canonical_bytes
from audit.store import clock

POLICY = Path(__file__).resolve().parent.parent / "demo_data" / "policies" / "acme.yaml"
COLLEAGUES = {"ben": "Ben Achterberg", "nora": "Nora Vance"}
BRIEF, ADVISED, PLACES, TWO, LEADS, FRESH, SIGNED = 777, 1300, 1400, 1500, 1600, 1700, 1800
"""Refunds of exactly so many minor units meet a rule of their own: decided for a second only; advised against; by two
groups, of which one in somebody's place; by two people; by a group that loses its last member; by somebody who has just
confirmed who they are; by a passkey."""
RULES = f"""\
  - id: refund-brief
    tool: refund_order
    when: "args.amount == {BRIEF}"
    effect: ask
    approvers: [{{group: finance, count: 1}}]
    expires_in_s: 1

  - id: rather-round
    tool: refund_order
    when: "args.amount == {ADVISED}"
    effect: deny
    level: advisory
    message: "A round sum: ask for the photos before it is paid back."

  - id: refund-places
    tool: refund_order
    when: "args.amount == {PLACES}"
    effect: ask
    approvers: [{{group: finance, count: 1}}, {{group: treasury, count: 1}}]

  - id: refund-two
    tool: refund_order
    when: "args.amount == {TWO}"
    effect: ask
    approvers: [{{group: finance, count: 2}}]
    reasons: ["The parcel is not ours.", "Refund it from the till."]

  - id: refund-leads
    tool: refund_order
    when: "args.amount == {LEADS}"
    effect: ask
    approvers: [{{group: finance, count: 1}}, {{group: leads, count: 1}}]

  - id: refund-fresh
    tool: refund_order
    when: "args.amount == {FRESH}"
    effect: ask
    approvers: [{{group: finance, count: 1}}]
    authentication: fresh

  - id: refund-signed
    tool: refund_order
    when: "args.amount == {SIGNED}"
    effect: ask
    approvers: [{{group: finance, count: 1}}]
    authentication: signed

"""
VOUCHER = """\
  - id: voucher
    tool: refund_order
    when: "args.amount < 1300"
    effect: deny
    message: "Small sums are given back as a voucher."

"""
TESTS = """\
tests:
  - name: a lamp is asked
    tool: refund_order
    arguments: {order_id: ord_1029, amount: 4500, currency: AUD}
    state: {status: succeeded, left: 12000, currency: AUD}
    expect: {effect: ask}
  - name: reading is asked
    tool: get_order
    arguments: {order_id: ord_1029}
    expect: {effect: ask}
"""


class Asked(TypedDict):
    """A proposal that waits, as the agent was told of it."""

    proposal: str
    digest: str
    arguments: dict[str, Any]


def prepare(admin_email: str) -> None:
    """Colleagues, rules, a draft of a policy, contracts in and out of force."""
    admin, tenant = _actor(admin_email), _tenant()
    for slug in ("leads", "treasury"):
        group_create(actor=admin, slug=slug, name=slug.title())
    for name, full in COLLEAGUES.items():
        member = member_add(actor=admin, email=_email(name), name=full, roles=["reviewer"])
        group_add(actor=admin, group="finance", user_id=member.user_id)
        if name == "nora":
            group_add(actor=admin, group="leads", user_id=member.user_id)
            group_add(actor=admin, group="treasury", user_id=member.user_id)
    active = policy_in_force(tenant)
    assert active is not None
    demo = POLICY.read_text()
    source = demo.replace("rules:\n", "rules:\n" + RULES, 1)
    policy_publish(actor=admin, source=source, based_on=active.number)
    looser = source.replace("'AUD': 100000,", "'AUD': 200000,", 1).replace("rules:\n", "rules:\n" + VOUCHER, 1)
    policy_draft_create(actor=admin, name="Refunds before Christmas", source=looser + TESTS)
    contract_admit(actor=admin, document=_contract("get_order") | {"title": "Look an order up by its number"})
    candidate = _contract("refund_order") | {"approval": "policy", "expires_in_s": 3600, "title": "Pay an order back"}
    team = Ed25519PrivateKey.generate()
    lost = Ed25519PrivateKey.generate()
    key = _key(admin, "Payments Team", team)
    candidate_store(
        actor=admin,
        source=written(candidate),
        note="Small refunds need nobody.",
        based_on=1,
        signature=_signed(team, key.fingerprint, candidate),
    )
    old = _key(admin, "Warehouse", lost)
    order = _contract("get_order")
    number = _number("get_order")
    contract_sign(actor=admin, tool="get_order", number=number, signature=_signed(lost, old.fingerprint, order))
    publisher_key_revoke(actor=admin, key_id=old.id, because="The laptop with it was lost.")


def finish(admin_email: str, reviewer_email: str, hook: str, asked: dict[str, Asked]) -> str:
    """What colleagues do to the proposals `asked`, by their names. JSON: ids of the `edited` revision, of the `draft`
    and of its `replay`."""
    admin, ben, nora, reviewer = map(_actor, (admin_email, _email("ben"), _email("nora"), reviewer_email))
    webhook_set(actor=admin, url=hook)
    webhook_test(actor=admin)
    group_remove(actor=admin, group="leads", user_id=nora.id)
    draft = drafts_open(admin.tenant_id)[0]
    replay = replay_ask(actor=admin, source=draft.source, draft_id=draft.id)
    now = clock.now()
    delegation_give(
        actor=nora,
        to_user_id=reviewer.id,
        ends_at=now + timedelta(days=2),
        groups=["treasury"],
        reason="At the trade fair.",
    )
    later = now + timedelta(days=6)
    delegation_give(actor=reviewer, to_user_id=ben.id, starts_at=later, ends_at=later + timedelta(days=3))
    proposal_claim(actor=ben, proposal_id=_id(asked["claimed"]))
    for name, text in (
        ("question", "Is the parcel coming back to us, or does the customer keep it?"),
        ("answered", "Which side of the parcel was damaged? The note does not say."),
    ):
        question_ask(actor=ben, proposal_id=_id(asked[name]), digest=asked[name]["digest"], round=1, text=text)
    _vote(ben, asked["one-of-two"], "approve", "Photos checked against the packing list.")
    edited = _edit(ben, asked["edited"])
    return json.dumps({"edited": str(edited), "draft": str(draft.id), "replay": str(replay.id)})


def _edit(actor: Actor, asked: Asked) -> UUID:
    wanted = asked["arguments"] | {"amount": 900}
    seen = proposal_edit_preview(actor=actor, proposal_id=_id(asked), digest=asked["digest"], round=1, arguments=wanted)
    done = proposal_edit(
        actor=actor,
        proposal_id=_id(asked),
        digest=asked["digest"],
        round=1,
        arguments=wanted,
        shown=seen.digest,
        reason="Nine was agreed on the phone, not twelve fifty.",
    )
    return done.proposal_id


def _vote(actor: Actor, asked: Asked, verdict: Literal["approve", "reject"], reason: str) -> None:
    decision_record(
        actor=actor, proposal_id=_id(asked), verdict=verdict, digest=asked["digest"], reason=reason, read_to_end=True
    )


def _id(asked: Asked) -> UUID:
    return UUID(asked["proposal"])


def _email(name: str) -> str:
    return f"{name}@acme.example.test"


def _tenant() -> str:
    tenant = tenant_id_of("acme")
    assert tenant is not None
    return tenant


def _contract(tool: str) -> dict[str, Any]:
    found = contract_document(_tenant(), tool)
    assert found is not None
    return found[1]


def _number(tool: str) -> int:
    found = contract_document(_tenant(), tool)
    assert found is not None
    return found[0]


def _key(admin: Actor, publisher: str, key: Ed25519PrivateKey) -> KeyRow:
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    return publisher_key_add(actor=admin, publisher=publisher, public_key=public, at_console=True)


def _signed(key: Ed25519PrivateKey, fingerprint: str, document: dict[str, Any]) -> str:
    """As the program of the SDK signs, which is no part of this installation."""
    header = {"typ": DOMAIN, "format": FORMAT, "kid": fingerprint}
    return PyJWS().encode(canonical_bytes(document), key, ALGORITHM, headers=header, is_payload_detached=True)


def _actor(email: str) -> Actor:
    user = user_id_of(email)
    assert user is not None
    actor = actor_for_session(user, _tenant())
    assert actor is not None
    return actor
