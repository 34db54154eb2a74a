"""Nothing goes to a sensitive topic around what seals it, and nothing is read around what opens it."""

from __future__ import annotations

import ast

from tests.architecture.sources import importers, modules


def callers_of(name: str) -> set[str]:
    """Return the modules that call something of this name, as a function or as an attribute."""
    return {
        module.name
        for module in modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call)
        and (
            (isinstance(node.func, ast.Name) and node.func.id == name)
            or (isinstance(node.func, ast.Attribute) and node.func.attr == name)
        )
    }


def test_producers_are_made_where_they_are_taught_to_seal() -> None:
    """The shell asks with one of its own what the brokers can do, and sends nothing with it."""
    assert callers_of("AIOKafkaProducer") == {"streams.faust_shell.kafka"}
    assert callers_of("SealingProducer") == callers_of("BatchingProducer") == {"topics.producing"}
    (kafka,) = [module for module in modules() if module.name == "streams.faust_shell.kafka"]
    asking = next(node for node in ast.walk(kafka.tree) if getattr(node, "name", None) == "takes_idempotent_producers")
    used = {node.attr for node in ast.walk(asking) if isinstance(node, ast.Attribute) and "send" in node.attr}
    assert used == set()
    assert callers_of("send_batch") | callers_of("create_batch") == {"topics.producing"}


def test_faust_s_producer_is_made_there_too() -> None:
    """By the one place where Faust asks what to make."""
    (transport,) = [module for module in modules() if module.name == "streams.faust_shell.transport"]
    made = next(node for node in ast.walk(transport.tree) if getattr(node, "name", None) == "_producer_type")
    assert "producer_of" in ast.unparse(made)
    assert "topics.producing.producer_of" in transport.imports


def test_consumers_are_made_where_they_are_taught_to_open() -> None:
    """In the connection, and in the thread that Faust reads with."""
    assert callers_of("AIOKafkaConsumer") == {"topics.connection"}
    assert callers_of("read_everything") == {"topics.connection", "streams.faust_shell.transport"}


def test_connections_are_made_from_the_settings() -> None:
    """Which say what is sealed. The client has one of its own if it is only told an address, and the demo its own broker."""
    assert callers_of("Connection") == {"streams.broker_access", "streams.cli.work.demo", "topics.client"}
    assert callers_of("AsStored") == {"topics.key_use"}


def test_the_cipher_is_in_one_place() -> None:
    """And so is how a sealed value is laid out; whoever reads records meets neither."""
    assert importers("cryptography") == {"topics.key_ring"}
    assert importers("topics.envelope") == {
        "topics.key_ring",
        "topics.key_use",
        "topics.sealing",
        "streams.cli.work.key_ring",
    }
