"""The shortest redactor: readers never see an e-mail address, however the model's answer is cut into frames.

turngate up --model script --deps redact_emails:deps        (in this folder)
turngate send "who can help?" --script answer.jsonl
"""

from __future__ import annotations

import re

from processors import Answer, Deps, Incremental, Replace, output_processor

# A match is never longer than 64 + 1 + 255 characters, and so much of the text must wait for what may follow it.
EMAIL = re.compile(r"[\w.+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,3}")


@output_processor(name="redact-emails", incremental=Incremental(lookback_chars=320))
def redact_emails(answer: Answer) -> Replace:
    """Return the answer with every e-mail address replaced."""
    return Replace(EMAIL.sub("[email]", answer.text))


deps = Deps(output_processors=[redact_emails])
