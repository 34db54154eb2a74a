"""What is sealed, what opens, and which of the three faults it is when something does not."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topics import codec, envelope
from topics.errors import KeyRingError, MalformedRecordError, SealedRecordError, UnreadableRecordError
from topics.key_ring import KeyRing
from topics.names import FRAMES, MODEL_FRAME
from topics.sealing import RECORDS_PER_SALT, AsStored, Sealing
from topics.unreadable import Unreadable

TOPIC = "turngate.frames"
KEY = b"default/thread-1"
PLACE = (TOPIC, 3, 17)
OLD, NEW = bytes(range(32)), bytes(range(32, 64))
VALUE = b'{"v":1,"thread_id":"t","turn_id":"1","seq":0,"text":"the word"}'

ring_of_both = KeyRing({"old": OLD, "new": NEW}, "new")


def sealed(value: bytes = VALUE, *, topic: str = TOPIC, key: bytes | None = KEY, ring: KeyRing = ring_of_both) -> bytes:
    """Return a value as a writer with `ring` leaves it."""
    made = Sealing(ring).seal(topic, key, value)
    assert made is not None
    return made


@given(value=st.binary(max_size=300), key=st.none() | st.binary(max_size=40), topic=st.sampled_from(["a.frames", "x"]))
def test_what_is_sealed_opens_to_what_it_was(value: bytes, key: bytes | None, topic: str) -> None:
    """Any bytes, under any key, on a topic of the pipeline or on one that it does not know."""
    made = sealed(value, topic=topic, key=key)
    assert envelope.is_sealed(made)
    assert len(made) == len(value) + 53 + len("new")
    opened = Sealing(ring_of_both).open((topic, 0, 0), key, made)
    assert opened == value
    assert not isinstance(opened, Unreadable)


def test_nothing_of_the_value_is_seen_and_no_two_look_alike() -> None:
    """Nor do two of one writer share a nonce."""
    writer = Sealing(ring_of_both)
    made = {writer.seal(TOPIC, KEY, VALUE) for _ in range(200)}
    assert len(made) == 200
    headers = [envelope.parse(one) for one in made if one is not None]
    assert len({one.nonce for one in headers if one}) == 200
    assert len({one.salt for one in headers if one}) == 1
    assert all(one is not None and b"word" not in one and b"thread" not in one for one in made)


def test_writers_have_keys_of_their_own_and_change_them() -> None:
    """By their salts: however many write, random nonces under one key stay few enough never to meet."""
    first, second = envelope.parse(sealed()), envelope.parse(sealed())
    assert first is not None
    assert second is not None
    assert first.salt != second.salt
    writer = Sealing(ring_of_both)
    before = envelope.parse(writer.seal(TOPIC, KEY, VALUE) or b"")
    writer._sealed = RECORDS_PER_SALT
    after = envelope.parse(writer.seal(TOPIC, KEY, VALUE) or b"")
    assert before is not None
    assert after is not None
    assert before.salt != after.salt


def test_without_keys_bytes_stay_what_they_are() -> None:
    """The very same objects, on every topic; so they do with keys where anybody may read, and where nobody seals yet."""
    for sealing in (Sealing(), Sealing(ring_of_both, use="read")):
        assert sealing.seal(TOPIC, KEY, VALUE) is VALUE
        assert sealing.open(PLACE, KEY, VALUE) is VALUE
        assert not sealing.seals
    assert Sealing(ring_of_both).seal("turngate.released", KEY, VALUE) is VALUE
    assert not Sealing(ring_of_both).concerns("turngate.released")


def test_tombstones_stay_tombstones() -> None:
    """A compacted topic forgets nothing that is not null."""
    journal = "turngate.turns-journal-changelog"
    assert Sealing(ring_of_both).seal(journal, b"a/b/c/0/1", None) is None
    assert Sealing(ring_of_both).open((journal, 0, 0), b"a/b/c/0/1", None) is None


def test_a_journal_s_claims_are_as_they_were() -> None:
    """They are written by workers that have read nothing yet, with a wrong key perhaps."""
    journal, claim = "turngate.turns-journal-changelog", b"\x00claim/1"
    sealing = Sealing(ring_of_both)
    assert sealing.seal(journal, claim, VALUE) is VALUE
    assert sealing.open((journal, 0, 0), claim, VALUE) is VALUE
    assert sealing.seal(TOPIC, claim, VALUE) is not VALUE


def test_every_key_of_the_ring_opens_and_the_active_one_seals() -> None:
    """So keys can change while records of the old one are around."""
    before = sealed(ring=KeyRing({"old": OLD}, "old"))
    assert Sealing(ring_of_both).open(PLACE, KEY, before) == VALUE
    now = envelope.parse(sealed())
    assert now is not None
    assert now.key_id == "new"


def test_a_key_that_was_added_meanwhile_is_found() -> None:
    """The ring is read again before anybody gives up, and what it says to seal with holds from then on."""
    reads: list[int] = []

    def reread() -> KeyRing:
        reads.append(1)
        return ring_of_both

    sealing = Sealing(KeyRing({"old": OLD}, "old"), reread=reread)
    assert sealing.open(PLACE, KEY, sealed()) == VALUE
    assert sealing.open(PLACE, KEY, sealed()) == VALUE
    assert len(reads) == 1
    now = envelope.parse(sealing.seal(TOPIC, KEY, VALUE) or b"")
    assert now is not None
    assert now.key_id == "new"


@pytest.mark.parametrize(
    ("ring", "hint"),
    [
        (None, "this process has no keys"),
        (KeyRing({"old": OLD}, "old"), "the ring has old: add the file new"),
        (KeyRing({"new": OLD}, "new"), "another key of that id"),
    ],
)
def test_a_key_that_is_not_here_stops_whoever_reads(ring: KeyRing | None, hint: str) -> None:
    """With where the record is, which key it wants, and what to do; it is not the record's fault."""
    with pytest.raises(SealedRecordError) as caught:
        Sealing(ring).open(PLACE, KEY, sealed())
    said = str(caught.value)
    assert said.startswith("turngate.frames[3] at offset 17: the record is sealed with the key new")
    assert hint in said


def test_a_ring_that_cannot_be_read_again_is_told_with_the_record() -> None:
    """Whoever is in the middle of replacing files sees both."""

    def broken() -> KeyRing:
        raise KeyRingError("the folder is gone")

    with pytest.raises(SealedRecordError, match=r"sealed with the key new.*the folder is gone"):
        Sealing(KeyRing({"old": OLD}, "old"), reread=broken).open(PLACE, KEY, sealed())


@pytest.mark.parametrize("ring", [None, KeyRing({"old": OLD}, "old"), KeyRing({"new": OLD}, "new")])
def test_what_a_lost_key_sealed_is_refused(ring: KeyRing | None) -> None:
    """So that the partition goes on once the operator says that nobody has the key; what still opens does."""
    opened = Sealing(ring, lost=frozenset({"new"})).open(PLACE, KEY, sealed())
    assert isinstance(opened, Unreadable)
    assert "listed as lost" in opened.reason
    assert Sealing(ring_of_both, lost=frozenset({"new"})).open(PLACE, KEY, sealed()) == VALUE


@pytest.mark.parametrize("at", range(len(sealed())))
def test_no_byte_can_be_altered(at: int) -> None:
    """It opens nowhere: it is refused or, where the byte said which key, stops the reader; never is it taken."""
    made = bytearray(sealed())
    made[at] ^= 0x01
    try:
        opened = Sealing(ring_of_both).open(PLACE, KEY, bytes(made))
    except SealedRecordError:
        header = envelope.parse(sealed())
        assert header is not None
        assert at < len(header.raw) - envelope.SALT_BYTES
    else:
        assert isinstance(opened, Unreadable)
        with pytest.raises(UnreadableRecordError):
            codec.decode(opened, MODEL_FRAME)


@pytest.mark.parametrize("length", range(len(sealed())))
def test_nothing_can_be_cut_off(length: int) -> None:
    """Whatever is left of it."""
    with pytest.raises((UnreadableRecordError, MalformedRecordError)):
        codec.decode(Sealing(ring_of_both).open(PLACE, KEY, sealed()[:length]), FRAMES.shape)


@pytest.mark.parametrize(
    ("topic", "key"),
    [
        ("turngate.requests", KEY),
        ("other.frames", KEY),
        (TOPIC, b"default/thread-2"),
        (TOPIC, None),
        (TOPIC + "\x00", KEY),
        (TOPIC, b"\x00" + KEY),
    ],
)
def test_a_record_cannot_be_moved(topic: str, key: bytes | None) -> None:
    """To another thread, topic or pipeline: there it is damaged, though the key is right."""
    opened = Sealing(ring_of_both).open((topic, 0, 0), key, sealed())
    assert isinstance(opened, Unreadable)
    assert opened == b""
    assert "altered, or moved" in opened.reason
    assert "word" not in opened.reason


def test_plain_records_are_refused_where_sealed_ones_are_required() -> None:
    """With their value, so that the turn can be told; elsewhere, and while writers change over, they are taken."""
    refused = Sealing(ring_of_both).open(PLACE, KEY, VALUE)
    assert isinstance(refused, Unreadable)
    assert refused == VALUE
    assert codec.identify(refused) is not None
    for use, topic in (("write", TOPIC), ("read", TOPIC), ("require", "copies-of-mine")):
        taken = Sealing(ring_of_both, use=use).open((topic, 0, 0), KEY, VALUE)  # type: ignore[arg-type]
        assert taken is VALUE


def test_a_layout_from_the_future_is_told_from_damage() -> None:
    """Whoever reads it is to be upgraded."""
    made = bytearray(sealed())
    made[3] = 2
    opened = Sealing(ring_of_both).open(PLACE, KEY, bytes(made))
    assert isinstance(opened, Unreadable)
    assert "upgrade" in opened.reason


def test_whoever_asks_how_records_are_kept_sees_them_so() -> None:
    """It concerns no topic, which consumers ask before they open or refuse anything, and it seals nothing."""
    assert Sealing().concerns(TOPIC)
    assert not AsStored().concerns(TOPIC)
    assert AsStored().seal(TOPIC, KEY, VALUE) is VALUE


def write(folder: Path, **files: str) -> Path:
    """Write files into a folder."""
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_a_folder_of_keys_is_a_mounted_secret(tmp_path: Path) -> None:
    """Base64 or hexadecimal, with or without a line's end; what Kubernetes puts beside them is passed over."""
    folder = write(tmp_path, a=OLD.hex().upper(), b=base64.b64encode(NEW).decode() + "\n", active="b\n")
    (folder / "..data").mkdir()
    write(folder / "..data", c="no key")
    (folder / ".hidden").write_text("no key")
    ring = KeyRing.read(folder)
    assert sorted(ring.keys) == ["a", "b"]
    assert ring.active.id == "b"
    assert Sealing(ring).open(PLACE, KEY, sealed(ring=KeyRing({"a": OLD}, "a"))) == VALUE
    assert KeyRing.read(folder, "a").active.id == "a"


@pytest.mark.parametrize(
    ("files", "active", "why"),
    [
        ({}, None, "no key in"),
        ({"a": "short"}, None, "holds no key"),
        ({"a": "0" * 32}, None, "holds no key"),
        ({"a": base64.b64encode(OLD[:31]).decode()}, None, "holds no key"),
        ({"ä": OLD.hex()}, None, "holds no key"),
        ({"a": OLD.hex(), "b": NEW.hex()}, None, "nothing says which one"),
        ({"a": OLD.hex(), "active": "b"}, None, "add it first"),
        ({"a": OLD.hex()}, "b", "add it first"),
        ({"a": "schlüssel"}, None, "no text"),
    ],
)
def test_a_folder_that_is_no_ring_says_what_is_wrong(
    tmp_path: Path, files: dict[str, str], active: str | None, why: str
) -> None:
    """And never what is in a file."""
    write(tmp_path, **files)
    with pytest.raises(KeyRingError, match=why) as caught:
        KeyRing.read(tmp_path, active)
    assert not any(text in str(caught.value) for name, text in files.items() if name != "active")


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    """It may be a mount that failed."""
    with pytest.raises(KeyRingError, match="nowhere"):
        KeyRing.read(tmp_path / "nowhere")


def test_keys_are_never_shown() -> None:
    """Whatever logs a ring, a key, or what seals."""
    shown = repr([ring_of_both, ring_of_both.active, Sealing(ring_of_both)])
    assert "new" in shown
    for secret in (OLD, NEW):
        assert secret.hex() not in shown
        assert repr(secret) not in shown
