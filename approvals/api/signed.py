"""The catalogue with what holds of each contract's signature."""

from typing import Any

from rest_framework import serializers

from approvals.api.answers import tool_form
from approvals.api.examples import TOOLS
from approvals.api.shapes import ToolAnswer
from approvals.core.contract_signing import NOT_SIGNED
from approvals.selectors.catalogue import tools_for
from approvals.selectors.contract_signatures import in_force_signed
from audit.api.shapes import Shape
from audit.core.actor import Actor


class SignatureAnswer(Shape):
    """What holds of a contract's signature now."""

    state = serializers.ChoiceField(["none", "valid", "unregistered", "misfit", "revoked"])
    words = serializers.CharField(help_text="One sentence that says it.")
    publisher = serializers.CharField(allow_blank=True, help_text="Whose key signed it, where that is known.")
    fingerprint = serializers.CharField(allow_blank=True, help_text="SHA-256 of the key that the signature names.")


class SignedToolAnswer(ToolAnswer):
    """A tool that this token may use, and who signed its contract."""

    signature = SignatureAnswer()


class CatalogueAnswer(Shape):
    """The tools of this token."""

    tools = SignedToolAnswer(many=True)


EXAMPLE: dict[str, Any] = {"tools": [tool | {"signature": NOT_SIGNED.as_dict()} for tool in TOOLS["tools"]]}


def catalogue_form(actor: Actor) -> dict[str, Any]:
    """The tools that the actor is shown, as JSON values."""
    tools = tools_for(actor)
    signed = {one.tool: one.signed for one in in_force_signed(actor.tenant_id, [tool.name for tool in tools])}
    return {"tools": [tool_form(tool) | {"signature": signed.get(tool.name, NOT_SIGNED).as_dict()} for tool in tools]}
