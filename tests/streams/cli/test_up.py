"""`turngate up`, and the commands that talk to what it runs. One pipeline serves all of these tests."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from streams.brokers import ports, runtime_file
from tests.streams.cli.command import Done, turngate
from tests.streams.cli.pipeline import Up, alive, apart, wait_for
from topics.connection import Connection
from topics.ids import ThreadKey
from topics.names import REQUESTS, Names

pytestmark = pytest.mark.embedded

PIN = json.dumps(["my pin ", "is 12", "34, ", "and that is ", "all"])
MASKED = "my pin is ####, and that is all"
TOOLS = """
from processors import Deps, tool

@tool()
def add(a: int, b: int) -> int: return a + b

deps = Deps(tools=[add])
"""
FICKLE = """
from pathlib import Path
from processors import Deps

seen = Path("seen")
deps = 5 if seen.exists() else Deps()
seen.touch()
"""


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """Give a pipeline with two turn workers."""
    running = Up.start(
        tmp_path_factory.mktemp("up"),
        "--model",
        "script",
        "--deps",
        "guard:deps",
        "--workers",
        "2",
        "--partitions",
        "2",
    )
    yield running
    if running.process.poll() is None:
        running.end(signal.SIGTERM)


def released(done: Done) -> str:
    """Return the text of the frames that a command printed with --json."""
    return "".join(row["text"] for row in done.rows if row["kind"] == "text")


def test_text_is_printed_as_readers_get_it(up: Up) -> None:
    """Stdout has the text and nothing else; how it ended is said on stderr."""
    done = up.turngate("send", "my pin?", "--script", PIN)
    assert (done.status, done.out) == (0, MASKED + "\n"), done.err
    assert "completed" in done.err


def test_with_json_each_frame_is_a_line(up: Up) -> None:
    """The last one is the terminal frame. The text is read from stdin."""
    done = up.turngate("send", "-", "--script", PIN, "--thread", "t1", "--user", "anna", "--json", stdin="my pin?")
    assert done.status == 0
    assert released(done) == MASKED
    assert (done.rows[-1]["kind"], done.rows[-1]["reply"]) == ("completed", MASKED)
    assert {row["thread_id"] for row in done.rows} == {"t1"}
    assert done.err == ""


def test_final_delivery_prints_the_reply_once(up: Up) -> None:
    """There is only the terminal frame."""
    done = up.turngate("send", "my pin?", "--script", PIN, "--delivery", "final")
    assert (done.status, done.out) == (0, MASKED + "\n")


@pytest.mark.parametrize(
    ("message", "script", "kind", "out"),
    [
        ("hello", '["oh well, well, ", {"text": "darn it all", "delay_s": 0.5}]', "rejected", "oh well,"),
        ("lottery", '["1 2 3"]', "blocked", "No numbers here.\n"),
        ("hello", '[{"error": {"type": "Overloaded"}}]', "failed", ""),
    ],
)
def test_any_other_ending_is_status_1(up: Up, message: str, script: str, kind: str, out: str) -> None:
    """What readers got is on stdout all the same."""
    done = up.turngate("send", message, "--script", script)
    assert done.status == 1
    assert kind in done.err
    assert done.out.startswith(out)
    assert "darn" not in done.out


def test_nothing_in_time_is_status_1(up: Up) -> None:
    """It says what to look at."""
    done = up.turngate("send", "hello", "--script", '[{"hang": true}]', "--timeout", "0.5", "--thread", "hanging")
    assert done.status == 1
    assert "0.5 s" in done.sentence


def test_silence_is_explained(up: Up) -> None:
    """After two seconds, once, on stderr."""
    done = up.turngate(
        "send", "hello", "--script", '[{"hang": true}]', "--timeout", "3", "--thread", "silent", "--json"
    )
    assert done.status == 1
    assert done.out == ""
    waiting, gave_up = done.err.splitlines()
    assert "waiting for a turn worker" in waiting
    assert gave_up.startswith("turngate: ")


def test_a_field_that_cannot_be_is_status_2_and_not_sent(up: Up) -> None:
    """Its value is not repeated."""
    done = up.turngate("send", "hello", "--thread", "pri/vate")
    assert done.status == 2
    assert "thread_id: 1 to 200 characters, no slash" in done.sentence
    assert "pri" not in done.sentence


def test_a_turn_can_be_followed_later_and_by_its_id_alone(up: Up) -> None:
    """What was sent without waiting is there from the beginning."""
    sent = up.turngate("send", "my pin?", "--script", PIN, "--no-follow", "--json")
    assert sent.status == 0
    (turn,) = sent.rows
    assert set(turn) == {"tenant", "thread_id", "turn_id"}
    done = up.turngate("follow", "--turn", turn["turn_id"], "--json", "--timeout", "30")
    assert done.status == 0
    assert released(done) == MASKED
    named = up.turngate("follow", "--turn", turn["turn_id"], "--thread", turn["thread_id"], "--timeout", "30")
    assert (named.status, named.out) == (0, MASKED + "\n")
    assert named.err.startswith("Following turn ")


def test_all_turns_are_followed_until_ctrl_c(up: Up) -> None:
    """--thread keeps to one conversation; Ctrl-C is the normal end."""
    assert up.turngate("send", "my pin?", "--script", PIN, "--thread", "mine").status == 0
    assert up.turngate("send", "my pin?", "--script", PIN, "--thread", "other").status == 0
    follower = FollowAll(up)
    done = follower.until_terminal()
    assert done.status == 0
    assert {row["thread_id"] for row in done.rows} == {"mine"}
    assert released(done) == MASKED


class FollowAll:
    """`follow --from-beginning`, which does not end by itself."""

    def __init__(self, up: Up) -> None:
        self._process = up.beside("follow", "--from-beginning", "--thread", "mine", "--json")

    def until_terminal(self) -> Done:
        """Read up to the first terminal frame, press Ctrl-C, and return what came of it."""
        assert self._process.stdout is not None
        lines: list[str] = []
        while not lines or '"kind":"completed"' not in lines[-1]:
            lines.append(self._process.stdout.readline())
            assert lines[-1], "it ended by itself"
        self._process.send_signal(signal.SIGINT)
        rest, err = self._process.communicate(timeout=30)
        return Done(self._process.returncode, "".join(lines) + rest, err)


def test_topics_are_there_and_right(up: Up) -> None:
    """`up` made them with the partitions it was given."""
    check = up.turngate("topics", "check", "--json")
    assert (check.status, check.out) == (0, "")
    rows = {row["topic"]: row for row in up.turngate("topics", "list", "--json").rows}
    assert rows["turngate.requests"]["partitions"] == 2
    assert rows["turngate.deployments"] == {
        "topic": "turngate.deployments",
        "partitions": 1,
        "cleanup": "compact",
        "retention_s": None,
        "records": 0,
    }


def test_a_refused_record_can_be_looked_at_and_sent_again(up: Up) -> None:
    """Content is shown to whoever asks for it only; the partition went on."""
    apart(publish(up.bootstrap, b'{"v":1,"thread_id":"sick","turn_id":"x","message":{"private":"words"}}'))
    wait_for(lambda: bool(up.turngate("dead-letters", "list", "--json").rows), "no dead letter")
    listed = up.turngate("dead-letters", "list", "--json")
    (letter,) = listed.rows
    assert letter["origin_topic"] == "turngate.requests"
    assert "private" not in listed.out
    assert letter["id"] in up.turngate("dead-letters", "list").out

    shown = up.turngate("dead-letters", "show", letter["id"], "--json")
    assert shown.rows[0]["letter"] == letter
    assert "value" not in shown.rows[0]["origin"]
    opened = up.turngate("dead-letters", "show", letter["id"], "--json", "--content")
    assert "words" in opened.rows[0]["origin"]["value"]

    replayed = up.turngate("dead-letters", "replay", letter["id"], "--json")
    assert replayed.status == 0
    assert [row["replayed"] for row in replayed.rows] == [True]
    wait_for(lambda: len(up.turngate("dead-letters", "list", "--json").rows) == 2, "not refused again")

    both = up.turngate("dead-letters", "replay", "--all")
    assert both.status == 0
    assert [("sent again" in line, "skipped" in line) for line in both.out.splitlines()] == [
        (True, False),
        (False, True),
    ]
    assert len(both.err.splitlines()) == 1
    wait_for(lambda: len(up.turngate("dead-letters", "list", "--json").rows) == 3, "not refused a third time")
    chosen = up.turngate("dead-letters", "replay", "--error", letter["error"], "--json")
    assert [row["replayed"] for row in chosen.rows] == [True, False, False]
    assert {row["same_as"] for row in chosen.rows[1:]} == {letter["id"]}
    none = up.turngate("dead-letters", "replay", "--error", "NoSuchError", "--json")
    assert (none.status, none.out) == (0, "")
    assert up.turngate("send", "my pin?", "--script", PIN, "--thread", "sick").status == 0


def test_a_dead_letter_that_is_not_there_is_status_1(up: Up) -> None:
    """For show and replay alike."""
    assert up.turngate("dead-letters", "show", "turngate.requests/0/999").status == 1
    done = up.turngate("dead-letters", "replay", "turngate.requests/0/999", "--json")
    assert done.status == 1
    assert done.rows == [{"id": "turngate.requests/0/999", "replayed": False, "error": "DeadLetterNotFoundError"}]


async def publish(bootstrap: str, value: bytes) -> None:
    """Publish a request as somebody's own client might."""
    key = ThreadKey("default", "sick")
    async with Connection(bootstrap).producer() as producer:
        await producer.send_and_wait(Names().topic(REQUESTS), value, key=key.encode(), partition=key.partition(2))


# The last two, in this order: they take the pipeline down.


def test_a_killed_worker_is_started_again_and_ctrl_c_stops_everything(up: Up) -> None:
    """Nothing stays behind: no process, no runtime file."""
    os.kill(up.pids["turns-1"], signal.SIGKILL)
    assert up.turngate("send", "my pin?", "--script", PIN).out == MASKED + "\n"
    status, events = up.end(signal.SIGINT)
    assert status == 0
    assert {"event": "restarting", "process": "turns-1", "status": -9} in events
    assert [event["event"] for event in events].count("ready") == 1
    assert events[-1] == {"event": "stopped"}
    assert not any(alive(pid) for pid in up.pids.values())
    assert runtime_file.read(up.directory) is None
    assert up.turngate("topics", "list").status == 3


def test_workers_do_not_outlive_a_killed_up(tmp_path: Path) -> None:
    """Nor does the broker."""
    up = Up.start(tmp_path, "--model", "script")
    assert set(up.pids) == {"turns-1", "models", "gateway"}
    assert all(alive(pid) for pid in up.pids.values())
    os.kill(up.process.pid, signal.SIGKILL)
    up.process.communicate(timeout=30)
    wait_for(lambda: not any(alive(pid) for pid in up.pids.values()), "workers outlived their owner")
    port = int(up.bootstrap.rpartition(":")[2])
    wait_for(lambda: not ports.is_open(port), "the broker outlived its owner")


def test_a_tool_runner_is_started_where_there_are_tools(tmp_path: Path) -> None:
    """It runs as long as the others do."""
    (tmp_path / "toolbox.py").write_text(TOOLS)
    up = Up.start(tmp_path, "--model", "script", "--deps", "toolbox:deps", "--no-gateway")
    assert set(up.pids) == {"turns-1", "models", "tools"}
    assert all(alive(pid) for pid in up.pids.values())
    status, events = up.end(signal.SIGINT)
    assert (status, [event["event"] for event in events].count("restarting")) == (0, 0)


def test_processors_that_do_not_load_are_refused_before_anything_is_started(tmp_path: Path) -> None:
    """Nothing was announced, and the one line is the loader's."""
    (tmp_path / "guard.py").write_text("deps = 5")
    done = turngate("up", "--json", "--deps", "guard:deps", cwd=tmp_path, XDG_RUNTIME_DIR=str(tmp_path))
    assert (done.status, done.out) == (2, "")
    assert "guard:deps is of type int" in done.sentence


def test_a_worker_that_refuses_to_start_ends_up_with_its_status(tmp_path: Path) -> None:
    """What it said is on stderr, with its name in front. The module changes once `up` has looked at it."""
    (tmp_path / "guard.py").write_text(FICKLE)
    done = turngate("up", "--json", "--no-gateway", "--deps", "guard:deps", cwd=tmp_path, XDG_RUNTIME_DIR=str(tmp_path))
    assert done.status == 2
    assert "turns-1 | turngate: guard:deps is of type int" in done.err
    assert done.err.splitlines()[-1].startswith("turngate: turns-1 does not start")
    assert [row["event"] for row in done.rows] == ["up"]


def test_a_server_without_a_model_name_is_warned_about(tmp_path: Path) -> None:
    """Turns that name none would all fail."""
    up = Up.start(tmp_path, "--model", "http://127.0.0.1:1/v1")
    up.end(signal.SIGTERM)
    assert "TURNGATE_OPENAI_MODEL" in up.log.read_text()
