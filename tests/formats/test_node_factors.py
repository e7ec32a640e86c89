"""Files of nodes that differ: every factor goes to the node that its line names."""

from __future__ import annotations

from pathlib import Path

import pytest

from wattline.errors import TraceError
from wattline.formats.tables.node_factors import read_factors, read_machine


def test_factors_go_to_the_nodes_that_are_named(tmp_path: Path) -> None:
    """The order of the lines says nothing; numbers count from 0."""
    path = tmp_path / "nodes.csv"
    path.write_text("node,factor\n2,1.2\n0,1.0\n1,1.1\n")
    assert read_machine(path, 3).factors.tolist() == [1.0, 1.1, 1.2]
    path.write_text("node,power_w\n2,120\n0,80\n1,100\n")
    assert read_machine(path, 3).factors.tolist() == pytest.approx([0.8, 1.0, 1.2])
    names, found = read_factors(path)
    assert names == ["0", "1", "2"]
    assert found.factors.tolist() == pytest.approx([0.8, 1.0, 1.2])
    path.write_text("node,factor\nn2,1.2\nn0,1.0\n1,1.1\n")
    assert read_factors(path)[0] == ["n2", "n0", "1"]


@pytest.mark.parametrize(
    ("text", "said"), [("node,factor,factor\n0,1,2\n", "named twice"), ("node,factor\n0,١\n", "must be above 0")]
)
def test_what_machines_may_not_say_no_list_of_nodes_may(tmp_path: Path, text: str, said: str) -> None:
    """A column that is named twice, digits that are not ours."""
    path = tmp_path / "nodes.csv"
    path.write_text(text)
    with pytest.raises(TraceError, match=said):
        read_factors(path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("factor\n1\n1\n1\n", "nodes.csv:1: column 'node' is missing"),
        ("node,factor\n0,1\n1,1\n", "nodes.csv: it has 2 nodes, the cluster 3: node 2 is missing"),
        ("node,factor,rack\n0,1,a\n1,1,a\n2,1,a\n", "nodes.csv:1: field 'rack': unknown column"),
        ("node,factor,factor\n0,1,2\n1,1,2\n2,1,2\n", "nodes.csv:1: field 'factor': column is named twice"),
        ("node,factor,power_w\n0,1,90\n1,1,90\n2,1,90\n", "columns 'factor' and 'power_w' say the same; keep one"),
        ("node,factor\n1,1\n2,1\n3,1\n", "nodes.csv:4: field 'node': expected the number of a node, 0 to 2"),
        ("node,factor\n0,1\n01,1\n1,1\n", "nodes.csv:4: field 'node': node is on line 3 already"),
        ("node,factor\n0,1\n1,1\n1,1\n", "nodes.csv:4: field 'node': node is on line 3 already"),
        ("node,factor\n0,1\n1.5,1\n2,1\n", "nodes.csv:3: field 'node': expected the number"),
        ("node,factor\n0,1\n-1,1\n2,1\n", "nodes.csv:3: field 'node': expected the number"),
        ("node,factor\n0,1\n,1\n2,1\n", "nodes.csv:3: field 'node': expected the number"),
        ("node,factor\n0,1\n1,1,9\n2,1\n", "nodes.csv:3: expected 2 columns like the header"),
        ("node,factor\n0,1\ncn1,1\n2,1\n", "nodes.csv:3: field 'node': expected the number"),
    ],
)
def test_nodes_that_are_none_of_the_machine_are_refused(tmp_path: Path, text: str, said: str) -> None:
    """Each node of the machine is named once, and nobody else."""
    path = tmp_path / "nodes.csv"
    path.write_text(text)
    with pytest.raises(TraceError) as caught:
        read_machine(path, 3)
    assert said in str(caught.value)
