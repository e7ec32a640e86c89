"""How jobs take a resource of the whole machine, one way a file. No list of them has to be kept.

Each file here but ``base`` has a class as ``base.Resource`` says, called ``RESOURCE``: ``per`` of a ``[[resource]]``
takes its name.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING

from wattline.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from wattline.model.resources.base import Resource

__all__ = ["NAMES", "find_resource"]

NAMES = tuple(sorted(found.name.replace("_", "-") for found in pkgutil.iter_modules(__path__) if found.name != "base"))
"""Names of all ways."""


def find_resource(name: str) -> type[Resource]:
    """Return the way of a name."""
    if name not in NAMES:
        raise InputError(f"unknown way to take a resource {name!r}{did_you_mean(name, NAMES)}")
    found: type[Resource] = importlib.import_module(f"{__name__}.{name.replace('-', '_')}").RESOURCE
    return found
