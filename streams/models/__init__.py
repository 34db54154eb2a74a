"""The model runner's substance: what calls a model and turns its answer into frames (design §9, Model runners).

    delta, adapter, errors   what a model adapter is: prompts in, pieces of output out
    script, openai           the two adapters; `openai_request` and `openai_chunks` speak the second one's wire format
    routing                  which adapter answers a request
    frames                   pieces of output as `ModelFrame` records
    mailbox, window, calls   the call pool: many calls at once, each one's frames in order and without gaps

Nothing here knows Faust, reads the environment or the clock; importing this package imports none of its modules.
"""

from __future__ import annotations
