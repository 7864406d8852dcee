"""approvals/services/publisher.py and the signatures of contracts: who signed is judged anew at every admission."""

import json

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from access.models import Confirmation, WebhookDelivery
from access.services.webhook import webhook_set
from approvals.models import ToolCandidate, ToolVersion
from approvals.selectors.candidates import candidate_shown
from approvals.selectors.contract_signatures import in_force_signed, keys_shown, signed_version
from approvals.services.candidate import (
    candidate_admit,
    candidate_drop,
    candidate_sign,
    candidate_store,
    candidate_unsign,
)
from approvals.services.contract import Seen, contract_admit, contract_return, contract_sign
from approvals.services.publisher import publisher_key_add, publisher_key_revoke, signed_only_set
from audit.core.refusal import Conflict, Forbidden, Invalid, NotFound, TooLarge
from audit.selectors.entries import EntryFilters, entries_page
from audit.store import clock
from tests.core.approvals.documents import refund_document
from tests.support import factories
from tests.support.approvals import edit_as_owner, world
from tests.support.publishers import Publisher

OTHER = {"/description": "Pays back what a customer paid. Another text."}
IN_FORCE = Seen(in_force=1, waiting=0)
TEAM = Publisher()


@pytest.fixture
def admin(acme):
    return acme.tenant.admin.actor


def add(admin, publisher=TEAM, name="", **more):
    key = more.pop("public_key", publisher.public)
    return publisher_key_add(
        actor=admin, publisher=name or publisher.name, public_key=key, **{"at_console": True} | more
    )


def store(admin, signature="", changes=None):
    source = json.dumps(refund_document(changes or OTHER), indent=1)
    return candidate_store(actor=admin, source=source, signature=signature)


def signed(publisher=TEAM, changes=None):
    return publisher.signed(refund_document(changes or OTHER))


def admit(admin, candidate, seen=IN_FORCE):
    return candidate_admit(actor=admin, candidate_id=candidate.id, seen=seen)


def shown(admin, candidate):
    return candidate_shown(admin, "refund_order", candidate.id).signed


def state_in_force(acme):
    return {one.tool: one.signed.state for one in in_force_signed(acme.tenant.id)}["refund_order"]


def entries(admin, action):
    return [entry.detail for entry in entries_page(admin.tenant_id, EntryFilters(action=action, verdict="ok"))]


def conflict(code, service, **arguments):
    with pytest.raises(Conflict) as caught:
        service(**arguments)
    assert caught.value.code == code, caught.value.message
    return caught.value.message


def test_a_contract_that_a_registered_publisher_signed_is_admitted_and_says_so_ever_after(acme, admin):
    key = add(admin)
    candidate = store(admin, signed())
    assert shown(admin, candidate).words.startswith(f"Signed by Payments Team with the key {TEAM.fingerprint[:4]} ")
    row = admit(admin, candidate)
    found = signed_version(acme.tenant.id, ToolVersion.objects.get(pk=row.id))
    assert (found.state, found.fingerprint, found.envelope) == ("valid", key.fingerprint, signed())
    assert entries(admin, "contract.admitted")[0]["signature"]["state"] == "valid"
    assert [one.tool for one in keys_shown(admin).unsigned] == ["get_order"]


def test_without_a_signature_it_is_admitted_as_before_and_says_that_there_is_none(acme, admin):
    candidate = store(admin)
    assert shown(admin, candidate).words == "Not signed."
    admit(admin, candidate)
    assert state_in_force(acme) == "none"


def test_a_key_that_nobody_registered_says_nothing_until_somebody_does(acme, admin):
    candidate = store(admin, signed())
    assert "which nobody registered here" in shown(admin, candidate).words
    admit(admin, candidate)
    assert state_in_force(acme) == "unregistered"
    add(admin)
    assert state_in_force(acme) == "valid"


def test_a_key_of_another_organisation_is_one_that_nobody_registered(acme, admin):
    other = world()
    add(other.tenant.admin.actor)
    assert shown(admin, store(admin, signed())).state == "unregistered"
    with pytest.raises(NotFound):
        publisher_key_revoke(actor=admin, key_id=keys_shown(other.tenant.admin.actor).keys[0].id, because="Not ours.")


@pytest.mark.parametrize("publisher", [TEAM, Publisher("Treasury")], ids=["another document", "another key"])
def test_a_signature_that_does_not_fit_keeps_its_candidate_out_until_it_is_removed(acme, admin, publisher):
    add(admin)
    # Of the right key for one space more, or of another key under the right one's name.
    spaced = refund_document({"/description": OTHER["/description"] + " "})
    wrong = TEAM.signed(spaced) if publisher is TEAM else publisher.forged(refund_document(OTHER), kid=TEAM.fingerprint)
    candidate = store(admin, wrong)
    assert "does not fit" in shown(admin, candidate).words
    said = conflict("SIGNATURE_MISFIT", admit, admin=admin, candidate=candidate)
    assert "Remove the signature, or import the contract anew" in said
    assert state_in_force(acme) == "none"
    candidate_unsign(actor=admin, candidate_id=candidate.id, reason="Signed the wrong file.")
    assert entries(admin, "contract.unsigned")[0]["envelope"] == wrong
    assert admit(admin, candidate).number == 2


def test_the_same_contract_with_the_right_signature_is_the_same_candidate_signed_anew(acme, admin):
    add(admin)
    first = store(admin, Publisher().signed(refund_document(OTHER)))
    again = store(admin, signed())
    assert (again.id, again.created) == (first.id, False)
    assert shown(admin, first).state == "valid"
    assert candidate_sign(actor=admin, candidate_id=first.id, signature=signed()).state == "valid"
    assert len(entries(admin, "contract.signed")) == 1, "the same signature again is no news"


def test_what_is_no_signature_is_refused_and_nothing_is_stored(acme, admin):
    for bad in (signed()[:-9], TEAM.forged(refund_document(OTHER), typ="JWT")):
        with pytest.raises(Invalid) as caught:
            store(admin, bad)
        assert caught.value.code == "SIGNATURE_MALFORMED"
    with pytest.raises(TooLarge):
        store(admin, "x" * 1_048_576)
    with pytest.raises(Invalid):
        candidate_store(actor=admin, source='{"name": "refund_order", "name": "x"}', signature=signed())
    assert not ToolCandidate.objects.exists()


def test_a_candidate_whose_key_was_revoked_since_is_not_admitted(acme, admin):
    key = add(admin)
    candidate = store(admin, signed())
    assert publisher_key_revoke(actor=admin, key_id=key.id, because="The laptop is gone.") == []
    assert shown(admin, candidate).words.endswith("The laptop is gone.")
    conflict("SIGNATURE_REVOKED", admit, admin=admin, candidate=candidate)
    new = Publisher()
    add(admin, new)
    candidate_sign(actor=admin, candidate_id=candidate.id, signature=signed(new))
    assert admit(admin, candidate).number == 2


def test_a_revoked_key_changes_nothing_that_was_admitted_and_tells_what_it_signed(acme, admin):
    webhook_set(actor=admin, url="https://example.org/hook")
    key = add(admin)
    admit(admin, store(admin, signed()))
    hit = publisher_key_revoke(actor=admin, key_id=key.id, because="Leaked.")
    assert [(one.tool, one.number) for one in hit] == [("refund_order", 2)]
    assert [(one.tool, one.signed.state) for one in keys_shown(admin).alarms] == [("refund_order", "revoked")]
    told = entries(admin, "contract.key_revoked")[0]
    assert told["in_force"] == [{"tool": "refund_order", "version": 2}]
    assert "Have each signed by a key that is good" in told["remedy"]
    assert json.loads(WebhookDelivery.objects.get(kind="contract.key_revoked").body)["data"]["in_force"]
    # The remedy: the same document, signed by a good key.
    new = Publisher()
    add(admin, new)
    contract_sign(actor=admin, tool="refund_order", number=2, signature=signed(new))
    assert keys_shown(admin).alarms == []
    assert state_in_force(acme) == "valid"


def test_a_key_is_registered_once_and_revoked_once_and_for_good(acme, admin):
    key = add(admin)
    assert "is registered already" in conflict("KEY_KNOWN", add, admin=admin, name="Treasury")
    publisher_key_revoke(actor=admin, key_id=key.id, because="Old.")
    conflict("KEY_REVOKED", publisher_key_revoke, actor=admin, key_id=key.id, because="Old.")
    assert "never good again" in conflict("KEY_REVOKED", add, admin=admin)
    with pytest.raises(Invalid, match="U\\+202E"):
        add(admin, Publisher(), name="Payments\u202e Team")
    with pytest.raises(Invalid, match="Write the reason"):
        publisher_key_revoke(actor=admin, key_id=key.id, because="\u200b")


def test_only_admins_who_confirmed_that_it_is_they_add_keys(acme, admin):
    from dataclasses import replace

    operator = factories.person(acme.tenant, roles=["operator"]).actor
    for service, arguments in (
        (publisher_key_add, {"publisher": "X", "public_key": TEAM.public}),
        (publisher_key_revoke, {"key_id": acme.tenant.id, "because": "No."}),
        (signed_only_set, {"wanted": True, "seen": ()}),
        (contract_sign, {"tool": "refund_order", "number": 1, "signature": signed()}),
    ):
        with pytest.raises(Forbidden) as caught:
            service(actor=operator, **arguments)
        assert caught.value.code == "ROLE_MISSING"
    assert keys_shown(operator).keys == []
    with pytest.raises(Forbidden):
        keys_shown(acme.actor)
    here = replace(admin, session_id="0123456789abcdef")
    with pytest.raises(Forbidden) as caught:
        add(here, at_console=False)
    assert caught.value.code == "FRESH_REQUIRED"
    Confirmation.objects.create(user_id=here.id, session_id=here.session_id, at=clock.now(), by="password")
    assert add(here, at_console=False).publisher == "Payments Team"


def test_where_only_signed_contracts_are_admitted_the_others_go_on_and_no_new_one_comes_in(acme, admin):
    add(admin)
    said = conflict("UNSIGNED_UNSEEN", signed_only_set, actor=admin, wanted=True, seen=["get_order"])
    assert "refund_order would go on without a valid signature" in said
    assert signed_only_set(actor=admin, wanted=True, seen=["get_order", "refund_order"])
    assert not signed_only_set(actor=admin, wanted=True, seen=[])
    assert entries(admin, "contract.signed_only_set")[0]["go_on_unsigned"] == ["get_order", "refund_order"]
    assert state_in_force(acme) == "none", "what was admitted goes on, and is marked"
    candidate = store(admin)
    assert "it is not signed" in conflict("SIGNATURE_REQUIRED", admit, admin=admin, candidate=candidate)
    conflict("SIGNATURE_REQUIRED", contract_admit, actor=admin, document=refund_document(OTHER))
    unknown = Publisher().signed(refund_document(OTHER))
    said = conflict(
        "SIGNATURE_REQUIRED", contract_admit, actor=admin, document=refund_document(OTHER), signature=unknown
    )
    assert "a key that nobody registered signed it" in said
    assert contract_admit(actor=admin, document=refund_document(OTHER), signature=signed()).number == 2
    assert state_in_force(acme) == "valid"
    # Going back is coming into force too.
    back = {"actor": admin, "tool": "refund_order", "number": 1, "seen": Seen(in_force=2, waiting=0), "reason": "Back."}
    conflict("SIGNATURE_REQUIRED", contract_return, **back)
    contract_sign(actor=admin, tool="refund_order", number=1, signature=TEAM.signed(refund_document()))
    assert contract_return(**back).number == 1
    assert signed_only_set(actor=admin, wanted=False, seen=[], at_console=True)


def test_beside_an_admitted_version_only_a_valid_signature_is_put(acme, admin):
    document = refund_document()
    for wrong, said in ((TEAM.signed(document), "nobody registered"), (signed(), "does not fit")):
        with pytest.raises(Invalid, match=said) as caught:
            contract_sign(actor=admin, tool="refund_order", number=1, signature=wrong)
        assert caught.value.code == "SIGNATURE_NOT_VALID"
        if said == "nobody registered":
            add(admin)
    assert state_in_force(acme) == "none"
    for _ in range(2):
        assert (
            contract_sign(actor=admin, tool="refund_order", number=1, signature=TEAM.signed(document)).state == "valid"
        )
    assert len(entries(admin, "contract.signed")) == 1
    with pytest.raises(NotFound):
        contract_sign(actor=admin, tool="refund_order", number=9, signature=TEAM.signed(document))


def test_a_settled_candidate_keeps_the_signature_that_it_was_settled_with(acme, admin):
    candidate = store(admin, signed())
    candidate_drop(actor=admin, candidate_id=candidate.id, reason="No.")
    for service, more in ((candidate_sign, {"signature": signed()}), (candidate_unsign, {"reason": "No."})):
        conflict("CANDIDATE_SETTLED", service, actor=admin, candidate_id=candidate.id, **more)
    with pytest.raises(Exception, match="never changes"), connection.cursor() as cursor:
        cursor.execute("UPDATE approvals_toolcandidate SET signature = NULL WHERE id = %s", [candidate.id])


def test_what_somebody_edited_in_the_database_fits_no_more(acme_committed, owner_sql):
    admin = acme_committed.tenant.admin.actor
    add(admin)
    candidate = store(admin, signed())
    edit_as_owner(owner_sql, "approvals_toolcandidate", "document = jsonb_set(document, '{title}', '\"X\"')", "true")
    assert shown(admin, candidate).state == "misfit"
    admitted = contract_admit(actor=admin, document=refund_document({"/expires_in_s": 600}), signature=TEAM.signed(
        refund_document({"/expires_in_s": 600})))  # fmt: skip
    assert state_in_force(acme_committed) == "valid"
    edit_as_owner(owner_sql, "approvals_versionsignature", "envelope = 'abc'", f"version_id = '{admitted.id}'")
    assert state_in_force(acme_committed) == "misfit"
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="append-only"):
        owner_sql("DELETE FROM approvals_publisherkey")


@pytest.fixture
def manage(acme, capsys):
    def run(command, verb, *rest):
        capsys.readouterr()
        who = [] if verb in ("list", "check") else ["--as", acme.tenant.admin.email]
        call_command(command, verb, *map(str, rest), "--tenant", acme.tenant.slug, *who)
        return capsys.readouterr().out

    return run


def test_the_command_does_what_the_pages_do(acme, admin, manage, tmp_path):
    public, contract, signature = (tmp_path / name for name in ("key.pem", "contract.json", "contract.jws"))
    public.write_text(TEAM.public)
    contract.write_text(json.dumps(refund_document(OTHER)))
    signature.write_text(signed() + "\n")
    assert TEAM.fingerprint in manage("publisher", "add", "Payments Team", public)
    with pytest.raises(CommandError, match="go on without a valid signature: get_order, refund_order"):
        manage("publisher", "signed-only", "on")
    manage("publisher", "signed-only", "on", "--knowing")
    with pytest.raises(CommandError, match="admits only signed contracts"):
        manage("contract", "admit", contract)
    assert "version 2 is in force" in manage("contract", "admit", contract, "--signature", signature)
    with pytest.raises(CommandError, match="1 tool in force is not validly signed"):
        manage("publisher", "check")
    said = manage("publisher", "revoke", TEAM.fingerprint, "--reason", "Leaked.")
    assert "refund_order version 2" in said
    assert "Leaked." in manage("publisher", "list")
    with pytest.raises(CommandError, match="2 tools in force are not validly signed"):
        manage("publisher", "check")
    contract.write_text(json.dumps(refund_document({"/expires_in_s": 600})))
    signature.write_text(Publisher().signed(refund_document({"/expires_in_s": 600})))
    manage("contract", "store", contract, "--signature", signature)
    with pytest.raises(CommandError, match="nobody registered here"):
        manage("contract", "sign", "refund_order", 2, signature)
