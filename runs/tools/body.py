"""The body of a target's answer: collected up to a cap, decoded up to the same cap, and opened by the JSON door."""

import zlib
from typing import Final

from audit.core.jsondoor import Json, open_json
from audit.core.refusal import Refusal

SCRUBBED: Final = "[credential removed]"
_GZIP: Final = 31  # zlib's window bits for "gzip wrapper only"


class BadBody(Exception):
    """The body is not what was asked for; `message` says why. `cut` when it was longer than the cap."""

    def __init__(self, message: str, *, cut: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.cut = cut


class BodyReader:
    """Takes the pieces of a body and holds at most `cap` bytes of the decoded text.

    We ask for no compression (Accept-Encoding: identity). A target that sends gzip anyway is understood, but unpacked
    only as far as the cap, so a few kilobytes cannot become gigabytes here. Raises BadBody as soon as it is clear.
    """

    def __init__(self, encoding: str, cap: int) -> None:
        if encoding not in ("", "identity", "gzip", "x-gzip"):
            raise BadBody("The answer is compressed in a way that was not asked for.")
        self._unzip = zlib.decompressobj(_GZIP) if encoding.endswith("gzip") else None
        self._cap = cap
        self._kept = bytearray()

    def feed(self, piece: bytes) -> None:
        """Take one piece as it came from the wire."""
        if self._unzip is not None:
            try:
                piece = self._unzip.decompress(piece, self._cap + 1 - len(self._kept))
            except zlib.error:
                raise BadBody("The answer says it is gzip and is not.") from None
            if self._unzip.unconsumed_tail:
                self._too_long()
        self._kept += piece
        if len(self._kept) > self._cap:
            self._too_long()

    def finish(self) -> bytes:
        """The whole decoded body."""
        if self._unzip is not None and (not self._unzip.eof or self._unzip.unused_data):
            raise BadBody("The compressed answer is incomplete or has something behind its end.")
        return bytes(self._kept)

    def _too_long(self) -> None:
        raise BadBody(f"The answer is longer than {self._cap:,} bytes; it was not read to its end.", cut=True)


def is_json(content_type: str) -> bool:
    """`application/json` or `application/…+json`, in UTF-8 if it says anything about that."""
    media, *parameters = (part.strip().lower() for part in content_type.split(";"))
    charsets = [p.partition("=")[2].strip('"') for p in parameters if p.startswith("charset=")]
    named = media == "application/json" or (media.startswith("application/") and media.endswith("+json"))
    return named and all(charset in ("utf-8", "utf8") for charset in charsets)


def open_answer(raw: bytes, *, content_type: str, cap: int) -> Json:
    """The canonical JSON value of a whole body; BadBody when it is none (empty, HTML, refused by the door)."""
    if not raw:
        raise BadBody("The answer has no body.")
    if not is_json(content_type):
        raise BadBody("The answer is not JSON.")
    try:
        return open_json(raw, limit=cap)
    except Refusal as refusal:
        # The door's sentence is written for whoever sent the body and may repeat a key of it; the code is enough.
        raise BadBody(f"The answer is not JSON that can be kept exactly ({refusal.code}).") from None


def scrub(value: Json, secrets: tuple[str, ...]) -> Json:
    """`value` with every occurrence of a secret replaced, in keys and texts, at any depth (E5: a target that echoes
    the request must not put the credential into an event, a page or an audit entry)."""
    if isinstance(value, str):
        for secret in secrets:
            value = value.replace(secret, SCRUBBED)
        return value
    if isinstance(value, list):
        return [scrub(item, secrets) for item in value]
    if isinstance(value, dict):
        return {str(scrub(key, secrets)): scrub(item, secrets) for key, item in value.items()}
    return value
