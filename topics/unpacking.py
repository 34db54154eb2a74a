"""Decompression with an end: a batch of a few kilobytes can be written so that it unpacks to gigabytes."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Mapping
from types import ModuleType

import cramjam

_GZIP_WINDOW = 31
#: What the first, cheap attempt has room for, as a multiple of the packed size, in bytes at least.
_USUAL_RATIO = 20
_LEAST_ROOM = 64 * 1024
#: How snappy streams of Kafka's Java client begin: a mark and two version numbers, then blocks with their lengths.
_XERIAL_MARK = b"\x82SNAPPY\x00"
_XERIAL_HEADER_BYTES = 16
_BLOCK_LENGTH = struct.Struct(">i")


class UnpackError(ValueError):
    """The data is not what its codec makes, or the codec is not known."""


def unpack(codec: int, data: bytes, limit: int) -> tuple[bytes, bool]:
    """Return what `data` unpacks to, `limit` bytes of it at most, and whether that is all.

    `codec` is Kafka's number for it: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd.

    Raises:
        UnpackError: the codec is not known, or the data is not of it.
    """
    unpacker = _UNPACKERS.get(codec)
    if unpacker is None:
        raise UnpackError(f"it names a compression that does not exist (number {codec})")
    try:
        return unpacker(data, limit)
    except (zlib.error, cramjam.DecompressionError, struct.error, ValueError, OverflowError) as exc:
        raise UnpackError(f"it is not the {_NAMES[codec]} data that it says it is") from exc


def _plain(data: bytes, limit: int) -> tuple[bytes, bool]:
    return data[:limit], len(data) <= limit


def _gzip(data: bytes, limit: int) -> tuple[bytes, bool]:
    stream = zlib.decompressobj(_GZIP_WINDOW)
    out = stream.decompress(data, limit + 1)
    if len(out) > limit:
        return out[:limit], False
    if not stream.eof or stream.unused_data:
        raise UnpackError("cut off, or going on after its end")
    return out, True


def _framed(module: ModuleType) -> Callable[[bytes, int], tuple[bytes, bool]]:
    """Return the unpacker of a codec whose data does not say how long it gets."""

    def unpacker(data: bytes, limit: int) -> tuple[bytes, bool]:
        out = bytearray(min(limit, max(_LEAST_ROOM, _USUAL_RATIO * len(data))))
        while True:
            try:
                size = module.decompress_into(data, out)
            except cramjam.DecompressionError as exc:
                if "write whole buffer" not in str(exc):
                    raise
                if len(out) == limit:
                    return bytes(out), False
                out = bytearray(limit)
            else:
                return bytes(memoryview(out)[:size]), True

    return unpacker


def _snappy(data: bytes, limit: int) -> tuple[bytes, bool]:
    if not data.startswith(_XERIAL_MARK):
        if cramjam.snappy.decompress_raw_len(data) > limit:
            return b"", False
        return bytes(cramjam.snappy.decompress_raw(data)), True
    out = bytearray()
    at = _XERIAL_HEADER_BYTES
    while at < len(data):
        (length,) = _BLOCK_LENGTH.unpack_from(data, at)
        at += _BLOCK_LENGTH.size
        block = data[at : at + length] if length > 0 else b""
        if len(out) + cramjam.snappy.decompress_raw_len(block) > limit:
            return bytes(out), False
        out += cramjam.snappy.decompress_raw(block)
        at += max(length, 0)
    return bytes(out), True


_NAMES = ("plain", "gzip", "snappy", "lz4", "zstd")
_UNPACKERS: Mapping[int, Callable[[bytes, int], tuple[bytes, bool]]] = {
    0: _plain,
    1: _gzip,
    2: _snappy,
    3: _framed(cramjam.lz4),
    4: _framed(cramjam.zstd),
}
