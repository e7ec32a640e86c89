"""Files for the broker mosquitto: who may write and read what, and hashed passwords."""

from __future__ import annotations

import base64
import hashlib
import secrets
from collections.abc import Iterable
from pathlib import Path

from wattline.errors import InputError
from wattline.live.bus.keys import SECRET, make_private, write_secret
from wattline.live.bus.names import Role, Topics, checked_name

ACL, PASSWORDS = "mosquitto.acl", "mosquitto.passwords"
_HEAD = "# wattline access 1, site "
_ROUNDS = 101


def acl_for(
    site: str,
    nodes: Iterable[str],
    controllers: Iterable[str] = ("controller",),
    gateways: Iterable[str] = (),
    operators: Iterable[str] = (),
) -> str:
    """Return mosquitto's access list: an agent writes its own status alone, and reads its own cap and ``off``."""
    topics = Topics(site)
    groups: tuple[tuple[Role, Iterable[str]], ...] = (
        ("controller", controllers),
        ("gateway", gateways),
        ("operator", operators),
        ("agent", nodes),
    )
    return "".join(_of(topics, role, name) for role, names in groups for name in names)


def _of(topics: Topics, role: Role, name: str) -> str:
    deep = "" if role == "agent" else "/#"  # "a/#" is "a" too
    lines = [f"user {checked_name(name)}"]
    lines += [f"topic write {topic}{deep}" for topic in topics.writes(role, name)]
    lines += [f"topic read {topic}{deep}" for topic in topics.reads(role, name)]
    return "\n".join(lines) + "\n\n"


def make_broker(folder: Path, site: str, wanted: Iterable[tuple[Role, str]], *, force: bool = False) -> list[str]:
    """Make passwords and add them to the folder's; return the names that are new.

    Everybody gets ``secret/NAME.password`` (mode 600), the broker gets ``mosquitto.passwords`` (hashes) and
    ``mosquitto.acl``.
    Names that have a password are refused, or get a new one with ``force``.
    """
    roles: dict[str, Role] = {checked_name(name): role for role, name in wanted}
    topics, acl, hashed = Topics(site), folder / ACL, folder / PASSWORDS
    try:
        rights = _read(acl, f"{_HEAD}{site}\n\n")
        lines = dict(line.split(":", 1) for line in hashed.read_text("ascii").splitlines()) if hashed.exists() else {}
        old = [name for name in roles if name in lines or (folder / SECRET / f"{name}.password").exists()]
        if old and not force:
            more = f" and {len(old) - 1} more" if len(old) > 1 else ""
            raise InputError(f"{folder}: has a password of {old[0]}{more} already; --force makes a new one")
        make_private(folder)
        for name, role in roles.items():
            password = secrets.token_urlsafe(24)
            write_secret(folder / SECRET / f"{name}.password", f"{name}:{password}\n")
            lines[name] = hashed_password(password)
            rights[name] = _of(topics, role, name)
        write_secret(hashed, "".join(f"{name}:{line}\n" for name, line in sorted(lines.items())))
        write_secret(acl, f"{_HEAD}{site}\n\n{''.join(rights.values())}")
    except OSError as problem:
        raise InputError(f"{folder}: passwords cannot be written ({problem.strerror or problem})") from None
    return list(roles)


def _read(acl: Path, head: str) -> dict[str, str]:
    """Return what an access list that we wrote says of each user."""
    if not acl.exists():
        return {}
    text = acl.read_text("ascii")
    if not text.startswith(head):
        raise InputError(f"{acl}: was not made for this site; give another folder")
    blocks = text[len(head) :].split("\n\n")
    return {block.split()[1]: f"{block}\n\n" for block in blocks if block.startswith("user ")}


def hashed_password(password: str) -> str:
    """Return a password as mosquitto keeps it (PBKDF2 with SHA-512)."""
    salt = secrets.token_bytes(12)
    found = hashlib.pbkdf2_hmac("sha512", password.encode(), salt, _ROUNDS)
    return f"$7${_ROUNDS}${base64.b64encode(salt).decode()}${base64.b64encode(found).decode()}"
