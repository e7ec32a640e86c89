"""Bytes from disk: plain or gzip told apart by content, every way a file can be unreadable said in one line."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from wattline.errors import TraceError
from wattline.files import open_trace
from wattline.memory import machine_bytes, show_bytes
from wattline.units import environment_number

GZIP_MAGIC = b"\x1f\x8b"
PARQUET_MAGIC = b"PAR1"
_OTHER_PACKERS = {
    b"\xfd7zXZ": "xz",
    b"BZh": "bzip2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "zip",
    b"7z\xbc\xaf": "7z",
}
_PART = 16 << 20
MOST_BYTES, SIZE_ENV = 4e9, "WATTLINE_UNPACKED_GB"
"""What a gzip file may unpack to (at most half of the machine's memory), and who says otherwise."""
MOST_RATIO, RATIO_ENV = 200.0, "WATTLINE_UNPACKED_RATIO"
"""How many times its own size a gzip file may unpack to, and who says otherwise: job logs pack to a tenth, zeros to a
thousandth.
"""
FREE_BYTES = 50e6
"""A file that unpacks to no more than this may be packed as tightly as it likes."""
_UTF8_BOM = b"\xef\xbb\xbf"
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")


def read_bytes(path: Path | str) -> bytes:
    """Return a file's content, unpacked if it is gzip whatever its name says."""
    with open_trace(path) as file:
        try:
            packed = file.read(len(GZIP_MAGIC)) == GZIP_MAGIC
            file.seek(0)
            if packed:
                return b"".join(unpacked(path, file, _PART, whole=True))
            refuse_large(path, os.fstat(file.fileno()).st_size, machine_bytes())
            return file.read()
        except OSError as problem:
            raise TraceError.at(path, f"cannot be read ({problem.strerror or problem})") from None


def peek(path: Path | str, size: int = 65536) -> bytes:
    """Return the first bytes of a file's (unpacked) content, as far as they can be had."""
    with open_trace(path) as file:
        try:
            head = file.read(size)
            if not head.startswith(GZIP_MAGIC):
                return head
            return _unpack_some(head, size)
        except zlib.error as problem:
            raise _damaged(path, problem) from None
        except OSError as problem:
            raise TraceError.at(path, f"cannot be read ({problem.strerror or problem})") from None


def _unpack_some(packed: bytes, size: int) -> bytes:
    """Return the first bytes of a content, as far as they can be had; it may be packed in several pieces."""
    found = b""
    while packed.startswith(GZIP_MAGIC) and len(found) < size:
        piece = zlib.decompressobj(wbits=31)
        found += piece.decompress(packed, size - len(found))
        packed = piece.unused_data
    return found


def is_parquet(path: Path | str) -> bool:
    """Tell whether a file, packed or not, is Parquet; what cannot be unpacked is not, and its reader will say why."""
    try:
        return peek(path, 512).startswith(PARQUET_MAGIC)
    except TraceError:
        return False


def is_packed(path: Path | str) -> bool:
    """Tell whether a file is gzip."""
    with open_trace(path) as file:
        return file.read(len(GZIP_MAGIC)) == GZIP_MAGIC


def unpacked(path: Path | str, file: IO[bytes], part: int, *, whole: bool) -> Iterator[bytes]:
    """Give what a gzip file holds in parts of so many bytes; refuse one that grows beyond all measure (see ``bounds``).

    ``whole``: the parts are put together again, so that there is also a bound on their size.
    """
    most, ratio = bounds()
    packed, size = os.fstat(file.fileno()).st_size, 0
    try:
        with gzip.GzipFile(fileobj=file) as content:
            while piece := content.read(part):
                size += len(piece)
                if whole:
                    refuse_large(path, size, most)
                if size > FREE_BYTES and size > ratio * packed:
                    told = f"unpacks to more than {ratio:g} times its size ({show_bytes(packed)}), as a gzip bomb does"
                    raise TraceError.at(path, told, hint=f"if it is sound, set {RATIO_ENV} to a larger number")
                yield piece
    except EOFError:
        raise TraceError.at(path, "the gzip file is cut off", hint="fetch it again: its rest is missing") from None
    except (OSError, zlib.error) as problem:
        raise _damaged(path, problem) from None


def bounds() -> tuple[float, float]:
    """Return how many bytes a gzip file may unpack to, and how many times its own size, as the environment says."""
    most = environment_number(SIZE_ENV, min(MOST_BYTES, machine_bytes() / 2) / 1e9, "gigabytes") * 1e9
    return min(most, machine_bytes()), environment_number(RATIO_ENV, MOST_RATIO, "a ratio")


def refuse_large(path: Path | str, size: float, most: float) -> None:
    """Refuse a content of more bytes than are read."""
    if size > most:
        if most >= machine_bytes():
            raise TraceError.at(path, f"holds more than this machine's memory ({show_bytes(most)})")
        told = f"unpacks to more than {show_bytes(most)}, the most that is read"
        raise TraceError.at(path, told, hint=f"if it is sound, set {SIZE_ENV} to more (in GB), or unpack it first")


def _damaged(path: Path | str, problem: BaseException) -> TraceError:
    return TraceError.at(path, f"the gzip file is damaged ({problem})", hint="fetch it again")


def escaped(text: bytes) -> bytes:
    r"""Return whole lines as UTF-8: bytes that are none are written out (``\xf6``), so that different texts stay so.

    >>> escaped("Jörg".encode("latin-1"))
    b'J\\xf6rg'
    """
    if text.isascii():
        return text
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return text.decode("utf-8", errors="backslashreplace").encode()
    return text


def read_text(path: Path | str) -> bytes:
    """Return the content of a text file as bytes: no BOM, one newline a line; refuse what is not text."""
    return as_text(path, read_bytes(path))


def read_utf8(path: Path | str) -> str:
    """Return the content of a small table; one that is not UTF-8 is refused, by its line."""
    return as_utf8(path, read_bytes(path))


def as_utf8(path: Path | str, raw: bytes) -> str:
    """Check and decode the bytes of a small table (see ``read_utf8``)."""
    text = as_text(path, raw)
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as problem:
        line = text.count(b"\n", 0, problem.start) + 1
        raise TraceError.at(
            path, f"is not UTF-8 text (byte 0x{text[problem.start]:02x})", line=line, hint="save it as UTF-8"
        ) from None


def as_text(path: Path | str, raw: bytes) -> bytes:
    """Check and normalise the bytes of a text file (see ``read_text``)."""
    if not (raw[:4096].removeprefix(_UTF8_BOM).strip() or raw.removeprefix(_UTF8_BOM).strip()):
        raise TraceError.at(path, "the file is empty")
    refuse_foreign(path, raw)
    text = raw.removeprefix(_UTF8_BOM)
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return text


def refuse_foreign(path: Path | str, raw: bytes, at: int = 0) -> None:
    """Refuse bytes that are no text; they stand ``at`` so many from the beginning of the file."""
    for magic, packer in _OTHER_PACKERS.items():
        if at == 0 and raw.startswith(magic):
            raise TraceError.at(path, f"is packed with {packer}", hint="unpack it first (gzip is read directly)")
    if at == 0 and raw.startswith(_UTF16_BOMS):
        raise TraceError.at(path, "is UTF-16 text", hint="save it as UTF-8")
    if b"\0" in raw:
        raise TraceError.at(path, f"is a binary file (NUL at byte {at + raw.index(0)}), expected text")
