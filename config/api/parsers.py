"""The body's way in: the JSON door and nothing else (data rule 13, S83, S87)."""

from collections.abc import Mapping
from typing import IO, Any

from rest_framework.parsers import BaseParser

from audit.core.jsondoor import BODY_LIMIT, Json, open_json_object


class JsonDoorParser(BaseParser):
    """Takes `application/json` in UTF-8 whose top is an object. What it refuses it refuses as a Refusal, in words."""

    media_type = "application/json"

    def parse(
        self, stream: IO[bytes], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, Json]:
        """The canonical value of the body. Raises TooLarge (BODY_TOO_LARGE) and Invalid (JSON_…)."""
        return open_json_object(stream.read(BODY_LIMIT + 1))
