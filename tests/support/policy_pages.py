"""The pages of a policy's draft, as a test reads and sends them."""

import html
import re
from typing import Any

from django.http import HttpResponse
from django.test import Client

from approvals.selectors.policy_drafts import DraftRow
from approvals.services import policy_draft as drafts
from tests.support.approvals import POLICY, World


def text(answer: Any) -> str:
    """What a page says, without its elements."""
    return html.unescape(re.sub(r"<[^>]+>", " ", answer.content.decode()))


def plain(answer: Any) -> str:
    """The same in one line."""
    return " ".join(text(answer).split())


def page(client: Client, path: str, status: int = 200) -> str:
    """What the page at an address says."""
    answer = client.get(path)
    assert answer.status_code == status, answer.content
    return plain(answer)


def draft(acme: World, source: str = POLICY, name: str = "Refunds") -> DraftRow:
    """A draft of the organisation's admin."""
    return drafts.policy_draft_create(actor=acme.tenant.admin.actor, name=name, source=source)


def send(
    client: Client, row: DraftRow, verb: str = "save", *, source: str | None = None, revision: Any = None, **more: str
) -> HttpResponse:
    """Press a button of a draft's page."""
    form = {"verb": verb, "revision": revision or row.revision, "source": row.source if source is None else source}
    return client.post(f"/policies/draft/{row.id}/", form | {"name": row.name} | more)  # type: ignore[return-value]


def typed(answer: Any) -> str:
    """What stands in the text's field."""
    found = re.search(r'<textarea id="source"[^>]*>\n(.*?)</textarea>', answer.content.decode(), re.DOTALL)
    assert found, answer.content
    return html.unescape(found.group(1))
