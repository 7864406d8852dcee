"""approvals/services/candidate.py and going back: what is stored is used by nobody until an admin admits it."""

import json
from uuid import uuid4

import pytest

from approvals.selectors import catalogue
from approvals.services.candidate import MOST_WAITING, candidate_admit, candidate_drop, candidate_store
from approvals.services.contract import Seen, contract_retire, contract_return
from audit.core.refusal import Conflict, Forbidden, Invalid, NotFound
from audit.selectors.entries import EntryFilters, entries_page
from tests.core.approvals.documents import read_document, refund_document
from tests.support import factories
from tests.support.approvals import edit_as_owner

NOTHING = Seen(in_force=0, waiting=0)
IN_FORCE = Seen(in_force=1, waiting=0)
OTHER = {"/description": "Pays back what a customer paid. Another text."}


def text(changes=None):
    return json.dumps(refund_document(changes), indent=2)


def store(acme, changes=None, **more):
    return candidate_store(actor=acme.tenant.admin.actor, source=text(changes), **more)


def admit(acme, candidate, seen=IN_FORCE, **more):
    return candidate_admit(actor=acme.tenant.admin.actor, candidate_id=candidate.id, seen=seen, **more)


def in_force(acme):
    found = catalogue.active_contract(acme.tenant.id, "refund_order")
    return None if found is None else found.number


def test_a_stored_contract_is_used_by_nobody_until_it_is_admitted(acme):
    candidate = store(acme, OTHER)
    assert in_force(acme) == 1
    assert all("Another text" not in tool.description for tool in catalogue.tools_for(acme.actor))
    row = admit(acme, candidate)
    assert (row.number, in_force(acme)) == (2, 2)
    assert any("Another text" in tool.description for tool in catalogue.tools_for(acme.actor))


def test_a_stored_new_tool_is_no_tool(acme):
    document = read_document({"/name": "get_invoice"})
    candidate = candidate_store(actor=acme.tenant.admin.actor, source=json.dumps(document))
    assert catalogue.active_contract(acme.tenant.id, "get_invoice") is None
    assert "get_invoice" not in {name for name, _ in catalogue.tool_names(acme.tenant.id)}
    assert admit(acme, candidate, NOTHING).number == 1


def test_yaml_with_comments_is_stored_as_written_and_means_the_same_version(acme):
    import yaml

    source = "# of the payments team\n" + yaml.safe_dump(refund_document(OTHER), sort_keys=False)
    first = candidate_store(actor=acme.tenant.admin.actor, source=source)
    again = store(acme, OTHER)
    assert (again.id, again.created) == (first.id, False)


def test_a_contract_with_faults_is_refused_with_path_and_line(acme):
    source = text().replace('"irreversible"', '"harmless"')
    with pytest.raises(Invalid) as caught:
        candidate_store(actor=acme.tenant.admin.actor, source=source)
    finding = caught.value.detail["findings"][0]
    assert (finding["path"], finding["line"]) == ("/side_effect", 5)


def test_the_version_in_force_is_not_stored_again(acme):
    with pytest.raises(Invalid) as caught:
        store(acme)
    assert caught.value.code == "ALREADY_IN_FORCE"


def test_an_edit_takes_the_place_of_the_candidate_it_was_made_from(acme):
    first = store(acme, OTHER)
    second = store(acme, {"/description": "A third text."}, replaces=first.id)
    with pytest.raises(Conflict, match="edited it"):
        admit(acme, first)
    assert admit(acme, second).number == 2


def test_a_candidate_of_one_tool_replaces_none_of_another(acme):
    first = store(acme, OTHER)
    with pytest.raises(Invalid) as caught:
        candidate_store(
            actor=acme.tenant.admin.actor,
            source=json.dumps(read_document({"/description": "Another one."})),
            replaces=first.id,
        )
    assert caught.value.code == "OTHER_TOOL"


def test_the_second_of_two_admins_is_told_who_was_quicker_and_changes_nothing(acme):
    mine, theirs = store(acme, OTHER), store(acme, {"/description": "Theirs."})
    admit(acme, theirs)
    with pytest.raises(Conflict) as caught:
        admit(acme, mine)
    assert caught.value.code == "CONTRACT_CHANGED"
    assert acme.tenant.admin.name in caught.value.message
    assert "version 2 is in force" in caught.value.message
    assert in_force(acme) == 2
    with pytest.raises(Conflict) as caught:
        admit(acme, theirs, Seen(in_force=2, waiting=0))
    assert caught.value.code == "CANDIDATE_SETTLED"


def test_what_waits_must_have_been_shown_and_is_counted(acme):
    acme.hold()
    candidate = store(acme, OTHER)
    with pytest.raises(Conflict) as caught:
        admit(acme, candidate)
    assert caught.value.code == "WAITING_UNSEEN"
    assert "1 proposal waits on version 1" in caught.value.message
    assert in_force(acme) == 1
    assert admit(acme, candidate, Seen(in_force=1, waiting=1)).refused == 1
    entry = entries_page(acme.tenant.id, EntryFilters(action="contract.admitted"))[0]
    assert entry.detail["refused_at_dispatch"] == 1
    assert (entry.detail["candidate"], entry.detail["same_person"]) == (str(candidate.id), True)


def test_an_approved_proposal_of_the_old_version_is_refused_at_dispatch(acme):
    held = acme.hold()
    acme.decide(held)
    admit(acme, store(acme, OTHER), Seen(in_force=1, waiting=1))
    result = acme.redeem(held)
    assert (result.kind, result.code) == ("refused", "CONTRACT_CHANGED")


def test_going_back_puts_the_old_number_in_force_and_is_recorded(acme):
    admin = acme.tenant.admin.actor
    admit(acme, store(acme, OTHER))
    row = contract_return(
        actor=admin, tool="refund_order", number=1, seen=Seen(in_force=2, waiting=0), reason="It refunded too much."
    )
    assert (row.number, row.created, in_force(acme)) == (1, False, 1)
    entry = entries_page(acme.tenant.id, EntryFilters(action="contract.returned"))[0]
    assert (entry.detail["number"], entry.detail["before"]) == (1, 2)
    assert entry.detail["reason"] == "It refunded too much."


def test_going_back_after_somebody_else_changed_it_is_a_conflict(acme):
    admit(acme, store(acme, OTHER))
    contract_retire(actor=acme.tenant.admin.actor, tool="refund_order")
    with pytest.raises(Conflict, match="retired"):
        contract_return(
            actor=acme.tenant.admin.actor, tool="refund_order", number=1, seen=Seen(in_force=2, waiting=0), reason=""
        )


def test_a_retired_tool_comes_back_by_going_back(acme):
    contract_retire(actor=acme.tenant.admin.actor, tool="refund_order")
    contract_return(actor=acme.tenant.admin.actor, tool="refund_order", number=1, seen=NOTHING, reason="Needed again.")
    assert in_force(acme) == 1


def test_there_is_no_going_back_to_a_version_that_never_was(acme):
    with pytest.raises(NotFound):
        contract_return(actor=acme.tenant.admin.actor, tool="refund_order", number=9, seen=IN_FORCE, reason="")


def test_a_dropped_candidate_is_admitted_by_nobody(acme):
    candidate = store(acme, OTHER)
    candidate_drop(actor=acme.tenant.admin.actor, candidate_id=candidate.id, reason="Not this one.")
    with pytest.raises(Conflict, match="dropped it"):
        admit(acme, candidate)
    entry = entries_page(acme.tenant.id, EntryFilters(action="contract.dropped"))[0]
    assert entry.detail["reason"] == "Not this one."


def test_only_so_many_candidates_of_a_tool_wait(acme):
    for number in range(MOST_WAITING):
        store(acme, {"/description": f"Text {number}."})
    with pytest.raises(Invalid) as caught:
        store(acme, OTHER)
    assert caught.value.code == "TOO_MANY_CANDIDATES"


@pytest.mark.parametrize("role", ["reviewer", "operator", "auditor"])
def test_only_an_admin_stores_admits_and_goes_back(acme, role):
    candidate = store(acme, OTHER)
    actor = factories.person(acme.tenant, roles=[role]).actor
    with pytest.raises(Forbidden):
        candidate_store(actor=actor, source=text(OTHER))
    with pytest.raises(Forbidden):
        candidate_admit(actor=actor, candidate_id=candidate.id, seen=IN_FORCE)
    with pytest.raises(Forbidden):
        candidate_drop(actor=actor, candidate_id=candidate.id, reason="")
    with pytest.raises(Forbidden):
        contract_return(actor=actor, tool="refund_order", number=1, seen=IN_FORCE, reason="")


def test_another_organisations_candidate_is_an_unknown_one(acme):
    candidate = store(acme, OTHER)
    stranger = factories.tenant().admin.actor
    for attempt in (
        lambda id_: candidate_admit(actor=stranger, candidate_id=id_, seen=NOTHING),
        lambda id_: candidate_drop(actor=stranger, candidate_id=id_, reason=""),
        lambda id_: candidate_store(actor=stranger, source=text(OTHER), replaces=id_),
    ):
        for id_ in (candidate.id, uuid4()):
            with pytest.raises(NotFound):
                attempt(id_)


def test_the_stored_text_of_a_candidate_is_changed_by_nobody(acme):
    from django.db import Error, transaction

    from approvals.models import ToolCandidate

    candidate = store(acme, OTHER)
    with pytest.raises(Error, match="never changes"), transaction.atomic():
        ToolCandidate.objects.filter(pk=candidate.id).update(document={})


def test_a_candidate_edited_in_the_database_is_not_admitted(acme_committed, owner_sql):
    candidate = store(acme_committed, OTHER)
    edit_as_owner(
        owner_sql,
        "approvals_toolcandidate",
        "document = jsonb_set(document, '{title}', '\"Another\"')",
        f"id = '{candidate.id}'",
    )
    with pytest.raises(Conflict) as caught:
        admit(acme_committed, candidate)
    assert caught.value.code == "CONTRACT_ALTERED"
    assert in_force(acme_committed) == 1


def test_of_two_admissions_at_the_same_moment_one_holds_and_one_is_told(acme_committed, race):
    candidates = [store(acme_committed, {"/description": f"Text {number}."}) for number in range(2)]
    ended = race(lambda number: admit(acme_committed, candidates[number]), 2)
    told = [one for one in ended if isinstance(one, Conflict)]
    assert [one.code for one in told] == ["CONTRACT_CHANGED"]
    assert [one.number for one in ended if one not in told] == [2]
    assert in_force(acme_committed) == 2
