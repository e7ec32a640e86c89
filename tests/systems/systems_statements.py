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
