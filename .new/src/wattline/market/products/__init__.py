"""Market products, one a file: what is sold to a grid and how it is billed. No list of them has to be kept.

Each file here but ``base`` has a class as ``base.Product`` says, called ``PRODUCT``: ``rules`` of ``[prices]``
takes its name, its keys become keys of that section.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil

from wattline.errors import InputError, did_you_mean
from wattline.market.products.base import Key, Product

__all__ = ["find", "keys", "known"]


@functools.cache
def known() -> dict[str, type[Product]]:
    """Return all products by name, in alphabetical order."""
    parts = sorted(part.name for part in pkgutil.iter_modules(__path__) if part.name != "base")
    found = [importlib.import_module(f"{__name__}.{name}").PRODUCT for name in parts]
    return {product.name: product for product in found}


def find(name: str) -> type[Product]:
    """Return the product of a name."""
    products = known()
    if name not in products:
        told = f"rules must be {' or '.join(products)} (got {name!r}){did_you_mean(name, products)}"
        raise InputError(f"accounts: {told}")
    return products[name]


def keys() -> dict[str, Key]:
    """Return the keys of all products by name, those of energy apart; two products may share one."""
    return {key.name: key for product in known().values() for key in product.keys if key.name != "energy"}
