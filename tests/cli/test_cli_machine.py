"""The machine of a log and its watts: what is said of them, and what is doubted of a run."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from calling import Call
from machines import BOTH, swf
from rich.cells import cell_len

from wattline.journal.journal import open_journal


def plain(text: str) -> str:
    """Return text as one line."""
    return " ".join(text.split())


def replayed(wattline: Call, folder: Path, text: str, *flags: str) -> tuple[str, dict[str, object], str]:
    """Replay a log; return what was said, the summary, and the page of the report without its figures."""
    (folder / "log.swf").write_text(text)
    answer = wattline("replay", "log.swf", "--out", "out/log", "--json", *flags)
    assert answer.code == 0, answer.err
    page = (folder / "out/log/report.html").read_text(encoding="utf-8")
    return plain(answer.err), json.loads(answer.out)["summary"], page[: page.index("<script>")]


def test_whole_nodes_where_jobs_ask_for_them(wattline: Call, folder: Path) -> None:
    """With at most a fifth of odd jobs, nodes are MaxNodes, and processors become nodes; both header numbers are
    told.
    """
    said, found, page = replayed(wattline, folder, swf(BOTH, (4, 8, 16, 4, 6)))
    assert (found["nodes"], found["unit"]) == (8, "node")
    for told in (
        "8 nodes of 4 processors; the header says MaxNodes 8, MaxProcs 32",
        "20 % of the jobs ask for processors that are no multiple of a node's 4 and are rounded up",
    ):
        assert told in said
        assert told.replace("'", "&#x27;") in page
    nodes = open_journal(folder / "out/log").read("jobs")["nodes"].to_list()
    assert nodes[:5] == [1, 2, 4, 1, 2]


def test_processors_where_jobs_share_nodes(wattline: Call, folder: Path) -> None:
    """With more than a fifth of odd jobs the processor is what is scheduled, and a node's watts are divided by its
    processors.
    """
    text = swf(BOTH, (4, 8, 3, 1, 5))
    said, found, page = replayed(wattline, folder, text, "--idle-power", "80 W", "--max-power", "320 W")
    assert (found["nodes"], found["unit"]) == (32, "processor")
    for told in (
        "32 processors; the header says MaxNodes 8, MaxProcs 32",
        (
            "60 % of the jobs ask for processors that are no multiple of a node's 4, so jobs share nodes: the "
            "processor "
            "is what is scheduled"
        ),
    ):
        assert told in said
        assert told.replace("'", "&#x27;") in page
    assert "power: 80 W idle and 320 W busy a node, 20 W and 80 W a processor (÷ 4), as given" in said
    assert "on 32 processors" in page
    timeline = open_journal(folder / "out/log").read("timeline")
    busy, idle = timeline["busy_nodes"], timeline["idle_nodes"]
    assert timeline["power_w"].to_list() == pytest.approx((80.0 * busy + 20.0 * idle).to_list())


@pytest.mark.parametrize(
    ("header", "flags", "nodes", "unit", "told"),
    [
        (
            "; MaxProcs: 32\n",
            (),
            32,
            "node",
            "32 nodes; the header says MaxProcs 32 and no MaxNodes; assumed: a node has one processor",
        ),
        (
            "; MaxNodes: 32\n",
            (),
            32,
            "node",
            "32 nodes; the header says MaxNodes 32 and no MaxProcs; assumed: a processor of a job is a node",
        ),
        ("; MaxNodes: 32\n; MaxProcs: 32\n", (), 32, "node", "32 nodes; the header says MaxNodes 32, MaxProcs 32"),
        (
            BOTH,
            ("--cores-per-node", "2"),
            16,
            "node",
            "16 nodes of 2 processors, as cores_per_node says; the header says MaxNodes 8, MaxProcs 32",
        ),
        (
            BOTH,
            ("--cores-per-node", "1"),
            32,
            "processor",
            "32 processors, as cores_per_node = 1 says; the header says MaxNodes 8, MaxProcs 32",
        ),
        (BOTH, ("--nodes", "32"), 32, "processor", "MaxProcs 32; 32 are as many as its processors"),
        (BOTH, ("--nodes", "8"), 8, "node", "8 nodes of 4 processors; the header says MaxNodes 8, MaxProcs 32"),
        (
            BOTH,
            ("--nodes", "20"),
            20,
            "processor",
            "20 processors are simulated; the log's own: 32 processors; the header says",
        ),
        (
            "",
            ("--nodes", "20"),
            20,
            "node",
            "20 nodes are simulated; the log's own: the header says neither MaxNodes nor MaxProcs",
        ),
    ],
)
def test_flags_override_and_one_number_is_said(
    wattline: Call, folder: Path, header: str, flags: tuple[str, ...], nodes: int, unit: str, told: str
) -> None:
    """What the header says is told whatever the flags say; a missing number is named, and what was assumed for it."""
    said, found, _ = replayed(wattline, folder, swf(header, (4, 8, 3, 1, 5)), *flags)
    assert (found["nodes"], found["unit"]) == (nodes, unit)
    assert f"machine: {told}" in said or told in said


def test_every_line_fits_a_terminal(wattline: Call, folder: Path) -> None:
    """What is said of machine, watts and doubts is broken at 80 columns."""
    (folder / "log.swf").write_text(swf(BOTH, (4, 8, 3, 1, 5)))
    answer = wattline("replay", "log.swf", "--power-limit", "2 kW")
    assert "ASSUMED POWER" in answer.err
    assert all(cell_len(line) <= 80 for line in (answer.out + answer.err).splitlines())


def test_nobody_gave_watts(wattline: Call, folder: Path) -> None:
    """A replay without watts reports no power: no rows, figures or energies, nulls in the journal, and a word on how to
    give them.
    """
    said, found, page = replayed(wattline, folder, swf(BOTH, (4, 8)))
    assert "power: not reported, because no watts were given; give idle and max of [cluster]" in said
    assert set(found["energy"].values()) == {None}  # type: ignore[attr-defined]
    assert found["power"]["mean_w"] is None  # type: ignore[index]
    for text in ('<h2 id="energy">', "peak power", "kWh", "Energy per job", '<h3 id="power">', " MJ", " kJ", " kW"):
        assert text not in page, text
    assert "not reported, because no watts were given" in page
    journal = open_journal(folder / "out/log")
    assert journal.read("timeline")["power_w"].null_count() == journal.read("timeline").height
    assert journal.read("jobs")["energy_j"].null_count() == 60
    assert journal.read("classes").select(pl.col("^.*_energy_j$")).null_count().row(0) == (1, 1, 1, 1)
    assert set(journal.manifest["totals"].values()) == {None}
    assert [(c["idle_w"], c["max_w"]) for c in journal.manifest["cluster"]["classes"]] == [(None, None)]
    shown = wattline("report", "out/log")
    assert shown.code == 0
    assert "energy" not in shown.out
    again = wattline("replay", "out/log", "--out", "out/again")
    assert again.code == 0
    assert "power: not reported" in plain(again.err)
    made = wattline("telemetry", "sample", "out/log", "--out", "samples.parquet")
    assert made.code == 2
    assert "holds no power: its run was given no watts" in made.err


@pytest.mark.parametrize(
    "flags",
    [
        ("--power-limit", "2 kW"),
        ("--set", 'cluster.sleep={power="5 W", after="1 min"}'),
        ("--set", 'prices.energy="50 $/MWh"'),
    ],
    ids=["limit", "sleep", "bill"],
)
def test_a_question_of_watts_assumes_them_loudly(wattline: Call, folder: Path, flags: tuple[str, ...]) -> None:
    """Under a limit, with sleep or a bill, 100 W and 300 W a node are assumed: a warning on terminal and page, per node
    and processor.
    """
    (folder / "log.swf").write_text(swf(BOTH, (4, 8, 3, 1, 5)))
    (folder / "log.toml").write_text('name = "log"\n[trace]\nfile = "log.swf"\n')
    command = ("replay", "log.swf") if flags[0] == "--power-limit" else ("run", "log.toml")
    answer = wattline(*command, *flags, "--out", "out/log")
    assert answer.code == 0, answer.err
    told = "ASSUMED POWER: 100 W idle and 300 W busy a node, 25 W and 75 W a processor (÷ 4), because none was given"
    assert f"WARNING: {told}" in plain(answer.err)
    page = (folder / "out/log/report.html").read_text(encoding="utf-8")
    assert f'<p class="sub warn">{told}' in page
    assert "peak power" in page


def test_one_of_two_watts_is_assumed(wattline: Call, folder: Path) -> None:
    """Where only the idle watts are given, those of a busy node are assumed, and both are told."""
    said, _, _ = replayed(wattline, folder, swf(BOTH, (4, 8)), "--idle-power", "90 W")
    assert "WARNING: ASSUMED POWER: 300 W busy a node, because none was given; 90 W idle a node as given" in said


def loud(said: str, page: str, words: str) -> bool:
    """Tell whether terminal and page both warn in these words."""
    return f"WARNING: {words}" in said and f'<p class="sub warn">{words}' in page


def test_far_waits_are_doubted(wattline: Call, folder: Path) -> None:
    """Waits beyond ten times the recorded ones, or below a tenth of them, are one loud line on terminal and page."""
    text = swf("; MaxNodes: 8\n", (8,), every_s=100, run_s=400, wait_s=lambda _: 30)
    said, _, page = replayed(wattline, folder, text)
    assert loud(said, page, "WAITS FAR LONGER THAN RECORDED: median ")
    assert loud(said, page, "LOAD 4.00, ABOVE 1: more work is submitted than 8 nodes can do")
    assert "SHORTER" not in said
    text = swf("; MaxNodes: 64\n", (8,), wait_s=lambda _: 9000)
    said, _, page = replayed(wattline, folder, text)
    assert loud(said, page, "WAITS FAR SHORTER THAN RECORDED: median 0 s (recorded 2 h 30 min)")
    assert loud(said, page, "NOTHING EVER WAITS (recorded p95: 2 h 30 min): is the machine larger")
    assert "LONGER" not in said


def test_many_rounded_jobs_are_doubted(wattline: Call, folder: Path) -> None:
    """Where the user's nodes are too large for more than a fifth of the jobs, that is one loud line, also for Slurm's
    CPUs.
    """
    said, _, page = replayed(wattline, folder, swf(BOTH, (4, 8, 3, 1, 5)), "--cores-per-node", "4")
    assert loud(
        said, page, "MANY JOBS ROUNDED UP: 36 of 60 in the log (60 %) are given whole nodes though they asked for less"
    )
    rows = "".join(
        f"{i}|2024-01-01T00:{i % 60:02}:00|2024-01-01T01:00:00|60|{3 if i % 2 else 4}\n" for i in range(1, 61)
    )
    (folder / "log.txt").write_text("JobIDRaw|Submit|Start|ElapsedRaw|AllocCPUS\n" + rows)
    answer = wattline("replay", "log.txt", "--nodes", "8", "--cores-per-node", "4", "--out", "out/slurm")
    assert "WARNING: MANY JOBS ROUNDED UP: 30 of 60 in the log (50 %)" in plain(answer.err)


def test_a_plausible_run_is_not_doubted(wattline: Call, folder: Path) -> None:
    """A run whose waits are like those recorded is not doubted, nor one of a handful of jobs."""
    text = swf("; MaxNodes: 8\n", (8,), every_s=300, run_s=200, wait_s=lambda i: 20)
    text = text.replace(" 200 8 -1 -1 8 900", " 350 8 -1 -1 8 900", 2)
    said, found, _ = replayed(wattline, folder, text)
    assert found["doubts"] == []
    assert "WARNING" not in said
    _, found, _ = replayed(wattline, folder, swf("; MaxNodes: 8\n", (8,), jobs=9, every_s=1, wait_s=lambda _: 0))
    assert found["doubts"] == []


def test_a_machine_that_is_exactly_full_is_not_doubted(wattline: Call, folder: Path) -> None:
    """A hundred seconds of the whole machine every hundred seconds is a load of 1, of which nobody waits. Where the log
    recorded no waits either, that nothing waits is no sign of anything.
    """
    text = swf("; MaxNodes: 8\n", (8,), jobs=100, every_s=100, run_s=100, wait_s=lambda _: 0)
    _, found, page = replayed(wattline, folder, text)
    assert found["doubts"] == []
    assert "WARNING" not in page
    text = swf("; MaxNodes: 8\n", (8,), jobs=100, every_s=100, run_s=101, wait_s=lambda i: i)
    said, _, page = replayed(wattline, folder, text)
    assert loud(said, page, "LOAD 1.01, ABOVE 1")


def test_comparisons_say_the_same(wattline: Call, folder: Path) -> None:
    """A comparison tells the machine once, and warns of what it assumed and doubts."""
    (folder / "log.swf").write_text(swf(BOTH, (4, 8, 3, 1, 5), wait_s=lambda _: 90_000))
    text = 'name = "log"\n[trace]\nfile = "log.swf"\n[policy]\nselect = ["easy", "in-order"]\n'
    (folder / "log.toml").write_text(text + '[limit]\npower = "2 kW"\n')
    said = plain(wattline("compare", "log.toml").err)
    assert said.count("the header says MaxNodes 8, MaxProcs 32") == 1
    assert said.count("WARNING: ASSUMED POWER: 100 W idle and 300 W busy a node") == 1
    assert "WAITS FAR SHORTER THAN RECORDED" in said


def test_converting_keeps_the_unit(wattline: Call, folder: Path) -> None:
    """``trace convert`` says both numbers, and a log of processors stays one, in SWF and in Parquet; ``trace info``
    shows it.
    """
    (folder / "log.swf").write_text(swf(BOTH, (4, 8, 3, 1, 5)))
    for name in ("copy.swf", "copy.parquet"):
        assert "the header says MaxNodes 8, MaxProcs 32" in plain(wattline("trace", "convert", "log.swf", name).err)
        facts = json.loads(wattline("trace", "info", name, "--json").out)
        assert (facts["machine_nodes"], facts["machine"]["unit"], facts["machine"]["per_node"]) == (32, "processor", 4)
    shown = plain(wattline("trace", "info", "log.swf").out)
    assert "32 processors, offered load" in shown
    assert "the header says MaxNodes 8, MaxProcs 32" in shown
    (folder / "whole.swf").write_text(swf(BOTH, (4, 8)))
    wattline("trace", "convert", "whole.swf", "nodes.swf")
    facts = json.loads(wattline("trace", "info", "nodes.swf", "--json").out)
    assert (facts["machine_nodes"], facts["machine"]["unit"], facts["nodes"]["max"]) == (8, "node", 2.0)


REAL = {
    "CEA-Curie-2011-2.1-cln": (93312, "processor", "MaxNodes 5,544, MaxProcs 93,312"),
    "LLNL-Thunder-2007-1.1-cln": (1002, "node", "MaxNodes 1,002, MaxProcs 4,008"),
    "KTH-SP2-1996-2.1-cln": (100, "node", "MaxNodes 100, MaxProcs 100"),
    "HPC2N-2002-2.2-cln": (240, "node", "MaxNodes 240, MaxProcs 240"),
    "SDSC-SP2_pyss-EASY-simulated": (128, "node", "MaxProcs 128 and no MaxNodes"),
    "ALCF-Mira-2018H2_norm": (49152, "node", "MaxNodes 49,152, MaxProcs 49,152"),
    "ALCF-Theta-2023H1_norm": (4392, "node", "MaxNodes 4,392, MaxProcs 4,392"),
    "lublin_256": (256, "node", "MaxNodes 256 and no MaxProcs"),
}


@pytest.mark.parametrize("name", REAL)
def test_real_machines_have_their_size(data_dir: Path, name: str) -> None:
    """Logs of the archive: Curie's jobs share nodes, so its processors are scheduled; Thunder's take whole nodes; the
    others say nodes.
    """
    from wattline.formats.jobs import read_trace

    trace = read_trace(data_dir / f"swf/{name}.swf.gz")
    assert trace.machine is not None
    nodes, unit, told = REAL[name]
    assert (trace.suggested_nodes, trace.machine.unit) == (nodes, unit)
    assert told in trace.machine.words
