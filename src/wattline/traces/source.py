"""Bytes from disk: plain or gzip told apart by content, every way a file can be unreadable said in one line."""

from __future__ import annotations

import gzip
import io
import zlib
from pathlib import Path

from wattline.errors import TraceError
from wattline.memory import machine_bytes, show_bytes

GZIP_MAGIC = b"\x1f\x8b"
PARQUET_MAGIC = b"PAR1"
_OTHER_PACKERS = {
    b"\xfd7zXZ": "xz", b"BZh": "bzip2", b"\x28\xb5\x2f\xfd": "zstd", b"PK\x03\x04": "zip", b"7z\xbc\xaf": "7z",
}  # fmt: skip
_PART = 16 << 20
_UTF8_BOM = b"\xef\xbb\xbf"
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")


def read_bytes(path: Path | str) -> bytes:
    """Return a file's content, unpacked if it is gzip whatever its name says."""
    where = Path(path)
    try:
        if where.is_dir():
            raise TraceError.at(path, "is a directory, expected a file")
        if where.is_char_device() or where.is_block_device():
            raise TraceError.at(path, "is a device, expected a file")
        raw = where.read_bytes()
    except FileNotFoundError:
        raise TraceError.at(path, "no such file") from None
    except PermissionError:
        raise TraceError.at(path, "no permission to read it") from None
    except (OSError, ValueError) as problem:  # ValueError: a NUL in the name
        raise TraceError.at(path, f"cannot be read ({problem})") from None
    return _unzip(path, raw) if raw.startswith(GZIP_MAGIC) else raw


def peek(path: Path | str, size: int = 65536) -> bytes:
    """Return the first bytes of a file's (unpacked) content, as far as they can be had; errors are ``read_bytes``'s."""
    try:
        with Path(path).open("rb") as file:
            head = file.read(size)
            if not head.startswith(GZIP_MAGIC):
                return head
            unpacked = zlib.decompressobj(wbits=31).decompress(head, size)
    except (OSError, ValueError, zlib.error):
        return read_bytes(path)[:size]
    return unpacked


def read_text(path: Path | str) -> bytes:
    """Return the content of a text file as bytes: no BOM, one newline a line; refuse what is not text."""
    return as_text(path, read_bytes(path))


def as_text(path: Path | str, raw: bytes) -> bytes:
    """Check and normalise the bytes of a text file (see ``read_text``)."""
    if not raw.strip():
        raise TraceError.at(path, "the file is empty")
    for magic, packer in _OTHER_PACKERS.items():
        if raw.startswith(magic):
            raise TraceError.at(path, f"is packed with {packer}", hint="unpack it first (gzip is read directly)")
    if raw.startswith(_UTF16_BOMS):
        raise TraceError.at(path, "is UTF-16 text", hint="save it as UTF-8")
    if b"\0" in raw:
        raise TraceError.at(path, f"is a binary file (NUL at byte {raw.index(0)}), expected text")
    text = raw.removeprefix(_UTF8_BOM)
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return text


def _unzip(path: Path | str, raw: bytes) -> bytes:
    most = machine_bytes()
    parts, size = [], 0
    try:
        with gzip.open(io.BytesIO(raw)) as file:
            while part := file.read(_PART):
                parts.append(part)
                size += len(part)
                if size > most:  # a few megabytes can unpack to far more than there is room for
                    raise TraceError.at(path, f"unpacks to more than this machine's memory ({show_bytes(most)})")
        return b"".join(parts)
    except EOFError:
        raise TraceError.at(path, "the gzip file is cut off", hint="fetch it again: its rest is missing") from None
    except (OSError, zlib.error) as problem:
        raise TraceError.at(path, f"the gzip file is damaged ({problem})", hint="fetch it again") from None
