"""Numbers that flags of ``wattline telemetry`` take: beyond what sensors, machines and centuries have, one line refuses
them.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from calling import SWF, Call

CSV = "node,time_s,power_w\n" + "".join(f"{n},{60 * i},{100 + i % 7}\n" for i in range(50) for n in (0, 1))


@pytest.mark.parametrize("value", ["1e-300", "1e-7", "0", "-1", "1e300", "inf", "1e10"])
@pytest.mark.parametrize("flag", ["--period", "--patience", "--stuck", "--step", "--every"])
def test_times_out_of_bounds_are_refused(folder: Path, wattline: Call, flag: str, value: str) -> None:
    """A time shorter than a microsecond or longer than a century is refused by the flag's name, with both bounds."""
    (folder / "p.csv").write_text(CSV)
    (folder / "j.swf").write_text(SWF)
    command = {
        "--step": ("join", "p.csv", "--jobs", "j.swf", "--out", "x.parquet"),
        "--every": ("sample", "out/run", "--out", "x.parquet"),
    }.get(flag, ("check", "p.csv"))
    answer = wattline("telemetry", *command, flag, value)
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert answer.err.startswith(f"wattline: {flag}: must be from 0.000001 to 3,200,000,000 s, got ")


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        ("--hold", "1e300"),
        ("--hold", "nan"),
        ("--hold", "0.5"),
        ("--max", "1e300"),
        ("--max", "0"),
        ("--max", "-3 W"),
        ("--least", "nan"),
        ("--idle", "-1"),
        ("--idle", "1e300"),
        ("--epoch", "1e300"),
        ("--epoch", "nan"),
        ("--nodes", "1" + "0" * 30),
        ("--nodes-per-rack", "1" + "0" * 30),
        ("--first", "1" + "0" * 30),
    ],
)
def test_other_numbers_out_of_bounds_are_refused(folder: Path, wattline: Call, flag: str, value: str) -> None:
    """Every number has bounds, and what is no number is beyond them."""
    (folder / "p.csv").write_text(CSV)
    (folder / "j.swf").write_text(SWF)
    answer = wattline("telemetry", "join", "p.csv", "--jobs", "j.swf", "--out", "x.parquet", flag, value)
    assert (answer.code, answer.err.count("\n")) == (2, 1), answer
    assert flag in answer.err


def test_more_samples_than_memory_are_refused_first(folder: Path, wattline: Call) -> None:
    """Samples of a run every microsecond would fill the memory many times: refused by their number before any is
    made.
    """
    from calling import SCENARIO

    (folder / "s.toml").write_text(SCENARIO)
    assert wattline("run", "s.toml", "--no-report", "-q").code == 0
    for by in ("node", "job"):
        answer = wattline("telemetry", "sample", "out/small", "--by", by, "--every", "1e-6", "--out", "x.parquet")
        assert answer.code == 2
        assert " samples would take about " in answer.err


def test_times_that_no_sensor_has_are_refused(folder: Path, wattline: Call) -> None:
    """Samples that lie closer together than any sensor's are refused; a gap of centuries is counted without
    overflow.
    """
    (folder / "close.csv").write_text("node,time_s,power_w\n" + "".join(f"0,{i}e-300,1\n" for i in range(9)))
    answer = wattline("telemetry", "check", "close.csv")
    assert answer.code == 2
    assert "1e-300 s apart, which no sensor does; give --period" in answer.err
    (folder / "far.csv").write_text(CSV + "0,1e18,5\n0,1e18,5\n")
    answer = wattline("telemetry", "check", "far.csv", "--json")
    assert answer.code == 0
    assert "warning" not in answer.err
