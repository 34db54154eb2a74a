"""`whatsapp` and `plain_text`: Markdown in the form that a channel shows, without a word lost."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from processors import DeclarationError, Reply
from processors.builtin import extras, plain_text, whatsapp

WHATSAPP = whatsapp()
PLAIN = plain_text()


def shown(text: str) -> str:
    """Return what WhatsApp is given."""
    return WHATSAPP.process(Reply(text, channel="whatsapp")).text


def plain(text: str) -> str:
    """Return what a text message is given."""
    return PLAIN.process(Reply(text, channel="sms")).text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("**bold** __too__", "*bold* *too*"),
        ("*italic* _too_", "_italic_ _too_"),
        ("~~gone~~", "~gone~"),
        ("***both***", "*_both_*"),
        ("**bold *both* bold**", "*bold _both_ bold*"),
        ("`code` and ``a ` b``", "`code` and ```a ` b```"),
        ("`**not bold**`", "`**not bold**`"),
        ("# Head **line** #", "*Head line*"),
        ("Head\n====\ntext", "*Head*\n\ntext"),
        ("one\ntwo  \nthree", "one\ntwo\nthree"),
        ("one\n\n\n\ntwo", "one\n\ntwo"),
        ("**two\nlines**", "*two*\n*lines*"),
        ("un**believ**able", "unbelievable"),
        ("**A**, (**b**): **c**!", "*A*, (*b*): *c*!"),
        ("**5 * 3**", "5 * 3"),
        ("snake_case_name 2 * 3 * 4", "snake_case_name 2 * 3 * 4"),
        ("Tom &amp; Jerry \\*really\\*", "Tom & Jerry *really*"),
        ("a<br>b<br/> c", "a\nb\nc"),
        ("> quoted **words**\n> more\n>\n> end", "> quoted *words*\n> more\n>\n> end"),
        ("---", "---"),
    ],
)
def test_marks_become_whatsapps_own(text: str, expected: str) -> None:
    """Where WhatsApp reads them as such; elsewhere the words stay without."""
    assert shown(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[text](https://x.org/a_b_c)", "text (https://x.org/a_b_c)"),
        ("**[text](https://x.org)**", "*text* (https://x.org)"),
        ('[text](https://x.org "Title")', "text (Title: https://x.org)"),
        ("<https://x.org> https://y.org", "https://x.org https://y.org"),
        ("**https://x.org**", "*https://x.org*"),
        ("[https://x.org](https://x.org)", "https://x.org"),
        ("<bob@x.org> [bob@x.org](mailto:bob@x.org)", "bob@x.org bob@x.org"),
        ("[](https://x.org)", "https://x.org"),
        ("![a **cat**](cat.png)", "a *cat* (cat.png)"),
        ("![](cat.png)", "cat.png"),
        ("[text][1]\n\n[1]: https://x.org/ü?q=%20", "text (https://x.org/ü?q=%20)"),
        ("Text.\n\n[Note]: https://x.org 'Of nobody'", "Text.\n\nNote: Of nobody https://x.org"),
        ("[text](javascript:alert)", "[text](javascript:alert)"),
    ],
)
def test_links_are_followed_by_their_address(text: str, expected: str) -> None:
    """As it was written, never inside of marks, and once where the text says it already."""
    assert shown(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- a\n- b", "- a\n- b"),
        ("* a\n* b", "- a\n- b"),
        ("3. a\n4. b", "3. a\n4. b"),
        ("0) a", "0. a"),
        ("- a\n\n- b", "- a\n- b"),
        ("- a\n  - b\n    1. c", "- a\n  - b\n    1. c"),
        ("- a\n  more\n- b", "- a\n  more\n- b"),
        ("- a\n\n  > q", "- a\n  > q"),
        ("- ```py\n  x = 1\n    y\n  ```", "-\n```\nx = 1\n  y\n```"),
        ("-\n- b", "-\n- b"),
        ("- [ ] to do\n- [x] done", "- [ ] to do\n- [x] done"),
    ],
)
def test_lists_keep_their_numbers_and_levels(text: str, expected: str) -> None:
    """A line for each item."""
    assert shown(text) == expected


def test_code_stays_as_it_is_to_the_letter() -> None:
    """Wherever it stands; without its language, and without marks where those would end it."""
    code = "def x():\n    return `*a*`  # <br>\n\n"
    assert shown(f"```python\n{code}```") == f"```\n{code}```"
    assert shown("    four\n      six") == "```\nfour\n  six\n```"
    assert shown("> ```\n> a\n> b\n> ```") == "```\na\nb\n```"
    assert shown("~~~\n```\nx\n```\n~~~") == "```\nx\n```"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "| plan | price |\n|---|--:|\n| **pro** | 20 |\n| basic | `0` |",
            "- *plan:* *pro* · *price:* 20\n- *plan:* basic · *price:* `0`",
        ),
        ("| a: | |\n|-|-|\n| 1 | 2 |", "- *a:* 1 · 2"),
        ("| a | b |\n|-|-|\n| 1 |", "- *a:* 1 · *b:* –"),
        ("| a | b |\n|-|-|", "- *a* · *b*"),
        ("| a |\n|-|\n| x<br>y |", "- *a:* x / y"),
        ("| a |\n|-|\n| [t](http://x.org) |", "- *a:* t (http://x.org)"),
    ],
)
def test_each_row_of_a_table_is_a_line(text: str, expected: str) -> None:
    """With the heads in it."""
    assert shown(text) == expected


def test_plain_text_has_no_marks() -> None:
    """And the same lines."""
    text = "# Head\n\n**b** _i_ ~~s~~ `c` [t](http://x.org)\n\n> q\n\n- a\n\n| h |\n|-|\n| v |\n\n```py\nx\n```"
    assert plain(text) == "Head\n\nb i s c t (http://x.org)\n\nq\n\n- a\n\n- h: v\n\nx"


def test_other_channels_get_the_reply_as_it_is() -> None:
    """Those that are named, and no others."""
    assert WHATSAPP.process(Reply("**a**\n", channel="web")).text == "**a**\n"
    assert whatsapp(["wa"]).process(Reply("**a**", channel="wa")).text == "*a*"
    assert PLAIN.process(Reply("**a**", channel="voice")).text == "a"


def test_what_is_nested_beyond_all_measure_stays_as_it_is() -> None:
    """The parser would drop it."""
    text = "> " * 70 + "deep **down**"
    assert shown(text) == text
    assert "deep *down*" in shown("> " * 40 + "deep **down**")


def test_a_long_reply_is_written_whole() -> None:
    """Every line of it."""
    lines = [f"- **item {number}**: see [page {number}](https://x.org/{number})" for number in range(2_000)]
    out = shown("\n".join(lines)).splitlines()
    assert out == [f"- *item {number}*: see page {number} (https://x.org/{number})" for number in range(2_000)]


PIECES = (
    *(
        "word",
        "W0rd",
        "日本",
        "é",
        " ",
        "    ",
        "\n",
        "\n\n",
        "*",
        "**",
        "_",
        "__",
        "~~",
        "~",
        "`",
        "\n```\n",
        "> ",
        "- ",
    ),
    *("\n1. ", "# ", "|", "\n|-|-|\n", "[", "](", ")", "!", "<", ">", "\\", "&amp;", "<br>", "http://x.org", "\n[1]: "),
    *('"t"', ":"),
)
LETTERS = re.compile(r"[^\W\d_]")
LANGUAGE = re.compile(r"(?:`{3}|~{3})[^\n]*\w")


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join).filter(lambda text: not LANGUAGE.search(text)))
def test_no_word_is_lost(text: str) -> None:
    """Whatever the Markdown: letter by letter, since marks that are left out join words. Labels of links are no words."""
    for out in (shown(text), plain(text)):
        kept = Counter(LETTERS.findall(out.replace("&amp;", "&")))
        assert not Counter(LETTERS.findall(text.replace("&amp;", "&").replace("<br>", ""))) - kept


def test_without_the_parser_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """When it is declared."""

    def missing(_module: str) -> None:
        raise ImportError

    monkeypatch.setattr(extras, "import_module", missing)
    with pytest.raises(DeclarationError, match=r"turngate\[builtin\]"):
        whatsapp()
