"""Days of a cluster in a scenario: jobs and kinds by one name, at one load, from midnight on."""

from __future__ import annotations

import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from wattline.errors import InputError
from wattline.journal.journal import open_journal
from wattline.model.regulation import Bid
from wattline.report.count.metrics import summarize
from wattline.scenario import Study, read_scenario, variants, wire
from wattline.scenario.parts import build_kinds

TEXT = """kinds = "meggie-like"
[trace]
generator = "meggie-like"
duration = "2 d"
[cluster]
nodes = 728
idle = "31 W"
max = "160 W"
"""
MARKET = """[policy]
select = "energyqare"
cap = "match-target"
[regulation]
mean = "50 kW"
reserve = "8 kW"
from = "1 d"
warmup = "1 h"
control = "4 s"
"""


def study(folder: Path, text: str, *overrides: str) -> Study:
    """Write and wire a scenario."""
    (folder / "s.toml").write_text(text)
    return wire(variants(read_scenario(folder / "s.toml", overrides))[0])


def test_jobs_and_kinds_by_one_name(tmp_path: Path) -> None:
    """Every drawn job is of a kind with its power and caps; a kind's promise is that of the published study."""
    wired = study(tmp_path, TEXT)
    jobs, kinds = wired.trace.jobs, {kind.name: kind for kind in wired.options.kinds}
    assert {jobs.kinds[k] for k in jobs.kind} <= set(kinds)
    assert jobs.draw_w.tolist() == [kinds[jobs.kinds[k]].draw_w for k in jobs.kind]
    assert {(kind.limit, kind.average) for kind in kinds.values()} == {(2.0, True)}
    assert sum(kind.weight for kind in kinds.values()) == pytest.approx(1.0)
    assert wired.cluster.classes[0].min_cap_w == min(kind.floor_w for kind in kinds.values())


def test_a_run_of_days_begins_at_midnight(tmp_path: Path) -> None:
    """Hours are billed from midnight on, whenever the first job comes, and jobs are run to their end."""
    wired = study(tmp_path, TEXT + MARKET)
    assert wired.trace.jobs.submit_s[0] > 0
    wired.write(wired.simulate(), tmp_path / "j")
    journal = open_journal(tmp_path / "j")
    hours = journal.manifest["regulation"]["hours"]
    assert [hours[0], len(hours)] == [[90000.0, 93600.0], 23]
    summary = summarize(journal)
    assert summary.jobs.finished == len(wired.trace.jobs)
    assert summary.regulation is not None


def test_kinds_come_as_often_as_they_are_drawn(tmp_path: Path) -> None:
    """A load of the trace is that of the kinds, too, unless they are told another."""

    def busy(text: str) -> float:
        (tmp_path / "s.toml").write_text(text)
        kinds = build_kinds(read_scenario(tmp_path / "s.toml"), 728)
        return sum(k.arrival_per_s * k.nodes * k.work_s for k in kinds) / 728

    assert busy(TEXT) == pytest.approx(0.60)
    assert busy(TEXT.replace("[cluster]", "load = 0.3\n[cluster]")) == pytest.approx(0.3)
    assert busy(
        TEXT.replace('"meggie-like"\n[', '{workload = "meggie-like", utilization = 0.4}\n[', 1)
    ) == pytest.approx(0.4)
    jobs = study(tmp_path, TEXT, "trace.load=0.3", "trace.duration=70 d").trace.jobs
    assert float(np.sum(jobs.nodes * jobs.work_s)) / (70 * 86400 * 728) == pytest.approx(0.3, rel=0.25)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("trace.jobs=9", 'jobs: goes with a file or generator = "poisson"'),
        ("cluster.nodes=40", "kind 'm4[0-9]@[0-9]+' needs [0-9]+ nodes, the cluster has 40"),
        ("cluster.max=120 W", r"draws [0-9.]+ W a node, \[cluster\] max allows 120 W"),
        (
            'kinds={workload="meggie-like",scale=2}',
            "scale: goes with the workloads of the AQA study, not with meggie-like",
        ),
        ("kinds=megie-like", "unknown workload 'megie-like'; did you mean 'meggie-like'"),
        ("trace.generator=emmy-like", "kind 'e[0-9]+@[0-9]+' of the jobs is not declared"),
    ],
)
def test_what_does_not_go_together_is_refused(tmp_path: Path, change: str, said: str) -> None:
    """Keys of other generators, a machine too small or too weak, and kinds of another cluster are refused."""
    with pytest.raises(InputError, match=said):
        study(tmp_path, TEXT, change)


def test_weights_of_a_file_of_kinds_may_be_given(tmp_path: Path) -> None:
    """Weights for the kinds of a file stand in the scenario, as a search of bids writes them; a name that is not there
    is refused.
    """
    (tmp_path / "k.csv").write_text("name,nodes,work_s,draw_w\na,1,60,100\nb,1,60,100\n")
    text = TEXT.replace('"meggie-like"', '{file = "k.csv", weights = {a = 0.25, b = 0.75}}', 1)
    (tmp_path / "s.toml").write_text(text)
    assert [kind.weight for kind in build_kinds(read_scenario(tmp_path / "s.toml"), 728)] == [0.25, 0.75]
    (tmp_path / "s.toml").write_text(text.replace("b = 0.75", "c = 0.75"))
    with pytest.raises(InputError, match="there is no kind of this name; known: a, b"):
        build_kinds(read_scenario(tmp_path / "s.toml"), 728)


def test_a_bid_for_kinds_of_a_file_is_written_where_it_belongs(tmp_path: Path) -> None:
    """A scenario written elsewhere finds its file of kinds and has the weights beside it."""
    from wattline.scenario.write_bid import write_bid

    (tmp_path / "s.toml").write_text(TEXT.replace('"meggie-like"', '"in/k.csv"', 1))
    (tmp_path / "out").mkdir()
    setting: Any = SimpleNamespace(kinds=[SimpleNamespace(name="a")])
    choice: Any = SimpleNamespace(method="given", bid=Bid(50_000.0, 8000.0), weights=np.array([1.0]), params=None)
    write_bid(read_scenario(tmp_path / "s.toml"), setting, choice, tmp_path / "out/sold.toml")
    written = tomllib.loads((tmp_path / "out/sold.toml").read_text())
    assert written["kinds"] == {"file": "../in/k.csv", "weights": {"a": 1.0}}
