"""What approvals answers when access asks which groups something depends on."""

from uuid import UUID

import pytest

from access.core.needs import GroupNeed
from access.selectors.directory import group_detail, groups_of
from access.signals import needs_of
from approvals.selectors.needs import groups_needed_here
from tests.support import factories


@pytest.fixture
def tenant_id(world):
    return UUID(world.tenant.id)


def test_rules_in_force_and_pending_proposals_are_counted_by_group(world, tenant_id):
    assert groups_needed_here(tenant_id) == {"finance": GroupNeed(rules=1, most=1)}
    first = world.held()
    world.held()
    assert groups_needed_here(tenant_id) == {"finance": GroupNeed(waiting=2, rules=1, most=1)}
    world.decide(first)
    assert groups_needed_here(tenant_id)["finance"].waiting == 1


def test_limits_in_force_are_counted_by_group_too(world, tenant_id):
    """What passes a limit waits for the limit's groups, so an admin is told before they lose their people."""
    world.publish(
        "version: 1\nrules: [{id: free, tool: refund_order, effect: allow}]\n"
        "limits: [{id: day, tool: refund_order, window: 24h, calls: 5, over: ask, "
        "approvers: [{group: finance, count: 2}]}]\n"
    )
    assert groups_needed_here(tenant_id) == {"finance": GroupNeed(rules=1, most=2)}


def test_a_proposal_whose_time_is_up_waits_for_nobody(world, tenant_id, stand_at):
    from datetime import timedelta

    from audit.store import clock

    world.held()
    stand_at(clock.now() + timedelta(hours=1))
    assert groups_needed_here(tenant_id)["finance"].waiting == 0


def test_another_organisation_is_not_counted(world):
    world.held()
    other = factories.tenant()
    assert groups_needed_here(UUID(other.id)) == {}
    assert groups_of(other.admin.actor) == []


@pytest.mark.parametrize("requires", ["{}", "[]", "7", '[{"group": "finance", "count": "many"}]', '[{"count": 1}]'])
def test_a_damaged_row_hides_no_other_and_breaks_no_page(world, tenant_id, owner_sql, requires):
    world.held()
    broken = world.held()
    owner_sql("UPDATE approvals_proposal SET requires = %s::jsonb WHERE id = %s", [requires, broken.proposal_id])
    assert groups_needed_here(tenant_id)["finance"].waiting == 1


def test_an_admin_is_told_before_the_last_reviewer_of_a_group_leaves_it(world):
    world.held()
    admin = world.admin
    people = group_detail(admin, "finance")
    assert set(people.if_left.values()) == {""}, "two reviewers: either may go"
    from access.services.people import group_remove

    group_remove(actor=admin, group="finance", user_id=world.second_reviewer.user_id)
    (sentence,) = group_detail(admin, "finance").if_left.values()
    assert sentence == (
        "The group finance would have nobody left who may decide: 1 proposal waits for it, and 1 rule or limit of the "
        "policy asks it."
    )


def test_a_policy_that_was_altered_in_the_database_is_said_to_be_unreadable(world, tenant_id, owner_sql):
    from approvals.selectors.policies import _rules

    owner_sql("ALTER TABLE approvals_policyversion DISABLE TRIGGER USER")
    owner_sql(
        'UPDATE approvals_policyversion SET document = \'{"version": 1, "rules": []}\' WHERE tenant_id = %s',
        [tenant_id],
    )
    _rules.cache_clear()
    assert needs_of(tenant_id) == ({}, False)
