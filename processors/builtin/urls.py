"""URLs that carry credentials."""

from __future__ import annotations

from processors.patterns import Pattern
from processors.patterns.redactor import Redactor, Rule

_AUTHORITY = "[A-Za-z][A-Za-z0-9+.-]*://[^\\s/?#\"'<>`@]+(?:@[^\\s/?#\"'<>`@]*)*@"
_REST = "[^\\s\"'<>`]*"
#: Users of public services, by name only.
_PUBLIC = frozenset({"git", "hg", "svn", "anonymous"})


def credentials(url: str) -> tuple[int, int]:
    """Return from where to where of `url` its user and password stand."""
    first = url.index("://") + 3
    ends = (url.find(end, first) for end in "/?#")
    authority_end = min((end for end in ends if end >= 0), default=len(url))
    return first, url.rindex("@", first, authority_end)


def _is_private(url: str) -> bool:
    first, last = credentials(url)
    return url[first:last] not in _PUBLIC


def credential_urls(
    name: str = "redact-url-credentials",
    *,
    whole: bool = False,
    label: str = "CREDENTIALS",
    placeholder: str = "[{label}]",
    numbered: bool = False,
) -> Redactor:
    """Return a processor that replaces user and password in URLs, or, with `whole`, the URLs that have them.

    A user that public services share, such as `git`, is left where it stands alone.
    """
    finder = Pattern(_AUTHORITY + (_REST if whole else ""), check=_is_private)
    rule = Rule(label, finder, part=None if whole else credentials, same=str)
    return Redactor(name, [rule], placeholder=placeholder, numbered=numbered)
