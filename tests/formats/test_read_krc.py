"""The KRC logs: the paper's cleaning, and hpcwld's delays from the raw records."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from wattline.errors import InputError, TraceError
from wattline.formats.jobs import read_trace
from wattline.formats.jobs.krc.read import read_krc

HEADER = "interarrival,service,cores_used\n"


def write(tmp_path: Path, rows: str) -> Path:
    """Write a table of three columns."""
    path = tmp_path / "krc.csv"
    path.write_text(HEADER + rows)
    return path


def test_interarrival_is_to_the_next(tmp_path: Path) -> None:
    """The first customer arrives at 0 and each interarrival time leads to the next record."""
    jobs = read_krc(write(tmp_path, "5,1,2\n7,1,2\n9,1,2\n")).jobs
    assert jobs.submit_s.tolist() == [0.0, 5.0, 12.0]


def test_dropped_records_leave_the_others_in_time_and_number(tmp_path: Path) -> None:
    """Dropping keeps raw record numbers and, unless asked otherwise, everybody else's arrival."""
    path = write(tmp_path, "5,1,2\n7,0,2\n9,1,0\n4,1,1\n")
    trace = read_krc(path)
    assert trace.jobs.job_id.tolist() == [1, 4]
    assert trace.jobs.submit_s.tolist() == [0.0, 21.0]
    assert read_krc(path, keep_gaps=False).jobs.submit_s.tolist() == [0.0, 5.0]
    assert read_krc(path, drop_zero_service=False).jobs.job_id.tolist() == [1, 2, 4]
    assert trace.records == 4


def test_ties_are_spread_and_negative_gaps_closed(tmp_path: Path) -> None:
    """Negative gaps become 0, zero gaps 1 to 10 ms, the same for the same seed; spread_ties=False leaves them."""
    path = write(tmp_path, "-5,1,1\n0,1,1\n3,1,1\n")
    gaps = np.diff(read_krc(path, seed=3).jobs.submit_s)
    assert np.all((gaps >= 0.001) & (gaps <= 0.010))
    assert np.array_equal(gaps, np.diff(read_krc(path, seed=3).jobs.submit_s))
    assert not np.array_equal(gaps, np.diff(read_krc(path, seed=4).jobs.submit_s))
    assert read_krc(path, spread_ties=False).jobs.submit_s.tolist() == [0.0, 0.0, 0.0]
    with pytest.raises(TraceError, match=r"krc.csv:2: field 'interarrival': negative interarrival"):
        read_krc(path, strict=True)


def test_amounts_are_scaled(tmp_path: Path) -> None:
    """amount_factor turns recorded seconds into job amounts; it must be positive."""
    assert read_krc(write(tmp_path, "1,10,1\n"), amount_factor=2.66).jobs.work_s[0] == pytest.approx(26.6)
    with pytest.raises(InputError, match="amount_factor"):
        read_krc(tmp_path / "krc.csv", amount_factor=0)


def test_wrong_columns(tmp_path: Path) -> None:
    """A missing or unknown column is refused by name."""
    path = tmp_path / "krc.csv"
    path.write_text("interarrival,service\n1,1\n")
    with pytest.raises(TraceError, match="column 'cores_used' is missing"):
        read_krc(path)
    path.write_text("interarrival,service,cores_used,delay\n1,1,1,1\n")
    with pytest.raises(TraceError, match="did you mean 'delays'"):
        read_krc(path)


def test_krc2_cleaning(data_dir: Path) -> None:
    """HPC_KRC2 loses its 1,820 zero-service records (87 of them without cores) and has 16 gaps repaired."""
    trace = read_trace(data_dir / "krc/HPC_KRC2.csv")
    assert (trace.records, len(trace.jobs)) == (9389, 7569)
    told = {note.reason: note.count for note in trace.notes}
    assert told["no cores"] == 87
    assert told["no cores"] + told["no service"] == 1820
    assert told["negative interarrival time: set to 0"] == 16
    assert np.all(np.diff(trace.jobs.submit_s) > 0)


def test_hpcwld_delays(data_dir: Path) -> None:
    """The Kiefer–Wolfowitz recursion on the raw records with cores used gives all 8,281 delays of hpcwld."""
    jobs = read_krc(data_dir / "krc/HPC_KRC.csv", drop_zero_service=False, spread_ties=False).jobs
    expected = pl.read_csv(data_dir / "krc/HPC_KRC_hpcwld_fcfs_delays_80cores.csv.gz")["delay_model"].to_numpy()
    gaps = np.append(np.diff(jobs.submit_s), 0.0)
    load, delays = np.zeros(80), np.empty(len(jobs))
    for i, (gap, service, cores) in enumerate(zip(gaps, jobs.work_s, jobs.nodes, strict=True)):
        load.sort()
        delays[i] = load[cores - 1]
        load[:cores] = delays[i] + service
        load = np.maximum(load - gap, 0.0)
    assert len(jobs) == 8281
    assert np.array_equal(delays, expected)
