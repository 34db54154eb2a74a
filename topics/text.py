"""Text on the wire: always valid UTF-8, whatever a producer wrote.

JSON can spell half of a surrogate pair. Such a half is no character and no UTF-8; where two halves stand side by side
they are joined, and one that stays alone becomes U+FFFD.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator


def well_formed(value: object) -> object:
    """Return a text with surrogate pairs joined and lone surrogates replaced, and anything else as it is."""
    if not isinstance(value, str) or value.isascii():
        return value
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return value


def followed_by(text: str, more: str, *, ended: bool = True) -> str:
    """Return `text`, well-formed but for half of a pair at its end, followed by `more`: well-formed if it `ended` there.

    Otherwise a first half at the end stays, for the second to follow.
    """
    if text and is_first_half(text[-1]):
        text, more = text[:-1], text[-1] + more
    half = more[-1] if more and not ended and is_first_half(more[-1]) else ""
    return f"{text}{well_formed(more[:-1] if half else more)}{half}"


def piece(text: str, *, ended: bool) -> str:
    """Return a piece of a longer text, well-formed but for what its neighbours may complete.

    That is half of a surrogate pair at its beginning, or, unless the text `ended` with it, at its end.
    """
    if text.isascii():
        return text
    half = text[0] if "\udc00" <= text[0] <= "\udfff" else ""
    return half + followed_by("", text[1:] if half else text, ended=ended)


def is_first_half(char: str) -> bool:
    """Return whether `char` is the first half of a surrogate pair."""
    return "\ud800" <= char <= "\udbff"


#: A `str` field that holds only characters which exist in UTF-8.
Text = Annotated[str, BeforeValidator(well_formed)]


def none_if_empty(value: object) -> object:
    """Return None for an empty text: some servers write an empty finish reason into every chunk, and finish nothing."""
    return None if value == "" else value
