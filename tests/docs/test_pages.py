"""What holds for every page: links lead somewhere, and names in code font exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from streams.settings import OTHER_VARIABLES, PREFIX, Settings
from tests.docs.markdown import NAMES, PAGES, ROOT, codes, fences, prose, sections

_LINK = re.compile(r"\]\(([^)\s]+)\)")
_ERROR = re.compile(r"\b[A-Z]\w+Error\b")
_VARIABLE = re.compile(rf"\b{PREFIX}[A-Z_]+[A-Z]\b")
_SOURCE = re.compile(r"\b(?:bench|deploy|docs|helm|examples|processors|streams|tests|topics)/[\w./-]*")

#: Errors that pages name and that are others': a provider's, in an example.
FOREIGN_ERRORS = frozenset({"RateLimitError"})


def anchor(title: str) -> str:
    """Return the fragment by which a heading is linked to."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def names_in_code() -> set[str]:
    """Return every word of the packages' source."""
    folders = ("processors", "streams", "topics")
    texts = (path.read_text(encoding="utf-8") for folder in folders for path in (ROOT / folder).rglob("*.py"))
    return {word for text in texts for word in re.findall(r"\w+", text)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: NAMES[page])
def test_links_lead_somewhere(page: Path) -> None:
    """Of each relative link the file is there, and the heading in it."""
    for link in _LINK.findall("\n".join(prose(page))):
        if "://" in link:
            continue
        place, _, fragment = link.partition("#")
        target = (page.parent / place).resolve() if place else page
        assert target.exists(), f"{link} leads nowhere"
        if fragment:
            assert fragment in {anchor(title) for title in sections(target)}, f"{link}: no such heading"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: NAMES[page])
def test_named_settings_errors_and_files_exist(page: Path) -> None:
    """A page that speaks of what is no longer there says so here."""
    text = page.read_text(encoding="utf-8")
    compose = "\n".join(path.read_text(encoding="utf-8") for path in ROOT.glob("docker-compose*.yml"))
    variables = {PREFIX + name.upper() for name in Settings.model_fields} | OTHER_VARIABLES
    variables |= set(_VARIABLE.findall(compose))  # it has some of its own
    assert set(_VARIABLE.findall(text)) <= variables
    assert set(_ERROR.findall(text)) - FOREIGN_ERRORS <= names_in_code()
    for path in (found for name in codes("\n".join(prose(page))) for found in _SOURCE.findall(name)):
        assert (ROOT / path).exists(), f"{path} is not there"


def test_the_index_leads_to_every_page() -> None:
    """A page that nobody finds is read by nobody."""
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    pages = [page for page in PAGES if page.parent == ROOT / "docs" and page.name != "index.md"]
    assert [page.name for page in pages if f"({page.name})" not in index] == []


def test_the_map_of_the_readme_names_every_package() -> None:
    """Those of the first two levels, so that nobody has to guess what one is for; and it names no other."""
    (drawn,) = [fence.text for fence in fences(ROOT / "README.md") if "streams/gate/ " in fence.text]
    folders = ("topics", "processors", "streams")
    packages = [path.parent for folder in folders for path in (ROOT / folder).glob("*/__init__.py")]
    assert [package.name for package in packages if f"{package.name}/ " not in drawn] == []
    named = {name.rstrip("/") for name in re.findall(r"^(?:\w+/)+", drawn, re.MULTILINE)}
    assert [name for name in sorted(named) if not (ROOT / name).is_dir()] == []
