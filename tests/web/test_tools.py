"""The pages of tools: contracts in words, candidates, admission, going back, who is shown what."""

import json
from uuid import uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from approvals.models import ToolCandidate
from approvals.selectors.catalogue import active_contract, tools_for
from approvals.services.candidate import candidate_store
from approvals.services.contract import contract_admit
from runs.services.call import call_submit
from runs.services.run import run_open
from tests.core.approvals.documents import read_document, refund_document
from tests.support import approvals, factories

OTHER = {"/title": "Pay an order back", "/approval": "policy", "/input_schema/properties/amount/maximum": 99_000_000}
SECRET_NOTE = "Do not show this to anybody."


@pytest.fixture
def world(db):
    return approvals.world()


@pytest.fixture
def admin(world, signed_in):
    return signed_in(world.tenant.admin)


def text(changes=None):
    return json.dumps(refund_document(changes), indent=2)


def stored(world, changes=OTHER):
    return candidate_store(actor=world.tenant.admin.actor, source=text(changes))


def address(candidate):
    return f"/tools/refund_order/candidates/{candidate.id}/"


def page(client, path, status=200, **data):
    response = client.post(path, data) if data else client.get(path)
    assert response.status_code == status, response.content.decode()[:2000]
    return response.content.decode()


def called(world, **arguments):
    """A call of the refund tool in a run, judged by nobody yet."""
    run = run_open(actor=world.actor, title="Refund")
    given = {"order_id": "ord_1029", "amount": 4_500, "note": SECRET_NOTE} | arguments
    return call_submit(actor=world.actor, run_id=run.id, call_id="call-1", tool="refund_order", arguments=given)


def test_every_tool_is_listed_with_its_boundary_and_who_is_shown_it(world, admin):
    stored(world)
    shown = page(admin, "/tools/")
    assert "gateway" in shown
    assert "direct" in shown
    assert "Has an effect that cannot be undone" in shown
    assert "1 waiting" in shown
    assert "support-agent" in shown


@pytest.mark.parametrize("role", ["operator", "auditor"])
def test_operators_and_auditors_read_and_find_no_verb(world, signed_in, role):
    reader = signed_in(factories.person(world.tenant, roles=[role]))
    candidate = stored(world)
    for path in ("/tools/", "/tools/refund_order/", "/tools/get_order/", address(candidate)):
        shown = page(reader, path)
        assert "<form" not in shown.split("<main")[1], path
    page(reader, "/tools/refund_order/edit/", 403)
    page(reader, "/tools/import-contract/", 403, source=text(OTHER))
    page(reader, address(candidate), 403, verb="admit", in_force="1", waiting="0")
    assert active_contract(world.tenant.id, "refund_order").number == 1


def test_a_reviewer_has_no_place_there(world, signed_in):
    reviewer = signed_in(world.mara)
    assert 'href="/tools/"' not in page(reviewer, "/")
    for path in ("/tools/", "/tools/refund_order/", "/tools/refund_order/simulate/", "/tools/import-contract/"):
        page(reviewer, path, 403)


def test_a_contract_is_imported_looked_at_and_admitted(world, admin):
    response = admin.post("/tools/import-contract/", {"source": text(OTHER), "note": "For larger orders."}, follow=True)
    shown = response.content.decode()
    assert "Stored as a candidate" in shown
    assert "For larger orders." in shown
    assert "a larger value is accepted" in shown
    assert "You stored it yourself" in shown
    assert "is not stored yet" in shown, "its credential is missing here"
    assert active_contract(world.tenant.id, "refund_order").number == 1
    path = response.redirect_chain[-1][0]
    done = admin.post(path, {"verb": "admit", "in_force": "1", "waiting": "0"}, follow=True).content.decode()
    assert "Version 2 of refund_order is in force." in done
    assert active_contract(world.tenant.id, "refund_order").number == 2


def test_a_file_takes_the_place_of_the_text(world, admin):
    given = SimpleUploadedFile("contract.json", text(OTHER).encode())
    response = admin.post("/tools/import-contract/", {"source": "", "file": given}, follow=True)
    assert "Stored as a candidate" in response.content.decode()


def test_a_file_that_is_no_text_is_refused_and_what_was_typed_stays(world, admin):
    given = SimpleUploadedFile("contract.json", b"\xff\xfe\x00")
    shown = page(admin, "/tools/import-contract/", 422, source="typed before", file=given)
    assert "not UTF-8" in shown
    assert "typed before" in shown


def test_a_text_with_faults_is_kept_with_every_finding_and_its_line(world, admin):
    source = text(OTHER).replace('"irreversible"', '"harmless"')
    shown = page(admin, "/tools/import-contract/", 422, source=source, note="My note")
    assert "line 5" in shown
    assert "/side_effect" in shown
    assert "harmless" in shown
    assert "My note" in shown


def test_a_text_over_the_doors_limit_is_refused_and_not_lost(world, admin):
    source = "{" + " " * 1_048_577 + "}"
    shown = page(admin, "/tools/import-contract/", 413, source=source)
    assert "at most 1,048,576" in shown
    assert len(shown) > 1_048_577


def test_an_edit_begins_with_the_version_and_may_not_change_the_name(world, admin):
    shown = page(admin, "/tools/refund_order/edit/?of=1")
    assert "enough-left" in shown
    shown = page(admin, "/tools/refund_order/edit/", 422, source=json.dumps(read_document({"/title": "x"})))
    assert "never changes" in shown


def test_names_and_descriptions_are_quoted_with_what_they_hide(world, admin):
    # Admission refuses hidden characters; markup and look-alikes in a description are only text.
    title = "<b>Refund</b>"
    contract_admit(actor=world.tenant.admin.actor, document=refund_document({"/description": title}))
    shown = page(admin, "/tools/refund_order/")
    assert "&lt;b&gt;Refund" in shown
    assert title not in shown
    with_hidden = text({"/description": "Pay\u202eback"})
    shown = page(admin, "/tools/import-contract/", 422, source=with_hidden)
    assert "U+202E" in shown


def test_what_waits_is_told_before_admission_and_counted_after(world, admin):
    world.hold()
    candidate = stored(world)
    shown = page(admin, address(candidate))
    assert "1 proposal waits on version 1" in shown
    assert "Admit; refuse 1 waiting" in shown
    unseen = page(admin, address(candidate), 409, verb="admit", in_force="1", waiting="0", reason="Needed")
    assert "Nothing was changed" in unseen or "nothing was changed" in unseen
    assert "Needed" in unseen
    done = admin.post(address(candidate), {"verb": "admit", "in_force": "1", "waiting": "1"}, follow=True)
    assert "1 waiting proposal is refused at dispatch" in done.content.decode()


def test_the_second_of_two_admins_reads_who_was_quicker(world, admin):
    mine, theirs = stored(world), stored(world, {"/title": "Theirs"})
    admin.post(address(theirs), {"verb": "admit", "in_force": "1", "waiting": "0"})
    shown = page(admin, address(mine), 409, verb="admit", in_force="1", waiting="0")
    assert "version 2 is in force" in shown
    assert "Nothing was changed" in shown
    assert "in place of version 2" in shown


def test_a_candidate_that_is_no_contract_any_more_says_why_it_is_not_admitted_and_what_goes_on(world, admin):
    """Its form was good when it was stored; a later version of the program reads contracts more strictly."""
    candidate = stored(world)
    assert 'type="submit">Admit' in page(admin, address(candidate))
    row = ToolCandidate.objects.get(pk=candidate.id)
    row.pk, row.digest, row.document = uuid4(), "0" * 64, row.document | {"retry": {"class": "often"}}
    row.save(force_insert=True)
    shown = page(admin, f"/tools/refund_order/candidates/{row.pk}/")
    assert 'aria-describedby="a-why" type="submit" disabled>Admit' in shown
    assert "is in the way." in shown
    assert f'<a href="/tools/refund_order/edit/?of={row.pk}">Edit the text</a>' in shown
    assert 'value="drop"' in shown


def test_two_versions_are_compared_in_words_and_as_text(world, admin):
    contract_admit(actor=world.tenant.admin.actor, document=refund_document(OTHER))
    shown = page(admin, "/tools/refund_order/compare/?old=1&new=2")
    assert "1 looser" in shown
    assert "people and models read another title" in shown
    assert 'class="add"' in shown
    page(admin, "/tools/refund_order/compare/?old=1&new=9", 404)
    page(admin, "/tools/refund_order/compare/?old=1&new=x", 404)


def test_an_older_version_is_put_in_force_again(world, admin):
    contract_admit(actor=world.tenant.admin.actor, document=refund_document(OTHER))
    assert "Put version 1 in force" in page(admin, "/tools/refund_order/versions/1/")
    done = admin.post(
        "/tools/refund_order/return/",
        {"number": "1", "in_force": "2", "waiting": "0", "reason": "Too large."},
        follow=True,
    )
    assert "Version 1 of refund_order is in force again." in done.content.decode()
    late = page(admin, "/tools/refund_order/return/", 409, number="2", in_force="2", waiting="0", reason="Late")
    assert "version 1 is in force" in late


def test_a_tool_is_retired_and_says_so(world, admin):
    done = admin.post("/tools/refund_order/retire/", {"reason": "Not needed."}, follow=True).content.decode()
    assert "refund_order is retired" in done
    assert active_contract(world.tenant.id, "refund_order") is None
    assert "retired" in page(admin, "/tools/")


def test_a_candidate_is_dropped_with_a_reason(world, admin):
    candidate = stored(world)
    admin.post(address(candidate), {"verb": "drop", "reason": "Not this one."})
    shown = page(admin, address(candidate))
    assert "Not this one." in shown
    assert 'value="admit"' not in shown


def test_an_agent_is_shown_what_its_list_has(world, admin):
    path = f"/access/agents/{world.agent.id}/tools/"
    assert "All that its scopes allow" in page(admin, path)
    admin.post(path, {"which": "listed", "tool": ["get_order"], "version": "0"})
    assert [tool.name for tool in tools_for(world.actor)] == ["get_order"]
    late = page(admin, path, 409, which="all", version="0")
    assert "changed this list" in late
    admin.post(path, {"which": "all", "version": "1"})
    assert [tool.name for tool in tools_for(world.actor)] == ["get_order", "refund_order"]


# -- the preview -----------------------------------------------------------------------------------------------------


def test_the_preview_shows_real_calls_and_keeps_back_what_the_log_may_not_have(world, admin):
    called(world)
    # The text that is being written no longer redacts the note; what is in force still does.
    source = text({"/presentation/sentence": "Give back {amount} for {order_id}: {note}", "/redaction": []})
    shown = page(admin, "/tools/import-contract/preview/", source=source)
    assert "Give back A$45.00 for ord_1029" in shown
    assert "[redacted]" in shown
    assert SECRET_NOTE not in shown
    assert "no longer kept out of the log" in shown


def test_the_preview_tells_what_the_text_would_refuse(world, admin):
    called(world)
    source = text({"/input_schema/properties/amount/maximum": 100})
    assert "This text would refuse the call" in page(admin, "/tools/import-contract/preview/", source=source)


def test_the_preview_shows_findings_and_stores_nothing(world, admin):
    from approvals.models import ToolCandidate

    shown = page(admin, "/tools/import-contract/preview/", source="name: [")
    assert "not YAML" in shown
    page(admin, "/tools/import-contract/preview/", source=text(OTHER))
    assert ToolCandidate.objects.count() == 0


def test_a_candidates_page_shows_past_calls_under_its_text(world, admin):
    called(world)
    candidate = stored(world, {"/presentation/sentence": "Give back {amount}"})
    shown = page(admin, f"/tools/refund_order/preview/?of={candidate.id}")
    assert "Give back A$45.00" in shown
    assert SECRET_NOTE not in shown


# -- the simulation --------------------------------------------------------------------------------------------------

STATE = json.dumps({"amount": 12_000, "refunded": 0, "currency": "AUD", "customer": "Anna Berg"})


def simulate(world, client, status=200, **changes):
    form = {
        "agent": world.agent.id,
        "acting": world.customer_care.user_id,
        "arguments": json.dumps({"order_id": "ord_1029", "amount": 4_500}),
        "state": STATE,
    }
    return page(client, "/tools/refund_order/simulate/", status, **(form | changes))


def test_a_simulated_call_is_told_step_by_step_to_its_end(world, admin):
    shown = simulate(world, admin)
    assert "It would be held for people." in shown
    for guard in ("Shape", "Token and scopes", "Is it shown the tool", "Meaning", "Policy", "Boundary", "Idempotency"):
        assert guard in shown
    assert "args.amount 4500 &lt;= state.left 12000" in shown, "what the contract derives is worked out"


def test_a_simulated_refusal_names_the_guard(world, admin):
    assert "It would be refused: Meaning" in simulate(
        world, admin, arguments=json.dumps({"order_id": "ord_1029", "amount": 99_999})
    )
    assert "It would be refused: Shape" in simulate(world, admin, arguments="{}")
    assert "Nobody can tell yet" in simulate(world, admin, state="")
    broken = simulate(world, admin, 422, arguments="{")
    assert "The arguments:" in broken
    assert "Choose the agent" in simulate(world, admin, 422, agent="")


def test_a_past_call_is_explained_on_its_page(world, admin):
    call = called(world)
    shown = page(admin, f"/runs/{call.run_id}/calls/call-1/why/")
    assert "no state is kept of it" in shown
    assert "Cannot be judged without the target" in shown
    assert SECRET_NOTE not in shown
    begun = page(admin, f"/tools/refund_order/simulate/?run={call.run_id}&call=call-1")
    assert "ord_1029" in begun
    assert SECRET_NOTE not in begun
    page(admin, f"/tools/get_order/simulate/?run={call.run_id}&call=call-1", 404)
