"""approvals/services/policy.py: published by admins, one after the other, never changed (A8, S8, S72)."""

import pytest

from access.services import people
from approvals.selectors.policies import policy_in_force, policy_version
from approvals.services.policy import policy_check, policy_publish
from audit.core.refusal import Conflict, Forbidden, Invalid
from audit.selectors.entries import EntryFilters, entries_page
from tests.support import factories
from tests.support.approvals import POLICY, asking, world


def publish(acme, source, based_on=1):
    return policy_publish(actor=acme.tenant.admin.actor, source=source, based_on=based_on)


def codes(refusal):
    return {finding["code"] for finding in refusal.detail["findings"]}


def test_a_published_version_is_in_force_and_keeps_its_source_as_written(acme):
    source = "# why: see ticket 12\n" + POLICY
    row = publish(acme, source)
    assert (row.number, row.source, row.published_by) == (2, source, acme.tenant.admin.name)
    assert policy_in_force(acme.tenant.id) == row
    assert policy_version(acme.tenant.id, 1).source == POLICY
    [entry] = entries_page(acme.tenant.id, EntryFilters(action="policy.published", verdict="ok"))[:1]
    assert (entry.detail["number"], entry.detail["based_on"], entry.detail["digest"]) == (2, 1, row.digest)


def test_json_is_a_policy_too(acme):
    row = publish(acme, '{"version": 1, "rules": [{"id": "reads", "tool": "get_order", "effect": "allow"}]}')
    assert row.number == 2


def test_who_began_from_an_older_version_is_told_who_when_what_and_the_difference(acme):
    """S72."""
    other = factories.person(acme.tenant, roles=["admin"], name="Ada Okoye")
    theirs = policy_publish(actor=other.actor, source=POLICY + "# theirs\n", based_on=1)
    with pytest.raises(Conflict, match="Ada Okoye published version 2") as caught:
        publish(acme, POLICY + "# mine\n", based_on=1)
    detail = caught.value.detail
    assert caught.value.code == "POLICY_CHANGED"
    assert (detail["number"], detail["by"], detail["at"]) == (2, "Ada Okoye", theirs.published_at.isoformat())
    assert "+# theirs" in detail["diff"]
    assert policy_in_force(acme.tenant.id).number == 2
    assert publish(acme, POLICY + "# mine\n", based_on=2).number == 3


@pytest.mark.parametrize("based_on", [None, 0, 2, 99])
def test_a_base_that_is_not_the_active_version_is_a_conflict(acme, based_on):
    with pytest.raises(Conflict) as caught:
        publish(acme, POLICY + "# more\n", based_on=based_on)
    assert (caught.value.code, caught.value.detail["number"]) == ("POLICY_CHANGED", 1)


def test_a_base_where_nothing_was_published_is_a_conflict(db):
    tenant = factories.tenant()
    with pytest.raises(Conflict) as caught:
        policy_publish(actor=tenant.admin.actor, source=POLICY, based_on=3)
    assert caught.value.detail == {"number": 0}


def test_the_same_text_without_a_base_publishes_nothing(acme):
    assert publish(acme, POLICY, based_on=None).number == 1
    assert len(entries_page(acme.tenant.id, EntryFilters(action="policy.published"))) == 1


@pytest.mark.parametrize("role", ["reviewer", "operator", "auditor"])
def test_only_an_admin_publishes_or_checks(acme, role):
    person = factories.person(acme.tenant, roles=[role])
    with pytest.raises(Forbidden):
        policy_publish(actor=person.actor, source=POLICY, based_on=1)
    with pytest.raises(Forbidden):
        policy_check(actor=person.actor, source=POLICY)
    [entry] = entries_page(acme.tenant.id, EntryFilters(action="policy.published", verdict="refused"))
    assert entry.actor_id == person.user_id


def test_an_agent_publishes_nothing(acme):
    with pytest.raises(Forbidden):
        policy_publish(actor=acme.actor, source=POLICY, based_on=1)


def test_a_text_that_is_no_policy_is_refused_with_every_finding(acme):
    with pytest.raises(Invalid) as caught:
        publish(acme, "version: 1\nrules:\n  - {id: a, tool: get_order, effect: allow, when: 'args.x'}\n")
    assert codes(caught.value) == {"EXPRESSION"}
    assert policy_in_force(acme.tenant.id).number == 1


@pytest.mark.parametrize("approvers", [("nobody-knows-it", 1), ("leads", 2), ("finance", 5)])
def test_a_group_that_is_not_there_or_too_small_is_refused_when_saving(acme, approvers):
    """S8. Finance has four members, leads one."""
    with pytest.raises(Invalid) as caught:
        publish(acme, asking(approvers))
    assert codes(caught.value) == {"GROUP_TOO_SMALL"}


def test_a_group_that_is_not_there_is_not_called_one_without_members(acme):
    factories.group(acme.tenant, "empty")
    source = asking(("nobody-knows-it", 1), ("empty", 1))
    found = policy_check(actor=acme.tenant.admin.actor, source=source)
    assert [finding.message for finding in found] == [
        "There is no group nobody-knows-it.",
        "empty has 0 active members who may decide; 1 asked for.",
    ]
    escalating = source.replace("effect: ask", "effect: ask, escalate_to: [nowhere]")
    found = policy_check(actor=acme.tenant.admin.actor, source=escalating)
    assert "There is no group nowhere." in [finding.message for finding in found]


def test_one_person_who_would_have_to_stand_for_two_groups_is_refused_when_saving(acme):
    """S8. Noor is all of leads, and one of finance's four."""
    factories.person(acme.tenant, groups=["night"], name="Ada")
    publish(acme, asking(("finance", 3), ("leads", 1)))
    with pytest.raises(Invalid, match="share their members") as caught:
        publish(acme, asking(("finance", 4), ("leads", 1)), based_on=2)
    assert codes(caught.value) == {"GROUPS_SHARED"}
    assert policy_in_force(acme.tenant.id).number == 2
    publish(acme, asking(("finance", 4), ("night", 1)), based_on=2)


def test_a_quorum_of_nobody_is_refused_when_saving(acme):
    with pytest.raises(Invalid):
        publish(acme, asking(("finance", 0)))


def test_an_empty_group_and_one_whose_members_may_not_decide_are_refused(acme):
    """S8."""
    factories.group(acme.tenant, "empty")
    factories.person(acme.tenant, roles=["operator"], groups=["clerks"])
    leaver = factories.person(acme.tenant, groups=["left"])
    people.member_change(actor=acme.tenant.admin.actor, membership_id=leaver.membership_id, active=False)
    for group in ("empty", "clerks", "left"):
        with pytest.raises(Invalid) as caught:
            publish(acme, asking((group, 1)))
        assert codes(caught.value) == {"GROUP_TOO_SMALL"}


def test_a_tool_that_is_not_admitted_yet_is_told_and_does_not_block(acme):
    source = POLICY + "  - {id: later, tool: send_mail, effect: deny}\n"
    assert [finding.code for finding in policy_check(actor=acme.tenant.admin.actor, source=source)] == ["TOOL_UNKNOWN"]
    assert publish(acme, source).number == 2


def test_a_check_publishes_nothing(acme):
    assert policy_check(actor=acme.tenant.admin.actor, source=POLICY) == []
    found = policy_check(actor=acme.tenant.admin.actor, source=asking(("empty", 1)))
    assert [finding.code for finding in found] == ["GROUP_TOO_SMALL"]
    assert policy_in_force(acme.tenant.id).number == 1


def test_tenants_have_policies_of_their_own(acme):
    globex = world()
    publish(acme, POLICY + "# ours\n")
    assert policy_in_force(globex.tenant.id).number == 1
