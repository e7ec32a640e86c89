"""Opening a file to read it: a regular file only, since pipes wait for somebody, devices never end and folders are no
files.
"""

from __future__ import annotations

import contextlib
import errno
import gzip
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from wattline.errors import LONGEST_NAME, TraceError, cut

_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


def open_regular(path: Path | str) -> IO[bytes]:
    """Open a regular file to read bytes; whatever else has that name is an ``OSError``, at once and before a byte is
    read.
    """
    _require(path, Path(path).stat().st_mode)
    handle = os.open(path, _FLAGS)  # does not wait for a writer, should a pipe have taken the file's place
    try:
        _require(path, os.fstat(handle).st_mode)
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def read_regular(path: Path | str) -> bytes:
    """Return the content of a small regular file; whatever else has that name is an ``OSError``."""
    with open_regular(path) as file:
        return file.read()


def open_trace(path: Path | str) -> IO[bytes]:
    """Open a regular file to read bytes; what it is not, or why it cannot be read, is one line."""
    try:
        return open_regular(path)
    except FileNotFoundError:
        raise TraceError.at(path, "no such file") from None
    except IsADirectoryError:
        raise TraceError.at(path, "is a directory, expected a file") from None
    except PermissionError:
        raise TraceError.at(path, "no permission to read it") from None
    except (OSError, ValueError) as problem:  # ValueError: a NUL in the name
        told = getattr(problem, "strerror", None) or str(problem)
        if told.startswith("is "):
            raise TraceError.at(path, told, hint="write its content to a file first") from None
        raise TraceError.at(path, f"cannot be read ({told})") from None


def _require(path: Path | str, mode: int) -> None:
    if stat.S_ISREG(mode):
        return
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    what = _KINDS.get(stat.S_IFMT(mode), "no regular file")
    raise OSError(errno.EINVAL, f"is {what}, expected a file", str(path))


def is_file(path: Path | str) -> bool:
    """Tell whether a regular file is there; a name that no file can have names none."""
    try:
        return Path(path).is_file()
    except (OSError, ValueError):  # too long, a NUL
        return False


def exists(path: Path | str) -> bool:
    """Tell whether something is there; a name that nothing can have names nothing."""
    try:
        return Path(path).exists()
    except (OSError, ValueError):  # too long, a NUL
        return False


def refuse_name(path: Path | str) -> None:
    """Refuse a name that no file or folder can have: too long a one, links in a circle."""
    try:
        os.stat(path)  # noqa: PTH116
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return  # whoever reads it says so
    except (OSError, ValueError) as problem:
        told = getattr(problem, "strerror", None) or str(problem)
        raise TraceError.at(cut(str(path), LONGEST_NAME), f"cannot be read ({told})") from None


def refuse_journal_file(path: Path | str) -> None:
    """Refuse to write over the manifest or a table of a journal: what a run left would be lost."""
    try:
        found = Path(path).resolve()
        manifest = found.parent / "manifest.json"
        if found.name != manifest.name and found.suffix != ".parquet":
            return
        told = json.loads(read_regular(manifest))
    except (OSError, ValueError, RuntimeError, RecursionError):  # no manifest, or none of a journal
        return
    if isinstance(told, dict) and "journal" in told:
        tables = told.get("tables")
        if found.name == manifest.name or found.stem in (tables if isinstance(tables, dict) else {}):
            raise TraceError.at(path, "belongs to a journal, so it is not overwritten", hint="give another name")


def is_read_only(folder: Path) -> bool:
    """Tell whether a folder is one that nobody may write into, root no more than others: it was made so on purpose."""
    return folder.is_dir() and (folder.stat().st_mode & 0o222 == 0 or not os.access(folder, os.W_OK))


def shipped_examples(first: str) -> Path | None:
    """Return the folder of examples that has this file: in the package, or beside its sources (None: there is none)."""
    package = Path(__file__).resolve().parent
    folders = (package / "examples", package.parents[1] / "examples")
    return next((folder for folder in folders if (folder / first).is_file()), None)


def as_its_folder(path: Path) -> None:
    """Give a file that root made to the owner of its folder, who is to use it."""
    if os.geteuid() == 0:
        with contextlib.suppress(OSError):
            owner = path.parent.stat()
            os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)


def write_whole(path: Path | str, content: bytes) -> None:
    """Write a file whole or not at all; files of a journal are left alone."""
    refuse_journal_file(path)
    target = Path(path)
    temporary = target.with_name(f".{target.name}.writing-{os.getpid()}")
    try:
        if target.name.endswith(".gz"):
            content = gzip.compress(content, compresslevel=6, mtime=0)
        temporary.write_bytes(content)
        temporary.replace(target)
    except OSError as problem:
        temporary.unlink(missing_ok=True)
        raise TraceError.at(path, f"cannot be written ({problem.strerror or problem})") from None


@contextlib.contextmanager
def in_this_folder() -> Iterator[None]:
    """Come back to the working folder, wherever code of users goes: relative paths keep their meaning."""
    try:
        here: Path | None = Path.cwd()
    except OSError:  # it was removed
        here = None
    try:
        yield
    finally:
        if here is not None:
            with contextlib.suppress(OSError):
                os.chdir(here)
