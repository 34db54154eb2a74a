"""Real processes on real brokers, killed, stopped and replaced while dozens of turns are open; readers must not notice.

`faults.py` is the list of what is done to them, `arena.py` does it to a wave of turns, `readers.py` watches what readers
see, and `report.py` prints the table at the end. A short form is part of every test run; `make chaos` runs all of it.
"""

from __future__ import annotations
