"""The broker that turngate can bring along, and how other commands find it.

`streams.brokers.embedded` starts and stops it, `streams.brokers.runtime_file` tells other processes its address.
Importing this package imports neither.
"""

from __future__ import annotations
