"""The gateway: turns over HTTP, for callers and readers that do not speak Kafka.

    hub        reads `released` once for all readers; a reader is a position in a turn's text, and has no queue
    recovery   turns that began before this gateway did are read again, from where they began
    reading    what a reader at a position is sent next: pure
    turns_api  submit, look at, follow and cancel turns
    traces, timeline, pulse   what happened to turns and when, put together from topics without content
    console_api, console_files   what the console asks, and its page, which is in `console/`
    keys, auth, limits   who may, and how much
    faults     one shape for every error

Any number of gateways stand in front of the same topics. None keeps anything that another would miss: what a reader needs
to go on elsewhere is in the ids of the events it was sent.
"""
