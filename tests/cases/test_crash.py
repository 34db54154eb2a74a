"""The case of a worker that was killed between publishing and committing."""

from __future__ import annotations

from tests.cases.case import case
from tests.cases.harness import policy_of
from tests.streams.gate.play import Play, frame, mapped, read
from topics.names import RELEASED_FRAMES
from topics.records import CompletedFrame, ModelFrame, TextFrame

CASE = case("killed-before-commit")


def frames() -> list[ModelFrame]:
    """Return the frames of the script, without what happens between them."""
    return [
        frame(one["seq"], one.get("text"), finish_reason=one.get("reason")) for one in CASE.frames if "op" not in one
    ]


def test_a_reader_of_both_workers_has_the_exact_text() -> None:
    """`killed-before-commit`: wherever the journal ends that the second worker finds.

    The case has text on the topic whose journal record was lost. Here publishing waits for the journal, so the first
    worker's frames are those of the records that were kept, or of fewer, if it died before they were out.
    """
    chain = mapped(str)
    policy = policy_of(CASE)
    for kept in range(2, 5):
        first = Play(policy).start().stream(frames()[:2], chain)
        second = Play.resumed(first.records[:kept], policy)
        second.judge(chain)
        second.stream(frames(), chain)
        before = [e.record for e in Play.resumed(first.records[:kept], policy).published if e.topic is RELEASED_FRAMES]
        after = [e.record for e in second.published if e.topic is RELEASED_FRAMES]
        for lost in range(len(before) + 1):
            view = read([*before[: len(before) - lost], *after])
            assert view.text == CASE.expected["final"]
            assert isinstance(view.terminal, CompletedFrame)
            assert not view.contradicted


def test_records_that_overlap_agree() -> None:
    """Each text stands where it says it does, so that what comes twice is the same twice."""
    policy = policy_of(CASE)
    first = Play(policy).start().stream(frames()[:2], mapped(str))
    second = Play.resumed(first.records, policy).stream(frames(), mapped(str))
    final = CASE.expected["final"]
    texts: list[TextFrame] = first.of(TextFrame) + second.of(TextFrame)
    assert all(final[one.offset :].startswith(one.text) for one in texts)
    assert len(second.of(CompletedFrame)) == 1
