"""The power that a log recorded beside that of the same jobs in a run."""

from __future__ import annotations

from pathlib import Path

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


@pytest.mark.filterwarnings("ignore::wattline.WattlineWarning")
def test_the_simulated_jobs_are_those_that_the_log_knows(tmp_path: Path) -> None:
    """One has a power, one an energy alone, and one neither: two count on both sides, from the journal too."""
    path = tmp_path / "log.csv"
    rows = ["0,1000,1,0,300,", "0,1000,1,0,,250000", "0,1000,1,0,,"]
    path.write_text("\n".join(["submit_s,work_s,nodes,recorded_wait_s,draw_w,recorded_energy_j", *rows]) + "\n")
    run = wl.simulate(path, wl.Machine(nodes=4, idle=90, max=350))
    assert run.jobs["energy_j"].to_list() == [300e3, 350e3, 350e3]
    run.write(tmp_path / "journal")
    for summary in (run.summary, wl.read_run(tmp_path / "journal").summary):
        found = summary.recorded_power
        assert found is not None
        assert (found.jobs, found.recorded.energy_j, found.simulated.energy_j) == (2, 550e3, 650e3)
