"""Dead letters: where a refused record is and why it was refused, durable before anybody goes on."""

from __future__ import annotations

import asyncio

import pytest

from streams.sources import DeadLetterBox, Refused, Source
from tests.memory.broker import Broker
from tests.memory.ports import MemoryProducer
from tests.memory.power import Power
from tests.memory.simtime import START_S, settled, simulate, wall_clock
from tests.streams.turns.simulation import DEAD_LETTERS, NAMES, REQUESTS
from topics import codec, names
from topics.ids import TurnKey

SECRET = b"a very private sentence"


def refused(offset: int = 0, turn: TurnKey | None = None) -> Refused:
    """Return a refused request."""
    source = Source(names.REQUESTS, 2, offset, SECRET, lambda: None)
    return Refused(source, "MalformedRecordError", "the record is not JSON", turn)


def test_a_letter_names_place_reason_and_turn_and_no_content(caplog: pytest.LogCaptureFixture) -> None:
    """The record itself stays where it was, and nothing of it is logged."""

    async def main() -> None:
        broker = Broker()
        box = DeadLetterBox(MemoryProducer(broker, Power()), NAMES, "worker", wall_clock)
        await box.put([refused(7, TurnKey("acme", "h", "t")), refused(8)])
        first, second = broker.read(DEAD_LETTERS, 2)
        letter = codec.decode(first.value, names.DEAD_LETTER)
        assert (letter.id, letter.origin_topic, letter.origin_partition, letter.origin_offset) == (
            f"{REQUESTS}/2/7",
            REQUESTS,
            2,
            7,
        )
        assert (letter.error, letter.reason) == ("MalformedRecordError", "the record is not JSON")
        assert (letter.tenant, letter.thread_id, letter.turn_id) == ("acme", "h", "t")
        assert (letter.worker, letter.at, letter.size) == ("worker", START_S, len(SECRET))
        assert first.key == letter.id.encode()
        assert codec.decode(second.value, names.DEAD_LETTER).turn_id is None
        assert SECRET not in (first.value or b"")

    simulate(main())
    assert "refused a record" in caplog.text
    assert SECRET.decode() not in caplog.text


def test_letters_are_durable_when_put_returns() -> None:
    """All of them: their sources are acknowledged next."""

    async def main() -> None:
        producer = MemoryProducer(Broker(), Power())
        producer.holding = True
        box = DeadLetterBox(producer, NAMES, "worker", wall_clock)
        putting = asyncio.create_task(box.put([refused(0), refused(1)]))
        await settled()
        producer.deliver(DEAD_LETTERS, 2)
        await settled()
        assert not putting.done()
        producer.deliver(DEAD_LETTERS, 2)
        await putting

    simulate(main())


def test_a_letter_that_cannot_be_written_is_no_reason_to_go_on() -> None:
    """The failure reaches the loop."""

    async def main() -> None:
        producer = MemoryProducer(Broker(), Power())
        producer.failure = ConnectionError("gone")
        box = DeadLetterBox(producer, NAMES, "worker", wall_clock)
        await box.put([])
        with pytest.raises(ConnectionError):
            await box.put([refused()])

    simulate(main())


def test_a_source_tells_its_size_and_hides_its_acknowledgement() -> None:
    """A tombstone has no bytes; the callable is no part of what a source is."""
    source = Source(names.FRAMES, 0, 1, b"four", lambda: None)
    assert source.size == 4
    assert Source(names.FRAMES, 0, 1, None, lambda: None).size == 0
    assert source == Source(names.FRAMES, 0, 1, b"four", lambda: 5)
    assert "ack" not in repr(source)
