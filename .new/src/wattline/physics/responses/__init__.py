"""Responses to caps, one a file: how much longer a job runs on less power. No list of them has to be kept.

Each file here but ``base`` has a class as ``base.Response`` says, called ``RESPONSE``: ``response`` of a ``[[kind]]``
takes its name, or a file that it is read from.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Collection
from typing import TYPE_CHECKING

from wattline.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from wattline.physics.responses.base import Response

__all__ = ["NAMES", "find_response", "layouts", "response_names", "response_of_columns"]

NAMES = tuple(sorted(found.name.replace("_", "-") for found in pkgutil.iter_modules(__path__) if found.name != "base"))
"""Names of all responses."""


def find_response(name: str) -> type[Response]:
    """Return the response of a name."""
    if name not in NAMES:
        raise InputError(f"unknown response to caps {name!r}{did_you_mean(name, NAMES)}")
    found: type[Response] = importlib.import_module(f"{__name__}.{name.replace('-', '_')}").RESPONSE
    return found


def response_names() -> tuple[str, ...]:
    """Return the names of the responses that are read from no file."""
    return tuple(name for name in NAMES if not find_response(name).columns)


def layouts() -> dict[tuple[str, ...], type[Response]]:
    """Return the columns of all files that responses are read from, and which response each is."""
    return {columns: found for found in map(find_response, NAMES) for columns in found.columns}


def response_of_columns(names: Collection[str]) -> type[Response] | None:
    """Return the response that is read from a file of these columns, in whatever order (None: there is none)."""
    return next((found for columns, found in layouts().items() if set(columns) == set(names)), None)
