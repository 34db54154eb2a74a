"""A person is erased from a running pipeline: real workers on real brokers, the command, a kill, and everybody's logs."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from aiokafka import TopicPartition
from pydantic import SecretStr

from streams.private_ids import hashed
from streams.settings import environment
from tests.brokers.broker import Broker
from tests.integration.pipeline import Pipeline
from tests.streams.cli.command import Done, turngate
from topics import names
from topics.names import JournalRole
from topics.records import PromptRequest
from topics.snapshots import to_the_end

HIDDEN = "Rumpelstiltskin"
PERSON = "jane-doe"
SALT = "a key of this deployment"
DONE = ["ok ", HIDDEN]


async def erase(pipeline: Pipeline, *arguments: str) -> Done:
    """Run the command beside the pipeline."""
    variables = {key: value for key, value in environment(pipeline.settings).items() if key.startswith("TURNGATE_")}
    return await asyncio.to_thread(turngate, "erase", *arguments, cwd=pipeline.directory, **variables)


async def compacted(pipeline: Pipeline, role: JournalRole) -> dict[bytes, bytes]:
    """Return what compaction leaves of a journal: of each key the last value, and nothing where that is a tombstone."""
    topic = pipeline.names.journal(role)
    found: dict[bytes, bytes] = {}
    async with pipeline.connection.consumer() as consumer:
        places = [TopicPartition(topic, number) for number in range(pipeline.client.partitions)]
        async for one in to_the_end(pipeline.connection, consumer, places):
            if one.value is None:
                found.pop(one.key, None)
            else:
                found[one.key] = one.value
    return found


def told(answer: Done, key: str) -> dict[str, Any]:
    """Return the rows that have `key`, by what stands there."""
    return {row[key]: row for row in answer.rows if key in row}


async def prompt_of(pipeline: Pipeline, turn_id: str) -> PromptRequest:
    """Return what a turn's model was told."""
    found = await pipeline.wait_for_records(names.PROMPTS, lambda all_: any(one.turn_id == turn_id for one in all_))
    prompt: PromptRequest = next(one for one in found if one.turn_id == turn_id)
    return prompt


async def test_a_person_is_erased(broker: Broker, prefix: str, tmp_path: Path) -> None:
    """Two threads of theirs, one with an open turn: nothing is left, others stay, and a new worker knows no more."""
    async with Pipeline(broker.bootstrap, prefix, tmp_path, partitions=2, log_id_salt=SecretStr(SALT)) as pipeline:
        (worker,) = pipeline.start("turns")
        pipeline.start("models")
        await pipeline.ready()
        user = {"id": PERSON}
        first = [await pipeline.submit(f"I am {HIDDEN}", f"{PERSON}-1", DONE, user=user) for _ in range(2)]
        other = await pipeline.submit("remember me", "somebody-else", ["I will"])
        await pipeline.read([*first, other])
        failing = [{"error": {"type": "ServerError", "message": HIDDEN}}]
        failed = await pipeline.submit(f"I am {HIDDEN}", f"{PERSON}-2", failing, user=user)
        await pipeline.read([failed])
        opened = await pipeline.open_turn(f"{PERSON}-2")

        refused = await erase(pipeline, "--json", "--user", PERSON)
        assert refused.status == 1
        assert refused.rows[-1]["refused"] == 1
        done = await erase(pipeline, "--json", "--user", PERSON, "--cancel-open")
        assert (done.status, done.rows[-1]["silent"]) == (0, 0), done.err
        view = (await pipeline.read([opened]))[opened]
        assert view.terminal is not None
        assert view.terminal.kind == "cancelled"
        counts = {what: row["count"] for what, row in told(done, "erased").items()}
        # The first thread went when only the second one's open turn stood in the way, if they are in two partitions.
        assert counts["turns"] in {2, 4}
        assert done.rows[-1]["runners"] == ["models"]
        remains = told(done, "remains")
        assert remains[f"{prefix}released"]["until"] > remains[f"{prefix}prompts"]["until"]

        unknown = await erase(pipeline, "--thread", "nobodys")
        assert unknown.status == 0
        assert "Nothing of this thread was there in tenant 'default'" in unknown.err

        worker.kill()
        pipeline.start("turns")
        await pipeline.ready()
        nothing = [what.encode() for what in (HIDDEN, PERSON)]
        for role in ("turns", "models"):
            left = await compacted(pipeline, role)
            assert not [key for key, value in left.items() for one in nothing if one in key + value], role
            assert any(b"somebody-else" in key for key in left), role

        again = await pipeline.submit("who am I?", f"{PERSON}-1", ["no idea"])
        known = await pipeline.submit("do you know me?", "somebody-else", ["I do"])
        await pipeline.read([again, known])
        assert [one.content for one in (await prompt_of(pipeline, again.turn_id)).prompt.messages] == ["who am I?"]
        assert len((await prompt_of(pipeline, known.turn_id)).prompt.messages) == 3

        audited = await audit(pipeline)
        assert [row["action"] for row in audited] == ["erase", "erased"] * 3
        assert PERSON not in json.dumps(audited)
    logs = "\n".join(one.log.read_text(encoding="utf-8") for one in pipeline.workers)
    assert f"model call failed: turn {hashed(f'default/{PERSON}-2', SALT)}/{hashed(str(failed), SALT)}" in logs
    assert HIDDEN not in logs
    assert PERSON not in logs
    assert failed.turn_id not in logs


async def audit(pipeline: Pipeline) -> list[dict[str, Any]]:
    """Return the audit trail."""
    async with pipeline.connection.consumer() as consumer:
        place = TopicPartition(pipeline.names.topic(names.AUDIT), 0)
        return [json.loads(one.value) async for one in to_the_end(pipeline.connection, consumer, [place])]
