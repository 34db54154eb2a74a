"""What can go wrong with running chains, as seen by whoever asks for it.

    ChainsError
    ├── ChainStartError    the place where processors run could not be set up
    └── ChainsStoppedError a call was made of a runner that is not running

What processors do wrong is never one of these: it is in the outcome.
"""

from __future__ import annotations


class ChainsError(Exception):
    """Base of every error this package raises."""


class ChainStartError(ChainsError):
    """A child process for processors did not come up: says how it ended and what to look at."""


class ChainsStoppedError(ChainsError):
    """The runner is not running: start it first, or it was stopped while the call waited."""


#: What a deployment is told where nothing can be deployed.
NOTHING_TO_DEPLOY = (
    "there is no code here to deploy: start workers with TURNGATE_DEPS, with TURNGATE_PROCESSORS, or from an image that "
    "has a package with processors"
)
