"""What a reviewer's passkey signs. The verifier in sdk/ derives the same from an exported decision."""

import hashlib

from audit.core.canonical import canonical_bytes

FORMAT = 1
"""The number of the form below; a changed form gets the next one."""


def challenge_of(*, proposal_id: str, revision: int, round: int, digest: str, verdict: str, nonce: str) -> bytes:
    """SHA-256 over the RFC 8785 form of the decision's exact content and a number that is good once.

    The digest stands for every byte of the call (data rule 14), the round for the state and rules that were shown.
    """
    return hashlib.sha256(
        canonical_bytes(
            {
                "format": FORMAT,
                "proposal": proposal_id,
                "revision": revision,
                "round": round,
                "digest": digest,
                "verdict": verdict,
                "nonce": nonce,
            }
        )
    ).digest()
