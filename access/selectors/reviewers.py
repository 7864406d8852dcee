"""Who could decide in an organisation, and sign it, as one word: for whoever wants to know whether that has changed."""

from collections.abc import Collection, Mapping
from uuid import UUID

from django.db import connection

# By hand: it is asked every few seconds for every organisation with something that waits. A passkey in another's place
# counts while the delegation is on, so that is part of the word.
_WORDS = """
SELECT able.tenant_id, md5(string_agg(able.word, ' ' ORDER BY able.word))
  FROM (SELECT m.tenant_id, g.slug || ':' || m.user_id || CASE WHEN EXISTS (
                 SELECT 1 FROM access_passkey p WHERE p.user_id = m.user_id AND p.removed_at IS NULL)
               THEN '+' ELSE '' END AS word
          FROM access_membership m JOIN access_user u ON u.id = m.user_id AND u.is_active
          JOIN access_groupmember place ON place.membership_id = m.id
          JOIN access_group g ON g.id = place.group_id
         WHERE m.is_active AND 'reviewer' = ANY(m.roles) AND m.tenant_id = ANY(%(tenants)s)
        UNION ALL
        SELECT d.tenant_id, d.from_user_id || '<' || d.to_user_id || array_to_string(d.groups, ',')
          FROM access_delegation d
          JOIN access_membership m ON m.user_id = d.to_user_id AND m.tenant_id = d.tenant_id
               AND m.is_active AND 'reviewer' = ANY(m.roles)
          JOIN access_user u ON u.id = m.user_id AND u.is_active
         WHERE d.tenant_id = ANY(%(tenants)s) AND d.revoked_at IS NULL
           AND d.starts_at <= (SELECT clearance_now()) AND (SELECT clearance_now()) < d.ends_at
           AND EXISTS (SELECT 1 FROM access_passkey p WHERE p.user_id = d.to_user_id AND p.removed_at IS NULL)) able
 GROUP BY able.tenant_id
"""


def reviewers_words(tenant_ids: Collection[UUID]) -> Mapping[UUID, str]:
    """For each of the organisations a word that changes when its active reviewers, their groups, or who of them can
    sign do; "" where nobody could decide."""
    with connection.cursor() as cursor:
        cursor.execute(_WORDS, {"tenants": list(tenant_ids)})
        found = dict(cursor.fetchall())
    return {tenant_id: found.get(tenant_id, "") for tenant_id in tenant_ids}
