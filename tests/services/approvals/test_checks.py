"""approvals/checks.py: tools and rules that cannot work, said by `manage.py check --database default`."""

import pytest
from django.core.checks import run_checks

from access.services import people
from approvals.checks import tools_and_rules
from approvals.services.contract import contract_admit
from tests.core.approvals.documents import refund_document
from tests.support import factories
from tests.support.approvals import asking, edit_as_owner


def found():
    return {(message.id, message.msg.partition(":")[0]) for message in tools_and_rules(databases=["default"])}


def test_nothing_is_said_of_a_sound_tenant(acme):
    assert found() == set()


def test_a_group_that_was_emptied_is_an_alarm(acme):
    """S8."""
    for person in (acme.mara, acme.noor, acme.customer_care, acme.owner):
        people.group_remove(actor=acme.tenant.admin.actor, group="finance", user_id=person.user_id)
    assert found() == {("approvals.W001", f"{acme.tenant.slug}, finance")}


@pytest.mark.parametrize(("count", "left"), [(1, 0), (2, 1)])
def test_a_limit_that_asks_a_group_without_enough_people_is_an_alarm(acme, count, left):
    """S8: what passes the limit would wait for people who are not there."""
    admin = acme.tenant.admin.actor
    if count == 2:  # Noor is in it
        people.group_add(actor=admin, group="leads", user_id=acme.mara.user_id)
    acme.publish(
        asking(("finance", 1)) + "limits:\n"
        "  - {id: day, tool: refund_order, window: 24h, calls: 5, over: ask,\n"
        f"     approvers: [{{group: leads, count: {count}}}]}}\n"
    )
    assert found() == set()
    people.group_remove(actor=admin, group="leads", user_id=acme.noor.user_id)
    (message,) = tools_and_rules(databases=["default"])
    assert message.msg == (
        f"{acme.tenant.slug}, leads: The policy asks for {count} of leads; {left} active reviewers are in it. "
        "Calls wait in vain."
    )


def test_tools_without_a_policy_are_told(db):
    tenant = factories.tenant()
    contract_admit(actor=tenant.admin.actor, document=refund_document())
    assert found() == {("approvals.W002", tenant.slug)}


def test_edited_documents_are_errors(acme_committed, owner_sql):
    """S84."""
    slug = acme_committed.tenant.slug
    edit_as_owner(owner_sql, "approvals_toolversion", 'document = document || \'{"title": "x"}\'', "true")
    edit_as_owner(owner_sql, "approvals_policyversion", 'document = \'{"version": 1, "rules": []}\'', "true")
    told = found()
    assert ("approvals.E002", f"{slug}, version 1") in told
    assert {("approvals.E001", f"{slug}, get_order"), ("approvals.E001", f"{slug}, refund_order")} <= told


@pytest.mark.parametrize("databases", [None, [], ["owner"]])
def test_the_database_is_only_looked_at_when_asked_for(databases, django_assert_num_queries, db):
    with django_assert_num_queries(0):
        assert tools_and_rules(databases=databases) == []


def test_a_database_without_tables_can_still_be_migrated(committed_db, owner_sql):
    owner_sql("ALTER TABLE approvals_tool RENAME TO approvals_tool_gone")
    assert tools_and_rules(databases=["default"]) == []


def test_the_check_is_registered(acme):
    for person in (acme.mara, acme.noor, acme.customer_care, acme.owner):
        people.group_remove(actor=acme.tenant.admin.actor, group="finance", user_id=person.user_id)
    assert "approvals.W001" in {message.id for message in run_checks(databases=["default"], tags=["database"])}
