"""Makes a browser's PNG smaller for the repository: 256 colours and one pass of the best compression.

Text on a page has a few thousand colours, nearly all of them steps between two that matter; nobody sees the difference
and a picture is a third. Reads what Chromium writes (8 bits, RGB or RGBA, not interlaced) and nothing else.
"""

import struct
import zlib
from collections import Counter
from collections.abc import Iterator

SIGNATURE = b"\x89PNG\r\n\x1a\n"
MOST, COMMON = 256, 192
"""Colours in the palette, and how many of them are simply the most frequent; the others are what those miss most, so
that the one green dot of a page stays green."""


def smaller(png: bytes) -> bytes:
    """The same picture with at most 256 colours. Answers `png` itself where that is no smaller; ValueError for other
    kinds of PNG."""
    width, height, channels, packed = _read(png)
    rows = list(_rows(zlib.decompress(packed), width, height, channels))
    colours = Counter(row[at : at + 3] for row in rows for at in range(0, len(row), channels))
    palette = _palette(colours)
    place = {colour: _nearest(colour, palette) for colour in colours}
    lines = bytearray()
    for row in rows:
        lines.append(0)  # no filter: neighbours in a palette have nothing in common
        lines += bytes(place[row[at : at + 3]] for at in range(0, len(row), channels))
    made = SIGNATURE + b"".join(
        (
            _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
            _chunk(b"PLTE", b"".join(palette)),
            _chunk(b"IDAT", zlib.compress(bytes(lines), 9)),
            _chunk(b"IEND", b""),
        )
    )
    return made if len(made) < len(png) else png


def _palette(colours: Counter[bytes]) -> list[bytes]:
    palette = [colour for colour, _ in colours.most_common(COMMON)]
    missed = {colour: min(_apart(colour, known) for known in palette) for colour in colours}
    while len(palette) < MOST and (worst := max(missed, key=missed.__getitem__)) and missed[worst]:
        palette.append(worst)
        missed = {colour: min(apart, _apart(colour, worst)) for colour, apart in missed.items()}
    return palette


def _nearest(colour: bytes, palette: list[bytes]) -> int:
    return min(range(len(palette)), key=lambda at: _apart(colour, palette[at]))


def _apart(one: bytes, other: bytes) -> int:
    return (one[0] - other[0]) ** 2 + (one[1] - other[1]) ** 2 + (one[2] - other[2]) ** 2


def _read(png: bytes) -> tuple[int, int, int, bytes]:
    """Width, height, channels and the compressed rows."""
    if png[:8] != SIGNATURE:
        raise ValueError("not a PNG")
    width, height, bits, kind, _, _, interlaced = struct.unpack(">IIBBBBB", png[16:29])
    if bits != 8 or kind not in (2, 6) or interlaced:
        raise ValueError(f"a PNG of {bits} bits and colour type {kind}")
    at, packed = 8, b""
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        if png[at + 4 : at + 8] == b"IDAT":
            packed += png[at + 8 : at + 8 + length]
        at += length + 12
    return width, height, 3 if kind == 2 else 4, packed


def _rows(data: bytes, width: int, height: int, channels: int) -> Iterator[bytes]:
    """The rows with their filters undone (PNG specification, 9.2)."""
    size = width * channels
    above = bytearray(size)
    for number in range(height):
        start = number * (size + 1)
        kind, row = data[start], bytearray(data[start + 1 : start + 1 + size])
        for at in range(size):
            left = row[at - channels] if at >= channels else 0
            corner = above[at - channels] if at >= channels else 0
            row[at] = (row[at] + _predicted(kind, left, above[at], corner)) & 255
        yield bytes(row)
        above = row


def _predicted(kind: int, left: int, up: int, corner: int) -> int:
    if kind == 0:
        return 0
    if kind == 1:
        return left
    if kind == 2:
        return up
    if kind == 3:
        return (left + up) // 2
    guess = left + up - corner
    return min((left, up, corner), key=lambda known: abs(guess - known))


def _chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
