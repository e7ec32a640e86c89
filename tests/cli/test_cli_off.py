"""``wattline off`` does its work once, and its exit code tells whether all was released."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from wattline.api import controlling
from wattline.api.site import plan as site_plan
from wattline.cli.app import app
from wattline.live.controller.leading.off import LetGo


@pytest.mark.parametrize(("kept", "code"), [({}, 0), ({"node n2": "was not heard"}, 3)])
def test_off_lets_go_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kept: dict[str, str], code: int) -> None:
    """The machine is let go once, as the controller that was named; what was released is told, and what was not."""
    asked: list[tuple[str, ...]] = []
    done = LetGo(["the controller has ended"], ["node n1", "job 7 (stopped)"], kept)
    monkeypatch.setattr(site_plan, "plan_site", lambda file, name: (str(file), name))
    monkeypatch.setattr(controlling, "switch_off", lambda planned: asked.append(planned) or done)
    told = CliRunner().invoke(app, ["off", str(tmp_path / "site.toml"), "--name", "standby", "--json"])
    assert told.exit_code == code, told.output
    assert asked == [(str(tmp_path / "site.toml"), "standby")]
    assert json.loads(told.stdout) == {
        "notes": ["the controller has ended"],
        "released": ["node n1", "job 7 (stopped)"],
        "not released": kept,
    }


def test_what_was_not_released_has_a_line_each() -> None:
    """Nodes that were released are counted; of a thousand that were not, twenty are named and the rest counted."""
    one = LetGo([], ["node n1", "node n2", "job 7 (held)"], {"node n3": "was not heard"})
    assert one.lines(20) == [
        "released: 2 nodes, which have put back what they found",
        "released: job 7 (held)",
        "NOT released: node n3: was not heard",
    ]
    many = LetGo(kept={f"node {i}": "was not heard" for i in range(1000)})
    assert many.lines(20)[-1] == "NOT released: 980 more (--json names all)"
    assert len(many.lines(20)) == 21
