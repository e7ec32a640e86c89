"""The quick reproduction of RMAP, its tables and traces."""

from __future__ import annotations

import json

import numpy as np
import pytest
from systems_statements import check_rows, check_statements

from wattline.systems.reproduction import Reproduction
from wattline.systems.rmap.claims import about
from wattline.systems.rmap.page import reproduce
from wattline.systems.rmap.study import JOBS, SLACK, THRESHOLDS, Task, carry_out, draw_trace, row_asked
from wattline.systems.rmap.tables import MEASURED, SHAPES, STAND_IN, machines, moldable, stand_in
from wattline.systems.work import Work


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    """Return the quick reproduction."""
    return reproduce(tmp_path_factory.mktemp("rmap"), True, Work())


def test_the_quick_one_says_what_it_found(found: Reproduction) -> None:
    """No bound is exceeded, small jobs do worse where Adaptive waits for nodes than where it takes what is free, and
    ours does better.
    """
    by = {claim.short: claim for claim in found.claims}
    assert by["never above the bound"].holds
    year = found.numbers[STAND_IN]["small"]["exact"]["12000.0"]
    assert year["Adaptive, 0 %, power only"]["turnaround_s"] > 1.2 * year["Adaptive, 0 %"]["turnaround_s"]
    assert year["Surplus, 0 %"]["turnaround_s"] < 0.95 * year["Adaptive, 0 %"]["turnaround_s"]
    assert json.dumps(found.to_dict())
    assert "Figs. 5.6 to 5.9" in found.path.read_text(encoding="utf-8")


def test_the_document_has_its_statements_and_tables(found: Reproduction) -> None:
    """Word for word, and a row a policy."""
    check_statements(found)
    check_rows(found)


def test_what_does_not_hold_has_a_cause_that_was_tested(found: Reproduction) -> None:
    """Every statement of the thesis that does not hold says in which other views it does or does not, and for how many
    single traces.
    """
    failed = [claim for claim in found.claims if not claim.holds and claim.where != "ours"]
    assert failed
    for claim in failed:
        assert "power-only reading" in claim.because
        assert "of 16 single traces" in claim.because


@pytest.mark.parametrize(
    ("value", "same"), [(-0.143, True), (-0.0715, True), (-0.286, True), (-0.07, False), (-0.29, False), (0.143, False)]
)
def test_a_change_is_about_another(value: float, *, same: bool) -> None:
    """A change agrees with a published one that has its sign and half to twice its size."""
    assert about(value, -0.143) == same


def test_as_many_do_not_wait_as_published() -> None:
    """The load is such that 14 of 30 jobs of the second random trace do not wait with Traditional at 14,000 W."""
    found = carry_out(Task(STAND_IN, "random 2", "model", (4,), range(5000, 5030)))[4]
    assert JOBS * np.mean(found.wait_s["Traditional"] <= 1e-9) == pytest.approx(14.0, abs=1.0)


def test_surplus_does_not_lose_at_equal_permission() -> None:
    """On seeds that nothing was fitted to, Surplus has at most Adaptive's mean turnaround time at each threshold."""
    for trace in ("large", "random 1"):
        for found in carry_out(Task(STAND_IN, trace, "exact", (0, 4), range(3000, 3010))).values():
            for name in THRESHOLDS:
                assert found.turnaround_s[f"Surplus, {name}"].mean() <= found.turnaround_s[f"Adaptive, {name}"].mean()


@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: s.name)
def test_stand_ins_behave(shape: object) -> None:
    """Less power is never faster, turbo is fastest at equal nodes and cores, and no socket draws more than its cap."""
    table = stand_in(shape)  # type: ignore[arg-type]
    assert len(table) == 15 * 5 * 5
    time_s = table.time_s.reshape(15, 5, 5)  # rows are sorted by nodes, cores, cap
    assert np.all(np.diff(time_s, axis=2) <= 1e-9)
    assert np.all(table.power_w <= 2 * table.nodes * table.cap_w + 1e-9)


def test_traces_follow_the_rules() -> None:
    """Thirty jobs ask for sizes of their kind and 1.2 times what they take as asked; the same seed gives the same
    trace.
    """
    for trace, (low, high) in {"large": (40, 64), "small": (8, 24)}.items():
        jobs = draw_trace(STAND_IN, trace, 3)
        assert len(jobs) == JOBS
        assert jobs.nodes.min() >= low
        assert jobs.nodes.max() <= high
        tables = machines()[STAND_IN].tables
        row = row_asked(tables[jobs.kind[0]], int(jobs.nodes[0]))
        assert jobs.request_s[0] == pytest.approx(SLACK * tables[jobs.kind[0]].time_s[row])
        np.testing.assert_array_equal(draw_trace(STAND_IN, trace, 3).submit_s, jobs.submit_s)


def test_models_tell_something_else() -> None:
    """With a model policies are told times and powers that are near the truth and are not it."""
    for pair in moldable(STAND_IN, "model"):
        assert pair.told is not None
        error = np.abs(pair.told.time_s / pair.truth.time_s - 1)
        assert 0 < error.mean() < 0.15


def test_measured_tables(data_dir: object) -> None:
    """With the measured tables there is a machine of 32 nodes with halved bounds and without single nodes."""
    machines.cache_clear()
    machine = machines()[MEASURED]
    assert machine.bounds_w[0] == 3250.0
    assert len(machine.tables) == 12
    assert all(table.nodes.min() > 1 for table in machine.tables)
