"""Statements of a reproduction beside those that the documentation shows."""

from __future__ import annotations

from docs.systems_doc import results
from wattline.systems.reproduction import HELD, Reproduction


def check_statements(found: Reproduction) -> None:
    """Every statement is told once, is word for word in the documentation, and has a reason where it is not held."""
    told = [(claim.where, claim.statement) for claim in found.claims]
    assert len(told) == len(set(told)), "a statement is told twice"
    shown = {(claim["where"], claim["statement"]) for claim in results()[found.name]["claims"]}
    assert not set(told) - shown, "scripts/update-systems takes in a full run"
    for claim in found.claims:
        assert claim.verdict == HELD or len(claim.because) > 10, claim


def check_tables(found: Reproduction, but: tuple[str, ...] = ()) -> None:
    """Every table of the documentation is one of this run, cell for cell, but for those that a smaller run changes."""
    shown, ours = results()[found.name]["tables"], {name: table.to_dict() for name, table in found.tables.items()}
    assert list(shown) == list(ours)
    for name in set(ours) - set(but):
        assert shown[name] == ours[name], "scripts/update-systems takes in a full run"


def check_rows(found: Reproduction) -> None:
    """The tables of a smaller run are among those of the documentation, and so is what their rows are about."""
    shown = results()[found.name]["tables"]
    for name, table in found.tables.items():
        assert table.header[0] == shown[name]["header"][0]
        assert {row[0] for row in table.rows} <= {row[0] for row in shown[name]["rows"]}
        assert {len(row) for row in table.rows} == {len(table.header)}
