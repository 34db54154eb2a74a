"""Versions of processors on running workers: deployed, rolled back and refused, under traffic and without a restart."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from streams.settings import environment
from tests.brokers.broker import Broker
from tests.integration.pipeline import ROOT, Pipeline
from topics import names
from topics.ids import TurnKey
from topics.records import CompletedFrame, RejectedFrame

MODULE = "tests.integration.versions"
DEPS = f"{MODULE}:deps"
MORE = (f"{MODULE}:more",)


async def command(pipeline: Pipeline, *words: str, **changes: Any) -> tuple[int, list[dict[str, Any]], str]:
    """Run a command of turngate; return its exit status, the objects it printed, and what it said on stderr."""
    settings = pipeline.settings.model_copy(update=changes)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "turngate", *words, "--json"),
        env=environment(settings),
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    out, err = await process.communicate()
    return process.returncode or 0, [json.loads(line) for line in out.splitlines()], err.decode()


async def done(pipeline: Pipeline, *words: str, **changes: Any) -> list[dict[str, Any]]:
    """Run a command that is to succeed, and return what it printed."""
    status, rows, err = await command(pipeline, *words, **changes)
    assert status == 0, err
    return rows


async def reply(pipeline: Pipeline, turn: TurnKey) -> str:
    """Return a turn's reply, once it is complete."""
    views = await pipeline.read([turn])
    end = views[turn].terminal
    assert isinstance(end, CompletedFrame), end
    return views[turn].text


async def asked(pipeline: Pipeline, text: str, thread: str, **fields: Any) -> TurnKey:
    """Submit a turn whose model says `text`."""
    return await pipeline.submit("hello", thread, [text], **fields)


async def test_a_version_is_deployed_and_rolled_back_under_traffic(broker: Broker, prefix: str, tmp_path: Path) -> None:
    """Turns in flight keep what they began with, those after them get the new one; the trail says who did it."""
    async with Pipeline(broker.bootstrap, prefix, tmp_path, DEPS, processors=MORE) as pipeline:
        pipeline.start("turns", 2)
        pipeline.start("models")
        await pipeline.ready()
        assert await reply(pipeline, await asked(pipeline, "before", "a")) == "before [1]"
        await done(pipeline, "processors", "push", "mark@2", "--by", "ann")
        recorded = await done(pipeline, "backtest", "mark@2", "--frames", "frames")
        assert recorded[-1]["answers"] == recorded[-1]["candidate"]["changed"] == recorded[-1]["different"] > 0
        assert "before" not in str(recorded)
        open_turn = await pipeline.open_turn("b")
        flow = [await asked(pipeline, f"slow {number}", f"flow-{number}") for number in range(4)]
        await done(pipeline, "processors", "deploy", "mark@2", "--by", "ann")
        assert await reply(pipeline, await asked(pipeline, "after", "a")) == "after [2]"
        frame = {"step": 0, "attempt": 0, "seq": 0, "text": "still", "finish_reason": "stop"}
        await pipeline.send_raw(names.FRAMES, open_turn, json.dumps(frame).encode())
        assert await reply(pipeline, open_turn) == "still [1]"
        views = await pipeline.read(flow)
        assert {view.text.rpartition(" ")[2] for view in views.values()} == {"[1]"}
        assert all(getattr(view.terminal, "chain_changed", None) is None for view in views.values())
        rows = await done(pipeline, "processors", "list")
        assert rows[-1] == {"converged": True, "workers": 3, "offset": rows[-1]["offset"]}
        assert sorted(row["role"] for row in rows if "role" in row) == ["models", "turns", "turns"]
        assert [row["version"] for row in rows if row.get("name") == "mark"] == ["2"]
        await done(pipeline, "processors", "rollback", "mark", "--by", "bob")
        assert await reply(pipeline, await asked(pipeline, "again", "a")) == "again [1]"
        trail = await done(pipeline, "audit", "export")
        assert [(row["by"], row["action"]) for row in trail if row["of"] == "audit"] == [
            ("ann", "push"),
            ("ann", "deploy"),
            ("bob", "rollback"),
        ]
        assert {row["version"] for row in trail if row["of"] == "decisions" and row["processor"] == "mark"} == {
            "1",
            "2",
        }


async def test_what_cannot_run_is_refused_and_what_runs_stays(broker: Broker, prefix: str, tmp_path: Path) -> None:
    """Code that a live worker lacks, a configuration of the wrong kind, a factory that fails, a control taken away."""
    async with Pipeline(broker.bootstrap, prefix, tmp_path, DEPS) as pipeline:
        (bare,) = pipeline.start("turns")
        pipeline.start("models")
        await pipeline.ready()
        await done(pipeline, "processors", "push", "mark@2", processors=MORE)
        status, _, err = await command(pipeline, "processors", "deploy", "mark@2")
        assert status == 2
        assert "without its code" in err
        assert bare.stop() == 0
        pipeline.start("turns", processors=MORE)
        await pipeline.ready()
        status, _, err = await command(
            pipeline, "processors", "push", "no-words", "--config", '{"words": []}', processors=MORE
        )
        assert (status, "words" in err) == (2, True)
        status, _, err = await command(
            pipeline, "processors", "push", "broken", "--config", '{"words": ["x"]}', processors=MORE
        )
        assert (status, "LookupError" in err, "secret" in err) == (2, True, False)
        status, _, err = await command(pipeline, "processors", "deactivate", "mark", processors=MORE)
        assert (status, "stays active" in err) == (2, True)
        status, _, err = await command(pipeline, "processors", "deactivate", "mark", deps=None)
        assert (status, "stays active" in err, "is back" in err) == (1, True, True)
        (summary,) = (await done(pipeline, "processors", "list"))[-1:]
        assert summary["converged"]
        assert await reply(pipeline, await asked(pipeline, "now", "a")) == "now [1]"
        await done(pipeline, "processors", "deploy", "mark@2", processors=MORE)
        assert await reply(pipeline, await asked(pipeline, "then", "a")) == "then [2]"


async def test_a_tenant_may_have_more(broker: Broker, prefix: str, tmp_path: Path) -> None:
    """A control that is deployed for one tenant judges its turns, and nobody else's; it takes nothing away."""
    async with Pipeline(broker.bootstrap, prefix, tmp_path, DEPS, processors=MORE) as pipeline:
        pipeline.start("turns")
        pipeline.start("models")
        await pipeline.ready()
        (pushed,) = await done(pipeline, "processors", "push", "no-words", "--config", '{"words": ["gold"]}')
        await done(pipeline, "processors", "deploy", f"no-words@{pushed['version']}", "--tenant", "acme")
        theirs = await asked(pipeline, "gold", "a", tenant="acme")
        ours = await asked(pipeline, "gold", "a")
        views = await pipeline.read([theirs, ours])
        assert isinstance(views[theirs].terminal, RejectedFrame)
        assert views[ours].text == "gold [1]"
        status, _, err = await command(pipeline, "processors", "deploy", "mark@1", "--tenant", "acme")
        assert status == 2, err


async def test_a_version_in_the_shadow_judges_and_changes_nothing(broker: Broker, prefix: str, tmp_path: Path) -> None:
    """What it says of live answers is on record, marked, with whether it came to the same."""
    async with Pipeline(broker.bootstrap, prefix, tmp_path, DEPS, processors=MORE) as pipeline:
        pipeline.start("turns")
        pipeline.start("models")
        await pipeline.ready()
        await done(pipeline, "processors", "push", "mark@2")
        await done(pipeline, "processors", "shadow", "mark@2")
        turn = await asked(pipeline, "seen", "a")
        assert await reply(pipeline, turn) == "seen [1]"

        def both(records: list[Any]) -> bool:
            return len([one for one in records if one.turn == turn and one.processor == "mark"]) >= 2

        found = await pipeline.wait_for_records(names.DECISIONS, both)
        said = [(one.version, one.shadow, one.same) for one in found if one.turn == turn and one.processor == "mark"]
        assert sorted(said, key=str) == [("1", None, None), ("2", True, False)]
        await done(pipeline, "processors", "shadow", "mark", "--off")
        assert await reply(pipeline, await asked(pipeline, "alone", "a")) == "alone [1]"


VERSION = '''
"""A version of a processor, in a module of its own."""
from __future__ import annotations
from processors import Answer, Replace, output_processor


@output_processor("mark", version="{version}")
async def mark(answer: Answer) -> Replace:
    return Replace(answer.text + " [{version}]")
'''


def image(folder: Path, *versions: str) -> Path:
    """Write the code of an image into a folder, and return the folder: its Deps has the first of its versions."""
    folder.mkdir()
    for version in versions:
        (folder / f"mark_of_theirs_{version}.py").write_text(VERSION.format(version=version))
    (folder / "deps_of_theirs.py").write_text(
        "from processors import Deps\n"
        f"from mark_of_theirs_{versions[0]} import mark\n\n"
        "deps = Deps(output_processors=[mark])\n"
    )
    return folder


async def test_an_image_is_rolled_out_under_traffic_and_back(
    broker: Broker, prefix: str, tmp_path: Path, monkeypatch: Any
) -> None:
    """A turn whose version the new image still has keeps it; one whose version is gone goes on, and says so."""
    old, new = image(tmp_path / "old", "1"), image(tmp_path / "new", "2", "1")
    deps, previous = "deps_of_theirs:deps", ("mark_of_theirs_1:mark",)
    async with Pipeline(broker.bootstrap, prefix, tmp_path, deps) as pipeline:

        def start(folder: Path, **changes: Any) -> Any:
            monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), str(ROOT)]))
            return pipeline.start("turns", **changes)[0]

        first = start(old)
        pipeline.start("models")
        await pipeline.ready()
        kept, lost = await pipeline.open_turn("kept"), await pipeline.open_turn("lost")
        second = start(new, processors=previous)
        first.stop()
        await pipeline.ready()
        await say(pipeline, kept, "over")
        assert await reply(pipeline, kept) == "over [1]"
        assert await reply(pipeline, await asked(pipeline, "new", "x")) == "new [2]"
        late = await pipeline.open_turn("late")
        third = start(old)
        second.stop()
        await pipeline.ready()
        await say(pipeline, lost, "back")
        await say(pipeline, late, "back")
        assert await reply(pipeline, lost) == "back [1]"
        assert await reply(pipeline, late) == "back [1]"
        views = await pipeline.read([kept, lost, late])
        changed = {turn: getattr(view.terminal, "chain_changed", None) for turn, view in views.items()}
        assert changed == {kept: None, lost: None, late: True}
        assert third.alive


async def say(pipeline: Pipeline, turn: TurnKey, text: str) -> None:
    """Answer an open turn as its model would."""
    frame = {"step": 0, "attempt": 0, "seq": 0, "text": text, "finish_reason": "stop"}
    await pipeline.send_raw(names.FRAMES, turn, json.dumps(frame).encode())
