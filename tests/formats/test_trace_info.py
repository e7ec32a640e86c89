"""Facts about traces, and notes that account for every record."""

from __future__ import annotations

import json

import numpy as np
import pytest

from wattline.errors import TraceError
from wattline.formats.jobs.info import trace_info
from wattline.model.jobs import JobTable
from wattline.reading.notes import Finding, Note, Trace, quote, settle


def trace() -> Trace:
    """Return three jobs on ten nodes, two records dropped."""
    jobs = JobTable.build(
        submit_s=[0, 50, 100], work_s=[10, 0, 40], nodes=[1, 4, 3], request_s=[20, np.nan, 20], user=[0, 0, 1],
        users=["a", "b"], partition=[0, -1, 0], partitions=["p"],
    )  # fmt: skip
    return Trace(jobs, (Note("dropped", "why", 2, "f:1: x"),), "f", {"Computer": "c"}, 10)


def test_facts() -> None:
    """Load, sizes, requests and names are computed from the table."""
    facts = trace_info(trace())
    assert facts["offered_load"] == pytest.approx((10 + 120) / (100 * 10))
    assert (facts["records"], facts["jobs"], facts["dropped"], facts["users"]) == (5, 3, 2, 2)
    assert facts["nodes"]["serial_share"] == pytest.approx(1 / 3)
    assert facts["nodes"]["power_of_two_share"] == pytest.approx(1 / 3)
    assert (facts["request"]["unknown"], facts["request"]["exceeded"]) == (1, 1)
    assert facts["partitions"] == {"p": 2}
    assert facts["zero_work"] == 1
    assert trace_info(trace(), nodes=3)["wider_than_machine"] == 1


def test_facts_are_json() -> None:
    """All facts can be written as strict JSON, whatever is unknown."""
    lone = Trace(JobTable.build(submit_s=[3], work_s=[1], nodes=[1]))
    for each in (trace(), lone):
        json.dumps(trace_info(each), allow_nan=False)
    assert trace_info(lone)["offered_load"] is None


def test_every_record_is_accounted_for() -> None:
    """A trace whose jobs and dropped records do not add up to what was read cannot be made."""
    with pytest.raises(AssertionError, match="6 records read but 5 accounted for"):
        Trace(trace().jobs, trace().notes, "f", {}, None, 6)


def test_quotations_are_short_and_printable() -> None:
    """A quotation never floods or garbles a terminal."""
    assert quote(b"a\tb \x1b[31m \xff") == "a b \ufffd[31m \ufffd"
    assert len(quote("x" * 10**6)) <= 100


def test_strict_names_the_earliest_line() -> None:
    """Of several findings strict reading reports the one that stands first in the file."""
    findings = [Finding("dropped", "late", 1, 9, "a", 1, "t"), Finding("repaired", "early", 2, 3, "b", 2, "t")]
    with pytest.raises(TraceError, match=r"f:3: field 'b': early \(got 2\); without strict reading, 2 such records"):
        settle("f", findings, strict=True)
