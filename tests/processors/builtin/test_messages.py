"""`redact_messages`, `refuse_messages` and `handoff` on what users say, and `redact_prompts` on all that leaves."""

from __future__ import annotations

import json
from typing import Any

import pytest

from processors import (
    Block,
    DeclarationError,
    Deps,
    FilePart,
    ImagePart,
    IncomingMessage,
    Message,
    Part,
    Proceed,
    Prompt,
    TextPart,
    ToolCall,
)
from processors.builtin import (
    cards,
    emails,
    handoff,
    profanity,
    redact,
    redact_messages,
    redact_prompts,
    refuse_messages,
)
from processors.patterns import PatternError

CARD = "4111 1111 1111 1111"
MAIL = "bob@example.com"


def said(*parts: str | Part, **metadata: object) -> IncomingMessage:
    """Return a message of these texts and parts."""
    message = tuple(TextPart(text=part) if isinstance(part, str) else part for part in parts)
    return IncomingMessage(message, metadata=metadata)


def test_profanity_of_users_is_masked() -> None:
    """With the list and the placeholder of the output processor."""
    assert redact_messages(profanity()).process(said("Shit, this is Scunthorpe.")) == Proceed(
        "***, this is Scunthorpe."
    )


def test_a_message_in_which_nothing_is_found_stays_the_same() -> None:
    """Part by part, which `Proceed()` says."""
    assert redact_messages(profanity()).process(said("Hello", ImagePart(url="shit.png"))) == Proceed()


def test_every_text_of_a_message_is_masked_and_other_parts_stay() -> None:
    """Equal findings have equal numbers in all of it."""
    image = ImagePart(url="https://example.com/x.png")
    file = FilePart(name="notes.txt", data="c2hpdA==")
    verdict = redact_messages(redact([emails()], numbered=True)).process(
        said(MAIL, image, "or a@b.co, or " + MAIL, file)
    )
    assert verdict.message == (TextPart(text="[EMAIL_1]"), image, TextPart(text="or [EMAIL_2], or [EMAIL_1]"), file)


def test_a_message_can_be_refused() -> None:
    """With a reply, which may be the channel's default."""
    assert refuse_messages(cards(), "No cards.").process(said("It is", CARD)) == Block("No cards.", "refused message")
    assert refuse_messages(cards(), "").process(said(CARD)) == Block("", "refused message")
    assert refuse_messages(cards(), "No cards.").process(said("It is 4111")) == Proceed()


def test_reasons_and_metadata_say_nothing_of_the_content() -> None:
    """They are kept for long, where others read them."""
    verdicts = [refuse_messages(cards(), "No.").process(said(CARD)), handoff().process(said(f"a real person, {CARD}"))]
    assert "4111" not in repr(verdicts)


# -- handoff ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "Can I talk to a human?",
        "REPRESENTATIVE!!!",
        "get me a live  agent",
        "ｈｕｍａｎ agent",
        "I want a real\nperson",
    ],
)
def test_who_asks_for_a_person_is_flagged(text: str) -> None:
    """In capitals, over line breaks, in full-width letters."""
    assert handoff().process(said(text)) == Proceed(metadata={"handoff": True})


@pytest.mark.parametrize("text", ["Are you human?", "My agent told me", "representatives", ""])
def test_others_are_not(text: str) -> None:
    """Words count as a whole."""
    assert handoff().process(said(text)) == Proceed()


def test_phrases_pattern_and_flag_are_the_operators() -> None:
    """Either, or both."""
    assert handoff(["Mensch"], flag="person").process(said("einen mensch bitte")).metadata == {"person": True}
    by_pattern = handoff((), pattern=r"call me (back|now)")
    assert by_pattern.process(said("CALL ME BACK")).metadata == {"handoff": True}
    assert by_pattern.process(said("call me maybe")) == Proceed()
    assert handoff(["Mensch"], pattern="call me").process(said("talk to a human")) == Proceed()


def test_a_handoff_may_answer_and_knows_when_nobody_is_there() -> None:
    """By what `office_hours` left in the metadata."""
    processor = handoff(reply="Wait a moment.", closed_reply="Back at {opens:%H:%M}.")
    opens = {"office_opens_at": "2026-03-09T09:00:00+01:00"}

    def response(**metadata: object) -> str | None:
        verdict = processor.process(said("human agent", **metadata))
        assert isinstance(verdict, Block)
        assert verdict.metadata == {"handoff": True}
        return verdict.response

    assert response() == "Wait a moment."
    assert response(office_open=True) == "Wait a moment."
    assert response(office_open=False, **opens) == "Back at 09:00."
    assert response(office_open=False, office_opens_at=None) == ""


# -- prompts ----------------------------------------------------------------------------------------------------------


def test_everything_that_leaves_is_masked() -> None:
    """System text, texts and parts of messages, tool calls and tool results, under escapes too; the rest stays."""
    image = ImagePart(url="https://example.com/x.png")
    escaped = json.dumps({"mail": MAIL}).replace("@", "\\u0040")
    call = ToolCall(id="1", name="send", arguments=escaped)
    prompt = Prompt(
        system=f"The boss is {MAIL}.",
        messages=(
            Message(role="user", content=f"I am a@b.co, not {MAIL}"),
            Message(role="user", content=(TextPart(text=MAIL), image)),
            Message(role="assistant", content=None, tool_calls=(call,)),
            Message(role="tool", tool_call_id="1", name="send", content=escaped),
            Message(role="tool", tool_call_id="1", content=(TextPart(text=MAIL),)),
        ),
    )
    masked = redact_prompts(redact([emails()], numbered=True)).process(prompt)
    assert masked.system == "The boss is [EMAIL_1]."
    first, second, third, fourth, fifth = masked.messages
    assert first.content == "I am [EMAIL_2], not [EMAIL_1]"
    assert second.content == (TextPart(text="[EMAIL_1]"), image)
    assert (third.content, json.loads(third.tool_calls[0].arguments)) == (None, {"mail": "[EMAIL_1]"})
    assert (fourth.name, json.loads(str(fourth.content))) == ("send", {"mail": "[EMAIL_1]"})
    assert fifth.content == (TextPart(text="[EMAIL_1]"),)


def test_a_prompt_in_which_nothing_is_found_stays_the_same() -> None:
    """To the letter, tool calls as the model wrote them."""
    call = ToolCall(id="1", name="send", arguments='{ "to":  "bob" }')
    prompt = Prompt(messages=(Message(role="assistant", tool_calls=(call,)), Message(role="user", content="Hi")))
    assert redact_prompts(emails()).process(prompt) == prompt


def test_it_is_a_control_that_can_be_required() -> None:
    """Unlike a pre-processor, which is skipped when it fails."""
    deps = Deps(input_processors=[redact_prompts(emails(), name="no-mail")], required_controls=["no-mail"])
    assert [one.name for one in deps.input_processors] == ["no-mail"]


@pytest.mark.parametrize("function", [redact_messages, redact_prompts, lambda given: refuse_messages(given, "No.")])
def test_a_list_is_no_redactor(function: Any) -> None:
    """And the error says how several become one."""
    with pytest.raises(DeclarationError, match=r"redact\(\["):
        function([emails(), cards()])


def test_a_handoff_for_nothing_is_refused() -> None:
    """And a pattern that could run for ever."""
    with pytest.raises(DeclarationError, match="give phrases"):
        handoff([])
    with pytest.raises(PatternError):
        handoff(pattern=r"(a)\1")
