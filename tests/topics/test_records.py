"""The records themselves: frozen, with sensible defaults, and nothing of their content in errors."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, ValidationError

from tests.topics.frames import IDS, TURN, text
from topics import content, records
from topics.content import TextPart, User
from topics.names import RELEASED
from topics.records import CompletedFrame, ModelError, ModelFrame, Record, TurnRequest

MODELS = [
    model
    for module in (records, content)
    for model in vars(module).values()
    if isinstance(model, type) and issubclass(model, BaseModel) and model is not BaseModel
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_every_model_is_frozen_and_keeps_its_input_to_itself(model: type[BaseModel]) -> None:
    """Also those that are added later."""
    assert model.model_config.get("frozen") is True
    assert model.model_config.get("hide_input_in_errors") is True
    assert model.model_config.get("extra") == ("allow" if model is User else "ignore")


def test_a_record_cannot_be_changed() -> None:
    """What was journaled stays what it was."""
    frame = text(0, "abc")
    with pytest.raises(ValidationError):
        frame.text = "xyz"  # type: ignore[misc]


def test_a_text_is_a_message_of_one_part() -> None:
    """Most messages are."""
    request = TurnRequest.model_validate({**IDS, "message": "hello"})
    assert request.message == (TextPart(text="hello"),)
    assert (request.agent, request.channel, request.delivery) == ("default", "default", "stream")
    assert request.turn == TURN


@pytest.mark.parametrize("deadline", [0, -1, "soon"])
def test_a_deadline_lies_ahead(deadline: object) -> None:
    """A turn that must end before it starts is a mistake."""
    with pytest.raises(ValidationError):
        TurnRequest.model_validate({**IDS, "message": "m", "deadline_s": deadline})


@pytest.mark.parametrize("wait", [-0.1, float("inf"), float("nan")])
def test_a_wait_before_the_next_attempt_is_a_length_of_time(wait: float) -> None:
    """None of these can be waited for."""
    with pytest.raises(ValidationError):
        ModelError(retry_after_s=wait)
    assert ModelError(retry_after_s=0).retry_after_s == 0


def test_a_user_may_be_described_in_the_application_s_own_words() -> None:
    """Processors read them."""
    user = User.model_validate({"id": "u", "plan": "gold", "tags": ["a"]})
    assert user.model_dump() == {"id": "u", "plan": "gold", "tags": ["a"]}


def test_a_frame_may_carry_much_or_nothing() -> None:
    """But says where it belongs."""
    assert ModelFrame(**IDS, seq=0).text is None
    assert ModelFrame(**IDS, seq=None).seq is None
    with pytest.raises(ValidationError):
        ModelFrame.model_validate(IDS)
    with pytest.raises(ValidationError):
        ModelFrame.model_validate({**IDS, "seq": -1})


def test_the_kinds_of_released_frames_are_those_of_the_contract() -> None:
    """Texts, resets, a post-processed reply, and five endings."""
    kinds = set(RELEASED.json_schema()["discriminator"]["mapping"])
    assert kinds == {"text", "reset", "postprocess-complete"} | records.TERMINAL_KINDS
    assert sorted(records.TERMINAL_KINDS) == ["blocked", "cancelled", "completed", "failed", "rejected"]


def test_a_completed_frame_always_has_its_length() -> None:
    """A reader checks what it has against it."""
    with pytest.raises(ValidationError):
        CompletedFrame.model_validate({**IDS, "reply": "abc", "finish_reason": "stop"})


def test_text_and_offsets_are_checked() -> None:
    """No text before the start of a step."""
    with pytest.raises(ValidationError):
        text(-1, "abc")
    with pytest.raises(ValidationError):
        text(0, "abc", step=-1)


def test_every_record_says_its_version() -> None:
    """So that a reader of another build knows what it has."""
    assert all(model.model_fields["v"].default == 1 for model in MODELS if issubclass(model, Record))
