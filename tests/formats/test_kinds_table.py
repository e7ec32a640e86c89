"""Files of kinds of job: what is written is read back, and what is wrong is said with its line."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wattline.errors import TraceError
from wattline.formats.tables.kinds import KindRow, read_kinds, write_kinds
from wattline.model.kinds import Kind

positive = st.floats(1e-3, 1e6)


@st.composite
def kind(draw: st.DrawFn, name: str) -> Kind:
    """Draw any kind that a file may hold."""
    floor_w = draw(positive)
    standby = draw(st.booleans())
    return Kind(
        name,
        draw(st.integers(1, 5000)),
        draw(positive),
        floor_w + draw(st.floats(0, 1e3)),
        floor_w,
        draw(st.floats(1, 9)),
        float("inf") if standby else draw(st.one_of(positive, st.just(float("inf")))),
        draw(st.floats(0.01, 1)),
        standby=standby,
        arrival_per_s=draw(st.floats(0, 1)),
        average=draw(st.booleans()),
    )


@given(
    data=st.data(),
    names=st.lists(st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1), min_size=1, unique=True),
)
def test_kinds_come_back_as_written(
    data: st.DataObject, names: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Every number and every name, with commas and quotes, is the same after writing and reading."""
    kinds = tuple(data.draw(kind(name)) for name in names)
    path = tmp_path_factory.mktemp("k") / "k.kinds.csv"
    write_kinds((KindRow(k, 3, "observed") for k in kinds), path)
    assert read_kinds(path) == kinds


def test_weights_and_packed_files(tmp_path: Path) -> None:
    """Weights that sum to 1 are kept; a packed file is read like a plain one."""
    kinds = tuple(Kind(n, 1, 60.0, 100.0, 50.0, 1.5, weight=w) for n, w in (("a", 0.25), ("b", 0.75)))
    write_kinds(map(KindRow, kinds), tmp_path / "k.csv.gz")
    assert gzip.decompress((tmp_path / "k.csv.gz").read_bytes()).startswith(b"name,nodes,work_s,draw_w,floor_w")
    assert read_kinds(tmp_path / "k.csv.gz") == kinds


def test_what_is_left_out_has_a_meaning(tmp_path: Path) -> None:
    """Without a floor a kind cannot be capped; without a stretch run time grows as power falls; no limit promises
    nothing.
    """
    (tmp_path / "k.csv").write_text("name,nodes,work_s,draw_w,floor_w\na,2,60,200,\nb,1,60,200,100\n")
    a, b = read_kinds(tmp_path / "k.csv")
    assert (a.floor_w, a.stretch, a.limit) == (200.0, 1.0, float("inf"))
    assert (b.floor_w, b.stretch) == (100.0, 2.0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name,nodes,work_s\n", r"k.csv:1: column 'draw_w' is missing: found name, nodes, work_s"),
        ("name,nodes,work_s,draw_w,flor_w\n", r"k.csv:1: field 'flor_w': unknown column; did you mean 'floor_w'\?"),
        ("name,nodes,work_s,draw_w,nodes\n", r"k.csv:1: field 'nodes': column is named twice"),
        ("name,nodes,work_s,draw_w\n", r"k.csv: holds no kinds"),
        ("name,nodes,work_s,draw_w\na,2,60\n", r"k.csv:2: expected 4 columns like the header, got 3"),
        ("name,nodes,work_s,draw_w\na,2,60,1\nb,,60,1\n", r"k.csv:3: field 'nodes': is empty"),
        ("name,nodes,work_s,draw_w\na,2.5,60,1\n", r"k.csv:2: field 'nodes': expected a whole number \(got '2.5'\)"),
        ("name,nodes,work_s,draw_w\na,٣,60,1\n", r"k.csv:2: field 'nodes': expected a whole number \(got '٣'\)"),
        ("name,nodes,work_s,draw_w\na,2,long,1\n", r"k.csv:2: field 'work_s': expected a number \(got 'long'\)"),
        ("name,nodes,work_s,draw_w,standby\na,2,6,1,maybe\n", r"k.csv:2: field 'standby': expected yes or no"),
        (
            "name,nodes,work_s,draw_w,standby,limit\na,2,6,1,yes,3\n",
            r"k.csv:2: field 'limit': nothing is promised to a standby kind",
        ),
        ("name,nodes,work_s,draw_w,stretch\na,2,6,1,2\n", r"k.csv:2: field 'stretch': goes with floor_w"),
        ("name,nodes,work_s,draw_w\na,2,0,1\n", r"k.csv:2: kind 'a': the run time must be positive, got 0 s"),
        ("name,nodes,work_s,draw_w,floor_w\na,2,6,1,7\n", r"k.csv:2: kind 'a': need 0 <= lowest power <= power"),
        (
            "name,nodes,work_s,draw_w,floor_w,stretch\na,2,6,9,7,inf\n",
            r"k.csv:2: kind 'a': at its lowest power it would",
        ),
        ("name,nodes,work_s,draw_w,floor_w,stretch\na,2,6,9,7,1e400\n", r"k.csv:2: kind 'a': at its lowest power"),
        ("name,nodes,work_s,draw_w\na,2,6,1\na,4,6,1\n", r"k.csv: kind 'a' is declared twice"),
        ("name,nodes,work_s,draw_w,weight\na,2,6,1,1\nb,4,6,1,\n", r"weights are given to some kinds, but not to 'b'"),
        ("name,nodes,work_s,draw_w,weight\na,2,6,1,.5\nb,4,6,1,.4\n", r"the weights must sum to 1, they sum to 0.9"),
        ('name,nodes,work_s,draw_w\n"a,2,6,1\n', r"k.csv:\d: cannot be read as CSV"),
        ("", "the file is empty"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(tmp_path: Path, text: str, said: str) -> None:
    """A bad file of kinds is refused with file, line and field."""
    (tmp_path / "k.csv").write_text(text)
    with pytest.raises(TraceError, match=said) as caught:
        read_kinds(tmp_path / "k.csv")
    assert "\n" not in str(caught.value)
