"""The brokers that the tests run against.

One module for each kind, each with a `why_not` that says what this machine lacks and a `Broker` that can be started.
`tests/conftest.py` turns them into fixtures. The tests of the brokers themselves live here too.
"""

from __future__ import annotations
