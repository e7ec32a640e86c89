"""Key pairs of a site: made once, kept where nobody else can read them, and refused where somebody can.

A folder of keys holds ``public.keys`` (role, name and public key of everybody, one a line: copied to all) and
``secret/NAME.key`` (mode 600, in a folder of mode 700: copied to where NAME runs, and nowhere else).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast, get_args

from wattline.errors import InputError, TraceError
from wattline.files import open_regular
from wattline.live.bus.names import Role, checked_name
from wattline.live.secret import what_is_wrong

PUBLIC, SECRET = "public.keys", "secret"
_HEAD = "# wattline keys 1, site "
_LARGEST = 1 << 24
_KEY = re.compile(r"[0-9a-zA-Z.\-:+=^!/*?&<>()\[\]{}@%$#]{40}")


@dataclass(frozen=True)
class Pair:
    """Somebody's own keys."""

    name: str
    public: bytes
    secret: bytes = field(repr=False)


@dataclass(frozen=True)
class Known:
    """Everybody's public keys."""

    site: str
    keys: dict[str, bytes]
    roles: dict[str, Role]

    def names(self, role: Role) -> list[str]:
        """Return who has a role."""
        return [name for name, found in self.roles.items() if found == role]


def need_zmq() -> Any:
    """Return ZeroMQ's module; say in one line what is missing."""
    try:
        import zmq
    except ImportError as problem:
        raise InputError(
            f"the bus zeromq needs the extra live ({problem.name}): pip install 'wattline[live]'"
        ) from None
    return zmq


def make_keys(folder: Path, site: str, wanted: Iterable[tuple[Role, str]], *, force: bool = False) -> list[str]:
    """Make key pairs and add them to the folder's; return the names that are new.

    Names that have keys already are refused, or get new ones with ``force``.
    """
    zmq = need_zmq()
    roles = {checked_name(name): role for role, name in wanted}
    public = folder / PUBLIC
    known = load_known(public) if public.exists() else Known(checked_name(site, "site"), {}, {})
    if known.site != site:
        raise InputError(f"{public}: holds the keys of site {known.site!r}, not of {site!r}; give another folder")
    old = [name for name in roles if name in known.keys or (folder / SECRET / f"{name}.key").exists()]
    if old and not force:
        more = f" and {len(old) - 1} more" if len(old) > 1 else ""
        raise InputError(
            f"{folder}: has a key of {old[0]}{more} already; --force makes a new one, and the old one is void"
        )
    try:
        make_private(folder)
        for name, role in roles.items():
            pair = zmq.curve_keypair()
            write_secret(folder / SECRET / f"{name}.key", f"{name} {pair[0].decode()} {pair[1].decode()}\n")
            known.keys[name], known.roles[name] = pair[0], role
        lines = [f"{known.roles[name]} {name} {key.decode()}\n" for name, key in sorted(known.keys.items())]
        write_secret(public, f"{_HEAD}{site}\n{''.join(lines)}")
    except OSError as problem:
        raise InputError(f"{folder}: keys cannot be written ({problem.strerror or problem})") from None
    return list(roles)


def make_private(folder: Path) -> None:
    """Make a folder and its ``secret``, both of mode 700."""
    for place in (folder, folder / SECRET):
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        place.chmod(0o700)


def write_secret(path: Path, text: str) -> None:
    """Write a file of mode 600, whole or not at all; it is never readable by others, not even for a moment."""
    temporary = path.with_name(f".{path.name}.writing-{os.getpid()}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(text)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def read_secret(path: Path) -> str:
    """Return the text of a file that only we can read; refuse others in one line."""
    return _read(path, 0o077)


def load_pair(path: Path, name: str = "") -> Pair:
    """Return somebody's own keys; refuse a file that others can read, or of another name."""
    words = read_secret(path).split()
    if len(words) != 3 or not all(_is_key(word) for word in words[1:]):
        raise TraceError.at(path, "is no secret key", hint="make one with: wattline keys")
    if name and words[0] != name:
        raise TraceError.at(path, f"is the key of {words[0]}, not of {name}")
    if _public_of(words[2]) != words[1].encode():
        raise TraceError.at(
            path, "the two keys do not belong together", hint="make new ones with: wattline keys --force"
        )
    return Pair(words[0], words[1].encode(), words[2].encode())


def load_known(path: Path) -> Known:
    """Return everybody's public keys; refuse a file that others can write."""
    lines = _read(path, 0o022).splitlines()
    if not lines or not lines[0].startswith(_HEAD):
        raise TraceError.at(path, "is no file of public keys", line=1, hint="make one with: wattline keys")
    known = Known(checked_name(lines[0][len(_HEAD) :].strip(), "site"), {}, {})
    for number, line in enumerate(lines[1:], 2):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if len(words) != 3 or words[0] not in get_args(Role) or not _is_key(words[2]):
            raise TraceError.at(path, "expected role, name and public key", line=number, value=line)
        if words[1] in known.keys:
            raise TraceError.at(path, f"{words[1]} has a key already", line=number)
        name = checked_name(words[1])
        known.keys[name], known.roles[name] = words[2].encode(), cast("Role", words[0])
    if len(set(known.keys.values())) < len(known.keys):
        raise TraceError.at(path, "two names have the same key")
    return known


def _read(path: Path, forbidden: int) -> str:
    try:
        with open_regular(path) as file:
            wrong = what_is_wrong(path, os.fstat(file.fileno()), forbidden)
            if wrong is not None:
                raise TraceError.at(path, wrong[0], hint=wrong[1])
            return file.read(_LARGEST).decode("ascii")
    except UnicodeDecodeError:
        raise TraceError.at(path, "is no text") from None
    except OSError as problem_:
        raise TraceError.at(path, f"cannot be read ({problem_.strerror or problem_})") from None


def _is_key(word: str) -> bool:
    return _KEY.fullmatch(word) is not None


def _public_of(secret: str) -> bytes:
    zmq = need_zmq()
    try:
        return bytes(zmq.curve_public(secret.encode("ascii")))
    except (ValueError, zmq.ZMQError):
        return b""
