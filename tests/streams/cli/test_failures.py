"""Errors become one sentence without content, and a status."""

from __future__ import annotations

import logging

import pytest
from aiokafka.errors import NodeNotReadyError

from processors import DepsError, RequiredControlError
from streams.brokers.embedded import EmbeddedBrokerMissingError
from streams.chains import ChainStartError
from streams.cli.failures import CommandError, explain, report
from streams.models.errors import AdapterMissingError
from streams.settings import SettingsError
from topics.client import ContradictedTextError
from topics.errors import BrokerUnreachableError, RecordTooLargeError, TopicLayoutError


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (CommandError("do this", 130), 130),
        (SettingsError("do this"), 2),
        (DepsError("do this"), 2),
        (RequiredControlError("do this"), 2),
        (AdapterMissingError("do this"), 2),
        (BrokerUnreachableError("do this"), 3),
        (EmbeddedBrokerMissingError("do this"), 3),
        (TopicLayoutError("do this"), 1),
        (RecordTooLargeError("do this"), 1),
        (ContradictedTextError("do this"), 1),
        (ChainStartError("do this"), 1),
    ],
)
def test_our_own_errors_speak_for_themselves(error: Exception, status: int) -> None:
    """Their messages tell what to do and quote nothing."""
    assert explain(error) == (status, "do this")


def test_an_error_of_the_kafka_client_is_an_unreachable_broker() -> None:
    """It is named by its class."""
    status, sentence = explain(NodeNotReadyError("some words"))
    assert status == 3
    assert "NodeNotReadyError" in sentence
    assert "some words" not in sentence


class SettingsErrorOfOthers(Exception):  # noqa: N818 - as a foreign library might name it
    """Nothing of ours."""


SettingsErrorOfOthers.__name__ = "SettingsError"


@pytest.mark.parametrize("error", [ValueError("the user said hello"), SettingsErrorOfOthers("the user said hello")])
def test_other_errors_are_named_and_never_quoted(error: Exception) -> None:
    """Their messages may hold what users or models wrote."""
    status, sentence = explain(error)
    assert status == 70
    assert type(error).__name__ in sentence
    assert "hello" not in sentence


def test_the_traceback_is_shown_at_level_debug_only(capsys: pytest.CaptureFixture[str]) -> None:
    """Most people have no use for it."""
    root = logging.getLogger()
    before = root.level
    try:
        root.setLevel(logging.INFO)
        report(CommandError("do this"))
        assert capsys.readouterr().err == "turngate: do this\n"
        root.setLevel(logging.DEBUG)
        report(CommandError("do this"))
        assert "CommandError: do this" in capsys.readouterr().err
    finally:
        root.setLevel(before)
