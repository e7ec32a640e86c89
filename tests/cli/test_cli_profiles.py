"""``wattline profiles``: what runs saved of the power of jobs, shown and put together."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from calling import Call

from wattline.formats.tables.profiles import Profiles, read_profiles, write_profiles
from wattline.learn import quantile, t_test

LEVELS = (("group", "user", "nodes"), ("group",))
LABELS = ((0, ("fusion", "ann", 4)), (0, ("fusion", "[bob]", 8)), (1, ("fusion",)))


def moments(values: np.ndarray) -> list[float]:
    """Return count, mean and squared deviations."""
    return [values.size, values.mean(), ((values - values.mean()) ** 2).sum()]


SAMPLES = [np.linspace(40.0, 60.0, 50), np.full(5, 70.0), np.linspace(30.0, 80.0, 200)]


@pytest.fixture
def files(folder: Path) -> Path:
    """A file of every learner: two jobs and their group, one of the jobs with too few samples to be known."""
    rows = np.zeros((3, t_test.ROW))
    for row, values in zip(rows, SAMPLES, strict=True):
        older, last = values[: -t_test.RECENT], values[-t_test.RECENT :]
        row[:3] = moments(older) if older.size else 0.0
        row[t_test.NEXT] = values.size
        row[t_test.RING : t_test.RING + last.size] = last
    write_profiles(folder / "t.parquet", Profiles("t-test", LEVELS, LABELS, rows))
    bins = np.zeros((3, quantile.ROW))
    for row, values in zip(bins, SAMPLES, strict=True):
        row[quantile.COUNT] = values.size
        row[quantile.BIN :] = np.histogram(values / 100.0, quantile.BINS, (0.0, 1.0))[0]
    write_profiles(folder / "q.parquet", Profiles("quantile", LEVELS, LABELS, bins))
    pooled = np.array([moments(values) for values in SAMPLES])
    write_profiles(folder / "p.parquet", Profiles("pooled", LEVELS, LABELS, pooled))
    return folder


@pytest.mark.parametrize("name", ["t", "p"])
def test_moments_are_shown(wattline: Call, files: Path, name: str) -> None:
    """Samples, mean and deviation are those of what was seen; high is known from 20 samples on."""
    answer = wattline("profiles", "show", f"{name}.parquet", "--json", "--deviations", "2")
    told = {tuple(row["label"]): row for row in json.loads(answer.out)["profiles"]}
    for (level, label), values in zip(LABELS, SAMPLES, strict=True):
        row = told[label]
        assert row["level"] == ("own", "group")[level]
        assert row["samples"] == values.size
        assert row["mean"] == pytest.approx(values.mean())
        assert row["sd"] == pytest.approx(values.std(ddof=1), abs=1e-9)
        wanted = pytest.approx(values.mean() + 2 * values.std(ddof=1)) if values.size >= 20 else None
        assert row["high"] == wanted


def test_quantiles_are_shares_until_the_maximum_is_given(wattline: Call, files: Path) -> None:
    """Histograms are kept in shares of the greatest power; high is the conformal quantile, rounded up to a bin."""
    told = json.loads(wattline("profiles", "show", "q.parquet", "--json", "--miss", "0.1").out)
    assert told["unit"] == "share"
    high = {tuple(row["label"]): row["high"] for row in told["profiles"]}
    assert 0.58 <= high["fusion", "ann", 4] <= 0.58 + 2 / quantile.BINS
    assert high["fusion", "[bob]", 8] is None
    watts = json.loads(wattline("profiles", "show", "q.parquet", "--json", "--max", "100 W", "--miss", "0.1").out)
    assert watts["unit"] == "W"
    for a, b in zip(watts["profiles"], told["profiles"], strict=True):
        assert a["mean"] == pytest.approx(100 * b["mean"])


def test_the_table_fits_and_names_are_text(wattline: Call, files: Path) -> None:
    """The table takes 80 columns; levels come in order, and what looks like markup is a name."""
    text = wattline("profiles", "show", "t.parquet", "--sort", "label").out
    assert max(map(len, text.splitlines())) <= 80
    rows = [line.split() for line in text.splitlines() if line.startswith(("own", "group "))]
    assert [row[:3] for row in rows] == [
        ["own", "fusion", "[bob]"],
        ["own", "fusion", "ann"],
        ["group", "fusion", "200"],
    ]
    cut = wattline("profiles", "show", "t.parquet", "--top", "1").out
    assert "and 1 more (--top 0 shows all)" in cut
    assert "[bob]" not in cut


def test_sorting(wattline: Call, files: Path) -> None:
    """Numbers are sorted from the largest, what is not known comes last."""
    for by, first in (("samples", "fusion"), ("mean", "[bob]"), ("high", "fusion")):
        told = json.loads(wattline("profiles", "show", "p.parquet", "--sort", by, "--json").out)["profiles"]
        assert told[0]["label"][-2 if len(told[0]["label"]) > 1 else 0] == first
        known = [row[by] for row in told if row[by] is not None]
        assert known == sorted(known, reverse=True)


@pytest.mark.parametrize("name", ["t", "q", "p"])
def test_merging(wattline: Call, files: Path, name: str) -> None:
    """Put together, every profile has the samples of all; the first file and its mean stay as they were."""
    parts = [f"{name}.parquet"] * 3
    answer = wattline("profiles", "merge", *parts, "--out", "all.parquet")
    assert answer.code == 0, answer.err
    assert answer.out == "3 profiles in all.parquet, of 3 + 3 + 3\n"
    told = json.loads(wattline("profiles", "show", "all.parquet", "--json").out)["profiles"]
    once = json.loads(wattline("profiles", "show", f"{name}.parquet", "--json").out)["profiles"]
    by_label = {tuple(row["label"]): row for row in once}
    for row in told:
        before = by_label[tuple(row["label"])]
        assert row["samples"] == 3 * before["samples"]
        assert row["mean"] == pytest.approx(before["mean"])
    assert read_profiles(files / "all.parquet").levels == LEVELS


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("show", "small.toml"), "small.toml: not a file of power profiles"),
        (("show", "none.parquet"), "none.parquet: no such file"),
        (("show", "t.parquet", "--max", "90 W"), "--max: profiles of 't-test' are in watts already"),
        (("show", "q.parquet", "--max", "much"), "--max: expected a power"),
        (("show", "q.parquet", "--max", "0 W"), "--max: must be a positive power, got '0 W'"),
        (("show", "t.parquet", "--sort", "age"), "expected one of"),
        (("merge", "t.parquet", "--out", "x.parquet"), "t.parquet: give at least two files to put together"),
        (
            ("merge", "t.parquet", "p.parquet", "--out", "x.parquet"),
            "p.parquet: profiles of 't-test' by group+user+nodes > group cannot",
        ),
        (("merge", "t.parquet", "t.parquet", "--out", "t.parquet"), "t.parquet: is the file that is read"),
        (("merge", "t.parquet", "t.parquet", "--out", "no/x.parquet"), "no/x.parquet"),
    ],
)
def test_mistakes_take_one_line(wattline: Call, files: Path, words: tuple[str, ...], said: str) -> None:
    """Whatever is wrong is said in one line, and nothing is written."""
    before = sorted(files.iterdir())
    answer = wattline("profiles", *words)
    assert answer.code == 2
    assert said in answer.err
    assert len(answer.err.splitlines()) == 1
    assert sorted(files.iterdir()) == before


def test_a_comparison_saves_no_profiles(wattline: Call, folder: Path) -> None:
    """Runs side by side would overwrite each other's file: that is refused before any of them begins."""
    answer = wattline(
        "compare", "small.toml", "--seeds", "2", "--set", "policy.profile=t-test", "--set", "profiles.save=p.parquet"
    )
    assert answer.code == 2
    assert "[profiles] save: every run of a comparison would write this file" in answer.err


@pytest.mark.parametrize(
    ("spoilt", "said"),
    [
        ({"label": pl.lit("oops")}, "field 'label': no such profile in group+user+nodes > group: level 0 (got 'oops')"),
        ({"label": pl.lit('[["a"], {}, 1]')}, "no such profile in"),
        ({"label": pl.lit('["a"]')}, "no such profile in"),
        ({"level": pl.lit(9, dtype=pl.Int64)}, "level 9"),
        ({"row": pl.lit(None, dtype=pl.List(pl.Float64))}, "without a level, a label or numbers"),
        ({"row": pl.col("row").list.eval(-pl.element())}, "holds negative counts or powers"),
    ],
)
def test_a_spoilt_file_is_refused(wattline: Call, files: Path, spoilt: dict[str, pl.Expr], said: str) -> None:
    """Rows that no run would have written are said in a line, whoever reads them."""
    about = {"wattline-profiles": pl.read_parquet_metadata(files / "t.parquet")["wattline-profiles"]}
    pl.read_parquet(files / "t.parquet").with_columns(**spoilt).write_parquet(files / "bad.parquet", metadata=about)
    for words in (("show", "bad.parquet"), ("merge", "t.parquet", "bad.parquet", "--out", "x.parquet")):
        answer = wattline("profiles", *words)
        assert answer.code == 2
        assert answer.err.startswith("wattline: bad.parquet: ")
        assert said in answer.err
    assert not (files / "x.parquet").exists()


OWN = """
import wattline as wl

@wl.policy("profile")
def mine(s, job, param, memory):
    if 0 <= job < s.status.size:
        s.profile_w[job] = 200.0
    return 0
"""


@pytest.mark.parametrize("key", ["save", "load"])
def test_a_policy_of_ones_own_keeps_no_profiles(wattline: Call, files: Path, key: str) -> None:
    """What a user's policy has learned cannot be kept: said before the run, not left out in silence."""
    (files / "mine.py").write_text(OWN)
    flags = ("--set", "policy.profile=mine.py:mine", "--set", f"profiles.{key}=t.parquet")
    answer = wattline("run", "small.toml", *flags, "--no-report")
    assert answer.code == 2
    assert f"[profiles] {key}: the profile policy 'mine' keeps nothing that could be saved" in answer.err
    assert "t-test, t-test-per-job, quantile, pooled do" in answer.err
    assert wattline("run", "small.toml", *flags[:2], "--no-report", "--out", "without").code == 0
