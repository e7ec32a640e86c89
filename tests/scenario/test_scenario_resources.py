"""[[resource]]: what jobs take by default, by kind and by file; what is refused, and what journal and terminal say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from wattline.errors import ScenarioError, WattlineError
from wattline.journal.journal import open_journal
from wattline.report.count.metrics import summarize
from wattline.report.tables.summary import fact_rows
from wattline.scenario.choices import variants
from wattline.scenario.documents import read_scenario
from wattline.scenario.study import Study, wire

JOBS = "job_id,submit_s,work_s,nodes,kind\n7,0,100,2,cfd\n8,0,100,1,md\n9,0,100,3,cfd\n11,50,10,1,\n"


def study_of(tmp_path: Path, resources: str, more: str = "", select: str = "easy") -> Study:
    """Return a run of four jobs on eight nodes."""
    (tmp_path / "jobs.csv").write_text(JOBS)
    path = tmp_path / "it.toml"
    path.write_text(
        f'[trace]\nfile = "jobs.csv"\n[cluster]\nnodes = 8\n[policy]\nselect = "{select}"\n{more}\n{resources}\n'
    )
    return wire(next(iter(variants(read_scenario(path)))))


def test_a_jobs_amount_is_its_own_then_its_kinds_then_the_usual_one(tmp_path: Path) -> None:
    """The file counts before the kind, the kind before ``amount``; ``per`` a node it is taken for each."""
    (tmp_path / "memory.csv").write_text("job_id,amount\n9,5\n99,1\n")
    study = study_of(
        tmp_path,
        '[[resource]]\nname = "lic"\ntotal = 9\namount = 1\nkinds = {cfd = 4}\n'
        '[[resource]]\nname = "mem"\ntotal = 90\nper = "node"\namount = 2\nkinds = {md = 7}\nfile = "memory.csv"\n',
    )
    wants = {supply.name: supply.wants.tolist() for supply in study.options.resources}
    assert wants == {"lic": [4, 1, 4, 1], "mem": [4, 7, 15, 2]}
    note = next(note for note in study.notes if "not in the trace" in note.reason)
    assert (note.count, note.example) == (1, "job 99")


def test_journal_and_terminal_tell_how_much_was_in_use(tmp_path: Path) -> None:
    """Mean and peak are those of the times at which jobs held it."""
    study = study_of(tmp_path, '[[resource]]\nname = "lic"\ntotal = 5\nkinds = {cfd = 4, md = 1}\n')
    study.write(study.simulate(), tmp_path / "out")
    summary = summarize(open_journal(tmp_path / "out"))
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    # job 7 (4) and job 8 (1) from 0 to 100, job 9 (4) from 100 to 200
    expected = {"name": "lic", "total": 5, "per": "job", "jobs": 3, "most": 4, "mean": (500 + 400) / 200, "peak": 5}
    assert manifest["resources"] == [expected]
    row = summary.resources[0]
    assert (row.mean, row.peak) == (4.5, 5)
    assert ("lic", "4.5 of 5 in use on average, 5 at most") in fact_rows(summary)


@pytest.mark.parametrize(
    ("resources", "told"),
    [
        ('[[resource]]\nname = "a"\ntotal = 3\n', "no job takes any of it"),
        ('[[resource]]\nname = "a"\ntotal = -3\namount = 1\n', "total"),
        ('[[resource]]\nname = "a"\ntotal = 2.5\namount = 1\n', "total"),
        ('[[resource]]\nname = "a"\ntotal = 3\namount = 1\nper = "core"\n', "per"),
        ('[[resource]]\nname = "a"\ntotal = 3\nkinds = {cdf = 1}\n', "no job is of kind 'cdf'; did you mean 'cfd'"),
        ('[[resource]]\nname = "a"\ntotal = 3\namount = 1\n' * 2, "'a' is another resource already"),
        ('[[resource]]\nname = "a"\ntotal = 3\nfile = "none.csv"\n', "none.csv"),
    ],
)
def test_what_cannot_be_meant_is_refused(tmp_path: Path, resources: str, told: str) -> None:
    """In one line that names the key."""
    with pytest.raises(WattlineError, match=told.replace("'", ".")) as problem:
        study_of(tmp_path, resources)
    assert "\n" not in str(problem.value)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("job,amount\n7,1\n", "column 'job_id' is missing"),
        ("job_id,amount,x\n7,1,3\n", "field 'x': unknown column: expected job_id and amount alone"),
        ("job_id,amount,amount\n7,1,3\n", "field 'amount': column is named twice"),
        ("job_id,amount\n7,1.5\n", "whole number"),
        ("job_id,amount\n7,-1\n", "whole number"),
        ("job_id,amount\n7,12345678901234567\n", "more than 16 digits"),
        ("job_id,amount\n7,1\n7,2\n", "line 2 already"),
        ("job_id,amount\n", "only a header"),
        ("job_id,amount\n7,1,3\n", "expected 2 columns"),
        ("job_id,amount\n70,1\n", "names no job of the trace"),
        (f"job_id,amount\n7,{10**15}\n", ""),
    ],
)
def test_files_of_amounts_that_are_wrong_are_refused(tmp_path: Path, content: str, told: str) -> None:
    """With file and line; a number that can be counted is taken as it is."""
    (tmp_path / "a.csv").write_text(content)
    made = '[[resource]]\nname = "a"\ntotal = 3\nfile = "a.csv"\n'
    if not told:
        assert study_of(tmp_path, made).options.resources[0].wants[0] == 10**15
        return
    with pytest.raises(WattlineError, match=told.replace("'", ".")):
        study_of(tmp_path, made)


def test_policies_that_do_not_count_are_refused_at_their_key(tmp_path: Path) -> None:
    """The line of the policy is named."""
    with pytest.raises(WattlineError, match=r"it.toml:6: .*'conservative' does not count resources.*'a'"):
        study_of(tmp_path, '[[resource]]\nname = "a"\ntotal = 3\namount = 1\n', select="conservative")


def test_the_page_tells_how_much_was_in_use(tmp_path: Path) -> None:
    """A card a resource; a name is text, whatever it holds."""
    study = study_of(tmp_path, '[[resource]]\nname = "<lic>"\ntotal = 5\nkinds = {cfd = 4, md = 1}\n')
    study.write(study.simulate(), tmp_path / "out")
    from wattline.report.pages.run import write_report

    page = write_report(open_journal(tmp_path / "out"), tmp_path / "page.html").read_text()
    assert "in use on average, 5 at most" in page
    assert "&lt;lic&gt;" in page
    assert "<lic>" not in page.split("<script")[0]


def test_a_baseline_that_does_not_count_is_refused_at_its_key(tmp_path: Path) -> None:
    """Before anything is run."""
    path = tmp_path / "market.toml"
    path.write_text(
        'kinds = "W4"\n[trace]\ngenerator = "kinds"\n[cluster]\nnodes = 36\nidle = "140 W"\nmax = "450 W"\n'
        '[policy]\nselect = "easy"\n[regulation]\nmean = "9 kW"\nreserve = "1 kW"\nbaseline = "conservative"\n'
        '[[resource]]\nname = "a"\ntotal = 3\namount = 1\n'
    )
    with pytest.raises(WattlineError, match=r"market.toml:13: .*'conservative' does not count resources"):
        wire(next(iter(variants(read_scenario(path)))))


def test_tables_of_configurations_go_without(tmp_path: Path) -> None:
    """A job that chooses its nodes cannot say what it takes for each."""
    more = '[[configurations]]\nfile = "x.csv"\n'
    with pytest.raises(ScenarioError, match="goes without"):
        study_of(tmp_path, '[[resource]]\nname = "a"\ntotal = 3\namount = 1\n', more)


def test_a_bid_is_refused(tmp_path: Path) -> None:
    """Hours that a search simulates know nothing of resources."""
    path = tmp_path / "bid.toml"
    path.write_text(
        'kinds = "W4"\n[trace]\ngenerator = "kinds"\n[cluster]\nnodes = 36\nidle = "140 W"\nmax = "450 W"\n'
        'min_cap = "150 W"\n[policy]\nselect = "gps"\ncap = "match-target"\n[regulation]\n'
        '[[resource]]\nname = "a"\ntotal = 3\namount = 1\n'
    )
    from wattline.scenario.setting import build_setting

    with pytest.raises(ScenarioError, match="share nothing but nodes and watts"):
        build_setting(read_scenario(path))


def test_a_scenario_without_resources_keeps_its_hash(tmp_path: Path) -> None:
    """The section is left out of the hash where it is not given."""
    from wattline.scenario.study import content_sha256

    study_of(tmp_path, "")
    document: Any = read_scenario(tmp_path / "it.toml")
    content = document.spec.model_dump(mode="python", by_alias=True)
    assert "resource" not in content
    assert len(content_sha256(document)) == 64
