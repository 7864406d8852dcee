"""The pages of signed contracts: publishers' keys, what a candidate's page says, the mark of what goes on unsigned."""

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from approvals.selectors.contract_signatures import keys_shown
from approvals.services.candidate import candidate_store
from approvals.services.publisher import publisher_key_add, publisher_key_revoke
from tests.core.approvals.documents import refund_document
from tests.support import approvals, factories
from tests.support.publishers import Publisher

OTHER = {"/title": "Pay an order back"}
KEYS = "/tools/publisher-keys/"
TEAM = Publisher()


@pytest.fixture
def world(db):
    return approvals.world()


@pytest.fixture
def admin(world, signed_in):
    return signed_in(world.tenant.admin)


def page(client, path, status=200, **data):
    response = client.post(path, data, follow=True) if data else client.get(path)
    assert response.status_code == status, response.content.decode()[:2000]
    return response.content.decode()


def registered(world):
    return publisher_key_add(
        actor=world.tenant.admin.actor, publisher=TEAM.name, public_key=TEAM.public, at_console=True
    )


def stored(world, signature=""):
    source = json.dumps(refund_document(OTHER))
    row = candidate_store(actor=world.tenant.admin.actor, source=source, signature=signature)
    return f"/tools/refund_order/candidates/{row.id}/"


def test_a_key_is_added_after_a_confirmation_and_what_was_typed_is_kept_before_it(world, admin):
    given = {"verb": "add", "publisher": "Payments Team", "public_key": TEAM.public}
    shown = page(admin, KEYS, 403, **given)
    assert f"/account/confirm/?next={KEYS}" in shown
    assert 'value="Payments Team"' in shown
    assert TEAM.public.splitlines()[1] in shown
    page(admin, "/account/confirm/", password=world.tenant.admin.password, next=KEYS)
    shown = page(admin, KEYS, **given)
    assert "Payments Team signs with this key from now on" in shown
    assert TEAM.fingerprint in shown
    assert "is registered already" in page(admin, KEYS, 409, **given)
    shown = page(admin, KEYS, 422, verb="add", publisher="X", public_key=TEAM.private)
    assert "This is a private key" in shown
    assert TEAM.private.splitlines()[1] not in shown, "a secret is not shown again"
    assert "U+202E" in page(admin, KEYS, 422, **given | {"publisher": "Pay\u202ements"})
    key = keys_shown(world.tenant.admin.actor).keys[0]
    assert "Write the reason first" in page(admin, KEYS, 422, verb="revoke", key=key.id, because=" ")
    assert "The laptop is gone." in page(admin, KEYS, verb="revoke", key=key.id, because="The laptop is gone.")
    page(admin, KEYS, 422, verb="revoke", key="x", because="y")
    page(admin, KEYS, 422, verb="x")


def test_a_contract_is_imported_with_its_signature_and_admitted(world, admin):
    registered(world)
    file = SimpleUploadedFile("contract.jws", TEAM.signed(refund_document(OTHER)).encode())
    shown = page(admin, "/tools/import-contract/", source=json.dumps(refund_document(OTHER)), signature_file=file)
    assert "Signed by Payments Team with the key" in shown
    assert "The signature as it came" in shown
    # The contract itself names somebody else.
    assert "names another publisher than Payments Team" in shown
    page(admin, "/tools/import-contract/", 422, source=json.dumps(refund_document(OTHER)), signature="x")
    kept = page(admin, "/tools/import-contract/", 413, source="name: x", signature="y" * 1_048_576)
    assert "1,048,576 bytes" in kept
    shown = page(admin, stored(world), verb="admit", in_force="1", waiting="0")
    assert "version 2, in force" in shown
    assert "Signed by Payments Team" in shown


def test_a_signature_that_does_not_fit_is_said_and_removed_on_the_candidates_page(world, admin):
    registered(world)
    address = stored(world, TEAM.signed(refund_document()))
    shown = page(admin, address)
    assert "signature does not fit" in shown
    assert "Remove the signature, or import the contract anew" in shown
    assert 'aria-describedby="a-why" type="submit" disabled>Admit' in shown
    assert 'id="a-why">The signature is in the way; what is said above mends it.' in shown
    assert "is not admitted" in page(admin, address, 409, verb="admit", in_force="1", waiting="0")
    assert "This is no signature" in page(admin, address, 422, verb="sign", signature="x")
    assert "The signature is taken away" in page(admin, address, verb="unsign", reason="Wrong file.")
    assert "not signed" in page(admin, address)
    assert "Signed by Payments Team" in page(admin, address, verb="sign", signature=TEAM.signed(refund_document(OTHER)))


def test_what_goes_on_unsigned_is_named_before_the_rule_and_marked_after_it(world, admin):
    shown = page(admin, KEYS)
    assert "These would go on without a valid signature" in shown
    assert "refund_order would go on" in page(admin, KEYS, 409, verb="signed-only", seen="get_order")
    shown = page(admin, KEYS, verb="signed-only", seen="get_order,refund_order")
    assert "These go on from before" in shown
    assert "not signed" in page(admin, "/tools/")
    page(admin, KEYS, 403, verb="unsigned-too")
    registered(world)
    sign = {"number": 1, "signature": TEAM.signed(refund_document())}
    assert "does not fit" in page(admin, "/tools/refund_order/sign/", 422, **sign | {
        "signature": TEAM.signed(refund_document(OTHER))})  # fmt: skip
    assert "Signed by Payments Team" in page(admin, "/tools/refund_order/sign/", **sign)


def test_a_revoked_key_is_told_on_the_lists_to_everybody_who_reads_contracts(world, signed_in):
    key = registered(world)
    address = stored(world, TEAM.signed(refund_document(OTHER)))
    admin = signed_in(world.tenant.admin)
    page(admin, address, verb="admit", in_force="1", waiting="0")
    publisher_key_revoke(actor=world.tenant.admin.actor, key_id=key.id, because="Leaked.")
    reader = signed_in(factories.person(world.tenant, roles=["auditor"]))
    for path in ("/tools/", KEYS, "/tools/refund_order/"):
        shown = page(reader, path)
        assert "key revoked" in shown or "holds no more" in shown, path
        assert "<form" not in shown.split("<main")[1], path
    assert "Have each signed by a key that is good" in page(reader, KEYS)
    page(reader, KEYS, 403, verb="signed-only", seen="")
    page(reader, "/tools/refund_order/sign/", 403, number=2, signature=TEAM.signed(refund_document(OTHER)))
    page(signed_in(world.mara), KEYS, 403)
