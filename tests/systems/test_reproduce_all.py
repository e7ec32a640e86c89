"""All systems in one run: one page and one file with every statement."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from wattline.cli.app import app
from wattline.systems import together
from wattline.systems.reproduction import SMALLER, Claim, Reproduction, Table, count
from wattline.systems.work import Work

CLAIMS = (
    Claim("Fig. 1", "a", "it is a & b", "a", holds=True),
    Claim("Fig. 2", "b", "it is c", "d", holds=False, because="d was measured"),
    Claim("Fig. 3", "c", "it is e", "–", holds=None, because="nobody published it"),
)


def outcome(name: str, out_dir: Path, work: Work, *, quick: bool) -> Reproduction:
    """Return a small outcome of a system of two pieces."""
    work.say("at work")
    work.plan(2)
    work.each(abs, [-1, -2], workers=1)
    tables = {"t": Table(("x", "y"), (("1", "2"),))}
    remarks = [SMALLER, f"{name} has no data"] if quick else []
    return Reproduction(name, f"The system {name}", out_dir / f"{name}.html", CLAIMS, remarks, {"n": 1}, tables)


def test_all_systems_are_told_on_one_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Statements by system with their verdicts and reasons, links to the pages, and what must be said first, once."""
    monkeypatch.setattr(together, "known", lambda: ["one", "two"])
    monkeypatch.setattr(together, "reproduce", outcome)
    monkeypatch.setattr(together, "MINUTES", {"one": 3.0})
    said: list[str] = []
    done: list[tuple[float, float]] = []
    found = together.reproduce_all(tmp_path, said.append, quick=True, progress=lambda *now: done.append(now))
    assert sorted(set(done)) == [(0.0, 4.0), (1.5, 4.0), (3.0, 4.0), (3.5, 4.0), (4.0, 4.0)]
    assert done == sorted(done)
    assert said == ["1/2 one", "1/2 one: at work", "2/2 two", "2/2 two: at work"]
    page = found.path.read_text(encoding="utf-8")
    assert "2 of 6 statements held, 2 not, 2 cannot be tested here." in page
    assert 'href="one/one.html"' in page
    assert 'href="#two"' in page
    assert "it is a &amp; b" in page
    assert "untestable</b>: nobody published it" in page
    assert page.count(SMALLER) == 1
    assert "two: two has no data" in page
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert told["quick"]
    assert [claim["holds"] for claim in told["systems"]["two"]["claims"]] == [True, False, None]
    assert told["systems"]["one"]["tables"] == {"t": {"header": ["x", "y"], "rows": [["1", "2"]]}}
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(found.table)
    assert max(len(line.rstrip()) for line in console.export_text().splitlines()) <= 80


def test_what_is_no_number_is_null(tmp_path: Path) -> None:
    """JSON has no NaN: a rate over no days, say, is null in the data of a reproduction."""
    numbers = {"a": [1.0, float("nan")], "b": {"c": (float("inf"), 2)}, "d": None, "e": "nan"}
    found = Reproduction("one", "One", tmp_path / "one.html", CLAIMS, numbers=numbers)
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))["numbers"]
    assert told == {"a": [1.0, None], "b": {"c": [None, 2]}, "d": None, "e": "nan"}


def test_a_statement_is_counted_by_its_verdict() -> None:
    """What cannot be tested is neither held nor not."""
    assert count(CLAIMS) == "1 of 3 statements held, 1 not, 1 cannot be tested here"
    assert count(CLAIMS[:2]) == "1 of 2 statements held, 1 not"
    assert [claim.verdict for claim in CLAIMS] == ["held", "not held", "untestable"]


def test_one_command_runs_them_and_keeps_the_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder holds the page and the same statements as data; another reproduction does not overwrite them."""
    monkeypatch.setattr(together, "known", lambda: ["overprovisioning"])
    folder = str(tmp_path / "here")
    done = CliRunner().invoke(app, ["reproduce", "all", "--quick", "--out", folder, "--json", "--quiet"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    kept = json.loads((tmp_path / "here" / "reproduction.json").read_text(encoding="utf-8"))
    assert (kept["name"], kept["systems"]) == ("all", told["systems"])
    assert (tmp_path / "here" / "overprovisioning" / "overprovisioning.html").is_file()
    refused = CliRunner().invoke(app, ["reproduce", "overprovisioning", "--out", folder])
    assert refused.exit_code != 0
    assert "holds a reproduction of 'all'" in str(refused.exception)
