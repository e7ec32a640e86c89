"""Connection strings of PostgreSQL: read strictly, shown without secrets; what does not parse is never shown at all."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote

from wattline.errors import InputError

SCHEMES = ("postgresql://", "postgres://")
_HOST = r"(?:\[[0-9A-Fa-f:.%]+\]|[A-Za-z0-9._~%-]*)(?::\d{1,5})?"
_FORM = re.compile(
    r"(?P<scheme>postgres(?:ql)?)://"
    r"(?:(?P<user>[^:@/?\s]*)(?::(?P<password>[^@/\s]*))?@)?"
    rf"(?P<hosts>{_HOST}(?:,{_HOST})*)"
    r"(?:/(?P<base>[^?@:\s]*))?"
    r"(?:\?(?P<parameters>[A-Za-z_]+=[^&@\s]*(?:&[A-Za-z_]+=[^&@\s]*)*))?"
)
_HARMLESS = ("host", "hostaddr", "port", "dbname", "user", "sslmode", "connect_timeout", "application_name")
_LOOKS_LIKE = re.compile(r":/|@|\b\w*(?:pass|pwd|secret)\w*\s*[=:]", re.IGNORECASE)
_ANY = re.compile(r"\b([A-Za-z][\w+.-]*:/+)(?!/)(?![^\s:@/]*@[^\s@]*(?:\s|$))\S*@")
_NAMED = re.compile(r"(\b\w*(?:passw|passphrase|pwd|secret)\w*\s*[=:]\s*)('[^']*'|\"[^\"]*\"|[^\s&;,]+)", re.IGNORECASE)


@dataclass(frozen=True)
class Where:
    """A database as it may be named to people, and the texts that must not be."""

    name: str
    secrets: tuple[str, ...] = ()

    def without_secrets(self, text: str) -> str:
        """Return what a driver says, with secrets left out."""
        for secret in self.secrets:
            text = text.replace(secret, "…")
        return mask(text)


def is_database(source: str) -> bool:
    """Tell whether a source is a connection string of PostgreSQL."""
    return source.startswith(SCHEMES)


def may_be_secret(source: str) -> bool:
    """Tell whether a text that is no file's name may be a connection string, mistyped, with a password in it.

    >>> may_be_secret("power.parquet"), may_be_secret("postgres:/me:secret@db"), may_be_secret("host=db PASSWORD=x")
    (False, True, True)
    """
    return _LOOKS_LIKE.search(source) is not None


def parse(source: str) -> Where:
    """Return how a connection string is shown: without its password, and without values of parameters that may be one.

    >>> parse("postgresql://me:secret@db.site/power?password=x").name
    'postgresql://me@db.site/power?password=…'
    """
    found = _FORM.fullmatch(source)
    if found is None:
        raise InputError(
            "the connection string (not shown: it may hold a password) cannot be read: expected "
            "postgresql://USER@HOST:PORT/DATABASE; "
            "in a password write @ as %40, / as %2F, : as %3A; better, leave it to PGPASSWORD or ~/.pgpass"
        )
    user, password, base, parameters = (found[part] for part in ("user", "password", "base", "parameters"))
    secrets = [password or ""]
    told = []
    for pair in parameters.split("&") if parameters else ():
        key, _, value = pair.partition("=")
        harmless = key in _HARMLESS
        told.append(pair if harmless else f"{key}=…")
        secrets += [] if harmless else [value]
    name = f"{found['scheme']}://{f'{user}@' if user else ''}{found['hosts']}"
    name += ("" if base is None else f"/{base}") + (f"?{'&'.join(told)}" if told else "")
    both = [text for secret in secrets for text in (secret, unquote(secret)) if text]
    return Where(name, tuple(sorted(set(both), key=len, reverse=True)))


def mask(text: str) -> str:
    """Return a message with everything between a scheme and the last ``@`` of a word left out, and values named as
    passwords.

    >>> mask("no such file: postgres:/me:p@ss@db/x"), mask("host=db PASSWORD=abc port=1")
    ('no such file: postgres:/…@db/x', 'host=db PASSWORD=… port=1')
    """
    return _NAMED.sub(r"\1…", _ANY.sub(r"\1…@", text))
