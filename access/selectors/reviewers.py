"""Who could decide in an organisation at all, as one word: for whoever wants to know whether that has changed."""

from collections.abc import Collection, Mapping
from uuid import UUID

from django.db import connection

# By hand: it is asked every few seconds for every organisation with something that waits.
_WORDS = """
SELECT able.tenant_id, md5(string_agg(able.word, ' ' ORDER BY able.word))
  FROM (SELECT m.tenant_id, g.slug || ':' || m.user_id AS word
          FROM access_membership m JOIN access_user u ON u.id = m.user_id AND u.is_active
          JOIN access_groupmember place ON place.membership_id = m.id
          JOIN access_group g ON g.id = place.group_id
         WHERE m.is_active AND 'reviewer' = ANY(m.roles) AND m.tenant_id = ANY(%s)) able
 GROUP BY able.tenant_id
"""


def reviewers_words(tenant_ids: Collection[UUID]) -> Mapping[UUID, str]:
    """For each of the organisations a word that changes when its active reviewers or their groups do; "" where nobody
    could decide."""
    with connection.cursor() as cursor:
        cursor.execute(_WORDS, [list(tenant_ids)])
        found = dict(cursor.fetchall())
    return {tenant_id: found.get(tenant_id, "") for tenant_id in tenant_ids}
