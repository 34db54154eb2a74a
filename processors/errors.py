"""What can go wrong with processors, apart from what they themselves throw.

    ProcessorsError
    ├── DeclarationError        a processor is declared with something it cannot have
    ├── DepsError               the operator's `Deps` cannot be used
    │   ├── DepsImportError       `module:attribute` leads to no `Deps`
    │   ├── RequiredControlError  a control that must be active is not
    │   └── DeploymentError       what is deployed cannot be run
    ├── MalformedVerdictError   a processor answered with something that is no verdict (a TypeError too)
    ├── ProcessorTimeoutError   a processor ran longer than its limit
    ├── ProcessorCrashedError   a processor's process died while it ran
    ├── ToolArgumentsError      a model called a tool with arguments that the tool does not take
    └── ToolResultError         a tool returned what JSON cannot say

The names of the three in front of those of tools also stand where an outcome carries the class name of what a processor
threw. No message of these errors quotes what a processor saw or answered.
"""

from __future__ import annotations


class ProcessorsError(Exception):
    """Base of every error this package raises."""


class DeclarationError(ProcessorsError):
    """A processor is declared wrongly: says which one, what is wrong, and what would be right."""


class DepsError(ProcessorsError):
    """The operator's `Deps` cannot be used as it is: says which entry is wrong and what to do."""


class DepsImportError(DepsError):
    """No `Deps` was found where `module:attribute` points: says what was looked for, where, and what went wrong."""


class RequiredControlError(DepsError):
    """A name in `required_controls` belongs to no active input or output processor."""


class DeploymentError(DepsError):
    """What is deployed cannot be run, or may not be: says which processor, why, and what to do."""


class MalformedVerdictError(ProcessorsError, TypeError):
    """A processor's answer is no verdict of its kind, or a verdict was made of the wrong things."""


class ProcessorTimeoutError(ProcessorsError):
    """A processor ran longer than its `timeout_s`."""


class ProcessorCrashedError(ProcessorsError):
    """The process that ran a processor died under it: `os._exit`, a native crash, or the out-of-memory killer."""


class ToolArgumentsError(ProcessorsError):
    """A model's arguments are not what the tool takes. The message quotes none of them.

    `for_model` tells the model what is wrong, and may repeat what it wrote: it is content, and goes to the model alone.
    """

    def __init__(self, message: str, for_model: str = "") -> None:
        """Say what is wrong, to the operator and to the model."""
        super().__init__(message)
        self.for_model = for_model


class ToolResultError(ProcessorsError):
    """A tool's result can be said neither as a text nor in JSON."""
