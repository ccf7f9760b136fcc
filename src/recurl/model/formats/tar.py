"""Tar archives in memory: plain, gzip or xz, read with bounds, never unpacked to disk."""

from __future__ import annotations

import io
import lzma
import tarfile
import zlib
from collections.abc import Mapping

_BLOCK = 512
_MOST_MEMBERS = 100_000
_LEAST_ROOM = 1 << 28
_MOST_GROWTH = 100
_MOST_MEMORY = 1 << 29


class ArchiveError(ValueError):
    """An archive that is damaged, or that would unpack to something absurd."""


def unpack(data: bytes) -> dict[str, memoryview]:
    """The regular files of an archive, by name.

    Raises:
        ArchiveError: It is not an archive, is cut short, grows beyond measure, or has a name that
            leads out of it.
    """
    plain = _decompress(data)
    view, place, files = memoryview(plain), 0, dict[str, memoryview]()
    long_name = ""
    while place + _BLOCK <= len(plain):
        header = plain[place : place + _BLOCK]
        if not header.strip(b"\0"):
            return files
        if header[257:262] != b"ustar":
            raise ArchiveError(f"is not a tar archive at byte {place}")
        name, size, kind = _header(header, place)
        body = place + _BLOCK
        if body + size > len(plain):
            raise ArchiveError(f"is cut short: {name or 'a member'} should have {size} bytes")
        place = body + -(-size // _BLOCK) * _BLOCK
        if kind in b"Lx":
            long_name = _long_name(plain[body : body + size], kind)
            continue
        name, long_name = _checked(long_name or name), ""
        if kind in b"0\0":
            files[name] = view[body : body + size]
        elif kind != b"5" and kind != b"g":
            raise ArchiveError(f"has a link or device, {name[:60]!r}, where a file is expected")
        if len(files) > _MOST_MEMBERS:
            raise ArchiveError(f"has more than {_MOST_MEMBERS} members")
    raise ArchiveError("is cut short: the end of the archive is missing")


def _decompress(data: bytes) -> bytes:
    most = max(_LEAST_ROOM, _MOST_GROWTH * len(data))
    try:
        if data[:3] == b"\x1f\x8b\x08":
            packed = zlib.decompressobj(wbits=31)
            plain = packed.decompress(data, most + 1)
            done = packed.eof
        elif data[:6] == b"\xfd7zXZ\0":
            unpacker = lzma.LZMADecompressor(memlimit=_MOST_MEMORY)
            plain = unpacker.decompress(data, max_length=most + 1)
            done = unpacker.eof
        else:
            return data
    except (zlib.error, lzma.LZMAError, EOFError) as error:
        raise ArchiveError(f"cannot be decompressed: {error}") from None
    if len(plain) > most:
        raise ArchiveError(f"unpacks to more than {_MOST_GROWTH} times its size")
    if not done:
        raise ArchiveError("is cut short: the compressed data do not end")
    return plain


def _header(header: bytes, place: int) -> tuple[str, int, bytes]:
    """Name, size and kind of a member."""
    name, prefix = (part.split(b"\0")[0] for part in (header[:100], header[345:500]))
    # Writers that are older than POSIX keep times where the prefix stands.
    full = prefix + b"/" + name if prefix and header[262:263] == b"\0" else name
    digits = header[124:136]
    try:
        if digits[0] == 0x80:
            size = int.from_bytes(digits[1:], "big")
        else:
            size = int(digits.split(b"\0")[0].strip() or b"0", 8)
        return full.decode(), size, header[156:157]
    except (ValueError, UnicodeDecodeError):
        raise ArchiveError(f"has a damaged header at byte {place}") from None


def _long_name(body: bytes, kind: bytes) -> str:
    """The name that an extended header gives to the next member."""
    try:
        if kind == b"L":
            return body.split(b"\0")[0].decode()
        for record in body.decode().split("\n"):
            _, _, pair = record.partition(" ")
            if pair.startswith("path="):
                return pair.removeprefix("path=")
    except UnicodeDecodeError:
        raise ArchiveError("has a damaged extended header") from None
    return ""


def _checked(name: str) -> str:
    parts = name.split("/")
    if name.startswith("/") or ".." in parts or "\\" in name:
        raise ArchiveError(f"has a name that leads out of it: {name[:60]!r}")
    return "/".join(part for part in parts if part not in ("", "."))


def pack(files: Mapping[str, bytes]) -> bytes:
    """An archive of files, the same bytes for the same files."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return stream.getvalue()
