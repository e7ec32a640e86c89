"""Compiled code on disk: where it lies, who may write there, and seals by which damaged, stale or mixed-up files
are known.

numba keeps an index (``.nbi``) and data (``.nbc``) a function, both pickles that it takes as they are. Here each
file begins with a checksum of its name and content, so that a cut or flipped byte is noticed before anything of it
is unpickled or run; the file is then said to be damaged, and made again. Data carry what they were compiled for:
numba writes index and data one after the other, and a process killed in between, or two that compile for other
signatures at once, would leave an index that names the wrong code. A pickle runs what it says, so a folder that
others may write to is refused.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import importlib.util
import os
import pickle
import shutil
import stat
import tempfile
import time
import uuid
import warnings
from pathlib import Path
from typing import Any

import numba
from llvmlite import binding
from numba.core.caching import CompileResultCacheImpl, FunctionCache, UserProvidedCacheLocator
from numba.core.runtime.nrt import rtsys
from numba.core.serialize import dumps

from wattline.errors import InputError
from wattline.files import open_regular
from wattline.kernel.indices import checks
from wattline.kernel.sources import cache_root, fingerprint

_config: Any = numba.config  # its attributes are made at run time

TRIED = {(0, 68)}
"""Versions of numba whose inner workings we know: any other compiles and loads in numba's own way, to the same
results, but slower.
"""

FAST = numba.version_info.short in TRIED

if FAST:
    from wattline.kernel import link as numba_link

# ------------------------------------------------------------------ where


@functools.cache
def cache_dir() -> Path:
    """Return the folder of compiled code for this version of the sources, made if missing.

    Without a writable place it is a temporary folder, and the user is told once that every process will compile.
    """
    root = cache_root()
    try:
        if root is None:
            raise FileNotFoundError("this user has no home folder")
        folder = root / fingerprint()
        root.parent.mkdir(parents=True, exist_ok=True)
        for made in (root, folder):
            _make(made)
        refuse_foreign(root, sticky=True)
        refuse_foreign(folder)
        with tempfile.TemporaryFile(dir=folder):
            pass
        _prune(folder)
    except OSError as problem:
        folder = Path(tempfile.mkdtemp(prefix="wattline-cache-"))
        atexit.register(_remove, folder, os.getpid())
        warnings.warn(
            f"no writable cache for compiled code ({problem}); every process will compile anew. "
            "Set WATTLINE_CACHE_DIR to a writable folder.",
            stacklevel=2,
        )
    return folder


def _remove(folder: Path, owner: int) -> None:
    """Remove the folder of one process when it ends; what it forked leaves it alone."""
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


def cache_is_shared() -> bool:
    """Tell whether other processes will find what this one compiles."""
    return cache_dir().parent == cache_root()


def _make(folder: Path) -> None:
    """Make a folder that nobody else may write to, whatever the user's umask says."""
    folder.mkdir(mode=0o755, exist_ok=True)


def refuse_foreign(folder: Path, *, sticky: bool = False) -> None:
    """Refuse a folder of compiled code that others own or may write to.

    Where folders of our own lie in it (``sticky``), others may write as long as they cannot rename or delete what
    is ours.
    """
    if not hasattr(os, "geteuid"):
        return
    found = folder.stat()
    instead = "set WATTLINE_CACHE_DIR to a folder of your own"
    if found.st_uid not in (os.geteuid(), 0):
        raise InputError(
            f"{folder}: belongs to another user ({_user(found.st_uid)}), and compiled code that lies there "
            "would be run "
            f"as you; {instead}"
        )
    if _is_loose(found) and not (sticky and found.st_mode & stat.S_ISVTX):
        raise InputError(
            f"{folder}: other users may write to it, and compiled code that lies there would be run as you; "
            f"chmod go-w {folder} and delete what is in it, or {instead}"
        )


def _is_loose(found: os.stat_result) -> bool:
    """Tell whether others may write to a file or folder."""
    loose = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if loose == stat.S_IWGRP and _is_private(found.st_gid):
        return False
    return loose != 0


def _user(uid: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _is_private(gid: int) -> bool:
    """Tell whether a group is the user's own with nobody else in it, as many systems make one for every user."""
    import grp
    import pwd

    try:
        me, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(gid)
    except KeyError:
        return False
    return gid == me.pw_gid and group.gr_name == me.pw_name and set(group.gr_mem) <= {me.pw_name}


def _prune(current: Path, *, keep: int = 4, min_age_s: float = 86400.0) -> None:
    """Remove the caches of old sources, but none that another process may still be using."""
    others = []
    for folder in current.parent.iterdir():
        with contextlib.suppress(FileNotFoundError):  # another process removed it meanwhile
            if folder.is_dir() and folder != current:
                others.append((folder.stat().st_mtime, folder))
    others.sort(reverse=True)
    for written_s, folder in others[keep:]:
        if time.time() - written_s > min_age_s:
            shutil.rmtree(folder, ignore_errors=True)


# ------------------------------------------------------------------ sealed files


_MAGIC = b"wattline compiled code 1\n"
_DIGEST = hashlib.sha256().digest_size


class _DamagedError(Exception):
    """A file is not what was written; it never leaves this module."""


def _digest(name: str, body: bytes) -> bytes:
    found = hashlib.sha256(f"{name}\n".encode())
    found.update(body)
    return found.digest()


def _write_sealed(path: Path, body: bytes) -> None:
    """Write a file in one step: whoever reads meanwhile, or after a kill, has the old one or the new one."""
    part = path.with_name(f"{path.name}.tmp.{uuid.uuid4().hex[:16]}")
    try:
        part.write_bytes(_MAGIC + _digest(path.name, body) + body)
        part.chmod(0o644)  # others may not write to it, whatever the user's umask says
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _read_sealed(path: Path) -> bytes | None:
    """Return what was written to a file (None: there is none)."""
    try:
        with open_regular(path) as file:
            found = os.fstat(file.fileno())
            text = file.read()
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise _DamagedError(f"cannot be read ({problem.strerror})") from None
    if hasattr(os, "geteuid") and found.st_uid not in (os.geteuid(), 0):
        raise _DamagedError(f"it belongs to another user, {_user(found.st_uid)}")
    if hasattr(os, "geteuid") and _is_loose(found):
        raise _DamagedError("other users may write to it")
    start = len(_MAGIC) + _DIGEST
    if len(text) < start:
        raise _DamagedError("is cut off" if text else "is empty")
    if text[: len(_MAGIC)] != _MAGIC or text[len(_MAGIC) : start] != _digest(path.name, text[start:]):
        raise _DamagedError("its checksum differs")
    return text[start:]


_told: set[Path] = set()
"""Folders whose damage this process has told of."""
_unkept: set[str | None] = set()
"""Why this process has said that code cannot be kept."""


def _say_damaged(path: Path, problem: object) -> None:
    if path.parent.parent not in _told:
        _told.add(path.parent.parent)
        told = f"{path}: compiled code is damaged ({problem}); what is damaged in that folder is compiled anew"
        warnings.warn(told, stacklevel=2)


def read_or_say(path: Path) -> bytes | None:
    """Return what was written to a file (None: there is none, or it is damaged, which is said)."""
    try:
        return _read_sealed(path)
    except _DamagedError as problem:
        _say_damaged(path, problem)
        return None


def write_if_possible(path: Path, body: bytes) -> None:
    """Write a sealed file, unless the disk takes no more: then it is made anew the next time, and that is said."""
    try:
        _write_sealed(path, body)
    except OSError as problem:
        _say_unkept(path.parent, problem)


def _say_unkept(folder: Path, problem: OSError) -> None:
    """Say, once a process and cause, that compiled code cannot be kept."""
    if problem.strerror not in _unkept:
        _unkept.add(problem.strerror)
        warnings.warn(f"{folder}: compiled code cannot be kept there ({problem.strerror})", stacklevel=3)


class SealedFiles:
    """Index and data of one function, in the place of numba's own: load, save and flush are what numba calls."""

    def __init__(self, folder: Path, base: str, stamp: Any) -> None:
        self.folder, self.base = folder, base
        self.about = (numba.__version__, stamp)
        self.index = folder / f"{base}.nbi"

    def flush(self) -> None:
        """Forget everything."""
        self._write_index({})

    def load(self, key: Any) -> Any:
        """Return what was compiled for a key; None if nothing was, or if it is damaged, which is said."""
        name = self._read_index().get(key)
        path = self.folder / str(name)
        if name is None:
            return None
        try:
            body = _read_sealed(path)
            if body is None:
                return None
            about, compiled_for, payload = pickle.loads(body)  # noqa: S301  (sealed, and nobody else may write here)
            return pickle.loads(payload) if about == self.about and compiled_for == key else None  # noqa: S301
        except _DamagedError as problem:
            _say_damaged(path, problem)
        except MemoryError:
            raise
        except Exception as problem:  # a pickle may fail in any way
            _say_damaged(path, type(problem).__name__)
        return None

    def save(self, key: Any, data: Any) -> None:
        """Keep what was compiled for a key: the data first, then the index that names them."""
        names = self._read_index()
        taken = set(names.values())
        name = names.get(key) or next(
            found for i in range(1, len(taken) + 2) if (found := f"{self.base}.{i}.nbc") not in taken
        )
        _write_sealed(self.folder / name, dumps((self.about, key, dumps(data))))
        if names.get(key) != name:
            self._write_index(names | {key: name})

    def is_whole(self) -> bool:
        """Tell whether there is code for these sources and all of it is as it was written.

        Damage is said, and forgotten: what this run does not compile anew would be said again by every other.
        """
        names = self._read_index()
        whole = {key: name for key, name in names.items() if self._stands(self.folder / name)}
        if len(whole) < len(names):
            with contextlib.suppress(OSError):  # a disk that takes no more keeps the damage
                self._write_index(whole)
        return bool(names) and len(whole) == len(names)

    def _stands(self, path: Path) -> bool:
        """Tell whether a file is there as it was written; damage is said."""
        try:
            return _read_sealed(path) is not None
        except _DamagedError as problem:
            _say_damaged(path, problem)
            return False

    def _read_index(self) -> dict[Any, str]:
        try:
            body = _read_sealed(self.index)
            if body is None:
                return {}
            about, names = pickle.loads(body)  # noqa: S301  (sealed, and nobody else may write here)
            return dict(pickle.loads(names)) if about == self.about else {}  # noqa: S301
        except _DamagedError as problem:
            _say_damaged(self.index, problem)
        except MemoryError:
            raise
        except Exception as problem:  # a pickle may fail in any way
            _say_damaged(self.index, type(problem).__name__)
        return {}

    def _write_index(self, names: dict[Any, str]) -> None:
        _write_sealed(self.index, dumps((self.about, dumps(names))))


class _Locator(UserProvidedCacheLocator):
    """Where numba keeps what it compiled: by the path of the source, in our folder."""

    def __init__(self, function: Any, source: str) -> None:
        self._py_file, self._lineno = source, function.__code__.co_firstlineno
        self._cache_path = str(cache_dir() / self.get_suitable_cache_subpath(source))

    def ensure_cache_path(self) -> None:
        folder = Path(self._cache_path)
        _make(folder)
        refuse_foreign(folder)

    @classmethod
    def from_function(cls, function: Any, source: str) -> Any:
        """Return the place of a function; what is typed at a prompt has no source, and is not kept."""
        if not Path(source).exists():
            return None
        found = cls(function, source)
        found.ensure_cache_path()
        return found


class _Impl(CompileResultCacheImpl):
    _locator_classes = [_Locator]  # noqa: RUF012  (as numba has it)


class SealedCache(FunctionCache):
    """numba's cache of one function, on sealed files; ``variant`` tells apart what is compiled with other options."""

    _impl_class = _Impl

    def __init__(self, function: Any, variant: str) -> None:
        super().__init__(function)
        self.variant = variant
        locator = self._impl.locator
        self._cache_file: Any = SealedFiles(
            Path(self._cache_path), self._impl.filename_base, (locator.get_source_stamp(), fingerprint())
        )

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        return (*super()._index_key(sig, codegen), self.variant, checks())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return a compiled function from disk, or None; code that cannot be put together again is made anew."""
        try:
            return self._load_only(sig, target_context) if FAST else super().load_overload(sig, target_context)
        except (MemoryError, InputError):
            raise
        except Exception as problem:  # whatever a linker may say
            _say_damaged(self._cache_file.index, type(problem).__name__)
            return None

    def _load_only(self, sig: Any, target_context: Any) -> Any:
        """Do as numba does, but load what a compiler needs (a third of a second) only where the code calls
        something of it.

        A name that the linker does not know would end the process.
        """
        data = self._cache_file.load(self._index_key(sig, target_context.codegen()))
        if data is None:
            return None
        names, defined, reduced = data
        if _unknown(names):
            rtsys.initialize(target_context)
        if _unknown(names):
            target_context.refresh()
        return numba_link.rebuild(target_context, reduced, defined)

    def _save_with_names(self, sig: Any, compiled: Any) -> None:
        """Do as numba does, and keep the names that the code needs beside it."""
        if self._impl.check_cachable(compiled):
            self._impl.locator.ensure_cache_path()
            key = self._index_key(sig, compiled.codegen)
            defined = numba_link.defined_names(compiled.library._get_module_for_linking())
            self._cache_file.save(key, (_needed(compiled), defined, self._impl.reduce(compiled)))

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled function, unless the disk takes no more: the run needs only what is in memory."""
        try:
            self._save_with_names(sig, data) if FAST else super().save_overload(sig, data)
        except OSError as problem:
            _say_unkept(Path(self._cache_path), problem)


def _needed(compiled: Any) -> tuple[str, ...]:
    """Return the names that compiled code wants of others."""
    module = compiled.library._final_module
    found = (one.name for many in (module.functions, module.global_variables) for one in many if one.is_declaration)
    return tuple(name for name in found if not name.startswith("llvm."))


def _unknown(names: tuple[str, ...]) -> list[str]:
    """Return the names that the linker does not know."""
    return [name for name in names if binding.address_of_symbol(name) is None]


def is_warm(module: str, function: str) -> bool:
    """Tell whether an entry point was compiled before, from the sources where they lie now, and is still whole.

    numba keeps what it compiled by the path of the source: another checkout that shares the cache compiles again.
    """
    found = importlib.util.find_spec(module)
    if _config.DISABLE_JIT or found is None or found.origin is None:
        return True
    folder = cache_dir() / _Locator.get_suitable_cache_subpath(found.origin)
    indices = folder.glob(f"{module.rpartition('.')[2]}.{function}-*.nbi")
    return any(_stands(index, found.origin) for index in indices)


def _stands(index: Path, source: str) -> bool:
    """Tell whether an index is of this source as it is now, and whole with its data."""
    stamp = hashlib.sha256(Path(source).read_bytes()).digest()
    return SealedFiles(index.parent, index.stem, (stamp, fingerprint())).is_whole()
