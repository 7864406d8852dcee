"""In whose name a list is read that many people look at: what they see is the same for all with the same rights.

A person's id matters to a list of proposals in one place: *mine* leaves out what somebody asked for, owns the agent of,
prepared, has edited, or has voted on already, also through a delegate. Whoever has no such proposal waiting sees
exactly what anybody with the same roles and groups sees, and that is read once. All others are read for themselves.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from uuid import UUID

from django.db import connection

from approvals.core.eligibility import REVIEWER
from audit.core.actor import Actor

# For whom agents act, and whose they are, is one look into an index for each person; a vote makes a second version of a
# row, and those have an index of their own. OFFSET keeps their votes from being looked up among all that ever were.
INVOLVED = """
SELECT who FROM unnest(%(people)s::uuid[]) who
 WHERE EXISTS (SELECT 1 FROM approvals_proposal p
                WHERE p.tenant_id = %(tenant)s AND p.status = 'pending' AND p.acting_user_id = who)
    OR EXISTS (SELECT 1 FROM approvals_proposal p
                WHERE p.tenant_id = %(tenant)s AND p.status = 'pending' AND p.agent_owner_id = who)
UNION
SELECT (p.why #>> '{prepared_by,id}')::uuid FROM approvals_proposal p
 WHERE p.tenant_id = %(tenant)s AND p.status = 'pending' AND p.why ? 'prepared_by'
   AND (p.why #>> '{prepared_by,id}') = ANY(%(people)s::uuid[]::text[])
UNION
SELECT who.id FROM approvals_proposal p
  CROSS JOIN LATERAL (SELECT d.reviewer_id, d.for_user_id FROM approvals_decision d
                       WHERE d.proposal_id = p.id AND d.round = p.round OFFSET 0) d
  CROSS JOIN LATERAL (VALUES (d.reviewer_id), (d.for_user_id)) who (id)
 WHERE p.tenant_id = %(tenant)s AND p.status = 'pending' AND p.version > 1 AND who.id = ANY(%(people)s)
UNION
SELECT editor FROM approvals_revision r JOIN approvals_proposal p ON p.id = r.proposal_id, unnest(r.editor_ids) editor
 WHERE r.editor_ids && %(people)s::uuid[] AND p.tenant_id = %(tenant)s AND p.status = 'pending'
   AND editor = ANY(%(people)s)
"""


def involved(tenant_id: str, user_ids: Collection[str]) -> set[str]:
    """Those of these people whose own call, agent, preparation, edit or vote, given by whomever, is among what waits.
    One query."""
    if not user_ids:
        return set()
    with connection.cursor() as cursor:
        cursor.execute(INVOLVED, {"tenant": UUID(tenant_id), "people": [UUID(user_id) for user_id in user_ids]})
        return {str(row[0]) for row in cursor.fetchall()}


def in_whose_name(actors: Collection[Actor]) -> Mapping[Actor, Actor]:
    """By actor the one in whose name to read: it has their rights, and is the same for all who see the same. One query
    for the people of one tenant, whom this is for."""
    deciders = {actor.id for actor in actors if _could_decide(actor)}
    own = {tenant: involved(tenant, deciders) for tenant in {actor.tenant_id for actor in actors}}
    return {actor: _named(actor, actor.id in own[actor.tenant_id]) for actor in actors}


def _could_decide(actor: Actor) -> bool:
    return actor.kind == "person" and REVIEWER in actor.roles and bool(actor.groups or actor.stands_in)


def _named(actor: Actor, involved: bool) -> Actor:
    if actor.kind == "person" and involved and _could_decide(actor):
        return replace(actor, name="", session_id="")
    return actor.nameless()
