"""What an error proves, and who may send again after it."""

import pytest

from runs.core.retry import Certainty, ErrorClass, classify, may_retry


@pytest.mark.parametrize("error", list(ErrorClass))
def test_every_error_class_proves_exactly_one_thing(error: ErrorClass):
    unknown = {"timeout", "connection_lost", "server_error", "bad_answer", "answer_too_large"}
    unknown |= {"postcondition_open", "lease_ended", "killed"}
    refusal = {"authentication", "authorization", "validation", "not_found", "conflict", "business"}
    expected = (
        Certainty.UNKNOWN if error in unknown else Certainty.REFUSAL if error in refusal else Certainty.BEFORE_EFFECT
    )
    assert classify(error) is expected


@pytest.mark.parametrize("error", ["", "Timeout", "connect", "anything else"])
def test_a_word_that_nobody_listed_proves_nothing(error: str):
    assert classify(error) is Certainty.UNKNOWN


@pytest.mark.parametrize("retry_class", ["never", "before_effect", "safe"])
@pytest.mark.parametrize("side_effect", ["read", "idempotent", "reversible", "irreversible"])
@pytest.mark.parametrize("certainty", list(Certainty))
def test_a_machine_sends_again_only_what_cannot_double_an_effect(
    retry_class: str, side_effect: str, certainty: Certainty
):
    """Data rule 3."""
    allowed = may_retry(retry_class=retry_class, side_effect=side_effect, certainty=certainty)
    nothing_sent = certainty is Certainty.BEFORE_EFFECT and retry_class in ("before_effect", "safe")
    harmless = (retry_class, certainty) == ("safe", Certainty.UNKNOWN) and side_effect in ("read", "idempotent")
    assert allowed is (nothing_sent or harmless)
