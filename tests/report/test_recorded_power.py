"""The power that a log recorded beside that of the same jobs in a run."""

from __future__ import annotations

import pytest

import wattline as wl

MACHINE = wl.Machine(nodes=4, idle=100, max=300)


def test_jobs_that_still_run_count_until_the_run_stops() -> None:
    """Two jobs draw together all along; the run is stopped before the longer one has ended."""
    columns = {"submit_s": "s", "start_s": "b", "end_s": "e"}
    trace = wl.from_frame(
        {"s": [0, 0], "b": [0, 0], "e": [10, 20], "nodes": [1, 1], "draw_w": [200, 150]}, columns=columns
    )
    run = wl.simulate(trace, MACHINE, settings={"run.until": 10})
    found = run.summary.recorded_power
    assert found is not None
    assert found.recorded.energy_j == 200 * 10 + 150 * 20
    assert vars(found.simulated) == {"energy_j": 3500.0, "mean_w": 350.0, "peak_w": 350.0}
    assert found.simulated.energy_j == run.summary.energy.busy_j


@pytest.mark.filterwarnings("ignore::wattline.WattlineWarning")
def test_jobs_of_no_length_draw_at_no_time() -> None:
    """Their energy is told, and no mean is above the maximum."""
    columns = {"submit_s": "s", "start_s": "b", "end_s": "e", "energy_j": "j"}
    trace = wl.from_frame({"s": [0, 0], "b": [0, 5], "e": [0, 25], "nodes": [2, 4], "j": [50, 9600]}, columns=columns)
    found = wl.simulate(trace, MACHINE).summary.recorded_power
    assert found is not None
    assert vars(found.recorded) == {"energy_j": 9650.0, "mean_w": 480.0, "peak_w": 480.0}
