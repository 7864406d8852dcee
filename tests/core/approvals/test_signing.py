"""What a passkey signs: one value for one decision, another one for every other."""

import hashlib
import json

import pytest

from approvals.core.signing import FORMAT, challenge_of

FACTS = {
    "proposal_id": "3e9a7c51-2b4d-4f86-9c0e-1d5b8a7f6e32", "revision": 1, "round": 2, "digest": "ab" * 32,
    "verdict": "approve", "nonce": "cd" * 32,
}  # fmt: skip


def test_the_challenge_is_the_hash_of_sorted_json_without_white_space():
    written = (
        '{"digest":"' + "ab" * 32 + '","format":1,"nonce":"' + "cd" * 32 + '","proposal":"3e9a7c51-2b4d-4f86-9c0e-'
        '1d5b8a7f6e32","revision":1,"round":2,"verdict":"approve"}'
    )
    assert json.loads(written)["format"] == FORMAT
    assert challenge_of(**FACTS) == hashlib.sha256(written.encode()).digest()


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("proposal_id", "3e9a7c51-2b4d-4f86-9c0e-1d5b8a7f6e33"), ("revision", 2), ("round", 1), ("digest", "ac" * 32),
        ("verdict", "reject"), ("nonce", "ce" * 32),
    ],
)  # fmt: skip
def test_whatever_differs_makes_another_challenge(name, other):
    assert challenge_of(**FACTS | {name: other}) != challenge_of(**FACTS)


def test_no_part_can_be_taken_for_its_neighbour():
    assert challenge_of(**FACTS | {"revision": 2, "round": 1}) != challenge_of(**FACTS)
    swapped = {"digest": FACTS["nonce"], "nonce": FACTS["digest"]}
    assert challenge_of(**FACTS | swapped) != challenge_of(**FACTS)
