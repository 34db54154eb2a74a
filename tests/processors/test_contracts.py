"""What processors see."""

from __future__ import annotations

import dataclasses
import pickle

import pytest

import processors
from processors import Answer, IncomingMessage, Reply, TextPart, TurnContext, User
from processors.contracts import ImagePart


def test_a_text_is_enough_of_an_answer() -> None:
    """Everything else has a default that a test can do with."""
    answer = Answer("x")
    assert (answer.text, answer.tool_calls, answer.step, answer.complete) == ("x", (), 0, True)
    assert answer.context == TurnContext()


@pytest.mark.parametrize("subject", [Answer("x"), IncomingMessage(()), Reply("x"), TurnContext()])
def test_what_processors_see_cannot_be_changed(subject: object) -> None:
    """A processor that has something to say returns it."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        subject.channel = "other"  # type: ignore[attr-defined]


def test_the_idempotency_key_is_one_calls_own() -> None:
    """Another tenant, thread, turn, step or attempt has another."""
    contexts = [
        TurnContext(),
        TurnContext(tenant="other"),
        TurnContext(thread_id="other"),
        TurnContext(turn_id="other"),
        TurnContext(step=1),
        TurnContext(attempt=1),
    ]
    assert len({context.idempotency_key for context in contexts}) == len(contexts)


def test_the_idempotency_key_does_not_depend_on_what_was_said() -> None:
    """It is the same when the same call is processed again, whatever processors said in between."""
    said = dataclasses.replace(TurnContext(), metadata={"a": 1}, user=User(id="u"))
    assert said.idempotency_key == TurnContext().idempotency_key


def test_the_text_of_a_message_is_that_of_its_text_parts() -> None:
    """One line each."""
    message = IncomingMessage((TextPart(text="one"), ImagePart(url="u"), TextPart(text="two")))
    assert message.text == "one\ntwo"


def test_what_processors_see_can_be_sent_to_another_process() -> None:
    """Equal on arrival."""
    answer = Answer("x", context=TurnContext(user=User(id="u"), attributes={"a": [1]}))
    assert pickle.loads(pickle.dumps(answer)) == answer  # noqa: S301 - just written here


def test_every_public_name_is_there() -> None:
    """`__all__` is what the package exports."""
    assert [name for name in processors.__all__ if not hasattr(processors, name)] == []
