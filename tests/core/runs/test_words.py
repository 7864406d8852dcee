"""A history is shown in words: every kind has some, nothing unknown cuts it, outside text is marked as such."""

import pytest

from runs.core.events import BODIES, KEYS
from runs.core.kinds import CallState, EffectState, EventKind, RunStatus
from runs.core.words import CALL_TONE, RUN_TONE, detail_segments, effect_words, line

SAMPLES = {
    "scope": {},
    "round": 2,
    "resolution": "rejected",
    "outcome": "happened",
    "deadline": "2026-11-29T15:00:00+00:00",
    "retry_at": "2026-11-29T15:00:05+00:00",
    "before_effect": False,
    "attempt": 1,
    "fence": 7,
    "duration_ms": 1212,
    "amount": 5,
    "policy_number": 8,
    "contract_version": 3,
    "number": 3,
    "narrowed": True,
    "tools": ["get_order", "refund_order"],
}


def body_of(kind):
    required, optional = BODIES[kind]
    return {key: SAMPLES.get(key, f"<{key}>") for key in (required + " " + optional).split()}


def words(kind, **changed):
    made = line(kind, body_of(EventKind(kind)) | changed, {"name": "Mara Lind"}, {"<call_id>": "refund_order"})
    return "".join(segment.value for segment in made.segments), made


@pytest.mark.parametrize("kind", list(EventKind))
def test_every_kind_of_event_is_told_in_words_and_not_by_its_name(kind):
    sentence, made = words(kind)
    assert sentence
    assert kind.value not in [segment.value for segment in made.segments]


@pytest.mark.parametrize(
    "kind", [kind for kind in EventKind if set(BODIES[kind][0].split()) & {"message", "text", "by", "reason"}]
)
def test_what_others_wrote_is_a_segment_of_its_own(kind):
    _, made = words(kind)
    ours = [s for s in made.segments + made.aside if s.kind == "text"]
    for key in ("message", "text", "by", "reason"):
        assert all(f"<{key}>" not in segment.value for segment in ours)


def test_a_call_is_named_by_its_tool():
    assert (
        words("dispatch_succeeded")[0]
        == "refund_order succeeded and had happened before: the target knew our key, reference <reference>"
    )
    assert words("dispatch_succeeded", duplicate=False)[0] == "refund_order succeeded, reference <reference>"
    assert words("dispatch_succeeded", duplicate=False, reference=None)[0] == "refund_order succeeded"


def test_a_failure_says_whether_anything_was_sent():
    assert "the target refused" in words("dispatch_failed", error_class="validation")[0]
    assert "nothing was sent" in words("dispatch_failed", error_class="connect_refused", before_effect=True)[0]
    assert "no usable answer" in words("dispatch_failed", error_class="timeout")[0]


def test_a_held_call_links_to_its_proposal():
    _, made = words("call_held")
    assert [s.value for s in made.segments if s.kind == "proposal"] == ["<proposal_id>"]
    assert made.tone == "wait"


@pytest.mark.parametrize(
    "resolution", ["granted", "rejected", "expired", "withdrawn", "superseded", "cancelled", "refused"]
)
def test_each_resolution_has_words_of_its_own(resolution):
    others = {r: words("resolution_consumed", resolution=r)[0] for r in ("granted", "rejected", "expired", "withdrawn")}
    sentence = words("resolution_consumed", resolution=resolution)[0]
    assert all(sentence != text for r, text in others.items() if r != resolution)


@pytest.mark.parametrize("body", [{}, {"call_id": None}, {"call_id": ["x"]}])
def test_an_event_of_another_form_is_shown_by_its_kind_and_cuts_nothing(body):
    made = line("dispatch_failed", body, {}, {})
    assert [segment.value for segment in made.segments] == ["dispatch_failed"]


def test_an_event_of_an_unknown_kind_is_shown_by_its_kind():
    assert line("sun_eclipsed", {}, {}, {}).segments[0].value == "sun_eclipsed"


def test_every_state_has_a_tone():
    assert set(RUN_TONE) == set(RunStatus)
    assert set(CALL_TONE) == set(CallState)


def test_every_effect_has_words_and_an_unknown_word_stays_itself():
    assert all(effect_words(effect.value) != effect.value for effect in EffectState)
    assert effect_words("other") == "other"


def test_the_keys_used_here_are_keys_of_events():
    assert set(SAMPLES) <= set(KEYS)


def test_a_time_inside_a_detail_stands_apart_so_that_a_page_can_tell_it_in_a_zone():
    parts = detail_segments("refund_order until 2026-11-29T15:00:00.5+00:00, 1 more")
    assert [(part.kind, part.value) for part in parts] == [
        ("outside", "refund_order until "),
        ("time", "2026-11-29T15:00:00.5+00:00"),
        ("outside", ", 1 more"),
    ]
    assert detail_segments("") == ()


def test_a_question_and_its_answer_are_quoted_as_what_somebody_wrote():
    asked = line(
        "question_asked",
        {"call_id": "c1", "proposal_id": "p-c1", "question_id": "q1", "text": "Why twice?", "by": "Ida"},
        {"kind": "person", "name": "Ida"},
        {"c1": "refund_order"},
    )
    told = line("question_answered", {"call_id": "c1", "question_id": "q1", "text": "It broke."}, {}, {})
    assert [part.value for part in asked.segments if part.kind == "outside"] == ["Ida", "Why twice?"]
    assert [part.value for part in told.segments if part.kind == "outside"] == ["It broke."]


def test_a_turn_is_told_with_the_tools_that_its_model_was_shown():
    sentence, made = words("turn_opened")
    assert sentence == "Turn 3: shown get_order, refund_order"
    assert [(part.kind, part.value) for part in made.aside] == [("outside", "<turn_id>")]
    assert [part.value for part in made.segments if part.kind == "code"] == ["get_order", "refund_order"]
    assert words("turn_opened", narrowed=False)[0] == f"{sentence}: all that the run may call"
    assert words("turn_opened", tools=[])[0] == "Turn 3: shown no tool"
    many = [f"tool_{number}" for number in range(1023)]
    assert words("turn_opened", tools=many)[0].endswith(", tool_19 and 1,003 more")


def test_a_call_is_told_with_the_turn_that_it_was_asked_in():
    assert [part.value for part in words("call_proposed")[1].aside][-2:] == [", turn ", "<turn>"]
    assert len(words("call_proposed", turn=None)[1].aside) == 2
