"""Word lists, profanity, patterns of one's own."""

from __future__ import annotations

import re

import pytest

from processors.builtin import patterns, profanity, words
from processors.builtin.profanity import english
from processors.errors import DeclarationError
from processors.patterns import PatternError
from tests.processors.builtin.texts import fed, settled


@pytest.mark.parametrize(
    ("listed", "text", "expected"),
    [
        (
            ["ass"],
            "An ass in class; ASS, assets, (ass) ass-like, ass_1, bass",
            "An [WORD] in class; [WORD], assets, ([WORD]) [WORD]-like, ass_1, bass",
        ),
        (["new york", "new"], "New yorkers love NEW\n  York, new yo", "[WORD] yorkers love [WORD], [WORD] yo"),
        (["c++", ".net"], "C++ and .NET, not c+ or a.net", "[WORD] and [WORD], not c+ or a.net"),
        (["café"], "cafe CAFÉ cafe\u0301 cafés cafe\u0301s", "[WORD] [WORD] [WORD]\u0301 cafés cafe\u0301s"),
        (["Москва"], "Москва, москвА, Москваx", "[WORD], [WORD], Москваx"),
        (["北京"], "我在北京市", "我在[WORD]市"),
        (["東京", "ラーメン"], "東京のラーメン屋", "[WORD]の[WORD]屋"),
        (["ลับ"], "ความลับนี้", "ความ[WORD]นี้"),
        (["바보"], "너는 바보야", "너는 [WORD]야"),
        (["하"], "한 하", "한 [WORD]"),
        (["iPhone手机"], "买iPhone手机壳 xiPhone手机", "买[WORD]壳 xiPhone手机"),
        (["straße"], "Straße, straßen", "[WORD], straßen"),
    ],
)
def test_words_are_found_whole(listed: list[str], text: str, expected: str) -> None:
    """And anywhere where no spaces are set between words."""
    assert settled(words(listed), text) == expected


def test_case_can_matter() -> None:
    """For names that are words too."""
    assert settled(words(["Apple"], case_sensitive=True), "Apple apple") == "[WORD] apple"


def test_a_long_list_is_one_search() -> None:
    """Thousands of words."""
    processor = words([f"codename{number}" for number in range(3_000)])
    assert settled(processor, "codename2999 codename3000 codename1") == "[WORD] codename3000 [WORD]"


def test_a_word_is_held_only_while_it_could_become_a_listed_one() -> None:
    """A phrase up to its end, and what follows its last letter."""
    assert [read - said for read, said in fed(words(["big secret"]), ["a b", "ig", " ", "sec", "ond"])] == [
        1,
        3,
        4,
        7,
        0,
    ]


@pytest.mark.parametrize("listed", [[], ["a", " "], "word"])
def test_a_list_that_is_none_is_refused(listed: list[str] | str) -> None:
    """Empty, with an empty word, one text."""
    with pytest.raises(DeclarationError):
        words(listed)


def test_profanity_is_replaced_and_nothing_that_only_contains_it() -> None:
    """Scunthorpe, and all that."""
    text = "Shit, what the fuck: Scunthorpe, cocktail, assassin, Penistone, Shitake, Dick and Essex."
    assert settled(profanity(), text) == text.replace("Shit,", "***,").replace("fuck", "***")


def test_the_list_of_profanities_can_be_changed() -> None:
    """Words more, words less."""
    assert (
        settled(profanity(also=["darn"], allowed=["Shit"], placeholder="[{label}]"), "darn shit") == "[PROFANITY] shit"
    )


def test_the_list_of_profanities_is_clean() -> None:
    """Small letters, sorted by nothing but each once."""
    assert len(english()) == len(set(english())) > 100
    assert all(word == word.casefold().strip() for word in english())


def test_patterns_are_named() -> None:
    """Each by its label; of overlapping ones the longest, of equal ones the first."""
    processor = patterns({"PHONE": r"\d{10}", "BANK": r"\d{8,17}", "CARD": r"\d{13,16}"})
    text = "card 4111111111111111 and call 9876543210, please check"
    assert settled(processor, text) == "card [BANK] and call [PHONE], please check"


def test_patterns_take_flags_and_scripts() -> None:
    """As for `re`."""
    assert settled(patterns({"X": "größe [а-я]+"}, flags=re.IGNORECASE), "Größe ДА") == "[X]"


@pytest.mark.parametrize("pattern", [r"(a)\1", "(?=a)b", "a(?!bc)", "(", "a*", r"(?<=a)b"])
def test_a_pattern_that_cannot_be_matched_in_linear_time_is_refused(pattern: str) -> None:
    """By its label, and with the reason."""
    with pytest.raises(PatternError, match="pattern 'BAD': "):
        patterns({"GOOD": "a", "BAD": pattern})


def test_no_patterns_at_all_are_refused() -> None:
    """It would look like a control and be none."""
    with pytest.raises(DeclarationError):
        patterns({})
