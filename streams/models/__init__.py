"""The model runner's substance: what calls a model and turns its answer into frames.

    delta, adapter, errors   what a model adapter is: prompts in, pieces of output out
    script, openai           the two adapters; `openai_request` and `openai_chunks` speak the second one's wire format
    waits                    how long a provider asks to be left alone
    budget, breaker, asked   what a provider is spared, and the bookkeeping for it: pure, with the time handed in
    guard, guarded           the three put together, and an adapter whose calls go through them
    routing                  which adapter answers a request
    frames                   pieces of output as `ModelFrame` records
    mailbox, window, calls   the call pool: many calls at once, each one's frames in order and without gaps

Nothing here knows Faust, reads the environment or the clock; importing this package imports none of its modules.
"""

from __future__ import annotations
