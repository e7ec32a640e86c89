"""run, replay, report and compare do what they say, for people and for programs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from calling import Call

from wattline.api.trace import trace_name
from wattline.journal.journal import open_journal


def test_run_writes_journal_and_report_and_prints_their_paths(wattline: Call, folder: Path) -> None:
    """``run`` leaves a journal and a report in out/<name> and says where, in 80 columns."""
    answer = wattline("run", "small.toml")
    assert answer.code == 0, answer.err
    assert "60 finished" in answer.out
    assert "out/small/report.html" in answer.out
    assert max(map(len, answer.out.splitlines())) <= 80
    assert (folder / "out/small/report.html").stat().st_size > 100_000
    manifest = open_journal(folder / "out/small").manifest
    assert manifest["scenario"] == (folder / "small.toml").read_text()
    assert len(manifest["scenario_sha256"]) == 64
    assert manifest["seed"] == 4
    assert manifest["policies"]["select"] == "easy"


def test_json_is_all_there_is_on_standard_output(wattline: Call) -> None:
    """``--json`` prints one JSON document and nothing else; the numbers are those of the summary."""
    answer = wattline("run", "small.toml", "--json", "--no-report")
    found = json.loads(answer.out)
    assert found["summary"]["jobs"]["finished"] == 60
    assert found["report"] is None
    assert found["stopped"] == "done"


def test_quiet_prints_nothing(wattline: Call, folder: Path) -> None:
    """``--quiet`` leaves the results and says nothing."""
    answer = wattline("run", "small.toml", "--quiet", "--no-report", "--out", "here")
    assert (answer.code, answer.out, answer.err) == (0, "", "")
    assert (folder / "here/jobs.parquet").exists()


def test_an_override_is_run_and_recorded(wattline: Call, folder: Path) -> None:
    """``--set`` changes the run, and the journal holds the scenario that was really run."""
    wattline("run", "small.toml", "--set", "cluster.nodes=32", "--set", "policy.select=in-order", "--no-report")
    journal = open_journal(folder / "out/small")
    assert journal.manifest["cluster"]["nodes"] == 32
    assert "nodes = 32" in journal.manifest["scenario"]
    (folder / "again.toml").write_text(journal.manifest["scenario"])
    wattline("run", "again.toml", "--no-report", "--out", "again")
    assert open_journal(folder / "again").read("jobs").equals(journal.read("jobs"))


def test_replay_takes_the_size_from_the_header_and_says_so(wattline: Call, folder: Path) -> None:
    """Without --nodes the header's size is used and said; what the reader dropped is said with count and example."""
    answer = wattline("replay", "small.swf")
    assert answer.code == 0
    assert "machine: 8 nodes; the header says MaxNodes 8 and no MaxProcs" in answer.err
    assert "dropped 1: " in answer.err
    assert "small.swf:4" in answer.err
    jobs = open_journal(folder / "out/small").read("jobs")
    assert jobs["start_s"].to_list() == [0.0, 100.0, 30.0]


def test_a_quiet_replay_imports_neither_plotly_nor_rich(folder: Path) -> None:
    """Figures are drawn without plotly's Python modules, a quarter of a cached replay, and no table is made for
    nobody.
    """
    code = (
        "import sys; from wattline.cli import call; code = call(['replay', 'small.swf', '--quiet'])\n"
        "found = [name for name in sys.modules if name.partition('.')[0] in ('plotly', '_plotly_utils', 'rich')]\n"
        "sys.exit(code or (f'imported {found[0]}' if found else 0))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert '"type":"scatter"' in (folder / "out/small/report.html").read_text(encoding="utf-8")


def test_replay_shows_what_the_log_recorded(wattline: Call, folder: Path) -> None:
    """Waits that the log has stand beside the simulated ones, in the terminal, the report and as JSON; else no row
    does.
    """
    assert "recorded" not in wattline("replay", "small.swf", "--out", "none").out
    log = (folder / "small.swf").read_text().replace("2 10 -1 ", "2 10 75 ").replace("4 30 -1 ", "4 30 25 ")
    (folder / "waits.swf").write_text(log)
    answer = wattline("replay", "waits.swf")
    assert next(line.split()[2:4] for line in answer.out.splitlines() if line.startswith("recorded wait")) == [
        "50",
        "s",
    ]
    assert "wait recorded in the log" in (folder / "out/waits/report.html").read_text(encoding="utf-8")
    again = json.loads(wattline("report", "out/waits", "--json").out)
    assert again["summary"]["recorded_wait_s"]["count"] == 2


def test_jobs_with_a_power_of_their_own_are_counted(wattline: Call, folder: Path) -> None:
    """What is assumed about power says how many jobs it does not concern."""
    (folder / "own.csv").write_text("submit_s,work_s,nodes,draw_w\n0,10,1,250\n5,10,1,\n")
    assert "300 W busy a node, because none was given; 1 of 2 jobs say" in " ".join(
        wattline("replay", "own.csv", "--nodes", "4").err.split()
    )
    (folder / "all.csv").write_text("submit_s,work_s,nodes,draw_w\n0,10,1,250\n5,10,1,260\n")
    assert "busy" not in wattline("replay", "all.csv", "--nodes", "4").err


def test_compare_says_which_run_rejected_jobs(wattline: Call, folder: Path) -> None:
    """What happened to the jobs of one run only is said with its label, and its rejected jobs are in the table."""
    (folder / "tight.toml").write_text(
        (folder / "small.toml").read_text().replace("small", "tight") + '[limit]\npower = "2.5 kW"\n'
    )
    answer = wattline("compare", "small.toml", "tight.toml", "--set", 'trace={file = "small.swf"}')
    assert "tight: rejected 1: " in answer.err
    assert "all: dropped 1: " in answer.err
    assert any(line.split()[:2] == ["jobs", "rejected"] for line in answer.out.splitlines())


def test_compare_says_the_largest_count_of_all_seeds(wattline: Call, folder: Path) -> None:
    """Where seeds differ in how many jobs were rejected, the largest count is given as such."""
    (folder / "drawn.toml").write_text(
        'seed = 1\n[trace]\ngenerator = "lublin"\njobs = 200\nload = 0.5\n[cluster]\nnodes = 64\n[limit]\npower = '
        '"15 kW"\n'
    )
    answer = wattline("compare", "drawn.toml", "--seeds", "3", "--set", 'policy.select=["in-order", "easy"]')
    assert "all: rejected up to " in answer.err


def test_replay_flags_reach_the_run(wattline: Call, folder: Path) -> None:
    """The flags of ``replay`` say what a scenario would: the journal's scenario gives the same run again."""
    answer = wattline(
        "replay",
        "small.swf",
        "--nodes",
        "16",
        "--cores-per-node",
        "2",
        "--select",
        "in-order",
        "--learn",
        "exact",
        "--seed",
        "9",
        "--ties",
        "event",
        "--kill",
        "--power-limit",
        "6 kW",
        "--idle-power",
        "50 W",
        "--max-power",
        "400 W",
        "--jobs",
        "2",
        "--out",
        "o",
        "--no-report",
    )
    assert answer.code == 0, answer.err
    manifest = open_journal(folder / "o").manifest
    assert manifest["policies"] == {
        "order": "fcfs",
        "select": "in-order",
        "place": "lowest",
        "cap": "none",
        "learn": "exact",
        "profile": "known",
        "bid": "given",
    }
    assert manifest["ties"] == "event"
    assert manifest["seed"] == 9
    assert manifest["kill"] is True
    assert manifest["cluster"]["classes"] == [{"name": "node", "count": 16, "idle_w": 50.0, "max_w": 400.0}]
    assert open_journal(folder / "o").read("jobs")["nodes"].to_list() == [2, 4]
    (folder / "same.toml").write_text(manifest["scenario"])
    assert wattline("run", "same.toml", "--out", "p", "--no-report").code == 0
    assert open_journal(folder / "p").manifest["scenario_sha256"] == manifest["scenario_sha256"]


def test_a_result_is_replaced_but_nothing_else_is(wattline: Call, folder: Path) -> None:
    """Running again replaces the journal; a folder with other files is never touched."""
    assert wattline("run", "small.toml", "--no-report").code == 0
    assert wattline("run", "small.toml", "--no-report").code == 0
    (folder / "precious").mkdir()
    (folder / "precious/thesis.txt").write_text("years")
    assert wattline("run", "small.toml", "--out", "precious").code == 2
    assert [p.name for p in (folder / "precious").iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("log.swf.gz", "log"),
        ("a/..", Path.cwd().name),
        ("..", Path.cwd().parent.name),
        (".gz", ".gz"),
        ("a\\b.swf", "a_b"),
        ("two\nlines.csv", "two_lines"),
        ("x" * 200, "x" * 100),
    ],
)
def test_a_replay_is_called_after_its_trace(path: str, name: str) -> None:
    """The name is one that a folder can have, whatever the trace is called."""
    assert trace_name(Path(path)) == name


def test_report_again_from_the_journal_alone(wattline: Call, folder: Path) -> None:
    """``report`` gives the same numbers without scenario or trace."""
    first = json.loads(wattline("run", "small.toml", "--json").out)
    (folder / "small.toml").unlink()
    again = json.loads(wattline("report", "out/small", "--json", "--out", "page.html").out)
    assert again["summary"] == first["summary"]
    assert (folder / "page.html").exists()


def test_compare_policies_over_seeds(wattline: Call, folder: Path) -> None:
    """``compare`` runs each listed policy on the same seeds and gives paired differences with intervals."""
    choice = 'policy.select=["in-order", "easy"]'
    answer = wattline("compare", "small.toml", "--set", choice, "--seeds", "3", "--json")
    assert answer.code == 0, answer.err
    found = json.loads(answer.out)
    assert found["comparison"]["labels"] == ["in-order", "easy"]
    assert found["comparison"]["runs"] == [3, 3]
    assert found["comparison"]["paired_by"] == "seed"
    wait = next(m for m in found["comparison"]["metrics"] if m["path"] == "wait_s.mean")
    assert wait["differences"][1]["half_width"] >= 0
    assert len(found["runs"]) == 6
    assert (folder / found["report"]).stat().st_size > 100_000
    table = wattline("compare", "small.toml", "--set", choice)
    assert max(map(len, table.out.splitlines())) <= 80


def test_compare_gives_every_run_what_run_gives(wattline: Call, folder: Path) -> None:
    """A run within a comparison is the same as the run alone, threads or not."""
    wattline("compare", "small.toml", "--set", 'policy.select=["in-order", "easy"]', "--seeds", "2", "--threads", "2")
    wattline("run", "small.toml", "--set", "seed=5", "--set", "policy.select=easy", "--no-report", "--out", "alone")
    inside = open_journal(folder / "out/small-comparison/runs/easy/seed-5")
    alone = open_journal(folder / "alone")
    assert inside.read("jobs").equals(alone.read("jobs"))
    assert inside.manifest["scenario_sha256"] == alone.manifest["scenario_sha256"]


def test_report_on_a_comparison_makes_its_page_again(wattline: Call, folder: Path) -> None:
    """``report`` counts and draws a comparison again from its journals alone, wherever the folder is by now."""
    choice = ("--set", 'policy.select=["in-order", "easy"]')
    told = json.loads(wattline("compare", "small.toml", *choice, "--seeds", "2", "--json").out)
    first = json.loads((folder / "out/small-comparison/comparison.json").read_text())
    assert sorted(path for some in told["journals"].values() for path in some) == sorted(told["runs"])
    assert all((folder / path / "manifest.json").is_file() for some in told["journals"].values() for path in some)
    assert all(not path.startswith("out/") for some in first["journals"].values() for path in some)
    (folder / "out/small-comparison").rename(folder / "moved")
    (folder / "moved/comparison.html").unlink()
    assert json.loads(wattline("report", "moved", "--json").out)["comparison"] == first["comparison"]
    assert (folder / "moved/comparison.html").exists()
    (folder / "moved/comparison.json").write_text("{}")
    assert "moved/comparison.json: does not say where its runs are; compare again" in wattline("report", "moved").err


def test_compare_says_when_nothing_is_random(wattline: Call, folder: Path) -> None:
    """Seeds that change nothing are pointed out, and one run of each policy is shown, without intervals or
    certainty.
    """
    choice = 'policy.select=["in-order", "easy"]'
    answer = wattline("compare", "small.toml", "--set", "trace.seed=1", "--set", choice, "--seeds", "3")
    assert "every seed gave the same run" in answer.err
    assert not set("±▲▼≈") & set(answer.out)
    assert json.loads((folder / "out/small-comparison/comparison.json").read_text())["comparison"]["runs"] == [1, 1]


def test_run_and_compare_do_not_share_a_folder(wattline: Call, folder: Path) -> None:
    """Single run and comparison of one scenario lie side by side; each says what the other's folder holds."""
    choice = ("--set", 'policy.select=["in-order", "easy"]')
    assert wattline("run", "small.toml", "--no-report").code == 0
    assert wattline("compare", "small.toml", *choice).code == 0
    into_run = wattline("compare", "small.toml", *choice, "--out", "out/small")
    into_comparison = wattline("run", "small.toml", "--out", "out/small-comparison")
    assert "out/small: holds the journal of a single run" in into_run.err
    assert "out/small-comparison: holds a comparison" in into_comparison.err
    misspelt = wattline("compare", "small.toml", "--set", 'policy.select=["easy", "esy"]', "--out", "out/small")
    assert "did you mean 'easy'" in misspelt.err


def test_policies_come_from_the_code(wattline: Call) -> None:
    """``policies`` lists every built-in mechanism; ``--state`` every field with unit and meaning."""
    from wattline.control.catalog import catalog
    from wattline.model.state.record import FIELDS

    listed = json.loads(wattline("policies", "--json").out)
    assert {(p["slot"], p["name"]) for p in listed} == {(s, n) for s, found in catalog().items() for n in found}
    window = next(p for p in listed if p["name"] == "window")
    assert window["parameters"]["patience"]["default"] == "inf"
    state = json.loads(wattline("policies", "--state", "--json").out)
    assert [row["field"] for row in state] == list(FIELDS)
    assert max(map(len, wattline("policies").out.splitlines())) <= 80
    assert max(map(len, wattline("policies", "--state").out.splitlines())) <= 80


def test_wide_numbers_of_a_trace_are_shown_whole(wattline: Call, folder: Path) -> None:
    """``trace info`` cuts no number off at 80 columns, and quotes a line of the log on one line."""
    rows = [
        f"{i},{i * 2000},{w},{n},{w},{w}"
        for i, (w, n) in enumerate([(1, 1), (2700, 4096), (217123, 49152), (1e6, 79808)] * 9)
    ]
    (folder / "wide.csv").write_text(
        "job_id,submit_s,work_s,nodes,request_s,recorded_wait_s\n" + "\n".join(rows) + f"\n1,2,x{'1' * 90},4,5,6\n"
    )
    answer = wattline("trace", "info", "wide.csv")
    assert "…" not in answer.out
    assert "79,808" in answer.out
    assert max(map(len, (answer.out + answer.err).splitlines())) <= 80


def test_check_policy_ends_with_the_verdict(wattline: Call, folder: Path) -> None:
    """A policy that conforms is told so in the last line, with the number of checks; a missing file is one line."""
    (folder / "mine.py").write_text(
        "from wattline import policy\n\n@policy(slot='order')\ndef mine(s, arg, param, memory):\n    return 0\n"
    )
    assert wattline("check-policy", "mine.py").out.splitlines()[-1] == "all 16 checks pass"
    missing = wattline("check-policy", "nope.py")
    assert (missing.code, missing.out, missing.err) == (2, "", "wattline: nope.py: no such policy file\n")


def test_traces_can_be_drawn_converted_and_looked_at(wattline: Call) -> None:
    """``trace generate``, ``convert`` and ``info`` fit together."""
    assert wattline("trace", "generate", "lublin", "w.swf", "--nodes", "64", "--jobs", "200", "--load", "0.8").code == 0
    assert wattline("trace", "convert", "w.swf", "w.parquet").code == 0
    facts = json.loads(wattline("trace", "info", "w.parquet", "--json").out)
    assert facts["jobs"] == 200
    assert abs(facts["offered_load"] - 0.8) < 0.02
    shown = wattline("trace", "info", "w.swf")
    assert "200 of 200 records" in shown.out
    assert max(map(len, shown.out.splitlines())) <= 80


PRICED = """\
name = "priced"
kinds = "W14"
[trace]
generator = "kinds"
[cluster]
nodes = 36
idle = "169 W"
max = "429 W"
[policy]
select = "slackline"
cap = "match-target"
[regulation]
mean = "8.5 kW"
reserve = "3.5 kW"
warmup = "1 h"
baseline = "easy"
[prices]
rules = "pjm"
energy = 0.05
capacity = "20 $/MW"
carbon = 350
"""


def test_a_run_is_held_against_no_participation(wattline: Call, folder: Path) -> None:
    """The baseline is simulated too, lies in the journal, and stands beside the run in table, report and JSON."""
    (folder / "priced.toml").write_text(PRICED)
    answer = wattline("run", "priced.toml", "--out", "o")
    assert answer.code == 0, answer.err
    for text in ("no market (easy)", "cost [$]", "carbon [kg CO₂]", "worst kind beyond its limit", "of it"):
        assert text in answer.out, text
    assert max(map(len, answer.out.splitlines())) <= 80
    assert "Against no participation" in (folder / "o/report.html").read_text()
    found = json.loads(wattline("report", "o", "--json").out)
    own, base = found["summary"]["accounts"]["total"], found["baseline"]["accounts"]["total"]
    assert own["carbon_kg"] == pytest.approx(0.35 * own["energy_kwh"])
    assert base["cost"] == pytest.approx(0.05 * base["energy_kwh"])
    assert base["capacity_credit"] == 0.0
    assert open_journal(folder / "o/baseline").manifest["policies"]["select"] == "easy"
    plain = wattline(
        "run", "priced.toml", "--set", "regulation.baseline=easy", "--set", "seed=2", "--out", "o", "--json"
    )
    assert json.loads(plain.out)["baseline"]["seed"] == 2
    (folder / "priced.toml").write_text(PRICED.replace('baseline = "easy"\n', ""))
    assert json.loads(wattline("run", "priced.toml", "--out", "o", "--json").out)["baseline"] is None
    assert not (folder / "o/baseline").exists()


WANDERER = """\
import os
import wattline as wl
{first}
@wl.policy("order", name="wanderer")
def wanderer(s, arg, param, memory):
    {then}
    return 0
"""


@pytest.mark.parametrize("when", ["loaded", "called"])
def test_a_policy_that_changes_the_folder_moves_no_results(wattline: Call, folder: Path, when: str) -> None:
    """``--out`` means what it meant when the command was typed, in a run and in a comparison."""
    (folder / "elsewhere").mkdir()
    go = f"os.chdir({str(folder / 'elsewhere')!r})"
    first, then = (go, "pass") if when == "loaded" else ("", go)
    (folder / "wander.py").write_text(WANDERER.format(first=first, then=then))
    answer = wattline("run", "small.toml", "--set", "policy.order=wander.py", "--out", "out/w")
    assert answer.code == 0, answer.err
    assert open_journal(folder / "out/w").manifest["stopped"] == "done"
    assert (folder / "out/w/report.html").exists()
    assert "journal  out/w\n" in answer.out
    again = ("--set", "policy.order=wander.py", "--seeds", "2", "--out", "out/c")
    assert wattline("compare", "small.toml", *again).code == 0
    assert (folder / "out/c/comparison.html").exists()
    assert not list((folder / "elsewhere").iterdir())
    assert Path.cwd() == folder


@pytest.mark.parametrize(("words", "end"), [(["replay", "none.swf"], "called\nleft with 2\n"), (["units"], "called\n")])
def test_a_command_that_simulates_leaves_its_memory_to_the_system(folder: Path, words: list[str], end: str) -> None:
    """Whoever waits for the end of the process is called, then it ends with the command's exit code, and Python takes
    nothing apart. Other commands end as any program does.
    """
    code = (
        "import atexit, os, sys; from wattline.cli import main\n"
        "def leave(code, last=os._exit): print('left with', code, flush=True); last(code)\n"
        "os._exit = leave; atexit.register(print, 'called'); main()"
    )
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == (2 if "replay" in words else 0), done.stderr
    assert done.stdout.endswith(end)
