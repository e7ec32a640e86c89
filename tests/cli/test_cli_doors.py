"""The doors for published systems and for checks of users' policies: what is behind them is called and shown."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from calling import Call

import wattline.systems as wattline_systems
from wattline.systems.work import Work


@pytest.fixture
def systems(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Path, bool]]:
    """A stand-in for the published systems; returns the calls it got."""
    calls: list[tuple[Path, bool]] = []

    def reproduce(_name: str, out: Path, work: Work, *, quick: bool) -> SimpleNamespace:
        calls.append((out, quick))
        work.say("drawing figure 1")
        return SimpleNamespace(table="figure 1 agrees", path=out / "report.html", to_dict=lambda: {"claims": []})

    module = ModuleType("wattline.systems")
    module.__path__ = wattline_systems.__path__  # what lies in the room is found there
    module.known = lambda: ["paper"]  # type: ignore[attr-defined]
    module.ALL = "all"  # type: ignore[attr-defined]
    module.runs_engine = lambda _name: True  # type: ignore[attr-defined]
    module.keeps_pieces = lambda _name: True  # type: ignore[attr-defined]
    module.reproduce = reproduce  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "wattline.systems", module)
    return calls


def test_reproduce_calls_the_system_and_shows_its_table(wattline: Call, systems: list[tuple[Path, bool]]) -> None:
    """``reproduce NAME`` hands over folder and haste, prints the table and the report's path."""
    answer = wattline("reproduce", "paper", "--quick", "--out", "here")
    assert answer.code == 0
    assert systems == [(Path("here"), True)]
    assert "figure 1 agrees" in answer.out
    assert "here/report.html" in answer.out
    assert "drawing figure 1" in answer.err
    assert json.loads(wattline("reproduce", "paper", "--json").out) == {
        "name": "paper",
        "report": "out/paper/report.html",
        "claims": [],
    }
    assert json.loads(Path("here/reproduction.json").read_text())["claims"] == []


def test_reproduce_lists_what_there_is(wattline: Call, systems: list[tuple[Path, bool]]) -> None:
    """Without a name the reproductions are listed; a wrong name suggests the right one."""
    assert wattline("reproduce").out == "paper\n"
    wrong = wattline("reproduce", "papr")
    assert wrong.code == 2
    assert "did you mean 'paper'?" in wrong.err
    assert systems == []


@pytest.mark.parametrize("good", [True, False])
def test_check_policy_shows_every_check(
    wattline: Call, folder: Path, monkeypatch: pytest.MonkeyPatch, good: bool
) -> None:
    """``check-policy`` prints each check; one that fails makes exit code 2 and is named."""
    rows = [("deterministic", True, "two runs, same starts"), ("empty queue", good, "returned 3 proposals")]
    module = ModuleType("wattline.testing")
    module.check_policy_file = lambda path, **_: SimpleNamespace(rows=rows, ok=good)  # type: ignore[attr-defined]
    module.COMPANIONS = {"order": "fcfs"}  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "wattline.testing", module)
    (folder / "mine.py").touch()
    answer = wattline("check-policy", "mine.py")
    assert answer.code == (0 if good else 2)
    assert "two runs, same starts" in answer.out
    assert ("FAILS" in answer.out) == (not good)
    assert ("1 of the 2 checks that were run fail: empty queue" in answer.err) == (not good)
    assert json.loads(wattline("check-policy", "mine.py", "--json").out)["ok"] is good
