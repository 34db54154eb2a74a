"""Windows: what has to be held back, the shortest split for which too little is, and chains that need the sum."""

from __future__ import annotations

import re

from processors import Answer, Incremental, Pass, Reject, Replace, output_processor
from processors.testing import check_promise, run_gate
from tests.processors.checker.finding import example, kinds, the

_EMAIL = re.compile(r"[\w.+-]{1,16}@[A-Za-z0-9-]{1,16}\.[A-Za-z]{2,10}")
_ENDLESS = re.compile(r"[a-z]+@x")


@output_processor("emails", incremental=Incremental(lookback_chars=44))
def emails(answer: Answer) -> Replace:
    """Replace addresses, which have a longest form."""
    return Replace(_EMAIL.sub("[email]", answer.text))


@output_processor("pins", incremental=Incremental(lookback_chars=2))
def pins(answer: Answer) -> Replace:
    """Replace one pin: three characters may be half of it."""
    return Replace(answer.text.replace("1234", "####"))


def _hidden(answer: Answer) -> Replace:
    return pins(answer)


@output_processor("letters-first", incremental=Incremental(lookback_chars=3))
def letters_first(answer: Answer) -> Replace:
    """Write what the next one may be looking for."""
    return Replace(answer.text.replace("abcd", "34"))


@output_processor("then-pins", incremental=Incremental(lookback_chars=3))
def then_pins(answer: Answer) -> Replace:
    """Replace the pin, with a window that is enough for itself."""
    return Replace(answer.text.replace("1234", "####"))


@output_processor("endless", incremental=Incremental(lookback_chars=64))
def endless(answer: Answer) -> Replace:
    """Replace what can begin any distance back."""
    return Replace(_ENDLESS.sub("[x]", answer.text))


@output_processor("counted")
def counted(answer: Answer) -> Replace:
    """Put the length in front: nothing can be said of it before the end."""
    return Replace(f"({len(answer.text)}) {answer.text}")


@output_processor("even-quotes", incremental=Incremental(lookback_chars=0))
def even_quotes(answer: Answer) -> Pass | Reject:
    """Refuse what may still become right."""
    return Reject("odd") if answer.text.count("`") % 2 else Pass()


@output_processor("long", incremental=Incremental(lookback_chars=8))
def long(answer: Answer) -> Pass | Reject:
    """Refuse complete answers that are long."""
    return Reject("long") if answer.complete and len(answer.text) > 40 else Pass()


def test_a_correct_redactor_passes_and_its_true_window_is_named() -> None:
    """The longest address that is not yet one has 16 + 1 + 16 + 1 + 1 characters, which no text of the corpus has."""
    report = check_promise([emails])
    assert report.ok
    assert report.findings == ()
    (member,) = report.members
    assert (member.processor, member.declared, member.smallest) == ("emails", 44, 35)
    assert report.chain is not None
    assert (report.chain.processor, report.chain.smallest, report.mode) == (None, 35, "incremental")


def test_a_window_that_is_too_small_is_reported_with_the_shortest_split() -> None:
    """Three of four characters, of which one is let out; no shorter text leaks."""
    report = check_promise([pins])
    found = the(report, "window", "pins")
    assert (found.level, found.declared, found.needed) == ("error", 2, 3)
    shortest = example(found)
    assert (shortest.head, shortest.tail) == ("123", "4")
    assert (shortest.released, shortest.settled) == ("1", "####")
    assert kinds(report) == {"window"}


def test_the_gate_fails_on_the_split_that_is_reported() -> None:
    """Fed to the gate as frames, it is what the checker says; with the window named it is nothing."""
    shortest = example(the(check_promise([pins]), "window", "pins"))
    run = run_gate([pins], [shortest.head, shortest.tail])
    assert (run.outcome, run.error, run.text) == ("failed", "ProcessorFailedError", shortest.released)
    wide = output_processor("pins", incremental=Incremental(lookback_chars=3))(_hidden)
    assert run_gate([wide], [shortest.head, shortest.tail]).outcome == "completed"
    assert check_promise([wide]).ok


def test_the_texts_of_the_caller_are_tried_too() -> None:
    """What only they contain is found in them, and by number."""

    @output_processor("unicorns", incremental=Incremental(lookback_chars=0))
    def unicorns(answer: Answer) -> Replace:
        return Replace(answer.text.replace(chr(0x1F984) * 2, "##"))

    assert check_promise([unicorns]).ok
    found = the(check_promise([unicorns], ["fine", "two \N{UNICORN FACE}\N{UNICORN FACE} there"]), "window", "unicorns")
    where = example(found)
    assert (where.text.source, where.text.number) == ("corpus", 2)
    assert (where.head, where.tail) == ("\N{UNICORN FACE}", "\N{UNICORN FACE}")
    assert (where.start, where.split, where.end) == (4, 5, 6)
    assert "\N{UNICORN FACE}" not in found.message + where.places


def test_a_chain_whose_members_feed_each_other_needs_the_sum() -> None:
    """Each of them is right by itself; what the first writes makes a match of what the second has let go."""
    chain = [letters_first, then_pins]
    report = check_promise(chain)
    assert [(member.declared, member.smallest) for member in report.members] == [(3, 3), (3, 3)]
    found = the(report, "needs-sum", None)
    assert (found.declared, found.needed) == (3, 5)
    assert report.needs_sum
    shortest = example(found)
    assert (shortest.head, shortest.tail) == ("12ab", "cd")
    assert run_gate(chain, [shortest.head, shortest.tail]).outcome == "failed"
    assert run_gate(chain, [shortest.head, shortest.tail], window="sum").outcome == "completed"


def test_with_the_sum_that_chain_holds() -> None:
    """The report still says that it is needed."""
    report = check_promise([letters_first, then_pins], window="sum")
    assert report.ok
    assert report.needs_sum
    assert report.chain is not None
    assert (report.chain.declared, report.chain.smallest) == (6, 5)


def test_members_that_have_nothing_to_do_with_each_other_need_no_sum() -> None:
    """The widest is enough."""
    report = check_promise([emails, then_pins])
    assert report.ok
    assert not report.needs_sum


def test_a_pattern_without_bound_is_told_from_a_small_window() -> None:
    """However long the text, more would have to be held back; the split shown is the shortest for this window."""
    report = check_promise([endless])
    found = the(report, "unbounded", "endless")
    assert found.needed is None
    assert report.members[0].unbounded
    shortest = example(found)
    assert len(shortest.head) == 65
    assert run_gate([endless], [shortest.head, shortest.tail]).error == "ProcessorFailedError"
    assert the(report, "unbounded-pattern", "endless").level == "note"


def test_whole_answers_promise_nothing_about_prefixes() -> None:
    """It is measured all the same that no window would do."""
    report = check_promise([counted])
    assert report.ok
    assert report.mode == "whole"
    assert (report.members[0].declared, report.members[0].unbounded) == (None, True)


def test_a_prefix_that_is_refused_though_the_text_is_not_is_an_error() -> None:
    """Whether the turn ends depends on where the frames were cut."""
    report = check_promise([even_quotes])
    shortest = example(the(report, "early-reject", "even-quotes"))
    assert (shortest.head, shortest.tail) == ("`", "`")
    assert kinds(report) == {"early-reject"}


def test_a_refusal_that_another_member_would_have_made_needless_is_a_warning() -> None:
    """Each by itself is steady: what the second refuses is hidden by the first once it is a whole pin."""

    @output_processor("no-123", incremental=Incremental(lookback_chars=2))
    def no_123(answer: Answer) -> Pass | Reject:
        return Reject("123") if "123" in answer.text else Pass()

    report = check_promise([then_pins, no_123])
    assert report.ok
    found = the(report, "early-reject", None)
    assert found.level == "warning"
    assert (example(found).head, example(found).tail) == ("123", "4")


def test_a_refusal_at_the_end_alone_is_a_note_that_says_how_much_is_out() -> None:
    """It is no leak: the turn visibly ends rejected."""
    report = check_promise([long])
    assert report.ok
    assert "characters are out by then" in the(report, "late-reject", "long").message


def test_an_answer_may_end_anywhere() -> None:
    """What is replaced at the end of a text alone is so in no text of the corpus, but where one is cut short."""

    @output_processor("last-word", incremental=Incremental(lookback_chars=4))
    def last_word(answer: Answer) -> Replace:
        return Replace(re.sub(r"secret\Z", "", answer.text))

    found = the(check_promise([last_word]), "window", "last-word")
    assert found.needed == 5
    assert example(found).head + example(found).tail == "secret"


def test_no_output_processors_promise_nothing() -> None:
    """Live pass-through is a feature."""
    report = check_promise([])
    assert report.ok
    assert (report.mode, report.members, report.chain) == ("live", (), None)
