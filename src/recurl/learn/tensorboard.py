"""The event files of TensorBoard, written and read without it.

A file is a row of records: length, checksum of the length, data, checksum of the data. The data is
an ``Event`` in the protocol buffers' encoding: time (field 1), step (2), and either the version of
the format (3) or a summary (5) of named numbers.
"""

from __future__ import annotations

import os
import struct
import time
from functools import cache
from pathlib import Path
from typing import Any

_CASTAGNOLI = 0x82F63B78
_VERSION = b"brain.Event:2"


class EventFile:
    """An event file of its own name in a folder, to which numbers are added step by step.

    Args:
        folder: Where to write; it is made if need be.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        Path(folder).mkdir(parents=True, exist_ok=True)
        self.path = Path(folder) / f"events.out.tfevents.{time.time_ns()}.{os.getpid()}"
        self._write(_field(3, _VERSION))

    def add(self, step: int, numbers: dict[str, float]) -> None:
        """Write named numbers of a step."""
        values = [
            _field(1, _field(1, name.encode()) + b"\x15" + struct.pack("<f", number))
            for name, number in numbers.items()
        ]
        self._write(b"\x10" + _varint(step) + _field(5, b"".join(values)))

    def _write(self, event: bytes) -> None:
        data = b"\x09" + struct.pack("<d", time.time()) + event
        length = struct.pack("<Q", len(data))
        with self.path.open("ab") as file:
            file.write(length + _checksum(length) + data + _checksum(data))


def read_events(path: str | os.PathLike[str]) -> list[tuple[int, dict[str, float]]]:
    """The steps and named numbers of an event file that `EventFile` wrote.

    Raises:
        ValueError: A checksum is wrong.
    """
    content, found = Path(path).read_bytes(), []
    while content:
        (size,) = struct.unpack("<Q", content[:8])
        data = content[12 : 12 + size]
        sums = content[8:12], content[12 + size : 16 + size]
        if sums != (_checksum(content[:8]), _checksum(data)):
            raise ValueError(f"{path} is damaged")
        found.append(_event(data))
        content = content[16 + size :]
    return found


def _event(data: bytes) -> tuple[int, dict[str, float]]:
    fields = dict(_parts(data))
    values = [dict(_parts(value)) for _, value in _parts(fields.get(5, b""))]
    numbers = {value[1].decode(): struct.unpack("<f", value[2])[0] for value in values}
    return fields.get(2, 0), numbers


def _parts(data: bytes) -> list[tuple[int, Any]]:
    """Numbers and contents of the fields of a message."""
    found: list[tuple[int, Any]] = []
    at = 0
    while at < len(data):
        number, kind, at = data[at] >> 3, data[at] & 7, at + 1
        if kind == 0:
            value, at = _read_varint(data, at)
            found.append((number, value))
            continue
        size, at = (8, at) if kind == 1 else (4, at) if kind == 5 else _read_varint(data, at)
        found.append((number, data[at : at + size]))
        at += size
    return found


def _field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2]) + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    low = bytearray()
    while number > 127:
        low.append(number & 127 | 128)
        number >>= 7
    return bytes([*low, number])


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte, at = data[at], at + 1
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return number, at


def _checksum(data: bytes) -> bytes:
    """CRC-32C, rotated and shifted as the format wants it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _table()[(crc ^ byte) & 255] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


@cache
def _table() -> list[int]:
    rows = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ (_CASTAGNOLI if crc & 1 else 0)
        rows.append(crc)
    return rows
