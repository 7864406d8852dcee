"""Pictures for the documents are made smaller: the same picture, in at most 256 colours."""

import struct
import zlib

import pytest

from config.stack.png import SIGNATURE, smaller

type Pixels = list[list[bytes]]


def chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def written(pixels: Pixels, channels: int, kinds: list[int], *, bits: int = 8) -> bytes:
    """A PNG; row n is written with the filter kinds[n % len(kinds)], as PNG 9.2 defines it. Not compressed."""
    lines, above = b"", bytes(len(pixels[0]) * channels)
    for number, row in enumerate(pixels):
        raw = b"".join(pixel + b"\xff" * (channels - 3) for pixel in row)
        lines += bytes([kind := kinds[number % len(kinds)]])
        for at, byte in enumerate(raw):
            left = raw[at - channels] if at >= channels else 0
            corner = above[at - channels] if at >= channels else 0
            up = above[at]
            near = min((left, up, corner), key=lambda known: abs(left + up - corner - known))
            lines += bytes([(byte - (0, left, up, (left + up) // 2, near)[kind]) & 255])
        above = raw
    header = struct.pack(">IIBBBBB", len(pixels[0]), len(pixels), bits, 2 if channels == 3 else 6, 0, 0, 0)
    return SIGNATURE + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines, 0)) + chunk(b"IEND", b"")


def seen(png: bytes) -> Pixels:
    """The pixels of a PNG with a palette, as `smaller` writes it."""
    width, height, bits, kind = struct.unpack(">IIBB", png[16:26])
    assert (bits, kind) == (8, 3)
    parts, at = {}, 8
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        name, body = png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        assert struct.unpack(">I", png[at + 8 + length : at + 12 + length]) == (zlib.crc32(name + body),)
        parts[name], at = body, at + length + 12
    lines, palette = zlib.decompress(parts[b"IDAT"]), parts[b"PLTE"]
    assert len(palette) <= 3 * 256
    rows = [lines[number * (width + 1) + 1 : (number + 1) * (width + 1)] for number in range(height)]
    return [[palette[3 * place : 3 * place + 3] for place in row] for row in rows]


@pytest.mark.parametrize("channels", [3, 4])
@pytest.mark.parametrize("kinds", [[0], [1], [2], [3], [4], [4, 3, 2, 1, 0]])
def test_a_picture_of_few_colours_is_the_same_picture_and_smaller(channels: int, kinds: list[int]) -> None:
    pixels = [[bytes([40 * (x % 5), 50 * (y % 5), (x * y) % 7]) for x in range(40)] for y in range(30)]
    png = written(pixels, channels, kinds)
    made = smaller(png)
    assert seen(made) == pixels
    assert len(made) < len(png)


def test_of_many_colours_the_nearest_are_shown_and_a_lonely_one_is_kept() -> None:
    pixels = [[bytes([x, y, 200]) for x in range(60)] for y in range(60)]
    pixels[30][30] = lonely = bytes([0, 255, 0])
    made = seen(smaller(written(pixels, 3, [0])))
    assert made[30][30] == lonely
    apart = [
        max(abs(a - b) for a, b in zip(one, other, strict=True))
        for row, other_row in zip(pixels, made, strict=True)
        for one, other in zip(row, other_row, strict=True)
    ]
    assert max(apart) <= 16


def test_what_would_not_become_smaller_stays_as_it_is() -> None:
    png = written([[b"\x01\x02\x03"]], 3, [0])
    assert smaller(png) == png


@pytest.mark.parametrize("png", [b"GIF89a" + bytes(40), written([[b"\x01\x02\x03"]], 3, [0], bits=16)])
def test_another_kind_of_picture_is_refused(png: bytes) -> None:
    with pytest.raises(ValueError, match="PNG"):
        smaller(png)
