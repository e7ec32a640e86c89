"""``wattline whatif``: what it refuses at once, and what its page says of several questions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from calling import SWF, Call

import wattline as wl

POWER = "a power above 0, or a part below the peak like -20%"
REFUSED = [
    (("--growth", "x"), "--growth x: expected a factor like 1.3"),
    (("--growth", "nan"), "--growth nan: expected a factor like 1.3"),
    (("--growth", "0"), "--growth 0: expected a factor like 1.3"),
    (("--growth", "1e30"), "--growth 1e30: expected a factor like 1.3, above 0 and at most 1,000,000"),
    (("--limit", "nan"), "--limit nan: expected a power like '12 MW'"),
    (("--limit", "0 W"), f"--limit 0 W: expected {POWER}"),
    (("--limit", "inf"), "--limit inf: must be a number, and not below 0"),
    (("--limit", "+20%"), f"--limit +20%: expected {POWER}"),
    (("--limit", "-100%"), f"--limit -100%: expected {POWER}"),
    (("--nodes", "0"), "--nodes 0: a machine has at least one node"),
    (("--nodes", "-100%"), "--nodes -100%: a machine has at least one node"),
    (("--nodes", "1.5"), "--nodes 1.5: expected a count like 128"),
    (("--sleep", "soon"), "--sleep soon: expected a duration like '15 min'"),
    (("--sleep", "-5"), "--sleep -5: must be a number, and not below 0"),
    (("--sleep", "5", "--wake", "x"), "--wake x: expected a duration like '15 min'"),
    (("--sleep", "5", "--sleep-power", "-3 W"), "--sleep-power -3 W: must be a number, and not below 0"),
    (("--nodes", "8", "--wake", "5"), "--wake 5: says how nodes sleep, but not when"),
    (("--policy", "no-such"), "--policy no-such: unknown select policy 'no-such'"),
    (("--policy", "easy,"), "--policy easy,: expected names of policies"),
    (("--policy", "easy,easy"), "--policy easy,easy: easy is given twice"),
    (("--price", "none.csv"), "--price none.csv: no such file"),
    ((), "ask something: --limit, --sleep, --nodes, --policy, --growth, --price"),
]


@pytest.mark.parametrize(("flags", "told"), REFUSED)
def test_an_argument_is_refused_at_once_by_its_flag(
    wattline: Call, folder: Path, flags: tuple[str, ...], told: str
) -> None:
    """Before the log is read and a folder is made, in one line that begins with the flag as it was typed."""
    (folder / "log.swf").write_bytes(b"\x00 no log")
    found = wattline("whatif", "log.swf", *flags, "--out", "o")
    assert found.code == 2
    assert found.err.startswith(f"wattline: {told}")
    assert len(found.err.splitlines()) == 1
    assert not (folder / "o").exists()


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (("--nodes", "-8"), "--nodes -8: a machine of 8 cannot have so many less"),
        (
            ("--nodes", "99999999999"),
            "--nodes 99999999999: cluster.nodes=99999999999: [cluster] nodes: must be at most",
        ),
        (("--sleep", "1e15"), "--sleep 1e15: cluster.sleep="),
        (("--limit", "3 kW", "--idle-power", "x"), "--idle-power x: expected a power like '12 MW'"),
        (("--limit", "3 kW", "--max-power", "-3"), "--max-power -3: must be a number, and not below 0"),
    ],
)
def test_what_the_machine_cannot_have_is_refused_before_anything_is_run(
    wattline: Call, folder: Path, monkeypatch: pytest.MonkeyPatch, flags: tuple[str, ...], told: str
) -> None:
    """What needs the size of the machine, or its scenario, is said of the flag too, and no run is made for it."""
    (folder / "log.swf").write_text(SWF)
    monkeypatch.setattr("wattline.api.studies.Study.simulate", None)
    found = wattline("whatif", "log.swf", *flags)
    assert (found.code, found.err.splitlines()[-1].startswith(f"wattline: {told}")) == (2, True), found.err


def test_the_page_says_of_each_part_which_question_it_answers(wattline: Call, folder: Path) -> None:
    """Figures, contents, and for every question a section, a table of who feels it and a column of numbers under its
    name; no table has more than four answers.
    """
    wl.draw_trace("lublin", nodes=16, jobs=200, load=0.9, users=3).jobs.write_csv(folder / "log.csv")
    asked = ("--nodes", "+25%", "--growth", "1.4", "--policy", "conservative,first-fit")
    found = wattline("whatif", "log.csv", "--machine", "16", *asked, "--out", "o", "--no-cause")
    assert found.code == 0, found.err
    names = [
        "1: 20 nodes",
        "2: load × 1.4",
        "3: conservative",
        "4: first-fit",
        "5: 20 nodes + load × 1.4 + conservative",
        "6: 20 nodes + load × 1.4 + first-fit",
    ]
    assert f"Who feels it most, of {names[-1][3:]}:" in found.out
    page = (folder / "o" / "whatif.html").read_text()
    contents = re.findall(
        r'<a href="#[^"]*">(.*?)</a>', page.partition('<nav class="contents"')[2].partition("</nav>")[0]
    )
    assert contents == ["At a glance", *names, "Laid over each other", "All numbers", "The study"]
    captions = re.findall(r"<caption>(.*?)</caption>", page)
    assert captions == [f"Who feels it most – {name}" for name in names if f"Who feels it most – {name}" in captions]
    assert len(captions) >= 4
    numbers = page.partition('id="all-numbers"')[2].partition('id="the-study"')[0]
    heads = [re.findall(r"<th(?: [^>]*)?>(.*?)</th>", head) for head in re.findall(r"<thead>.*?</thead>", numbers)]
    assert heads == [["", "as it is", *names[:4]], ["", "as it is", *names[4:]]]
    assert page.count('class="plot"') >= 5
    sentence = "With 4 nodes more (20) and 1.4 times the load and first-fit, jobs wait "
    assert f'<p class="answer">{sentence}' in page


def test_the_page_of_one_question_needs_no_numbers(wattline: Call, folder: Path) -> None:
    """With one question there is no number before its name, and the page has contents and figures too."""
    wl.draw_trace("lublin", nodes=16, jobs=120, load=0.9).jobs.write_csv(folder / "log.csv")
    found = wattline("whatif", "log.csv", "--machine", "16", "--nodes", "12", "--out", "o", "--no-cause")
    assert found.code == 0, found.err
    page = (folder / "o" / "whatif.html").read_text()
    for part in (">12 nodes<", '<nav class="contents"', ">At a glance<", ">Laid over each other<", "<th>12 nodes</th>"):
        assert part in page
    assert "1: 12 nodes" not in page
