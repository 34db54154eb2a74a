"""The table: each mistake as a change of one line, and tests that must fail for it. Which test catches which, is here."""

from __future__ import annotations

from dataclasses import dataclass

_RELEASE = "tests/streams/gate/test_release.py::"
_MACHINE = "tests/streams/gate/test_machine.py::"
_SCAN = "tests/streams/gate/test_scan.py::"
_SPLITS = "tests/properties/test_no_split_leaks.py::"
_PROMISE = "tests/promises/test_1_nothing_leaks.py::test_no_split_shows_anything_that_was_not_approved"
_DEPS = "tests/processors/test_deps.py::test_the_manifest_says_how_answers_are_released"
_USUAL = "tests/streams/gate/test_usual_frames.py::test_frames_come_to_the_same_the_short_way_and_the_long_way"
_FOLLOWING = "tests/processors/patterns/test_following.py::"
_WORKER = "tests/streams/roles/test_scanners_in_the_worker.py::"


@dataclass(frozen=True, slots=True)
class Mistake:
    """In `file`, `new` stands where `old` should; each of `caught_by`, a test or one of its cases, then fails."""

    name: str
    file: str
    old: str
    new: str
    caught_by: tuple[str, ...]


MISTAKES = (
    Mistake(
        "window one too narrow",
        "streams/gate/release.py",
        "max(len(output) - window, 0)",
        "max(len(output) - window + 1, 0)",
        (
            f"{_RELEASE}test_all_but_the_window_goes_out",
            f"{_MACHINE}test_an_incremental_chain_holds_back_the_window_of_its_output",
            f"{_SPLITS}test_the_window_that_a_chain_needs_is_needed",
            f"{_SPLITS}test_what_may_go_out_does",
        ),
    ),
    Mistake(
        "window one too wide",
        "streams/gate/release.py",
        "max(len(output) - window, 0)",
        "max(len(output) - window - 1, 0)",
        (f"{_RELEASE}test_all_but_the_window_goes_out", f"{_SPLITS}test_what_may_go_out_does"),
    ),
    Mistake(
        "a window of nothing cut off as [:-0]",
        "streams/gate/release.py",
        "max(len(output) - window, 0)",
        "len(output[:-window])",
        (f"{_RELEASE}test_a_window_of_nothing_holds_nothing", f"{_SPLITS}test_what_may_go_out_does"),
    ),
    Mistake(
        "a window wider than the output wraps around",
        "streams/gate/release.py",
        "max(len(output) - window, 0)",
        "len(output[:len(output) - window])",
        (f"{_RELEASE}test_a_window_as_wide_as_the_output_holds_all",),
    ),
    Mistake(
        "window counted on the model's text",
        "streams/gate/judgements.py",
        "releasable(output, str(turn.answer.released), policy.window)",
        "releasable(output, str(turn.answer.released), max(len(output) - len(turn.buffer) + policy.window, 0))",
        (
            f"{_MACHINE}test_an_incremental_chain_holds_back_the_window_of_its_output",
            f"{_SPLITS}test_the_window_counts_what_the_chain_makes",
        ),
    ),
    Mistake(
        "startswith forgotten on a prefix",
        "streams/gate/release.py",
        "return output[len(released) : length] if output.startswith(released) else None",
        "return output[len(released) : length]",
        (
            f"{_RELEASE}test_an_output_that_takes_back_released_text_gives_nothing_to_release",
            f"{_MACHINE}test_a_prefix_pass_that_takes_back_released_text_releases_nothing",
        ),
    ),
    Mistake(
        "startswith forgotten on the settled answer",
        "streams/gate/judgements.py",
        "return releasable(output, released, 0, ended=True)",
        "return output[len(released) :]",
        (f"{_MACHINE}test_a_settled_answer_that_takes_back_released_text_fails_the_turn",),
    ),
    Mistake(
        "a release ends within a character",
        "streams/gate/release.py",
        "safe_length(output, max(len(output) - window, 0))",
        "max(len(output) - window, 0)",
        (f"{_RELEASE}test_a_release_never_splits_a_character_as_readers_see_it",),
    ),
    Mistake(
        "a chain is incremental if any member is",
        "processors/manifest.py",
        "if all(member.incremental is not None",
        "if any(member.incremental is not None",
        (_DEPS,),
    ),
    Mistake(
        "the sum of windows forgotten",
        "processors/manifest.py",
        'return sum(lookbacks) if self.window == "sum"',
        'return sum(lookbacks) if self.window == "none"',
        (_DEPS,),
    ),
    Mistake(
        "a scanner made again is not held to what is out",
        "streams/gate/scan.py",
        "if self._silent or (self._out and not self._agrees()):",
        "if self._silent:",
        (f"{_SCAN}test_text_that_another_chain_let_out_is_never_contradicted",),
    ),
    Mistake(
        "anybody's scanner runs within the worker",
        "processors/manifest.py",
        "member.scans and member.linear_time",
        "member.scans",
        (f"{_WORKER}test_only_scanners_that_somebody_vouches_for_run_in_the_worker[own_deps-incremental]",),
    ),
    Mistake(
        "a match that may still grow is taken as it is",
        "processors/patterns/settle.py",
        "if span.start >= opened:",
        "if span.start > len(text):",
        (
            "tests/processors/patterns/test_settle.py::test_what_looked_open_inside_a_certain_finding_is_not",
            f"{_PROMISE}[scanned]",
        ),
    ),
    Mistake(
        "a lazy match is taken as it is",
        "processors/patterns/pattern.py",
        "if found is None or not found[1]:",
        "if found is None or found[1]:",
        ("tests/properties/test_lazy_patterns.py::test_a_match_is_out_with_its_last_character",),
    ),
    Mistake(
        "what comes beside text overlooked on the short way",
        "streams/gate/frames.py",
        '"usage", "error")',
        '"error", "error")',
        (_USUAL,),
    ),
    Mistake(
        "half of a character let out on the short way",
        "streams/gate/frames.py",
        "text.isascii() or _is_whole(text)",
        "True",
        (_USUAL,),
    ),
    Mistake(
        "the short way forgets that a release is not what the model wrote",
        "streams/gate/answers.py",
        "answer.verbatim and not out",
        "answer.verbatim",
        (_USUAL,),
    ),
    Mistake(
        "a move made where what is held must be known",
        "processors/patterns/automaton.py",
        "if first > 0:",
        "if first > len(piece):",
        (f"{_FOLLOWING}test_the_first_of_two_open_places_may_close",),
    ),
    Mistake(
        "words of a piece are all read as if they stood at its beginning",
        "processors/patterns/automaton.py",
        "place += len(piece)",
        "place += 0",
        ("tests/processors/patterns/test_automaton.py::test_a_piece_is_read_as_its_characters_are",),
    ),
    Mistake(
        "moves forget what they let out",
        "processors/patterns/following.py",
        "_MOST_MOVED = 2 * CONTEXT",
        "_MOST_MOVED = CONTEXT // 2",
        (f"{_FOLLOWING}test_moves_keep_the_context_that_finders_look_back_to[1-8]",),
    ),
)
