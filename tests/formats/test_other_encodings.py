"""Texts that are not UTF-8: names stay different, and that they were written out is counted; small tables are
refused.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from wattline.errors import TraceError
from wattline.formats.jobs import read_trace
from wattline.reading.notes import NOT_UTF8, Trace

PLAIN = b"submit_s,work_s,nodes,user\n0,10,1,J\xf6rg\n1,10,1,J\xe4rg\n2,10,1,J\xc3\xb6rg\n3,10,1,Ann\n"
QUOTED = PLAIN.replace(b"Ann", b'"Ann, B"')
SACCT = (
    b"JobIDRaw|Submit|ElapsedRaw|AllocNodes|User|State\n"
    b"1|2024-01-01T00:00:00|10|1|J\xf6rg|COMPLETED\n2|2024-01-01T00:00:01|10|1|J\xe4rg|COMPLETED\n"
)
SLURM = (
    b"JobID|Submit|Start|End|ReqNodes|Timelimit|Elapsed|User|JobName|\n"
    b"1|2018-12-31T08:27|2018-12-31T08:27|2018-12-31T09:27|7|1-00:00|01:00|J\xf6rg|b\n"
    b"2|2018-12-31T08:27|2018-12-31T08:27|2018-12-31T09:27|7|1-00:00|01:00|J\xe4rg|b\n"
)


@pytest.mark.parametrize(
    ("content", "lines", "names"),
    [
        (PLAIN, 2, ("J\\xf6rg", "J\\xe4rg", "Jörg", "Ann")),
        (gzip.compress(PLAIN), 2, ("J\\xf6rg", "J\\xe4rg", "Jörg", "Ann")),
        (QUOTED, 2, ("J\\xf6rg", "J\\xe4rg", "Jörg", "Ann, B")),
        (SACCT, 2, ("J\\xf6rg", "J\\xe4rg")),
        (SLURM, 2, ("J\\xf6rg", "J\\xe4rg")),
    ],
    ids=["csv", "packed", "quoted", "sacct", "slurm"],
)
def test_users_of_another_encoding_stay_different(
    tmp_path: Path, content: bytes, lines: int, names: tuple[str, ...]
) -> None:
    """Users whose names are not UTF-8 are kept apart, their lines are counted as repaired and refused when strict."""
    path = tmp_path / ("meggie-jobs-2018.csv" if content is SLURM else "log.csv")
    path.write_bytes(content)
    form = "rrze" if content is SLURM else None
    trace = read_trace(path, format=form)
    assert trace.jobs.users == names
    said = [note for note in trace.notes if note.reason == NOT_UTF8]
    assert [(note.action, note.count) for note in said] == [("repaired", lines)]
    assert f"{path.name}:2: " in said[0].example
    assert "\\xf6" in said[0].example
    with pytest.raises(TraceError, match=r":2: field 'text': not UTF-8"):
        read_trace(path, format=form, strict=True)


def test_the_header_of_an_swf_log_may_be_of_another_encoding(tmp_path: Path) -> None:
    """Names in the comments of an SWF log stay different; that is counted, and strict reading takes such comments."""
    rows = "".join(f"{i + 1} {i} -1 10 1 -1 -1 1 20 -1 1 {i % 2} 1 -1 -1 -1 -1 -1\n" for i in range(4))
    path = tmp_path / "log.swf"
    path.write_bytes(b"; MaxNodes: 8\n; User: 0 J\xf6rg\n; User: 1 J\xe4rg\n" + rows.encode())
    for strict in (False, True):
        trace: Trace = read_trace(path, strict=strict)
        assert trace.jobs.users == ("J\\xf6rg", "J\\xe4rg")
        assert [note.count for note in trace.notes if note.reason == NOT_UTF8] == [2]


def _kinds(path: Path) -> object:
    from wattline.formats.tables.kinds import read_kinds

    return read_kinds(path)


def _factors(path: Path) -> object:
    from wattline.formats.tables.node_factors import read_factors

    return read_factors(path)


def _configurations(path: Path) -> object:
    from wattline.formats.tables.configurations import read_configurations

    return read_configurations(path)


def _limits(path: Path) -> object:
    from wattline.formats.series.steps import read_limits

    return read_limits(path)


@pytest.mark.parametrize("read", [_kinds, _factors, _configurations, _limits])
def test_small_tables_must_be_utf8(tmp_path: Path, read: Callable[[Path], object]) -> None:
    """A table that is written by hand is refused by its line if it is not UTF-8."""
    path = tmp_path / "table.csv"
    path.write_bytes(b"name,nodes\nM\xfcller,2\n")
    with pytest.raises(TraceError, match=r"table.csv:2: is not UTF-8 text \(byte 0xfc\); save it as UTF-8"):
        read(path)


def test_samples_of_another_encoding_are_refused(tmp_path: Path) -> None:
    """Telemetry whose sensors have names that are not UTF-8 is refused in one line."""
    from wattline.telemetry import read as telemetry
    from wattline.telemetry.sources.columns import Wanted

    path = tmp_path / "power.csv"
    path.write_bytes(b"time_s,node,power_w\n0,J\xf6rg,100\n0,J\xe4rg,200\n")
    with pytest.raises(TraceError, match=r"power.csv:2: cannot be read as CSV"):
        telemetry.check(telemetry.open_source(str(path)), Wanted())


def test_repeated_header_lines_are_counted(tmp_path: Path) -> None:
    """A header line between the rows of a CSV is left out and counted, and refused when strict; quotes or not."""
    for content in (PLAIN, QUOTED):
        head, _, rows = content.replace(b"\xf6", b"o").replace(b"\xe4", b"a").partition(b"\n")
        path = tmp_path / "log.csv"
        path.write_bytes(head + b"\n" + rows + head + b"\n" + rows)
        trace = read_trace(path)
        assert len(trace.jobs) == 8
        assert [(n.action, n.count) for n in trace.notes if n.reason == "the header line again: left out"] == [
            ("repaired", 1)
        ]
        with pytest.raises(TraceError, match=r"log.csv:\d+: field 'header': the header line again"):
            read_trace(path, strict=True)
