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


#: A `str` field that holds only characters which exist in UTF-8.
Text = Annotated[str, BeforeValidator(well_formed)]


def none_if_empty(value: object) -> object:
    """Return None for an empty text: some servers write an empty finish reason into every chunk, and finish nothing."""
    return None if value == "" else value
