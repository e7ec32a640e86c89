"""The page about the service-rate system: its scenario runs as it stands."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "systems" / "recursion.md"


def test_the_scenario_of_the_page_runs_and_switches(tmp_path: Path) -> None:
    """An ordinary scenario with levels runs the system: all jobs finish, and both speeds are used."""
    text = re.search(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert text is not None
    scenario = tmp_path / "service-rate.toml"
    scenario.write_text(text.group(1), encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "wattline",
        "run",
        str(scenario),
        "--out",
        str(tmp_path / "out"),
        "--json",
        "--no-report",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)["summary"]
    assert summary["jobs"]["finished"] == 1000
    assert set(summary["service"]["rate_shares"]) == {"0.752", "1"}
