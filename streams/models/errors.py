"""What can go wrong with a model call on this side of the wire.

    ModelCallError
    ├── AdapterMissingError       the adapter's SDK is not installed
    ├── ModelNotConfiguredError   the operator configured no model for this request
    ├── ScriptDisabledError       a scripted answer was asked for and the operator does not allow them
    ├── InvalidScriptError        the script of a request cannot be played
    ├── InvalidParamsError        `params` name something that callers may not set
    ├── UnsupportedContentError   a message part that the model server has no form for
    ├── ModelTimeoutError         the call's deadline passed, and nobody cancelled the call
    ├── CircuitOpenError          the provider was down lately; the call was not made (retryable)
    ├── ProviderPausedError       the provider asked for a pause; the call was not made (retryable)
    ├── RetryBudgetExhaustedError the call would have been a retry too many; it was not made
    ├── MalformedStreamError      the model server sent something that is not its protocol (retryable)
    ├── UnfinishedStreamError     the answer stopped without a finish (retryable)
    ├── CallCancelledError        the turn worker cancelled the call (retryable)
    └── CallInterruptedError      a call was found started and never finished (retryable)

Their messages are written here and name fields, never values: they may be shown and logged. A provider's own errors
keep the provider's class names and wording instead (`ModelError.message`), and are neither released nor logged.
"""

from __future__ import annotations

from typing import ClassVar

from topics.records import ModelError


class ModelCallError(Exception):
    """Base of this package's errors; `retryable` says whether a new attempt may fare better, `retry_after_s` when."""

    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s

    def as_error(self) -> ModelError:
        """Return this error as it goes on the wire."""
        return ModelError(
            type=type(self).__name__, message=str(self), retryable=self.retryable, retry_after_s=self.retry_after_s
        )


class AdapterMissingError(ModelCallError):
    """The SDK an adapter needs is not installed; the message names the extra."""


class ModelNotConfiguredError(ModelCallError):
    """There is no model to send this request to; the message names the settings."""


class ScriptDisabledError(ModelCallError):
    """A scripted answer was asked for where the operator does not allow them; the message names the setting."""


class InvalidScriptError(ModelCallError):
    """The script of a request cannot be played; the message names the fields at fault."""


class InvalidParamsError(ModelCallError):
    """`params` name something that is not a caller's to set; the message names it."""


class UnsupportedContentError(ModelCallError):
    """A message part has no form in the model server's API; the message says which and what to send instead."""


class ModelTimeoutError(ModelCallError):
    """The call's deadline passed before the model had finished, and no cancel came in the grace after it."""


class CircuitOpenError(ModelCallError):
    """The provider failed so often in a row that it is left alone for `retry_after_s`."""

    retryable = True


class ProviderPausedError(ModelCallError):
    """The provider asked to be left alone for `retry_after_s` yet, which is longer than a call waits."""

    retryable = True


class RetryBudgetExhaustedError(ModelCallError):
    """The provider was asked before in this step, and too many calls to it are such retries already."""


class MalformedStreamError(ModelCallError):
    """The model server sent something that is not its protocol."""

    retryable = True


class UnfinishedStreamError(ModelCallError):
    """The stream of an answer ended and nothing said that the answer had."""

    retryable = True


class CallCancelledError(ModelCallError):
    """The turn worker cancelled the call. Retryable, so that a cancel meant for no live attempt does no harm."""

    retryable = True


class CallInterruptedError(ModelCallError):
    """A model runner died while the call was open."""

    retryable = True


def describe(exc: BaseException) -> ModelError:
    """Return what to tell the turn worker of `exc`, which an adapter raised instead of yielding.

    Only this package's errors keep their message: any other's may quote content.
    """
    if isinstance(exc, ModelCallError):
        return exc.as_error()
    return ModelError(type=type(exc).__name__, retryable=isinstance(exc, OSError))
