"""The commands that the documentation shows are the commands that work."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from journal_doc import PAGE, generated

from programs import Done, command, python

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(
    r"(?:<!-- (?:file: (?P<file>[\w./-]+)|(?P<run>run)) -->\n)?```(?P<language>\w+)\n(?P<body>.*?)```", re.DOTALL
)


def commands(body: str) -> list[list[str]]:
    """Return the wattline commands of a console block, without comments."""
    lines = (line.split("   #")[0].split("  #")[0].strip() for line in body.splitlines())
    return [shlex.split(line) for line in lines if line.startswith("wattline ")]


def exit_codes(body: str) -> list[int]:
    """Return how the wattline commands of a console block end: with 0, or as their comments say."""
    lines = (line.strip() for line in body.splitlines())
    told = (re.search(r" # .*exit code (\d+)", line) for line in lines if line.startswith("wattline "))
    return [int(code[1]) if code else 0 for code in told]


def works(done: Done, code: int = 0) -> Done:
    """Return what a program left, and show what it said if it failed."""
    assert done.code == code, f"{shlex.join(done.words)} ended with {done.code}\n{done.out}\n{done.err}"
    assert "Traceback" not in done.err
    return done


def follow(page: str, folder: Path, log: str = "", until: str = "") -> list[Done]:
    """Save every file, run every command and every program marked so, in order; return what the commands said.

    ``log`` takes the place of the log that a page generates; reading ends at the heading ``until``.
    """
    said = []
    text = (ROOT / "docs" / page).read_text().partition(until or "\0")[0]
    for block in BLOCK.finditer(text):
        if block["file"]:
            (folder / block["file"]).write_text(block["body"])
        elif block["run"]:
            works(python(block["body"], folder))
        elif block["language"] == "console":
            for words, code in zip(commands(block["body"]), exit_codes(block["body"]), strict=True):
                if log and words[1:3] == ["trace", "generate"]:
                    continue
                given = [log if log and word == "log.parquet" else word for word in words]
                said.append(works(command(given, folder), code))
    return said


def shown(page: str) -> dict[str, str]:
    """Return the answers that a page shows, by the first command of the block above each."""
    blocks = pairwise(BLOCK.finditer((ROOT / "docs" / page).read_text()))
    return {
        shlex.join(commands(block["body"])[0]): following["body"]
        for block, following in blocks
        if (block["language"], following["language"]) == ("console", "text")
    }


def plain(text: str) -> str:
    """Return text without blanks at line ends."""
    return "\n".join(line.rstrip() for line in text.splitlines()).strip()


def shows(page: str, said: list[Done]) -> int:
    """Compare every answer that a page shows with what was said; return how many there were."""
    answers = {shlex.join(done.words): done.out for done in said}
    for words, answer in shown(page).items():
        assert plain(answer) in plain(answers[words]), words
    return len(shown(page))


def test_the_tutorial_works_from_top_to_bottom(tmp_path: Path) -> None:
    """Every file and every command of the tutorial, in order, in an empty folder."""
    assert len(follow("tutorial.md", tmp_path)) >= 9
    assert (tmp_path / "out/easy/report.html").stat().st_size > 1_000_000


def test_the_tutorial_on_demand_response_works(tmp_path: Path) -> None:
    """Every command that sells regulation, in order: the bid that is found is certified as the page says, and saves
    money.
    """
    said = follow("demand-response.md", tmp_path)
    assert len(said) >= 9
    broken, found, again, unsure = (done.out for done in said[:4])
    assert "BROKEN" in broken
    assert "\nCERTIFIED: all promises are kept" in found
    assert "\nCERTIFIED: all promises are kept" in again
    assert "UNSURE" in unsure
    assert (tmp_path / "sold.toml").read_text().splitlines()[2].startswith("# CERTIFIED")
    days = json.loads((tmp_path / "out/days-comparison/comparison.json").read_text())["comparison"]["labels"]
    assert (days[0], len(days)) == ("no market (easy)", 5)
    found = json.loads((tmp_path / "out/bid/certificate.json").read_text())
    assert all(promise["rate"] < promise["limit"] for promise in found["promises"])
    assert found["cost"] < found["without_drawn"]
    assert "Demand response" in (tmp_path / "out/sold/report.html").read_text()


def test_the_page_on_certificates_works(tmp_path: Path) -> None:
    """Five short days are left out in turn, as the page says, and are too few to be sure."""
    (said,) = follow("certificates.md", tmp_path)
    assert "left out" in said.out
    assert all(f"day-{k}" in said.out for k in range(5))
    assert "CERTIFIED" not in said.out


def journal_summary(folder: Path) -> Any:
    """Return the numbers of a run."""
    from wattline.journal.journal import open_journal
    from wattline.report.count.metrics import summarize

    return summarize(open_journal(folder))


def test_the_page_from_a_log_to_bids_works(tmp_path: Path) -> None:
    """Every file, command and program of the page; what it says of the two bid policies is what came out."""
    assert len(follow("log-to-bids.md", tmp_path)) == 9
    kinds = (tmp_path / "jobs.kinds.csv").read_text().splitlines()
    assert len(kinds) > 20
    assert (tmp_path / "out/before/report.html").exists()
    told = json.loads((tmp_path / "out/month-comparison/comparison.json").read_text())["comparison"]
    assert told["labels"] == ["no market (easy)", "adaptive", "quantile"]
    rows = {row["path"]: [estimate["mean"] for estimate in row["estimates"]] for row in told["metrics"]}
    out, adaptive, quantile = rows["cost"]
    assert quantile < adaptive < out
    assert rows["regulation.reserve_w"][2] > 1.5 * rows["regulation.reserve_w"][1]
    assert rows["accounts.total.score"][2] < rows["accounts.total.score"][1]
    assert max(rows["regulation.exceed_share"][1:]) < 0.1
    assert max(rows["worst_mean_q"]) < 2.0
    page = (ROOT / "docs/log-to-bids.md").read_text()
    assert "\n".join((tmp_path / "bids.csv").read_text().splitlines()[:2]) in page
    first, careful = (journal_summary(tmp_path / "out" / name).regulation for name in ("adaptive", "careful"))
    assert careful.reserve_w == pytest.approx(0.9 * first.reserve_w, abs=1000.0)
    assert all(hour.reserve_w % 1000 == 0 for hour in careful.hours)


def sacct_dump(path: Path) -> None:
    """Write eight days of a cluster like meggie as Slurm prints them, with a job that never ran and one that was
    requeued.
    """
    from datetime import UTC, datetime

    from wattline.generate.jobs import MeggieLike, generate

    jobs = generate(MeggieLike(days=8, seed=2, own_power=True)).jobs
    columns = (
        "JobID,JobIDRaw,Submit,Start,ElapsedRaw,AllocNodes,TimelimitRaw,User,Account,Partition,JobName,State,"
        "ConsumedEnergyRaw"
    )

    def clock(time_s: float) -> str:
        return datetime.fromtimestamp(1709247600 + time_s, UTC).strftime("%Y-%m-%dT%H:%M:%S")

    rows = [columns.replace(",", "|")]
    for i in range(len(jobs)):
        nodes, work_s = int(jobs.nodes[i]), round(float(jobs.work_s[i]))
        at, name = float(jobs.submit_s[i]), jobs.kinds[jobs.kind[i]].partition("@")[0]
        joules = round(float(jobs.draw_w[i]) * nodes * work_s)
        row = f"{i}|{i}|{clock(at)}|{clock(at + 60)}|{work_s}|{nodes}|1440|u{jobs.user[i]}|phys|work|{name}"
        if i == 7:
            rows.append(f"{row}|REQUEUED|{joules}")
        rows.append(f"{row}|COMPLETED|{joules}")
    rows.append(f"9999|9999|{clock(99.0)}|Unknown|0|4|60|u1|phys|work|m12|CANCELLED by 7|")
    path.write_text("\n".join(rows) + "\n")


def test_the_page_from_a_log_to_bids_works_with_slurm(tmp_path: Path) -> None:
    """The same page with Slurm's own accounting in the place of the generated log: from lines of text to bids by the
    hour.
    """
    sacct_dump(tmp_path / "log.txt")
    assert len(follow("log-to-bids.md", tmp_path, log="log.txt", until="## 5.")) == 4
    found = journal_summary(tmp_path / "out/adaptive")
    assert found.jobs.finished > 500
    assert found.regulation.reserve_w > 5000
    assert found.regulation.exceed_share < 0.1


def test_the_page_on_prices_works(tmp_path: Path) -> None:
    """Every file and command of the page: accounts with energy alone, and of regulation beside no participation."""
    assert len(follow("prices.md", tmp_path)) >= 3
    page = (tmp_path / "out/sold/report.html").read_text()
    assert "Against no participation" in page
    assert "Cost, revenue and carbon" in page
    assert "Cost and carbon" in (tmp_path / "out/priced/report.html").read_text()


def test_the_page_on_models_of_configurations_works(tmp_path: Path) -> None:
    """Every program and command of the page, in order; the predicted table is there."""
    assert len(follow("config-models.md", tmp_path)) == 7
    assert (tmp_path / "predicted.parquet").exists()


README_COMMANDS = [
    words
    for block in BLOCK.finditer((ROOT / "README.md").read_text())
    if block["language"] == "console"
    for words in commands(block["body"])
]


@pytest.mark.parametrize("words", README_COMMANDS, ids=lambda words: " ".join(words[1:3]))
def test_the_readme_shows_commands_that_work(words: list[str], tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Every command of the README, with real data where it names a log."""
    log = next((word for word in words if word.endswith(".swf.gz")), None)
    if log:
        folder: Path = request.getfixturevalue("data_dir")
        words = [str(folder / "swf" / log) if word == log else word for word in words]
    if words[1] == "reproduce":
        words = [*words, "--quick"]
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    done = subprocess.run(
        [sys.executable, "-m", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    works(Done(words, done.returncode, done.stdout, done.stderr))


SCENARIOS = [
    (page.name, block["body"])
    for page in sorted((ROOT / "docs").rglob("*.md"))
    for block in BLOCK.finditer(page.read_text())
    if block["language"] == "toml" and "[trace]" in block["body"] and not block["file"]
]


@pytest.mark.parametrize(("page", "text"), SCENARIOS, ids=[page for page, _ in SCENARIOS])
def test_the_documents_show_scenarios_that_run(page: str, text: str, tmp_path: Path, data_dir: Path) -> None:
    """Every whole scenario of the documentation runs as it stands (those saved as files are run by the page's own
    test).
    """
    log = re.search(r'file = "([^"]+)"', text)
    if log:
        (tmp_path / log[1]).symlink_to(data_dir / "swf" / log[1])
    (tmp_path / "shown.toml").write_text(text)
    several = re.search(r"^(order|select|place|cap|learn) = \[", text, re.MULTILINE)
    works(command(["wattline", "compare" if several else "run", "shown.toml"], tmp_path))


def test_the_journal_page_is_made_from_the_code() -> None:
    """docs/journal.md holds every table and column as the code has them (scripts/update-golden writes it)."""
    assert PAGE.read_text(encoding="utf-8") == generated()


def test_the_journal_page_names_every_field(tmp_path: Path) -> None:
    """Every key of a manifest and every number of a summary is on the page, and no other key is in its tables."""
    from wattline.journal.journal import open_journal
    from wattline.report.count.energy import Energy, Power
    from wattline.report.count.metrics import JobCounts, Span, Summary
    from wattline.report.count.statistics import Distribution, TimeDistribution
    from wattline.scenario import read_scenario, variants, wire

    page = PAGE.read_text(encoding="utf-8")
    keys_of_all = ["trace.jobs=20", "policy.select=easy", 'resource=[{name = "licences", total = 9, amount = 1}]']
    study = wire(variants(read_scenario(ROOT / "examples/power-limit.toml", keys_of_all))[0])
    study.write(study.simulate(), tmp_path / "j")
    tables = {mark: page.split(f"<!-- {mark} -->")[1].split("\n\n")[0] for mark in ("manifest", "json")}
    keys = {
        mark: {key for line in text.splitlines()[3:] for key in re.findall(r"`([\w.]+)`", line.split("|")[1])}
        for mark, text in tables.items()
    }
    assert keys["manifest"] == set(open_journal(tmp_path / "j").manifest)
    assert {key.removeprefix("summary.") for key in keys["json"] if "." in key} == {f.name for f in fields(Summary)}
    for part in (JobCounts, Span, Energy, Power, Distribution, TimeDistribution):
        assert all(f"`{f.name}`" in page for f in fields(part)), part.__name__


def test_the_page_on_logs_says_what_the_readers_read(tmp_path: Path) -> None:
    """docs/traces.md has all columns of a table and a table that is read whole; Slurm's command is the one of the
    code.
    """
    from wattline.formats.jobs import FORMATS, read_trace
    from wattline.formats.jobs.sacct.read import EXAMPLE
    from wattline.model.jobs import ARRAY_COLUMNS

    page, tutorial = ((ROOT / f"docs/{name}.md").read_text() for name in ("traces", "tutorial"))
    rows = page.split("<!-- columns -->")[1].split("\n\n")[0].splitlines()[3:]
    assert {key for row in rows for key in re.findall(r"`(\w+)`", row.split("|")[1])} == set(ARRAY_COLUMNS)
    assert all(f"| `{name}` |" in page for name in FORMATS)
    assert f"{EXAMPLE} > jobs.txt" in page
    assert f"{EXAMPLE} > jobs.txt" in tutorial
    shown = next(block["body"] for block in BLOCK.finditer(page) if block["file"] == "jobs.csv")
    (tmp_path / "jobs.csv").write_text(shown)
    read = read_trace(tmp_path / "jobs.csv")
    assert len(read.jobs) == 3
    assert [note.action for note in read.notes] == ["kept"]
    program = next(block["body"] for block in BLOCK.finditer(page) if block["run"])
    works(python(program, tmp_path))
    over_time = read_trace(tmp_path / "jobs.parquet").jobs
    assert over_time.series is not None
    assert (over_time.series.step_s, over_time.series.of(0).size, over_time.draw_w[0]) == (300.0, 5, 57.1)


def test_the_tutorial_shows_the_answer_to_a_typo(tmp_path: Path) -> None:
    """A misspelt key in the tutorial's file is answered in the words that the tutorial shows."""
    page = (ROOT / "docs/tutorial.md").read_text()
    text = next(block["body"] for block in BLOCK.finditer(page) if block["file"] == "limit.toml")
    (tmp_path / "limit.toml").write_text(text.replace("power =", "pwoer ="))
    done = command(["wattline", "compare", "limit.toml"], tmp_path)
    assert done.err.splitlines()[-1] in page


def test_documents_link_to_files_that_exist() -> None:
    """No link of the documentation leads nowhere."""
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}, which does not exist"


def test_the_page_on_caps_works(tmp_path: Path) -> None:
    """Every file, command and program of the page, in order; the summary and the claims that it shows are what came
    out.
    """
    from wattline.report.tables.summary import fact_rows

    (tmp_path / "examples").symlink_to(ROOT / "examples")
    assert len(follow("under-a-cap.md", tmp_path)) >= 12
    page = (ROOT / "docs/under-a-cap.md").read_text()
    names = ("capped", "changing", "caps", "stops", "patient", "first", "second", "pushed")
    runs = {name: journal_summary(tmp_path / "out" / name) for name in names}
    facts = dict(fact_rows(runs["capped"]))
    shown = [f"{name:<12}  {facts[name]}" for name in ("power limit", "limit kept", "", "learned", "profiles")]
    assert "\n".join(shown) in page
    assert runs["capped"].capping.apart.success == 1.0
    assert runs["changing"].capping.whole.longest_s > 3600
    assert (runs["caps"].capping.whole.success, runs["caps"].capping.caps_set > 100) == (1.0, True)
    assert runs["stops"].capping.jobs_stopped > 0
    assert runs["stops"].capping.apart.success == 1.0 > runs["changing"].capping.apart.success
    assert [runs[name].wait_s.max < days * 86400 for name, days in (("capped", 31), ("patient", 5))] == [False, True]
    assert [round(runs[name].wait_s.mean / 3600) for name in ("capped", "patient")] == [7, 16]
    assert runs["second"].learning.known > 0.99 > runs["first"].learning.known
    assert (runs["pushed"].power.lowest_limit_w, runs["pushed"].jobs.finished) == (2e6, runs["capped"].jobs.finished)
    told = json.loads((tmp_path / "out/learners/comparison.json").read_text())["comparison"]
    assert told["labels"] == ["maximum", "t-test", "quantile", "pooled"]
    rows = {row["path"]: [estimate["mean"] for estimate in row["estimates"]] for row in told["metrics"]}
    assert max(rows["wait_s.mean"][1:]) < rows["wait_s.mean"][0] / 10
    assert [round(wait_s / 60) for wait_s in rows["wait_s.median"][1:]] == [53, 24, 15]
    assert [round(100 * rate, 1) for rate in rows["capping.apart.intervals.success"]] == [100, 100, 99.5, 99.7]
    assert "Under the power limit" in (tmp_path / "out/capped/report.html").read_text()
    done = command(["wattline", "run", "capped.toml", "--set", "limit.deadlock=wait", "--out", "out/wait"], tmp_path)
    assert done.code == 1
    assert done.err.splitlines()[-1] in page
