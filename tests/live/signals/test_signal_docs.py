"""What the page on signals shows is what works."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from pathlib import Path

from wattline.live.signals.pushed import Pushed
from wattline.live.signals.schedule import MOST, Schedule
from wattline.live.signals.stale import REASONS, Rules

PAGE = (Path(__file__).parents[3] / "docs/live/signals.md").read_text(encoding="utf-8")


def test_all_bodies_of_the_page_are_taken() -> None:
    """In order: a target is cancelled after it was put."""
    pushed = Pushed(Schedule(1e6))
    bodies = re.findall(r"-d '(.*?)'", PAGE, re.DOTALL)
    assert len(bodies) == 4
    now_s = 1794800000.0  # that morning
    for body in bodies:
        assert json.loads(body)
        assert pushed.take_text(body.encode(), now_s) is None
        if "percent" in body:
            assert pushed.limit_at(1794852000.0) == 0.7e6  # at six in the evening


def test_the_page_names_all_rules_reasons_and_bounds() -> None:
    """Each parameter with its usual value, and each reason to refuse a sample."""
    usual = {
        name.strip(" `"): value.strip(" `")
        for names, values in re.findall(r"^\| (`[^|]*) \| ([^|]*) \| [^|]* \|$", PAGE, re.MULTILINE)
        for name, value in zip(names.split(", "), values.split(", "), strict=True)
    }
    said = {"none": "inf", "−1": "-1"}
    assert {name: said.get(value, value) for name, value in usual.items()} == {
        field.name: f"{field.default:g}" if isinstance(field.default, (int, float)) else field.default
        for field in fields(Rules)
    }
    assert all(f"`{reason}`" in PAGE for reason in (*REASONS, "ignored"))
    assert f"There are {MOST} targets at most" in PAGE
