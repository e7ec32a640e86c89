"""Every example scenario runs and gives the numbers that were agreed; the reference is what the code says."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest
from example_runs import EXAMPLES, GOLDEN, names, run_example
from reference_doc import PAGE, generated

from wattline.scenario.read.forms import keys_of, sections_of
from wattline.scenario.spec import Spec


def test_every_example_has_a_golden_summary() -> None:
    """No example is without agreed numbers, and no numbers are without an example."""
    assert len(names()) >= 6
    assert sorted(json.loads(GOLDEN.read_text())) == names()


@pytest.mark.parametrize("name", names())
def test_example_gives_its_golden_summary(name: str, tmp_path: Path) -> None:
    """An example's numbers change only when scripts/update-golden says so."""
    agreed = json.loads(GOLDEN.read_text())[name]
    found = run_example(name, tmp_path)
    assert list(found) == list(agreed)
    for label, numbers in agreed.items():
        assert found[label]["jobs"] == numbers["jobs"]
        for key, value in numbers.items():
            if key != "jobs":
                assert math.isclose(found[label][key], value, rel_tol=1e-9), f"{label}: {key}"


def test_examples_need_no_data_and_say_how_they_are_run() -> None:
    """Each example draws its jobs, or brings them along, and begins with what it shows and its command."""
    for path in EXAMPLES.glob("*.toml"):
        text = path.read_text()
        own = re.search(r'^file = "(tables/[^"]+)"', text, re.MULTILINE)
        assert "generator = " in text or (own is not None and (EXAMPLES / own[1]).exists())
        assert f"examples/{path.name}" in text.split("\n\n")[0]


def test_the_reference_is_made_from_the_code() -> None:
    """docs/scenario.md holds every section and key as the code has them (scripts/update-golden writes it)."""
    assert PAGE.read_text(encoding="utf-8") == generated()


def test_every_key_has_a_meaning() -> None:
    """The reference explains each key, and unknown sections know none."""
    for path, _, model in sections_of(Spec):
        assert keys_of(path, Spec)
        assert all(info.description for info in model.model_fields.values()), path
    assert keys_of(("nowhere",), Spec) == []
