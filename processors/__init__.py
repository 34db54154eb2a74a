"""Judgement: what processors see, what they answer, and how a chain of them is run."""

from __future__ import annotations

from processors.contracts import (
    Answer,
    FilePart,
    ImagePart,
    IncomingMessage,
    Message,
    Part,
    Prompt,
    Reply,
    TextPart,
    ToolCall,
    TurnContext,
    User,
)
from processors.declare import (
    Declaration,
    Incremental,
    Processor,
    input_processor,
    output_processor,
    post_processor,
    pre_processor,
)
from processors.deps import Deps, load_deps
from processors.errors import (
    DeclarationError,
    DepsError,
    DepsImportError,
    MalformedVerdictError,
    ProcessorCrashedError,
    ProcessorsError,
    ProcessorTimeoutError,
    RequiredControlError,
    ToolArgumentsError,
    ToolResultError,
)
from processors.manifest import Manifest
from processors.policy import FailurePolicy
from processors.tools import Tool, ToolContext, ToolSpec, tool
from processors.verdicts import Block, ModifiedResponse, Pass, Proceed, Reject, Replace

__all__ = [
    "Answer",
    "Block",
    "Declaration",
    "DeclarationError",
    "Deps",
    "DepsError",
    "DepsImportError",
    "FailurePolicy",
    "FilePart",
    "ImagePart",
    "IncomingMessage",
    "Incremental",
    "MalformedVerdictError",
    "Manifest",
    "Message",
    "ModifiedResponse",
    "Part",
    "Pass",
    "Proceed",
    "Processor",
    "ProcessorCrashedError",
    "ProcessorTimeoutError",
    "ProcessorsError",
    "Prompt",
    "Reject",
    "Replace",
    "Reply",
    "RequiredControlError",
    "TextPart",
    "Tool",
    "ToolArgumentsError",
    "ToolCall",
    "ToolContext",
    "ToolResultError",
    "ToolSpec",
    "TurnContext",
    "User",
    "input_processor",
    "load_deps",
    "output_processor",
    "post_processor",
    "pre_processor",
    "tool",
]
