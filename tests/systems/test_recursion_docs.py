"""The page about the service-rate system: its scenario runs as it stands."""

from __future__ import annotations

import json
import re
from pathlib import Path

from programs import command

PAGE = Path(__file__).parents[2] / "docs" / "systems" / "recursion.md"


def test_the_scenario_of_the_page_runs_and_switches(tmp_path: Path) -> None:
    """An ordinary scenario with levels runs the system: all jobs finish, and both speeds are used."""
    text = re.search(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert text is not None
    scenario = tmp_path / "service-rate.toml"
    scenario.write_text(text.group(1), encoding="utf-8")
    done = command(["wattline", "run", scenario.name, "--out", "out", "--json", "--no-report"], tmp_path)
    assert done.code == 0, done.err
    summary = json.loads(done.out)["summary"]
    assert summary["jobs"]["finished"] == 1000
    assert set(summary["service"]["rate_shares"]) == {"0.752", "1"}
