from __future__ import annotations

from pathlib import Path

import pytest

from recurl.learn.tensorboard import EventFile, _checksum, read_events


def test_the_checksum_is_the_one_of_the_standard() -> None:
    # CRC-32C of "123456789" is E3069283; the format rotates it by 15 and adds a constant.
    crc = 0xE3069283
    masked = ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
    assert _checksum(b"123456789") == masked.to_bytes(4, "little")


def test_numbers_are_written_as_the_format_wants_them(tmp_path: Path) -> None:
    board = EventFile(tmp_path / "new")
    board.add(300, {"train/loss": 0.5})
    data = board.path.read_bytes()
    assert b"brain.Event:2" in data
    # step 300 as a varint; a summary with one value: its tag, and 0.5 as a float
    assert b"\x10\xac\x02\x2a\x13\x0a\x11\x0a\x0atrain/loss\x15\x00\x00\x00\x3f" in data
    assert read_events(board.path) == [(0, {}), (300, {"train/loss": 0.5})]


def test_damage_is_noticed(tmp_path: Path) -> None:
    board = EventFile(tmp_path)
    data = bytearray(board.path.read_bytes())
    data[20] ^= 1
    board.path.write_bytes(data)
    with pytest.raises(ValueError, match="damaged"):
        read_events(board.path)
