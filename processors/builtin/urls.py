"""URLs that carry credentials."""

from __future__ import annotations

from collections.abc import Iterator

from processors.patterns import Pattern, Span
from processors.patterns.redactor import Redactor, Rule

#: A bounded scheme: a name without an end before `://` would be tried at each of its letters.
_AUTHORITY = "[A-Za-z][A-Za-z0-9+.-]{0,19}://[^\\s/?#\"'<>`@]+(?:@[^\\s/?#\"'<>`@]*)*@"
_REST = "[^\\s\"'<>`]*"
#: Users of public services, by name only.
_PUBLIC = frozenset({"git", "hg", "svn", "anonymous"})


class CredentialUrls:
    """Finds URLs with a user, up to the `@` (or, if `whole`, to their end)."""

    def __init__(self, *, whole: bool) -> None:
        self._pattern = Pattern(_AUTHORITY + (_REST if whole else ""))

    def spans(self, text: str, start: int = 0, *, ended: bool) -> Iterator[Span]:
        """Yield what is found at `start` or later, from left to right, none over another."""
        for span in self._pattern.spans(text, start, ended=ended):
            found = text[span.start : span.end]
            first, last = credentials(found)
            if found[first:last] not in _PUBLIC:
                yield span

    def open_from(self, text: str, start: int = 0) -> int:
        """Return the first place at `start` or later from which the rest of `text` could grow into a finding."""
        return self._pattern.open_from(text, start)


def credentials(url: str) -> tuple[int, int]:
    """Return from where to where of `url` its user and password stand."""
    first = url.index("://") + 3
    ends = (url.find(end, first) for end in "/?#")
    authority_end = min((end for end in ends if end >= 0), default=len(url))
    return first, url.rindex("@", first, authority_end)


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
    part = None if whole else credentials
    rule = Rule(label, CredentialUrls(whole=whole), part=part, same=str)
    return Redactor(name, [rule], placeholder=placeholder, numbered=numbered)
