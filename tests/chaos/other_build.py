"""A worker as an older build would be it: one that knows journal records up to the version given as the first argument.

What it writes is what this build writes with its settings, of which `journal_version` must be no newer. Started with
`python -m tests.chaos.other_build VERSION --role turns`.
"""

from __future__ import annotations

import sys

from streams.gate import records
from turngate import main

if __name__ == "__main__":
    records.JOURNAL_VERSION = int(sys.argv.pop(1))
    sys.argv[1:1] = ["worker"]
    sys.exit(main())  # type: ignore[arg-type] # whatever the command line returns is its exit status
