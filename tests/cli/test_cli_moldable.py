"""Moldable jobs at the command line: replays with tables, why shapes were chosen, tables of batch systems, budgets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from calling import Call

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def tables(folder: Path) -> Path:
    """The jobs and the table of the examples in the working folder."""
    for name in ("moldable.csv", "moldable-jobs.csv"):
        (folder / name).write_text((EXAMPLES / "tables" / name).read_text())
    return folder


REPLAY = ("replay", "moldable-jobs.csv", "--nodes", "32", "--idle-power", "10 W", "--max-power", "210 W", "--no-report")


def test_a_replay_with_configurations(wattline: Call, tables: Path) -> None:
    """Flags suffice: a table, a limit and a policy; the summary says what made configurations the best."""
    answer = wattline(
        *REPLAY, "--configs", "moldable.csv", "--power-limit", "4.5 kW", "--select", "surplus", "--out", "o"
    )
    assert answer.code == 0
    assert "of 60 moldable jobs" in " ".join(answer.out.split())
    told = wattline("configs", "chosen", "o", "--job", "1")
    assert told.out.startswith("job 1 (photons, asked for 8 nodes): ")
    assert "fair share of 1,125 W would take" in told.out
    found = json.loads(wattline("configs", "chosen", "o", "--json").out)
    assert len(found) == 60
    assert all(row["why"] and row["nodes"] <= row["room_nodes"] for row in found)
    assert "… and 20 more" in wattline("configs", "chosen", "o").out
    assert len(wattline("configs", "chosen", "o", "--all", "--app", "photons").out.splitlines()) == 34


def test_a_replay_with_a_model(wattline: Call, tables: Path) -> None:
    """What policies are told may be a model; its errors are counted."""
    model = ("--config-source", "log-quadratic", "--config-sample", "0.2", "--config-power", "upper")
    limit = ("--configs", "moldable.csv", "--power-limit", "4.5 kW", "--select", "rmap-naive")
    answer = wattline(*REPLAY, *limit, *model, "--out", "o", "--json")
    shapes = json.loads(answer.out)["summary"]["shapes"]
    assert shapes["time_error"] > 0
    assert shapes["power_too_low"] < 0.2


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (("--select", "surplus", "--power-limit", "4 kW"), "--select surplus: 'surplus' chooses among configurations"),
        (("--select", "surplus", "--configs", "moldable.csv"), "--select surplus: 'surplus' shares out a power limit"),
        (("--config-power", "upper"), "--config-power: goes with --configs, a table of configurations"),
        (("--configs", "no.csv", "--power-limit", "4 kW", "--select", "surplus"), "no.csv"),
        (
            ("--configs", "moldable.csv", "--config-sample", "0.2", "--power-limit", "4 kW"),
            "--config-sample 0.2: goes with a model",
        ),
    ],
)
def test_flags_that_do_not_go_together(wattline: Call, tables: Path, flags: tuple[str, ...], told: str) -> None:
    """One line names the flag."""
    answer = wattline(*REPLAY, *flags)
    assert answer.code == 2
    assert told in answer.err
    assert len(answer.err.splitlines()) == 1


def test_chosen_says_what_it_cannot_show(wattline: Call, tables: Path) -> None:
    """A run without configurations, a job that never started, an unknown application."""
    wattline(*REPLAY, "--out", "rigid")
    assert "no job of this run chose among configurations" in wattline("configs", "chosen", "rigid").err
    wattline(*REPLAY, "--configs", "moldable.csv", "--power-limit", "4.5 kW", "--select", "rmap-naive", "--out", "o")
    assert "--job 99: it started in no configuration" in wattline("configs", "chosen", "o", "--job", "99").err
    assert "did you mean 'photons'?" in wattline("configs", "chosen", "o", "--app", "photon").err


def test_tables_of_a_batch_system_and_back(wattline: Call, tables: Path) -> None:
    """Exported and imported again, a table is the same, and the layout's gaps are said."""
    out = wattline("configs", "export", "moldable.csv", "--out", "d.sql", "--names", "n.csv")
    assert out.code == 0
    assert "240 configurations of 2 applications in d.sql" in out.out
    assert "115 W means no cap, with turbo; this layout cannot say so" in out.err
    assert "INSERT INTO `job_details_table`" in (tables / "d.sql").read_text()
    back = wattline("configs", "import", "d.sql", "--names", "n.csv", "--turbo", "115 W", "--out", "b.csv")
    assert back.code == 0
    wattline("configs", "export", "moldable.csv", "--layout", "wattline", "--out", "own.csv")
    assert (tables / "b.csv").read_text() == (tables / "own.csv").read_text()
    ids = json.loads(
        wattline(
            "configs", "export", "moldable.csv", "--out", "d.csv", "--app", "photons", "--ids", "n.csv", "--json"
        ).out
    )
    assert ids["job_ids"] == {"photons": 2}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("export", "moldable.csv", "--out", "d.txt"), "end the name in .csv, .tsv or .sql"),
        (("export", "moldable.csv", "--layout", "wattline", "--out", "d.sql"), "--out: end the name in .csv"),
        (
            ("export", "moldable.csv", "--layout", "wattline", "--out", "d.csv", "--ids", "x"),
            "--ids: goes with --layout job-details",
        ),
        (("export", "moldable.csv", "--out", "moldable.csv"), "moldable.csv"),
        (("import", "moldable.csv", "--out", "d.parquet"), "--out: end the name in .csv"),
    ],
)
def test_exports_that_cannot_be(wattline: Call, tables: Path, words: tuple[str, ...], told: str) -> None:
    """One line, and nothing is overwritten."""
    before = (tables / "moldable.csv").read_bytes()
    answer = wattline("configs", *words)
    assert answer.code == 2
    assert told in answer.err
    assert (tables / "moldable.csv").read_bytes() == before


def test_budgets_over_time(wattline: Call, folder: Path) -> None:
    """Every change of a tree is a row, in 80 columns; JSON has what each budget is granted."""
    scenario = str(EXAMPLES / "site-budget.toml")
    answer = wattline("budget", scenario)
    assert answer.code == 0
    assert max(map(len, answer.out.splitlines())) <= 80
    assert ["11", "h", "8", "kW", "4", "kW", "4", "kW", "800", "W", "3.2", "kW"] in [
        line.split() for line in answer.out.splitlines()
    ]
    found = json.loads(wattline("budget", scenario, "--json").out)
    assert found["system"] == "cluster"
    assert found["budgets"]["cluster"]["granted"][:3] == [[0.0, 5200.0], [28800.0, 4700.0], [39600.0, 3200.0]]
    assert "has no [[budget]] tables" in wattline("budget", "small.toml").err
    free = '[[budget]]\nname = "site"\nsystem = true\nsteps = [[0, "1 kW"], ["1 h", "off"]]\n'
    (folder / "free.toml").write_text((folder / "small.toml").read_text() + free)
    found = json.loads(wattline("budget", "free.toml", "--json").out)
    assert found["budgets"]["site"]["granted"] == [[0.0, 1000.0], [3600.0, None]]  # JSON has no number without end


def test_who_names_no_demand_asks_for_the_whole_budget(wattline: Call, folder: Path) -> None:
    """Neither a limit nor a demand: a part asks for the whole, and leaves the others their part of it."""
    site = '[[budget]]\nname = "site"\nlimit = "5 kW"\nshares = "demand"\n'
    parts = '[[budget]]\nname = "other"\nparent = "site"\n[[budget]]\nname = "here"\nparent = "site"\nsystem = true\n'
    text = (folder / "small.toml").read_text()
    for asks, granted in (('demand = "800 W"\n', (5000 / 5800) * 800), ('demand = "7 kW"\n', 2500.0)):
        (folder / "b.toml").write_text(f"{text}{site}{parts}{asks}")
        answer = wattline("budget", "b.toml", "--json")
        assert answer.code == 0, answer.err
        found = {name: one["granted"] for name, one in json.loads(answer.out)["budgets"].items()}
        assert found["here"] == [[0.0, pytest.approx(granted)]]
        assert found["other"] == [[0.0, pytest.approx(5000.0 - granted)]]
