"""Judgement: what processors see, what they answer, and how a chain of them is run."""

from __future__ import annotations

from processors.agents import Agent
from processors.budgets import Budget
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
    ToolCallCheck,
    ToolDefinition,
    TurnContext,
    Usage,
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
    DeploymentError,
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
from processors.factories import processor_factory
from processors.history import LastMessages, TokenLimit
from processors.manifest import Manifest
from processors.policy import FailurePolicy
from processors.rules import message_rule, tool_rule
from processors.spending import spend
from processors.tools import Tool, ToolContext, ToolSpec, tool
from processors.verdicts import Allow, Block, Deny, ModifiedResponse, Pass, Proceed, Reject, Replace

__all__ = [
    "Agent",
    "Allow",
    "Answer",
    "Block",
    "Budget",
    "Declaration",
    "DeclarationError",
    "Deny",
    "DeploymentError",
    "Deps",
    "DepsError",
    "DepsImportError",
    "FailurePolicy",
    "FilePart",
    "ImagePart",
    "IncomingMessage",
    "Incremental",
    "LastMessages",
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
    "TokenLimit",
    "Tool",
    "ToolArgumentsError",
    "ToolCall",
    "ToolCallCheck",
    "ToolContext",
    "ToolDefinition",
    "ToolResultError",
    "ToolSpec",
    "TurnContext",
    "Usage",
    "User",
    "input_processor",
    "load_deps",
    "message_rule",
    "output_processor",
    "post_processor",
    "pre_processor",
    "processor_factory",
    "spend",
    "tool",
    "tool_rule",
]
