"""Every pair of ink and ground keeps 4.5:1, every edge of a control 3:1, in the light and in the dark."""

import re
from pathlib import Path

import pytest

TOKENS = (Path(__file__).parents[2] / "static/css/tokens.css").read_text()
COLOURS = {
    name: (light, dark)
    for name, light, dark in re.findall(r"--([\w-]+):\s*light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)", TOKENS)
}
TEXT = [
    *[(ink, ground) for ink in ("ink", "ink-2", "accent", "bad") for ground in ("paper", "card", "sunk")],
    ("accent-ink", "accent"),
    ("ink", "wait-bg"),
    *[(tone, f"{tone}-bg") for tone in ("wait", "good", "bad", "unsure", "still")],
    *[(tone, ground) for tone in ("wait", "good", "bad", "unsure", "still") for ground in ("paper", "card")],
]
EDGES = [("edge", ground) for ground in ("paper", "card", "sunk")]


def luminance(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(("ink", "ground"), TEXT)
def test_text_is_readable_on_its_ground(ink, ground, scheme):
    assert contrast(COLOURS[ink][scheme], COLOURS[ground][scheme]) >= 4.5


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(("edge", "ground"), EDGES)
def test_the_edge_of_a_control_can_be_seen(edge, ground, scheme):
    assert contrast(COLOURS[edge][scheme], COLOURS[ground][scheme]) >= 3


def test_the_measure_itself_is_right():
    assert round(contrast("#000000", "#ffffff"), 1) == 21.0
    assert round(contrast("#777777", "#ffffff"), 2) == 4.48
