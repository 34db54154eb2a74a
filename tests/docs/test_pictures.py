"""The pictures in `docs/`: what they show is so, they can be read in light and in dark, and they load nothing."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.docs import windows
from tests.docs.markdown import NAMES, PAGES, ROOT, prose
from topics.names import TOPICS

DOCS = ROOT / "docs"
PICTURES = sorted(DOCS.glob("*.svg"))
SVG = "{http://www.w3.org/2000/svg}"
#: What is written on what, by class; a `text` without a class is on each of these too.
GROUNDS = ("paper", "box", "part", "hidden-topic", "open-topic", "held", "out", "leak")
READABLE = 4.5  # the contrast that WCAG asks of small text
_RULE = re.compile(r"([\w., -]+?)\s*\{([^{}]*)\}")
_FILL = re.compile(r"(?<![\w-])fill: (#[0-9a-f]{6})")


@pytest.mark.parametrize("name", windows.pictures())
def test_the_pictures_of_windows_are_what_the_gate_does(name: str) -> None:
    """To the character; `python -m tests.docs.windows` draws them anew."""
    assert (DOCS / name).read_text(encoding="utf-8") == windows.pictures()[name]


def test_the_flow_has_the_topics_that_there_are() -> None:
    """Each in the colour of who may read it."""
    shown: dict[str, set[str]] = {"hidden-topic": set(), "open-topic": set()}
    root = ET.parse(DOCS / "flow.svg").getroot()  # noqa: S314 - our own file
    for group in root.iter(f"{SVG}g"):
        children = list(group)
        for box, label in pairwise(children):
            if box.get("class") in shown and "mono" in (label.get("class") or ""):
                shown[str(box.get("class"))] |= set((label.text or "").split(", "))
    readable = {topic.name for topic in TOPICS if topic.per_turn and not topic.sensitive}
    hidden = {topic.name for topic in TOPICS if topic.per_turn and topic.sensitive}
    assert shown["open-topic"] == readable
    assert shown["hidden-topic"] - {"journal"} <= hidden
    assert {"requests", "prompts", "frames", "tool-calls", "tool-results"} <= shown["hidden-topic"]


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)
def test_a_picture_says_what_it_shows_and_loads_nothing(picture: Path) -> None:
    """A title and a description for who cannot see it; neither scripts nor anything from elsewhere."""
    root = ET.parse(picture).getroot()  # noqa: S314 - our own file
    for tag in ("title", "desc"):
        (found,) = root.iter(SVG + tag)
        assert found.text
    tags = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert tags <= {"svg", "title", "desc", "style", "defs", "marker", "g", "rect", "path", "line", "text"}
    text = picture.read_text(encoding="utf-8")
    assert re.findall(r"https?://[^\"]+|url\([^#][^)]*\)|@import", text) == ["http://www.w3.org/2000/svg"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)
def test_a_picture_can_be_read(picture: Path, scheme: str) -> None:
    """Words stand out from what they are on, whichever colours a reader prefers."""
    fills = colours(picture.read_text(encoding="utf-8"), dark=scheme == "dark")
    words = [fills[name] for name in ("text", "small", "head", "note") if name in fills]
    grounds = {name: fills[name] for name in GROUNDS if name in fills}
    assert "paper" in grounds
    # Small words stand on paper and boxes only.
    for name, ground in grounds.items():
        on_it = words if name in {"paper", "box", "part"} else [fills["text"]]
        assert all(contrast(word, ground) >= READABLE for word in on_it), name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: NAMES[page])
def test_every_picture_has_words_for_who_cannot_see_it(page: Path) -> None:
    """Markdown's alternative text."""
    assert all(words for words in re.findall(r"!\[([^\]]*)\]\(", "\n".join(prose(page))))


def test_every_picture_is_shown() -> None:
    """On some page."""
    pages = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert [picture.name for picture in PICTURES if f"({picture.name})" not in pages] == []


def colours(text: str, *, dark: bool) -> dict[str, str]:
    """Return the fill of each class in a scheme."""
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    light, _, night = style.partition("@media (prefers-color-scheme: dark) {")
    assert night, "it has colours for the dark"
    found: dict[str, str] = {}
    for names, body in _RULE.findall(light + (night if dark else "")):
        if fill := _FILL.search(body):
            found |= {name.strip().lstrip("."): fill[1] for name in names.split(",")}
    return found


def contrast(one: str, other: str) -> float:
    """Return WCAG's contrast ratio of two colours, 1 to 21."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
