"""The readers in JavaScript and in Go: the same frames give the same view as `topics.fold`, after each frame."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.docs.markdown import ROOT
from tests.topics.frames import (
    IDS,
    TURN,
    blocked,
    cancelled,
    completed,
    completed_long,
    failed,
    postprocessed,
    rejected,
    reset,
    text,
)
from tests.topics.test_fold import turns
from topics import codec
from topics.fold import TurnView, fold
from topics.names import RELEASED
from topics.records import ReleasedFrame

HERE = ROOT / "tests" / "docs"
OLDEST_NODE = 18
#: Building takes this long where nothing of Go's own library is built yet.
BUILD_LIMIT_S = 300

#: One character of JavaScript's two, a letter and its accent, what two flags are made of, a line end in two.
ALPHABET = "ab\N{GRINNING FACE}e\u0301\U0001f1e9\U0001f1ea\r\n"


class Reader:
    """A running process that folds what it is given."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def views(self, frames: Iterable[ReleasedFrame]) -> list[dict[str, Any]]:
        """Return what a reader has after each frame, which reaches it as the bytes on the wire."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        line = {"turn": TURN, "frames": [codec.encode(frame).decode() for frame in frames]}
        self._process.stdin.write(json.dumps(line) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, "the reader ended; its complaint is above"
        views: list[dict[str, Any]] = json.loads(answer)
        return views


def node(_: Path) -> list[str]:
    """Return the command that runs the reader in JavaScript."""
    found = shutil.which("node")
    if found is None:
        pytest.skip("no `node` on PATH: the reader in JavaScript was not run")
    version = subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout
    major = int(version[1:].split(".")[0])
    if major < OLDEST_NODE:
        pytest.skip(f"node {major} is too old for the reader in JavaScript, which was not run: {OLDEST_NODE} will do")
    return [found, str(HERE / "drive_reader.mjs")]


def go(directory: Path) -> list[str]:
    """Return the command that runs the reader in Go, which is built of Go's own library alone."""
    found = shutil.which("go")
    if found is None:
        pytest.skip("no `go` on PATH: the reader in Go was not run")
    for source in (ROOT / "docs" / "reader.go", HERE / "drive_reader.go"):
        shutil.copy(source, directory)
    (directory / "go.mod").write_text("module reader\n\ngo 1.21\n")
    for arguments in (["vet", "."], ["build", "-o", "reader", "."]):
        done = subprocess.run(
            [found, *arguments],
            cwd=directory,
            env={**os.environ, "GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local"},
            capture_output=True,
            text=True,
            check=False,
            timeout=BUILD_LIMIT_S,
        )
        assert done.returncode == 0, done.stderr
    return [str(directory / "reader")]


@pytest.fixture(scope="module", params=[node, go], ids=lambda made: str(made.__name__))
def command(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Give the command that runs a reader."""
    made: list[str] = request.param(tmp_path_factory.mktemp("reader"))
    return made


@pytest.fixture(scope="module")
def reader(command: list[str]) -> Iterator[Reader]:
    """Give one reader of each language for all examples."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Reader(process)
        process.stdin.close()  # type: ignore[union-attr] # a pipe, as asked for


def expected(frames: Iterable[ReleasedFrame]) -> list[dict[str, Any]]:
    """Return what `topics.fold` makes of the frames."""
    views = []
    view = TurnView(TURN)
    for frame in frames:
        view = fold(view, frame)
        views.append(
            {
                "text": view.text,
                "reply": view.reply,
                "ended": json.loads(codec.encode(view.terminal)) if view.terminal else None,
                "contradicted": view.contradicted,
                "steps": [
                    [number, view.steps[number].attempt, view.steps[number].text] for number in sorted(view.steps)
                ],
            }
        )
    return views


@st.composite
def any_frames(draw: st.DrawFn) -> list[ReleasedFrame]:
    """Return frames that need not make sense together; often enough they do, for there is little to choose from."""
    whole = draw(st.text(st.sampled_from(ALPHABET), min_size=1, max_size=6))
    steps = st.integers(0, draw(st.integers(0, 2)))
    attempts = st.integers(0, draw(st.integers(0, 2)))
    offsets = st.integers(0, len(whole))
    words = st.one_of(st.just(whole), st.sampled_from([whole[:1], whole[1:], "a", ""]))

    def cut() -> ReleasedFrame:
        start = draw(offsets)
        return text(start, whole[start : draw(st.integers(start, len(whole)))], draw(steps), draw(attempts))

    def other() -> ReleasedFrame:
        step, attempt, said = draw(steps), draw(attempts), draw(words)
        shorter = completed_long(said, step, attempt).model_copy(update={"length": draw(offsets)})
        choices: list[ReleasedFrame] = [
            text(draw(offsets), said, step, attempt),
            text(draw(offsets), said, step, attempt),
            text(0, said, turn_id="another"),
            reset(attempt, step),
            postprocessed(said),
            completed(said, step, attempt),
            completed(said, step, attempt),
            completed_long(said, step, attempt),
            shorter,
            shorter.model_copy(update={"sha256": None}),
            failed(draw(offsets), step, attempt),
            rejected(),
            cancelled(),
            blocked(said),
        ]
        return draw(st.sampled_from(choices))

    return [cut() if draw(st.booleans()) else other() for _ in range(draw(st.integers(1, 12)))]


@settings(max_examples=400)
@given(frames=any_frames())
def test_any_frames_give_the_same_views(reader: Reader, frames: list[ReleasedFrame]) -> None:
    """Also of frames that contradict each other, and of several endings."""
    assert reader.views(frames) == expected(frames)


@given(turn=turns(), data=st.data())
def test_duplicated_and_reordered_turns_give_the_same_views(
    reader: Reader, turn: tuple[list[ReleasedFrame], str], data: st.DataObject
) -> None:
    """What workers publish, in any order and more than once, ends with the settled reply."""
    frames, reply = turn
    again = data.draw(st.lists(st.sampled_from(frames), max_size=5))
    sent = data.draw(st.permutations([*frames, *again]))
    views = reader.views(sent)
    assert views == expected(sent)
    assert views[-1]["text"] == reply
    assert views[-1]["ended"] is not None


FACES = "\N{GRINNING FACE}\N{WINKING FACE}\N{SMILING FACE WITH SUNGLASSES}"


@pytest.mark.parametrize(
    ("frames", "reply", "ended"),
    [
        ([text(0, FACES[:1]), text(1, FACES[1:]), completed_long(FACES)], FACES, True),
        ([text(0, FACES[:2]), text(1, FACES[1:]), completed(FACES)], FACES, True),
        ([text(2, FACES[2:]), text(0, FACES[:1])], FACES[:1], False),
        ([completed(FACES)], FACES, True),
        ([text(0, FACES), completed_long(FACES).model_copy(update={"sha256": "0" * 64})], FACES, False),
        ([text(0, "old"), text(0, "new", attempt=1), text(3, "er")], "new", False),
        ([text(0, "so far"), failed(9)], "so far", False),
        ([blocked("We are closed.")], "We are closed.", True),
        # Of an attempt that was contradicted nothing more is believed, a good piece before the bad one included.
        ([text(0, "ab"), text(1, "X"), text(2, "c")], "ab", False),
        ([text(2, "cd"), text(3, "X"), text(0, "ab")], "", False),
        ([text(0, "ab"), text(1, "X"), completed("ab")], "ab", False),
        ([text(0, "ab"), text(1, "X"), completed_long("ab")], "ab", False),
        # A reply is taken only if nothing that waits disagrees with it, or goes on after it.
        ([text(1, "X"), completed("ab")], "", False),
        ([text(1, "bc"), completed("ab")], "", False),
        ([text(3, "d"), completed("ab")], "", False),
        ([text(1, "b"), completed("ab")], "ab", True),
        ([text(1, "b"), completed("ab", step=1)], "", False),
        # Two endings, or two final versions, that differ.
        ([completed_long("ab"), failed(), text(0, "ab")], "ab", False),
        ([postprocessed("one"), postprocessed("two"), completed("ab")], "one", False),
    ],
)
def test_examples(reader: Reader, frames: Sequence[ReleasedFrame], reply: str, ended: object) -> None:
    """What the rules are about, one by one."""
    views = reader.views(frames)
    assert views == expected(frames)
    assert (views[-1]["reply"], views[-1]["ended"] is not None) == (reply, ended)


def test_a_frame_as_large_as_records_get_is_taken(reader: Reader) -> None:
    """No limit of the engine, on arguments of a call say, is met."""
    words = "\N{GRINNING FACE}a" * 200_000
    frames: list[ReleasedFrame] = [text(0, words), completed_long(words)]
    assert reader.views(frames) == expected(frames)


def test_what_is_left_out_has_its_default_and_unknown_kinds_are_passed_over(command: list[str]) -> None:
    """A frame need not spell out the step, the attempt and the offset, and the future may bring other kinds."""
    ids = {name: value for name, value in IDS.items() if name != "tenant"}
    frames = [{**ids, "kind": "text", "text": "a"}, {**ids, "kind": "sparkle", "attempt": 7}]
    line = json.dumps(
        {"turn": ["default", TURN.thread_id, TURN.turn_id], "frames": [json.dumps(one) for one in frames]}
    )
    done = subprocess.run(command, input=line, capture_output=True, text=True, check=True)
    assert [view["text"] for view in json.loads(done.stdout)] == ["a", "a"]
    assert RELEASED.validate_python(frames[0]).offset == 0


def test_the_reader_in_go_is_formatted_as_go_is() -> None:
    """By its own tool, as whoever copies it expects."""
    found = shutil.which("gofmt")
    if found is None:
        pytest.skip("no `gofmt` on PATH: the layout of the reader in Go was not looked at")
    sources = [*(ROOT / "docs").glob("*.go"), *(ROOT / "tests").rglob("*.go")]
    done = subprocess.run([found, "-l", *map(str, sources)], capture_output=True, text=True, check=True)
    assert done.stdout == ""
