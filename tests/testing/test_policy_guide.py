"""The policy guide: every file, command and claim on the page is tried."""

from __future__ import annotations

import inspect
import re
import shlex
from pathlib import Path

import pytest
from numba import types

from programs import command
from wattline.model.state.record import FIELDS, PROPOSALS, WRITES
from wattline.testing import check_policy_file
from wattline.testing.checks import CHECKS, title

GUIDE = (Path(__file__).parents[2] / "docs" / "policies.md").read_text()
BLOCK = re.compile(r"(?:<!-- (?P<mark>[\w./: -]+) -->\n)?```(?P<language>\w+)\n(?P<body>.*?)```", re.DOTALL)
FILES = {
    b["mark"].removeprefix("file: "): b["body"] for b in BLOCK.finditer(GUIDE) if (b["mark"] or "").startswith("file: ")
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a working folder that holds the guide's files."""
    for name, body in FILES.items():
        (tmp_path / name).write_text(body)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def block(mark: str) -> str:
    """Return the body of a marked block."""
    return next(b["body"] for b in BLOCK.finditer(GUIDE) if b["mark"] == mark)


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith(".py")])
def test_the_policies_pass_their_checks(name: str, folder: Path) -> None:
    """Every policy of the guide conforms."""
    report = check_policy_file(folder / name)
    assert report.ok, str(report)


def test_compiled_by_one_word(folder: Path) -> None:
    """The first policy gives the same schedule when `compiled=True` is added, as the guide says."""
    from engine.everything import jobs, machine
    from engine.worlds import digest, run
    from wattline.control.catalog import find

    text = FILES["patient.py"]
    (folder / "fast.py").write_text(text.replace('@policy("select",', '@policy("select", compiled=True,'))
    results = [run(jobs(), machine(), select=find("select", name)) for name in ("patient.py", "fast.py")]
    assert digest(results[0]) == digest(results[1])
    assert results[0].state.counter[2] == 0


def test_commands(folder: Path) -> None:
    """The commands work as they stand."""
    ran = 0
    for found in BLOCK.finditer(GUIDE):
        for line in found["body"].splitlines() if found["language"] == "console" else ():
            done = command(shlex.split(line), folder)
            assert done.code == 0, f"{line}\n{done.out}\n{done.err}"
            ran += 1
    assert ran == 2


def test_python_blocks(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lines for Python run; the test-suite's block collects the checks."""
    monkeypatch.syspath_prepend(str(folder))  # as for a script that lies there
    world: dict[str, object] = {}
    exec(block("run"), world)  # noqa: S102
    assert world["starts"] == [30.0, 0.0, 5.0]
    exec(block("test"), world)  # noqa: S102
    assert callable(world["test_my_policy"])


def test_tables() -> None:
    """The tables name fields that exist, all that may be written, and all checks in the words of the code."""
    tables = GUIDE.split("## What a policy may read")[1].split("## Timers")[0]
    rows = [line.split("|")[1] for line in tables.splitlines() if line.startswith("| `")]
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert named <= set(FIELDS)
    written = GUIDE.split("<!-- proposals -->")[1].split("\n\n")[0]
    writable = {
        n for line in written.splitlines() if line.startswith("| `") for n in re.findall(r"`(\w+)`", line.split("|")[1])
    }
    assert writable == set(PROPOSALS)
    by_slot: dict[str, set[str]] = {slot: set() for slot in WRITES}
    for line in written.splitlines():
        if line.startswith("| `"):
            names, who = re.findall(r"`(\w+)`", line.split("|")[1]), line.split("|")[2].strip()
            but = re.fullmatch(r"any but `(\w+)`", who)
            for slot in set(WRITES) - {but[1]} if but else WRITES if who == "any" else who.split(", "):
                by_slot[slot] |= set(names)
    assert by_slot == {slot: set(names) for slot, names in WRITES.items()}
    assert f"runs {['sixteen', 'seventeen', 'eighteen'][len(CHECKS) - 16]} checks" in GUIDE
    for check in CHECKS:
        assert f"| `{title(check)}` | {check.__doc__} |" in GUIDE


def test_helpers() -> None:
    """The table of helpers has every helper, with its parameters and in the words of the code."""
    from wattline.policies import helpers

    found = {
        name: f
        for name, f in vars(helpers).items()
        if getattr(f, "__module__", "") == helpers.__name__ and name[0] != "_"
    }
    rows = []
    for name, function in found.items():
        plain = inspect.unwrap(getattr(function, "py_func", function))
        meaning = " ".join((plain.__doc__ or "").split()).replace("``", "`")
        rows.append(f"| `{name}({', '.join(inspect.signature(plain).parameters)})` | {meaning} |")
    assert "propose" in found
    assert GUIDE.split("<!-- helpers -->\n")[1].split("\n\n")[0].splitlines()[2:] == rows


def test_functions_of_compiled_policies() -> None:
    """The guide names all functions and methods that compiled policies may call, and no other."""
    from wattline.control.users import language, readers

    rows = [line.split("|")[1:3] for line in GUIDE.split("<!-- language -->\n")[1].split("\n\n")[0].splitlines()[2:]]
    told = {f"{of.strip(' `')}.{name}" for of, names in rows for name in re.findall(r"`([\w.]+)`", names)}
    known = {readers.name_of(function).lstrip("_") for function in language.FUNCTIONS}
    asked_for = {name.split(".")[-1] for name in known if name.startswith("numba.")} & {"literal_unroll", "literally"}
    wanted = {f"numba.{name}" for name in asked_for | {"prange"}}
    for name in known:
        of, _, rest = name.partition(".")
        if of != "numba" and of != "math":
            wanted.add({"np": "numpy"}.get(of, of) + f".{rest}" if rest else f"Python.{of}")
    assert told == wanted
    assert "| `math` | all that numba knows |" in GUIDE
    methods = GUIDE.split("* *Methods* of arrays:")[1].split(". Of lists")[0]
    assert set(re.findall(r"`(\w+)`", methods)) == language.METHODS[types.Array]


def test_error_line(folder: Path) -> None:
    """The mistake that the guide shows is told in the words that it shows."""
    from engine.worlds import cluster, run, table
    from wattline.control.catalog import find
    from wattline.errors import PolicyError

    said = next(b["body"].strip() for b in BLOCK.finditer(GUIDE) if b["language"] == "text")
    (folder / "patient.py").write_text(FILES["patient.py"].replace("s.eligible_s", "s.elegible_s"))
    with pytest.raises(PolicyError) as caught:
        run(table({"submit": 0, "work": 1, "nodes": 1}), cluster(1), select=find("select", "patient.py"))
    assert str(caught.value).removeprefix(f"{folder}/") == said
