"""The catalogue: a table of names that is complete, and modules that are imported only by whoever names them."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys

from wattline import learn, policies
from wattline.control.catalog import MODULES, catalog
from wattline.model.codes import SLOT_NAMES
from wattline.model.mechanism import Mechanism


def test_the_table_names_every_mechanism_and_no_other() -> None:
    """Whatever is declared in the rooms of policies and learners can be found by its name, in the module that the table
    says.
    """
    found = set()
    for room in (policies, learn):
        for info in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
            for value in vars(importlib.import_module(info.name)).values():
                if isinstance(value, Mechanism) and value.function.__module__ == info.name:
                    found.add((value.slot, value.name, info.name))
    assert found == {(slot, name, module) for slot, names in MODULES.items() for name, module in names.items()}
    assert list(catalog()) == list(SLOT_NAMES)
    for slot, names in catalog().items():
        assert [(m.slot, m.name) for m in names.values()] == [(slot, name) for name in MODULES[slot]]


def test_finding_one_policy_imports_no_other() -> None:
    """A run pays for the policies that it names."""
    ask = "import sys; from wattline.control.catalog import find; find('select', 'easy'); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True).stdout.split()
    assert "wattline.policies.select.easy" in loaded
    assert not {"wattline.policies.select.rmap", "wattline.policies.place.slurm", "wattline.learn.pooled"} & set(loaded)
