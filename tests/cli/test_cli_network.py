"""``wattline network``: facts and drawings from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from calling import Call

from wattline.model.networks import KINDS

SCENARIO = """
[trace]
generator = "poisson"
jobs = 40
[[trace.type]]
name = "halo"
nodes = 20
mean = "10 min"
rate = "60/h"
[cluster]
nodes = 70
[[cluster.outage]]
start = "0 s"
end = "5 d"
nodes = "66-69"
[network]
topology = "dragonfly:2x4x9"
[policy]
place = "level-spread"
"""


def test_show_says_what_a_machine_can_carry(wattline: Call) -> None:
    """``network show`` prints bounds and distances, or as JSON."""
    told = wattline("network", "show", "dragonfly:4x4x17", "--json")
    data = json.loads(told.out)
    assert data["nodes"] == 272
    assert data["mean_links"] == pytest.approx(2.406, abs=6e-4)
    assert "arrangement" in wattline("network", "show", "dragonfly:4x4x17:circulant").out


def test_kinds_lists_every_kind_and_how_it_is_written(wattline: Call) -> None:
    """``network kinds`` names every kind of network, its form and its links; each form works with numbers in it."""
    rows = json.loads(wattline("network", "kinds", "--json").out)
    assert [row["kind"] for row in rows] == list(KINDS)
    assert "fat-tree:NODESxLEAVESxSPINES" in wattline("network", "kinds").out
    assert next(row["bandwidths"] for row in rows if row["kind"] == "fat-tree") == ["spine_bps", "host_bps"]


def test_show_tells_of_a_three_level_tree(wattline: Call) -> None:
    """``network show`` knows pods, core switches and the links between them."""
    told = " ".join(wattline("network", "show", "fat-tree-3:8", "--links", "spine=2 Gbit/s").out.split())
    assert "8 of 4 edge switches of 4 nodes, and 4 aggregation switches" in told
    assert "128 of 2 Gbit/s" in told


def test_draw_places_jobs_and_writes_a_page(wattline: Call, tmp_path: Path) -> None:
    """``network draw`` places the jobs asked for and draws them."""
    page = tmp_path / "net.html"
    told = wattline(
        "network",
        "draw",
        "dragonfly:4x4x17",
        "--job",
        "64",
        "--job",
        "2x16",
        "--place",
        "rrn",
        "--out",
        str(page),
        "--json",
    )
    rows = json.loads(told.out)["jobs"]
    assert [row["nodes"] for row in rows] == [64, 16, 16]
    assert rows[0]["groups"] == 17
    assert b"placed by rrn" in page.read_bytes()


def test_draw_shows_a_run_at_an_instant(wattline: Call, tmp_path: Path) -> None:
    """A journal is drawn at a time of its run, with the nodes that are out of service."""
    scenario = tmp_path / "net.toml"
    scenario.write_text(SCENARIO)
    wattline("run", str(scenario), "--out", str(tmp_path / "out"), "--no-report", "--quiet")
    page = tmp_path / "net.html"
    told = wattline("network", "draw", str(tmp_path / "out"), "--at", "20 min", "--out", str(page), "--json")
    rows = json.loads(told.out)["jobs"]
    assert rows
    assert all(row["nodes"] == 20 for row in rows)
    assert "out of service" in page.read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("show", "dragonfly:4x4x16"), "use 13 or 17 groups"),
        (("show", "torus:4x4x4"), "unknown network 'torus:4x4x4'"),
        (("show", "flat:9", "--links", "global=2"), "a flat has no bandwidth 'global'"),
        (("show", "dragonfly:4x4x17", "--links", "global"), "expected a kind of link and its bandwidth"),
        (("draw", "dragonfly:4x4x17", "--job", "many"), "expected a number of nodes"),
        (("draw", "dragonfly:4x4x17", "--job", "0x16"), "expected a number of nodes"),
        (("draw", "dragonfly:4x4x17", "--job", "300"), "cannot place a job of 300 nodes: 272 of 272 nodes are free"),
        (("draw", "dragonfly:4x4x17", "--job", "3", "--place", "nedd"), "goes by the traffic of routers"),
        (("draw", "dragonfly:4x4x17", "--at", "3 h"), "goes with a journal"),
        (("draw", "nowhere"), "unknown network 'nowhere'"),
        (("show", "dragonfly:4x4x17", "--links", "global=1", "--links", "global=2"), "global is given already"),
        (("draw", ".", "--place", "rdn"), "a journal has jobs of its own; --place goes with a network"),
        (("draw", ".", "--seed", "0"), "a journal has jobs of its own; --seed goes with a network"),
        (("draw", ".", "--links", "global=1"), "goes with --network; the journal tells its own links"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(wattline: Call, arguments: tuple[str, ...], said: str) -> None:
    """Machines that cannot be, jobs that do not fit and flags that do not go together: exit code 2 and one line."""
    told = wattline("network", *arguments)
    assert told.code == 2
    assert said in told.err
    assert len(told.err.strip().splitlines()) == 1


SENDING = """
[[network.job]]
kind = "halo"
traffic = "300 MB/s"
share = 0.5
pattern = "halo3d"
"""


def test_check_holds_a_run_against_packets(wattline: Call, tmp_path: Path) -> None:
    """``network check`` runs the jobs of some instants packet by packet and says how far the model is off."""
    (tmp_path / "net.toml").write_text(SCENARIO.replace("[policy]", f"{SENDING}\n[policy]"))
    wattline("run", str(tmp_path / "net.toml"), "--out", str(tmp_path / "j"), "--no-report", "--quiet")
    data = json.loads(wattline("network", "check", str(tmp_path / "j"), "--instants", "2", "--json").out)
    assert data["jobs"] == sum(len(instant["job_id"]) for instant in data["instants"]) > 0
    assert 0 <= data["mean_error"] < 0.5
    assert all(slower >= 1 for instant in data["instants"] for slower in instant["model"])
    assert "off in the mean" in wattline("network", "check", str(tmp_path / "j"), "--instants", "1").out


def test_check_refuses_runs_without_senders(wattline: Call, tmp_path: Path) -> None:
    """Where no job's speed depends on the network there is nothing to check, and the message says what to do."""
    (tmp_path / "net.toml").write_text(SCENARIO)
    wattline("run", str(tmp_path / "net.toml"), "--out", str(tmp_path / "j"), "--no-report", "--quiet")
    told = wattline("network", "check", str(tmp_path / "j"))
    assert "no job's speed depends on the network" in told.err
    assert "[[network.job]]" in told.err
